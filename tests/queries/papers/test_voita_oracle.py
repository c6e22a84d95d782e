"""Verdicts on positional neurons and on section 6 against plain loops over single neurons, with planted differences."""

import math
import random
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from neurothek.queries.papers.voita import VOITA
from tests.support.claims import of_neurons

Neuron = dict[str, Any]
Count = tuple[int, int]

N_LAYERS = 6
Z = 1.959963984540054


def draw(seed: int) -> tuple[list[Neuron], list[str], list[tuple[str, str, str | None]]]:
    """Two sizes, an untrained twin of each, and a model with norms after its blocks; every share at random."""
    dice = random.Random(seed)
    sizes = ["small", "large"]
    variants: list[tuple[str, str, str | None]] = [("step 0", f"{size}-0", size) for size in sizes]
    variants.append(("post-norm", "after", "small"))
    neurons = []
    for model in [*sizes, *(model for _, model, _ in variants)]:
        of_model = [dice.choice([0.0, 0.05, 0.3, 0.6]) for _ in range(4)]
        oscillating, sparse = dice.choice([0.05, 2.0]), dice.random()
        for layer in range(N_LAYERS):
            p_positional = _STAGES[seed % 3][layer] if seed % 3 else dice.choice([0.0, 0.02, 0.2, 0.5])
            strong = dice.choice([0.1, 0.5, 0.9])
            for _ in range(160 if seed % 3 else dice.choice([40, 80])):
                is_positional = dice.random() < p_positional
                kind = dice.choices(
                    ["oscillatory", "both extremes", "one extreme", "other"], [oscillating, *of_model[:3]]
                )[0]
                strength = "strong" if dice.random() < strong else "weak"
                neurons.append(
                    {
                        "model": model,
                        "layer": layer,
                        "n_layers": N_LAYERS,
                        "is_dead": dice.random() < of_model[3] * (dice.random() < 0.2),
                        "frequency": dice.random(),
                        "n_active": 500,
                        "unigrams_95": 2 if dice.random() < sparse else dice.choice([40, 900]),
                        "is_token_detector": False,
                        "is_smooth": is_positional and dice.random() < of_model[1],
                        "position_kind": kind if is_positional else "not positional",
                        "position_strength": strength if is_positional else "not positional",
                    }
                )
    return neurons, sizes, variants


_STAGES = {1: [0.6, 0.05, 0.05, 0.1, 0.6, 0.5], 2: [0.95, 0.76, 0.57, 0.38, 0.19, 0.0]}
"""Shares of positional neurons by layer: a valley between two stages, and steps down."""


def wilson(count: Count) -> tuple[float, float]:
    k, n = count
    centre, half = (k + Z * Z / 2) / (n + Z * Z), Z * math.sqrt(k * (n - k) / n + Z * Z / 4) / (n + Z * Z)
    return max(0.0, centre - half), min(1.0, centre + half)


def newcombe(first: Count, second: Count) -> tuple[float, float, float]:
    (l1, u1), (l2, u2) = wilson(first), wilson(second)
    p1, p2 = first[0] / first[1], second[0] / second[1]
    low, high = math.sqrt((p1 - l1) ** 2 + (u2 - p2) ** 2), math.sqrt((u1 - p1) ** 2 + (p2 - l2) ** 2)
    return p1 - p2 - low, p1 - p2, p1 - p2 + high


def over_half(count: Count) -> tuple[float, float, float]:
    low, high = wilson(count)
    return low - 0.5, count[0] / count[1] - 0.5, high - 0.5


def one(interval: tuple[float, float, float]) -> str:
    return "holds" if interval[0] > 0 else "does not hold" if interval[2] < 0 else "undecided"


def several(parts: Sequence[tuple[float, float, float]], whole: tuple[float, float, float] | None = None) -> str:
    """None against, more than half in favour, and the whole: the mean of the parts, of independent ones."""
    if len(parts) == 1:
        return one(parts[0])
    if whole is None:
        middle = sum(part[1] for part in parts) / len(parts)
        low = math.sqrt(sum((part[1] - part[0]) ** 2 for part in parts)) / len(parts)
        high = math.sqrt(sum((part[2] - part[1]) ** 2 for part in parts)) / len(parts)
        whole = (middle - low, middle, middle + high)
    if any(part[2] < 0 for part in parts) or whole[2] < 0:
        return "does not hold"
    return one(whole) if sum(part[0] > 0 for part in parts) > len(parts) / 2 else "undecided"


def is_positional(neuron: Neuron) -> bool:
    return bool(neuron["position_strength"] in ("strong", "weak"))


def count(neurons: list[Neuron], model: str, so: Callable[[Neuron], bool], among: Callable[[Neuron], bool]) -> Count:
    own = [neuron for neuron in neurons if neuron["model"] == model and among(neuron)]
    return sum(map(so, own)), len(own)


