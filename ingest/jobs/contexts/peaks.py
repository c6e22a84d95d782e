"""The strongest place of each neuron in each sequence."""

from dataclasses import dataclass
from math import isqrt

import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.ingest.forward.counted import CountedSequences

# A maximum alone is found ten times faster than one with its position: in sequences of at least so many positions the
# stretch that holds it is found first, and the position looked for in there (torch 2.13, AVX-512).
_LONG = 128


@dataclass(frozen=True, eq=False)
class Peaks:
    """The place of the largest |m| of each neuron in each of some sequences, the first of equal ones.

    Attributes:
        sequences: numbers of the sequences in the corpus.
        activations: m there, sign kept; 0 where the neuron does not fire in the sequence.
        positions: positions in the sequences.
    """

    sequences: Int[Tensor, " sequences"]
    activations: Float[Tensor, "sequences d_ffn"]
    positions: Int[Tensor, "sequences d_ffn"]


def peaks_of(run: CountedSequences, *, is_non_negative: bool) -> Peaks:
    """The peaks of some sequences; `is_non_negative` says that no coefficient can be below 0 (ReLU)."""
    values, positions = _Search(is_non_negative).first_strongest(run.coefficients)
    numbers = torch.arange(run.first, run.first + len(values), device=values.device)
    return Peaks(numbers, values.float(), positions + run.first_position)


@dataclass(frozen=True)
class _Search:
    is_non_negative: bool

    def first_strongest(
        self, counted: Float[Tensor, "sequences time d_ffn"]
    ) -> tuple[Float[Tensor, "sequences d_ffn"], Int[Tensor, "sequences d_ffn"]]:
        """M of largest |m| of each sequence, and its first position in it."""
        length = counted.shape[1]
        if length < _LONG:
            return self._searched(counted)
        size = isqrt(length)
        whole = length - length % size
        peaks = self._peaks(counted[:, :whole].reshape(len(counted), -1, size, counted.shape[2]))
        if whole < length:
            peaks = torch.cat([peaks, self._peaks(counted[:, None, whole:])], dim=1)
        starts = size * peaks.max(1).indices
        # The last stretch may be shorter: its last position is looked at again.
        inside = starts[:, None] + torch.arange(size, device=counted.device)[:, None]
        values, offsets = self._searched(counted.gather(1, inside.clamp_(max=length - 1)))
        return values, starts + offsets

    def _peaks(
        self, stretches: Float[Tensor, "sequences stretches time d_ffn"]
    ) -> Float[Tensor, "sequences stretches d_ffn"]:
        """The largest |m| of every stretch."""
        highest = stretches.amax(2)
        return highest if self.is_non_negative else torch.maximum(highest, -stretches.amin(2))

    def _searched(
        self, counted: Float[Tensor, "sequences time d_ffn"]
    ) -> tuple[Float[Tensor, "sequences d_ffn"], Int[Tensor, "sequences d_ffn"]]:
        # Of equal values `max` takes the first.
        best = (counted if self.is_non_negative else counted.abs()).max(1)
        values = best.values if self.is_non_negative else counted.gather(1, best.indices[:, None]).squeeze(1)
        return values, best.indices
