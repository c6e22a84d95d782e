"""Which layers of each model a question is about."""

from collections.abc import Sequence

from queries.errors import NoLayersLeft, NoSuchLayer
from queries.models import KnownModel
from queries.question import Question


def layers_of(question: Question, models: Sequence[KnownModel]) -> dict[int, tuple[int, int]]:
    """model_id -> first and last layer, for the models that have any in the range of layers and depths.

    Raises:
        NoSuchLayer: the range of layers begins beyond every model.
        NoLayersLeft: no model has a layer in both ranges.
    """
    deepest = max(model.n_layers for model in models) - 1
    first, last = question.layers or (0, deepest)
    if first > deepest:
        raise NoSuchLayer(first, deepest)
    shallow, deep = question.depth or (0.0, 1.0)
    found: dict[int, tuple[int, int]] = {}
    for model in models:
        depths = {layer: (layer + 0.5) / model.n_layers for layer in range(model.n_layers)}
        layers = [layer for layer, depth in depths.items() if first <= layer <= last and shallow <= depth <= deep]
        if layers:
            found[model.model_id] = (layers[0], layers[-1])
    if not found:
        raise NoLayersLeft
    return found
