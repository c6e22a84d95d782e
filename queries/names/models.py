"""The models a question is about: by name, in order of size, with what is needed to ask about them."""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from neurothek.catalog.problems import NotFound
from neurothek.catalog.variants import variant_order
from neurothek.queries.ask.statements import ask_records
from neurothek.queries.errors.unknown_subjects import no_models

SIZE = "size w/o embeddings"
"""What tables for people call the column `size`."""


@dataclass(frozen=True, kw_only=True)
class KnownModel:
    """A model of the warehouse."""

    model_id: int  # its number in the file
    name: str  # its name
    family: str  # models of one family differ in size or variant only
    variant: str | None  # None for a plain size; else what sets the model apart
    size: int  # parameters without embeddings
    n_layers: int  # number of blocks
    d_ffn: int  # feed-forward neurons per layer
    tokenizer_id: int  # its tokenizer
    architecture: str  # its family of transformers
    is_signed: bool  # whether a coefficient may have either sign (gated), which then says which list the neuron writes
    has_exact_zeros: bool  # whether its non-linearity gives exact zeros, so that a neuron can be dead
    is_measured_on_text: bool  # whether any text was run through it
    source: str  # where its weights came from: a folder, the name of a shipped model, or a hub id
    revision: str | None  # the hub's commit, if they came from there
    weights_sha256: str  # what they are known by
    tokenizer_from_file: bool = False  # whether its tokenizer.json was taken as it is
    configured: str = ""  # what is known of its config.json, as JSON
    built: str = ""  # where its norms stand and how it knows positions, which training leaves alone


def choose_models(connection: duckdb.DuckDBPyConnection, names: Sequence[str] = ()) -> list[KnownModel]:
    """The models called `names`, or all, smallest first."""
    models = [KnownModel(**row) for row in ask_records(connection, "models")]
    # DuckDB takes longer to put a handful in order.
    by_name = {model.name: model for model in sorted(models, key=_by_size)}
    if not by_name:
        raise no_models()
    for name in names:
        if name not in by_name:
            raise NotFound.among("model", name, by_name, where="in the warehouse")
    return [model for name, model in by_name.items() if not names or name in names]


def models_alike(connection: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """Names of the other models with the tokenizer of the model `name`, smallest first."""
    model_named = choose_model(connection, name)
    models = choose_models(connection)
    return [model.name for model in models if model.tokenizer_id == model_named.tokenizer_id and model.name != name]


def choose_model(connection: duckdb.DuckDBPyConnection, name: str) -> KnownModel:
    """The model called `name`."""
    (model,) = choose_models(connection, [name])
    return model


def _by_size(model: KnownModel) -> tuple[int, tuple[bool, str, int], str]:
    """Plain models before their variants, steps in the order of training."""
    return (model.size, variant_order(model.variant), model.name)
