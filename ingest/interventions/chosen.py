"""Neurons of an intervention: as text in a run's parameters, by layer, and the changes that they stand for."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int

from neurothek.catalog.problems import Unreadable
from neurothek.ingest.interventions.changed import Changes
from neurothek.ingest.interventions.positions import parse_positions
from neurothek.ingest.models.transformer import Change
from neurothek.ingest.request import Intervention

ByLayer = Mapping[int, Int[np.ndarray, " _"]]
"""Layer -> neurons, in ascending order."""

_FIELDS = ("asked", "how", "value", "moment", "kind", "positions")


_MOST_NEURONS = 1 << 26
"""More than the largest models have."""


def by_layer(intervention: Intervention) -> ByLayer:
    """Its neurons, layer by layer."""
    return {
        layer: np.array([neuron for _, neuron in pairs], dtype=np.int64)
        for layer, pairs in groupby(intervention.neurons, key=lambda pair: pair[0])
    }


def packed(neurons: Sequence[tuple[int, int]]) -> str:
    """Neurons as text, such as `0:1-5,9 3:7`."""
    words = []
    for layer, pairs in groupby(neurons, key=lambda pair: pair[0]):
        words.append(f"{layer}:{','.join(_runs([neuron for _, neuron in pairs]))}")
    return " ".join(words)


def unpacked(text: str) -> tuple[tuple[int, int], ...]:
    """What `packed` wrote."""
    ranges: list[tuple[int, int, int]] = []
    for word in text.split():
        layer, _, runs = word.partition(":")
        for run in runs.split(","):
            first, _, last = run.partition("-")
            ranges.append((int(layer), int(first), int(last or first)))
    if sum(last - first + 1 for _, first, last in ranges) > _MOST_NEURONS:
        raise Unreadable(
            f"the parameters of a run name the neurons {text[:40]!r}, more than any model has",
            "it was not written by neurothek: remove it",
            path="parameters",
            why="more neurons than any model has",
        )
    return tuple((layer, neuron) for layer, first, last in ranges for neuron in range(first, last + 1))


def as_parameters(intervention: Intervention) -> dict[str, Any]:
    """What changes its numbers, and what it is called by."""
    values = {name: getattr(intervention, name) for name in _FIELDS}
    # Stated only where it is so: all other runs stay the same runs.
    negative = {} if intervention.negative is None else {"negative": packed(intervention.negative)}
    return {"neurons": packed(intervention.neurons), **values, "watched": list(intervention.watched), **negative}


def from_parameters(name: str, parameters: Mapping[str, Any]) -> Intervention:
    """The intervention that a run with such parameters measured; earlier releases knew fewer of them."""
    fields: dict[str, Any] = {field: parameters.get(field) for field in _FIELDS}
    negative = parameters.get("negative")
    return Intervention(
        name,
        unpacked(parameters["neurons"]),
        **fields,
        watched=tuple(parameters.get("watched", ())),
        negative=None if negative is None else unpacked(negative),
    )


def changes(
    intervention: Intervention,
    neurons: ByLayer,
    means: Mapping[int, Float[np.ndarray, " _"]],
    device: torch.device,
    *,
    signs: Mapping[int, Float[np.ndarray, " _"]] | None = None,
) -> Changes:
    """What becomes of neurons: those that were asked for, or others in their place.

    Args:
        intervention: how they are changed.
        neurons: which ones.
        means: layer -> mean coefficient of each neuron, where they are set to it.
        device: where the model runs.
        signs: layer -> sign of the value that each neuron is set to; None: above 0.
    """
    made = {}
    positions = None if intervention.positions is None else parse_positions(intervention.positions)
    for layer, numbers in neurons.items():
        values, factor = None, 1.0
        if intervention.how == "scale":
            assert intervention.value is not None
            factor = intervention.value
        elif intervention.how == "mean":
            values = torch.from_numpy(means[layer][numbers].astype(np.float32)).to(device)
        else:
            values = torch.full((len(numbers),), float(intervention.value or 0.0), device=device)
            if signs is not None:
                values *= torch.from_numpy(signs[layer][numbers]).to(values)
        made[layer] = Change(
            torch.from_numpy(numbers).to(device),
            values,
            factor,
            is_before=intervention.moment == "before",
            positions=positions,
        )
    return made


def _runs(neurons: Sequence[int]) -> Iterator[str]:
    """Neighbours in ascending order as `3-5`, others alone."""
    start = 0
    for end in range(1, len(neurons) + 1):
        if end == len(neurons) or neurons[end] != neurons[end - 1] + 1:
            first, last = neurons[start], neurons[end - 1]
            yield str(first) if first == last else f"{first}-{last}"
            start = end
