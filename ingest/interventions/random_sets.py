"""Random neurons to compare with: as many as were asked for, of the same layers, that fire about as often."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

N_BINS = 10
"""Parts of a layer's neurons that fire, from the rarest to the most frequent; those that never fire are one more."""


def matched_sets(
    chosen: Mapping[int, Int[np.ndarray, " neurons"]],
    frequencies: Mapping[int, Float[np.ndarray, " d_ffn"]],
    *,
    n_sets: int,
    seed: int,
) -> list[dict[int, Int[np.ndarray, " neurons"]]]:
    """Draw sets that match the chosen neurons by layer and frequency ([ours]).

    A chosen neuron is stood for by another one of its layer and of its tenth of frequencies that was not chosen, none
    twice in a set; where a tenth has too few, the next ones stand in for it, and where the layer has no other neurons
    left, the chosen themselves.

    Args:
        chosen: layer -> neurons, each once.
        frequencies: layer -> how often each neuron fires.
        n_sets: how many sets to draw.
        seed: of the draw.

    Returns:
        The sets, each with as many neurons of each layer as were chosen there, in ascending order.
    """
    draw = np.random.default_rng(seed)
    return [
        {layer: _drawn(neurons, frequencies[layer], draw) for layer, neurons in sorted(chosen.items())}
        for _ in range(n_sets)
    ]


def bins(frequency: Float[np.ndarray, " d_ffn"]) -> Int[np.ndarray, " d_ffn"]:
    """[d_ffn] the tenth of the firing neurons that each is in, from 1; 0 for those that never fire."""
    bin_of = np.zeros(len(frequency), dtype=np.int64)
    fires = np.flatnonzero(frequency > 0)
    order = fires[np.argsort(frequency[fires], kind="stable")]
    bin_of[order] = 1 + np.arange(len(order)) * N_BINS // max(len(order), 1)
    return bin_of


def _drawn(
    chosen: Int[np.ndarray, " neurons"], frequency: Float[np.ndarray, " d_ffn"], draw: np.random.Generator
) -> Int[np.ndarray, " neurons"]:
    of_bin = bins(frequency)
    is_free: Bool[np.ndarray, " d_ffn"] = np.ones(len(frequency), dtype=bool)
    is_free[chosen] = False
    drawn: list[int] = []
    for wanted in sorted(set(of_bin[chosen].tolist())):
        drawn += _of_bin(int((of_bin[chosen] == wanted).sum()), wanted, of_bin, is_free, draw)
    left = len(chosen) - len(drawn)
    # More than half of the layer was chosen: nobody else is left.
    drawn += draw.choice(chosen, size=left, replace=False).tolist() if left else []
    return np.sort(np.array(drawn, dtype=np.int64))


def _of_bin(
    n: int,
    wanted: int,
    of_bin: Int[np.ndarray, " d_ffn"],
    is_free: Bool[np.ndarray, " d_ffn"],
    draw: np.random.Generator,
) -> Sequence[int]:
    """As many free neurons of a tenth, then of the nearest ones; they are free no longer."""
    taken: list[int] = []
    for other in sorted(range(N_BINS + 1), key=lambda number: (abs(number - wanted), number)):
        candidates = np.flatnonzero((of_bin == other) & is_free)
        drawn = draw.choice(candidates, size=min(n - len(taken), len(candidates)), replace=False)
        is_free[drawn] = False
        taken += drawn.tolist()
        if len(taken) == n:
            break
    return taken
