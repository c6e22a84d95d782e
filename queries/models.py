"""The models a question is about: by name, in order of size, with what is needed to ask about them."""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from catalog.variants import variant_order
from queries.errors import NoModels, UnknownModel
from queries.question import Question
from queries.statement import ask_records

SIZE = "size w/o embeddings"
"""What tables for people call the column `size`."""


@dataclass(frozen=True)
class KnownModel:
    """A model of the warehouse.

    Attributes:
        model_id: its number in the file.
        name: its name.
        variant: None for a plain size; else what sets the model apart.
        size: parameters without embeddings.
        n_layers: number of blocks.
        d_ffn: feed-forward neurons per layer.
        tokenizer_id: its tokenizer.
        is_measured_on_text: whether any text was run through it.
    """

    model_id: int
    name: str
    variant: str | None
    size: int
    n_layers: int
    d_ffn: int
    tokenizer_id: int
    is_measured_on_text: bool


def choose_models(connection: duckdb.DuckDBPyConnection, names: Sequence[str] = ()) -> list[KnownModel]:
    """The models called `names`, or all, smallest first.

    Raises:
        NoModels: the warehouse is empty.
        UnknownModel: a name is not among its models.
    """
    models = [KnownModel(**row) for row in ask_records(connection, "models")]
    # DuckDB takes longer to put a handful in order.
    known = {model.name: model for model in sorted(models, key=_by_size)}
    if not known:
        raise NoModels
    for name in names:
        if name not in known:
            raise UnknownModel(name, list(known))
    return [model for name, model in known.items() if not names or name in names]


@dataclass(frozen=True)
class AskedModels:
    """The models that a search is about.

    Attributes:
        models: those asked, smallest first.
        left_out: names of the variants that were not asked for.
    """

    models: list[KnownModel]
    left_out: tuple[str, ...] = ()


def models_asked(connection: duckdb.DuckDBPyConnection, question: Question, *, own: str | None = None) -> AskedModels:
    """The models that a question names, else the plain sizes, or all with `variants` and where all are variants.

    Args:
        connection: a reader.
        question: what is asked.
        own: a model that is asked whatever it is, since the question is about one of its neurons.

    Raises:
        NoModels, UnknownModel: see `choose_models`.
    """
    models = choose_models(connection, question.models)
    if question.models or question.variants or all(model.variant is not None for model in models):
        return AskedModels(models)
    kept = [model for model in models if model.variant is None or model.name == own]
    return AskedModels(kept, tuple(model.name for model in models if model not in kept))


IN_PYTHON = "variants=True asks all"


def variants_hint(left_out: Sequence[str], how: str) -> list[str]:
    """What to say where variants were not asked, and how a person asks them: a sentence, or none."""
    if not left_out:
        return []
    what = f"the variant {left_out[0]}" if len(left_out) == 1 else f"{len(left_out)} variants ({', '.join(left_out)})"
    return [f"left out {what}: {how}"]


def models_alike(connection: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """Names of the other models with the tokenizer of the model `name`, smallest first.

    Raises:
        UnknownModel: there is no such model.
    """
    (own,) = choose_models(connection, [name])
    models = choose_models(connection)
    return [model.name for model in models if model.tokenizer_id == own.tokenizer_id and model.name != name]


def _by_size(model: KnownModel) -> tuple[int, tuple[bool, str, int], str]:
    """Plain models before their variants, steps in the order of training."""
    return (model.size, variant_order(model.variant), model.name)