def everything(_: Neuron) -> bool:
    return True


def in_first_third(neuron: Neuron) -> bool:
    layer: int = neuron["layer"]
    return (layer + 0.5) / N_LAYERS <= 1 / 3


def control(neurons: list[Neuron], sizes: list[str]) -> str:
    if any(count(neurons, size, is_positional, everything)[0] < 10 for size in sizes):
        return "needs larger models"

    def smooth(model: str) -> Count:
        return count(neurons, model, lambda one: is_positional(one) and one["is_smooth"], everything)

    return several([newcombe(smooth(size), smooth(f"{size}-0")) for size in sizes])


def most_frequent(neurons: list[Neuron], sizes: list[str]) -> str:
    parts = []
    for size in sizes:
        kinds = [neuron["position_kind"] for neuron in neurons if neuron["model"] == size and is_positional(neuron)]
        if len(kinds) < 10:
            return "needs larger models"
        rival = max(kinds.count(kind) for kind in ("both extremes", "one extreme", "other"))
        parts.append(over_half((kinds.count("oscillatory"), kinds.count("oscillatory") + rival)))
    return several(parts)


def less_focused(neurons: list[Neuron], sizes: list[str]) -> str:
    small, large = (
        count(neurons, size, lambda one: one["position_kind"] in ("oscillatory", "both extremes"), is_positional)
        for size in sizes
    )
    if min(small[1], large[1]) < 10:
        return "needs larger models"
    return one(newcombe(small, large))


def two_stages(neurons: list[Neuron], sizes: list[str]) -> str:
    parts = []
    for size in sizes:
        if count(neurons, size, is_positional, everything)[0] < 10:
            continue
        of = [count(neurons, size, is_positional, lambda one, at=at: one["layer"] == at) for at in range(N_LAYERS)]  # type: ignore[misc]
        best = None
        for low, between, high in product(range(N_LAYERS), repeat=3):
            if low < between < high and low < 2 <= high:
                lower_peak = min((of[low], of[high]), key=lambda pair: pair[0] / pair[1])
                found = newcombe(lower_peak, of[between])
                best = found if best is None or found[1] > best[1] else best
        assert best is not None
        parts.append(best)
    return several(parts) if parts else "needs larger models"


def weaker_later(neurons: list[Neuron], sizes: list[str]) -> str:
    parts = []
    for size in sizes:
        stages = [
            count(
                neurons,
                size,
                lambda one: one["position_strength"] == "strong",
                lambda one, first=first: is_positional(one) and in_first_third(one) is first,  # type: ignore[misc]
            )
            for first in (True, False)
        ]
        if min(n for _, n in stages) >= 10:
            parts.append(newcombe(*stages))
    return several(parts) if parts else "needs larger models"


def without_dead(neurons: list[Neuron], _: list[str]) -> str:
    plain, after = (count(neurons, model, lambda one: one["is_dead"], everything) for model in ("small", "after"))
    if plain[0] == after[0] == 0:
        return "needs larger models"
    return "does not hold" if after[0] else one(newcombe(plain, after))


def less_sparse(neurons: list[Neuron], _: list[str]) -> str:
    logs = [
        [math.log10(one["unigrams_95"]) for one in neurons if one["model"] == model and one["layer"] <= 2]
        for model in ("after", "small")
    ]
    means = [math.fsum(values) / len(values) for values in logs]
    squares = [math.fsum((x - m) ** 2 for x in xs) / (len(xs) - 1) / len(xs) for xs, m in zip(logs, means, strict=True)]
    middle, half = means[0] - means[1], Z * math.sqrt(sum(squares))
    return one((middle - half, middle, middle + half))


ORACLES: dict[str, Callable[[list[Neuron], list[str]], str]] = {
    "Some neurons fire by position": control,
    "the most frequent kind": most_frequent,
    "less focused on absolute position": less_focused,
    "two stages": two_stages,
    "second stage are weaker": weaker_later,
    "norms after its blocks has no dead": without_dead,
    "not as sparse": less_sparse,
}


def test_verdicts_are_those_of_plain_loops() -> None:
    seen: dict[str, set[str]] = {text: set() for text in ORACLES}
    wrong = []
    for seed in range(36):
        neurons, sizes, variants = draw(seed)
        made = of_neurons(neurons, sizes, variants)
        for text, oracle in ORACLES.items():
            (claim,) = (claim for claim in VOITA.claims if text in claim.text)
            expected, found = oracle(neurons, sizes), claim.on(made)
            seen[text].add(expected)
            if found.outcome != expected:
                wrong.append((seed, text, expected, found))
    assert not wrong
    # Each was decided both ways somewhere, so that agreement says something.
    assert [text for text, outcomes in seen.items() if not {"holds", "does not hold"} <= outcomes] == []
