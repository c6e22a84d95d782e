"""Two models side by side: the lists of tokens that are compared, what is found of a layer, and its rows."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from jaxtyping import Float, Int

from neurothek.catalog.tables.table import BIG
from neurothek.catalog.tables.weights import COUNTERPARTS
from neurothek.ingest.jobs.counterparts.overlaps import Best, best_of_each_other

PARTIAL: Mapping[str, pl.DataType] = {"place": BIG, "shared": BIG}
"""A `Best` as a frame, row after row."""


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two models, as the lists of tokens that its neurons and random vectors have.

    Attributes:
        neurons: [n_layers d_ffn 2 k] ids of the tokens that each promotes and suppresses, best first.
        random: [n_layers n_random 2 k] likewise of random vectors like the layer's value vectors.
    """

    neurons: Int[np.ndarray, "n_layers d_ffn 2 k"]
    random: Int[np.ndarray, "n_layers n_random 2 k"]

    @property
    def n_layers(self) -> int:
        """How many layers it has."""
        return int(self.neurons.shape[0])

    @property
    def d_ffn(self) -> int:
        """How many neurons a layer has."""
        return int(self.neurons.shape[1])

    @property
    def k(self) -> int:
        """How many tokens a list has."""
        return int(self.neurons.shape[3])

    @cached_property
    def all_neurons(self) -> Int[np.ndarray, "n 2 k"]:
        """[n 2 k] layer after layer."""
        return self.neurons.reshape(-1, 2, self.k)

    @cached_property
    def all_random(self) -> Int[np.ndarray, "n 2 k"]:
        """[n 2 k] layer after layer."""
        return self.random.reshape(-1, 2, self.k)


PARTS = ("forth", "back", "random_forth", "random_back")
"""What is found of a layer of the first model: the best of the second for each of its neurons, the best of the layer
for each neuron of the second, the best neuron of the second for each random vector of the layer, and the best of the
layer for each random vector of the second."""


def compare(one: Side, other: Side, *, layer: int, n_best: int, either_sign: bool = False) -> dict[str, pl.DataFrame]:
    """Compare one layer of the first model with all of the second, from either side: `PARTS`, as frames."""
    (forth, back), (_, random_back) = best_of_each_other(
        one.neurons[layer], other.all_neurons, other.all_random, n_best=n_best, either_sign=either_sign
    )
    ((random_forth, _),) = best_of_each_other(one.random[layer], other.all_neurons, n_best=1, either_sign=either_sign)
    found = (forth, back, random_forth, random_back.first())
    return {name: _frame(best) for name, best in zip(PARTS, found, strict=True)}


def part(rows: pl.LazyFrame, number: int, *, shape: tuple[int, ...]) -> Best:
    """The `Best` of one part, where those of all parts lie one after the other as frames and are of one shape."""
    size = math.prod(shape)
    frame = rows.slice(number * size, size).collect()
    return Best(*(frame[name].to_numpy().reshape(shape) for name in PARTIAL))


def _frame(best: Best) -> pl.DataFrame:
    return pl.DataFrame({"place": best.places.ravel(), "shared": best.shared.ravel()}, schema=dict(PARTIAL))


def rows_frame(
    side: Side, other: Side, *, layer: int, best: Best, random: Best, first_back: Int[np.ndarray, " n"]
) -> pl.DataFrame:
    """Rows of `counterparts` for one layer.

    Args:
        side: the model whose layer it is.
        other: the other model.
        layer: the layer.
        best: of the other model's neurons, for each of the layer's.
        random: the same for the layer's random vectors.
        first_back: [n] for each neuron of the other model the place of its best among all of this one's.
    """
    n, k = best.places.shape
    own = layer * side.d_ffn + np.arange(n)
    is_mutual = np.zeros((n, k), dtype=bool)
    is_mutual[:, 0] = (best.places[:, 0] >= 0) & (first_back[best.places[:, 0]] == own)
    columns = {
        "layer": np.full(n * k, layer),
        "neuron": np.repeat(np.arange(n), k),
        "rank": np.tile(np.arange(1, k + 1), n),
        "other_layer": best.places.ravel() // other.d_ffn,
        "other_neuron": best.places.ravel() % other.d_ffn,
        "overlap": best.overlaps(side.k, other.k).ravel(),
        "null_99": np.full(n * k, null_99(random.overlaps(side.k, other.k)[:, 0])),
        "is_mutual": is_mutual.ravel(),
    }
    # Those that share no token are not counterparts.
    frame = pl.DataFrame(columns).filter(pl.Series(best.places.ravel() >= 0))
    return frame.cast(pl.Schema(COUNTERPARTS.columns))


def null_99(overlaps: Float[np.ndarray, " n"]) -> float:
    """The smallest of them that at most one in a hundred exceeds [ours]."""
    return float(np.sort(overlaps)[len(overlaps) - 1 - len(overlaps) // 100])
