"""The models of a warehouse as they are compared, by what it holds of them: their weights are not opened."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from jaxtyping import Int

from neurothek.catalog.store.frames import as_frame
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.models.finding import FROM_FILE, Measured, measured_of


@dataclass(frozen=True)
class ListedModel:
    """A model of the warehouse."""

    model_id: int  # its number
    measured: Measured  # where its weights came from
    tokenizer_sha256: str  # hash of its tokenizer
    n_layers: int  # how many layers it has
    d_ffn: int  # neurons of a layer
    d_model: int  # width of the residual stream
    vocab_size: int  # rows of the unembedding
    context_length: int  # ids that a sequence has at most
    is_gated: bool  # whether signs of its neurons are a convention
    projections: str | None  # run key of its lists of tokens; None before they are measured
    weights: Path | None = None  # where its weights are looked for instead; None: where they came from

    @property
    def name(self) -> str:
        """Its name."""
        return self.measured.name

    @property
    def n_neurons(self) -> int:
        """How many neurons it has."""
        return self.n_layers * self.d_ffn

    def lists(self, warehouse: Warehouse) -> Int[np.ndarray, "n_layers d_ffn 2 k"]:
        """[n_layers d_ffn 2 k] the tokens that each neuron promotes and suppresses, best first."""
        query = """
            select top_token_ids, bottom_token_ids from store.projections
            where set_id = $model_id order by layer, neuron
        """
        with warehouse.current_reader() as connection:
            rows = as_frame(connection.sql(query, params={"model_id": self.model_id}))
        sides = [rows[name].explode().to_numpy().reshape(self.n_layers, self.d_ffn, -1) for name in rows.columns]
        return np.stack(sides, axis=2)


def listed_models(warehouse: Warehouse) -> Mapping[str, ListedModel]:
    """All models of the warehouse by name."""
    query = f"""
        select
            models.*, {FROM_FILE} as tokenizer_from_file,
            starts_with(models.activation_rule, 'gate') as is_gated,
            tokenizers.sha256 as tokenizer_sha256, runs.run_key as projections
        from store.models as models
        inner join store.tokenizers as tokenizers on tokenizers.tokenizer_id = models.tokenizer_id
        left join store.runs as runs on runs.model_id = models.model_id and runs.job = 'projections'
        order by models.model_id
    """  # noqa: S608 - a condition of this program
    with warehouse.current_reader() as connection:
        rows = as_frame(connection.sql(query)).to_dicts()
    names = {field.name for field in fields(ListedModel)}
    return {
        row["name"]: ListedModel(measured=measured_of(row), **{name: row[name] for name in names & row.keys()})
        for row in rows
    }
