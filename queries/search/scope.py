"""Which models a search is about, and which layers of each."""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from neurothek.queries.errors.unfit_options import no_layers_left, no_such_layer
from neurothek.queries.names.models import KnownModel, choose_models
from neurothek.queries.search.question import Question


def layers_of(question: Question, models: Sequence[KnownModel]) -> dict[int, tuple[int, int]]:
    """model_id -> first and last layer, for the models that have any in the range of layers and depths."""
    deepest = max(model.n_layers for model in models) - 1
    first, last = question.layers or (0, deepest)
    if first > deepest:
        raise no_such_layer(first, deepest)
    shallow, deep = question.depth or (0.0, 1.0)
    layers_by_model: dict[int, tuple[int, int]] = {}
    for model in models:
        depths = {layer: (layer + 0.5) / model.n_layers for layer in range(model.n_layers)}
        layers = [layer for layer, depth in depths.items() if first <= layer <= last and shallow <= depth <= deep]
        if layers:
            layers_by_model[model.model_id] = (layers[0], layers[-1])
    if not layers_by_model:
        raise no_layers_left()
    return layers_by_model


@dataclass(frozen=True)
class AskedModels:
    """The models that a search is about."""

    models: list[KnownModel]  # those asked, smallest first
    left_out: tuple[str, ...] = ()  # names of the variants that were not asked for


def models_asked(
    connection: duckdb.DuckDBPyConnection, question: Question, *, reference: str | None = None
) -> AskedModels:
    """The models that a question names, else the plain sizes, or all with `variants` and where all are variants.

    Args:
        connection: a reader.
        question: what is asked.
        reference: a model that is asked whatever it is, since the question is about one of its neurons.
    """
    models = choose_models(connection, question.models)
    if question.models or question.variants or all(model.variant is not None for model in models):
        return AskedModels(models)
    chosen = [model for model in models if model.variant is None or model.name == reference]
    return AskedModels(chosen, tuple(model.name for model in models if model not in chosen))


IN_PYTHON = "use variants=True to include them"


def variants_hint(left_out: Sequence[str], how: str) -> list[str]:
    """What to say where variants were not asked, and how a person asks them: a sentence, or none."""
    if not left_out:
        return []
    what = f"the variant {left_out[0]}" if len(left_out) == 1 else f"{len(left_out)} variants ({', '.join(left_out)})"
    return [f"left out {what}; {how}"]
