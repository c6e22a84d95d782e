"""Two models side by side: the lists of tokens that are compared, and what a layer's comparison found."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from jaxtyping import Int

from catalog.table import BIG
from ingest.jobs.counterparts.overlaps import Best

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


@dataclass(frozen=True)
class Compared:
    """One layer of the first model against all of the second.

    Attributes:
        forth: the best of the second for each neuron of the layer.
        back: the best of the layer for each neuron of the second.
        random_forth: the best neuron of the second for each random vector of the layer.
        random_back: the best neuron of the layer for each random vector of the second.
    """

    forth: Best
    back: Best
    random_forth: Best
    random_back: Best

    def frames(self) -> dict[str, pl.DataFrame]:
        """As frames by name."""
        return {name: _frame(best) for name, best in vars(self).items()}

    @classmethod
    def of(cls, frames: Mapping[str, pl.DataFrame], *, n_best: int) -> "Compared":
        """Made of such frames again."""
        kept = {"forth": n_best, "back": n_best, "random_forth": 1, "random_back": 1}
        return cls(**{name: _best(frames[name], k) for name, k in kept.items()})


PARTS = ("forth", "back", "random_forth", "random_back")
"""The names of these frames."""


def _frame(best: Best) -> pl.DataFrame:
    return pl.DataFrame({"place": best.places.ravel(), "shared": best.shared.ravel()}, schema=dict(PARTIAL))


def _best(frame: pl.DataFrame, k: int) -> Best:
    return Best(*(frame[name].to_numpy().reshape(-1, k) for name in PARTIAL))
