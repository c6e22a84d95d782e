"""What some neurons of a model promote, read where their rows lie: to join lists of tokens takes longer than a page."""

from collections.abc import Mapping, Sequence

import duckdb
import polars as pl

from dashboards.widgets.memory import kept
from dashboards.widgets.reading import Reader, Reading
from queries.names.models import KnownModel
from queries.views.rows import with_facts

_SCHEMA: Mapping[str, pl.DataType | type[pl.DataType]] = {
    "layer": pl.Int64,
    "neuron": pl.Int64,
    "top_tokens": pl.List(pl.String),
    "bottom_tokens": pl.List(pl.String),
}


def with_promoted(reader: Reader, model: KnownModel, neurons: pl.DataFrame) -> pl.DataFrame:
    """The neurons with `top_tokens`, the first ten tokens that each promotes at a coefficient above 0, `bottom_tokens`.

    Args:
        reader: what the page reads; what a neuron promotes is the same on every corpus.
        model: theirs.
        neurons: rows with layer and neuron.
    """
    places = list(zip(neurons.get_column("layer").to_list(), neurons.get_column("neuron").to_list(), strict=True))
    shown = reader.shown if isinstance(reader, Reading) else reader
    tokens = kept(shown, promoted, model.name, model.model_id, places)
    keys = [pl.col(name).cast(neurons.schema[name]) for name in ("layer", "neuron")]
    return neurons.join(tokens.with_columns(keys), on=["layer", "neuron"], how="left", maintain_order="left")


def promoted(
    connection: duckdb.DuckDBPyConnection, model: str, model_id: int, places: Sequence[tuple[int, int]]
) -> pl.DataFrame:
    """Rows with layer, neuron, top_tokens and bottom_tokens.

    Args:
        connection: a reader.
        model: name of the model.
        model_id: its number.
        places: layer and neuron of each.
    """
    wanted = [{"model": model, "model_id": model_id, "layer": layer, "neuron": neuron} for layer, neuron in places]
    # A neuron may stand out in more than one way.
    distinct = list({(row["layer"], row["neuron"]): row for row in wanted}.values())
    rows = with_facts(connection, distinct, ("top_tokens", "bottom_tokens"))
    return pl.DataFrame([{name: row[name] for name in _SCHEMA} for row in rows], schema=dict(_SCHEMA))
