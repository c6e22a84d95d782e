"""How many places are kept for each neuron."""

from dataclasses import dataclass

KEPT = 10
"""Strongest places a neuron."""


@dataclass(frozen=True)
class Amounts:
    """How many windows are kept for each neuron.

    Attributes:
        strongest: around the first of its strongest places.
        sampled: in sequences drawn of those that it fires in.
        random: around positions drawn of the whole text.
    """

    strongest: int
    sampled: int
    random: int

    @classmethod
    def of(cls, *, is_non_negative: bool) -> "Amounts":
        """ReLU keeps half as many again: most of its activations are 0 and take a bit, others a byte."""
        return cls(6, 9, 3) if is_non_negative else cls(4, 6, 2)

    @property
    def n_windows(self) -> int:
        """Windows of a neuron, at most."""
        return self.strongest + self.sampled + self.random
