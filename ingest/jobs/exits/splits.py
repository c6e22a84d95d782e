"""Which examples an exit rule learns from, and which it is tested on ([G] 6.2)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from neurothek.ingest.numerics.random_stream import Purpose, random_stream

SEEDS = (38, 39, 40, 41, 42)
"""Splits that every rule is tried on [code]."""

LEAST_EXAMPLES = 10
"""Fewer have no tenth."""

_ONE_IN = 10


@dataclass(frozen=True, eq=False)
class Split:
    """Examples by their places, none in two of the parts.

    Attributes:
        fit: what is fitted on.
        validation: what thresholds are chosen on, a tenth of all [ours]; rules without a threshold learn from it too.
        test: what the rule is tried on, a tenth of all.
    """

    fit: Int[np.ndarray, " fit"]
    validation: Int[np.ndarray, " validation"]
    test: Int[np.ndarray, " test"]

    @property
    def train(self) -> Int[np.ndarray, " train"]:
        """[train] all but what the rule is tried on."""
        return np.concatenate([self.fit, self.validation])

    @classmethod
    def of(cls, n: int, *, seed: int) -> "Split":
        """Split `n` examples, the same way for whoever asks with this seed."""
        order = random_stream(seed, Purpose.EXIT_SPLIT).permutation(n)
        tenth = n // _ONE_IN
        return cls(fit=order[2 * tenth :], validation=order[tenth : 2 * tenth], test=order[:tenth])
