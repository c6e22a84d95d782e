"""Where neurons are strongest: the peaks of sequences, the best of them, and what a neuron does around them."""

from dataclasses import dataclass, field
from math import isqrt

import numpy as np
import polars as pl
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from neurothek.ingest.forward.batches import Batch
from neurothek.ingest.forward.counted import CountedSequences

N_STRONGEST = 10
"""Strongest places a neuron."""

# A maximum alone is found ten times faster than one with its position: in sequences of at least so many positions the
# stretch that holds it is found first, and the position looked for in there (torch 2.13, AVX-512).
_LONG = 128


@dataclass(frozen=True, eq=False)
class Peaks:
    """The place of the largest |m| of each neuron in each of some sequences, the first of equal ones."""

    sequences: Int[Tensor, " sequences"]  # numbers of the sequences in the corpus
    # m there, sign kept; 0 where the neuron does not fire in the sequence
    activations: Float[Tensor, "sequences d_ffn"]
    positions: Int[Tensor, "sequences d_ffn"]  # positions in the sequences


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


_BITS_OF_SEQUENCE = 31


def by_strength(peaks: Peaks) -> Int[Tensor, "sequences d_ffn"]:
    """[sequences d_ffn] ranks by |m|, of equal ones the earlier sequence first; 0 where the neuron does not fire.

    The bits of a number that is not negative are in the order of the number.
    """
    strength = peaks.activations.abs().view(torch.int32).long() << _BITS_OF_SEQUENCE
    earlier = (1 << _BITS_OF_SEQUENCE) - 1 - peaks.sequences
    return (strength + earlier[:, None]).masked_fill_(peaks.activations == 0, 0)


@dataclass(eq=False)
class KeptPlaces:
    """For each neuron the sequences of highest rank so far, the highest first."""

    n_windows: int  # around how many of them, the first ones, windows are read
    ranks: Int[Tensor, "kept d_ffn"]  # what they are ranked by, no two alike; 0 where there is none
    sequences: Int[Tensor, "kept d_ffn"]  # numbers of the sequences in the corpus
    activations: Float[Tensor, "kept d_ffn"]  # m at the strongest place
    positions: Int[Tensor, "kept d_ffn"]  # the strongest place
    numbers: Int[Tensor, "kept d_ffn"]  # which of the windows that were read is its own
    _read: list[Tensor] = field(default_factory=list)
    _n_read: int = 0

    @classmethod
    def none(cls, n_kept: int, n_windows: int, *, d_ffn: int, device: torch.device) -> "KeptPlaces":
        """Nothing kept yet."""
        zeros = torch.zeros(n_kept, d_ffn, dtype=torch.int64, device=device)
        return cls(n_windows, ranks=zeros, sequences=zeros, activations=zeros.float(), positions=zeros, numbers=zeros)

    def add(
        self,
        batch: Batch,
        coefficients: Float[Tensor, "batch time d_ffn"],
        peaks: Peaks,
        ranks: Int[Tensor, "sequences d_ffn"],
    ) -> None:
        """Take in the peaks of a batch, and read the windows around those that are kept."""
        n_kept = len(self.ranks)
        self.ranks, order = torch.cat([self.ranks, ranks]).topk(n_kept, dim=0)
        sequences = peaks.sequences[:, None].expand_as(peaks.positions)
        self.sequences = torch.cat([self.sequences, sequences]).gather(0, order)
        self.activations = torch.cat([self.activations, peaks.activations]).gather(0, order)
        self.positions = torch.cat([self.positions, peaks.positions]).gather(0, order)
        self.numbers = self.numbers.gather(0, order.clamp(max=n_kept - 1))
        if not self.n_windows:
            return
        is_new = (order >= n_kept) & self.has_window
        places, neurons = is_new.nonzero(as_tuple=True)
        if len(neurons):
            rows = self.sequences[places, neurons] - batch.first_sequence
            positions = self.positions[places, neurons]
            self._read.append(read_around(coefficients, rows=rows, positions=positions, neurons=neurons))
            self.numbers[places, neurons] = self._n_read + torch.arange(len(neurons), device=neurons.device)
            self._n_read += len(neurons)
            self._forget()

    def frame(self, mask: Bool[Tensor, "kept d_ffn"]) -> pl.DataFrame:
        """A row for each marked place: neuron, `priority` (its rank), activation, sequence and position."""
        _, neurons = mask.nonzero(as_tuple=True)
        return pl.DataFrame(
            {
                "neuron": neurons.cpu().numpy().astype(np.int32),
                "priority": self.ranks[mask].cpu().numpy(),
                "activation": self.activations[mask].cpu().numpy(),
                "sequence_id": self.sequences[mask].cpu().numpy().astype(np.int32),
                "position": self.positions[mask].cpu().numpy().astype(np.int32),
            }
        )

    @property
    def has_window(self) -> Bool[Tensor, "kept d_ffn"]:
        """[kept d_ffn] which of them have windows: what is pushed down never comes up again."""
        is_first = torch.arange(len(self.ranks), device=self.ranks.device) < self.n_windows
        return (self.ranks > 0) & is_first[:, None]

    def windows(self) -> Float[Tensor, "windows width"]:
        """[windows width] what `read_around` read, in the order of `has_window`."""
        if not self._read:
            return self.activations.new_zeros(0, WIDTH)
        return torch.cat(self._read)[self.numbers[self.has_window]]

    def _forget(self) -> None:
        """Let go of windows that are not kept any more, once they are as many as those that can be."""
        most = self.n_windows * self.ranks.shape[1]
        if self._n_read > 2 * most:
            self._read = [self.windows()]
            self._n_read = len(self._read[0])
            self.numbers[self.has_window] = torch.arange(self._n_read, device=self.numbers.device)


N_BEFORE, N_AFTER = 40, 22
"""Positions of a window before its place and after it: a neuron sees what comes before. All 63 are bits of an int64."""

WIDTH = N_BEFORE + 1 + N_AFTER


def read_around(
    coefficients: Float[Tensor, "batch time d_ffn"],
    *,
    rows: Int[Tensor, " windows"],
    positions: Int[Tensor, " windows"],
    neurons: Int[Tensor, " windows"],
) -> Float[Tensor, "windows width"]:
    """[windows width] coefficients around each place; beyond the ends of a sequence whatever lies there."""
    _, time, d_ffn = coefficients.shape
    steps = torch.arange(-N_BEFORE, N_AFTER + 1, device=coefficients.device) * d_ffn
    at = ((rows * time + positions) * d_ffn + neurons)[:, None] + steps
    # One subtraction and one look-up a number: an index for each dimension takes three times as long.
    return coefficients.reshape(-1)[at.clamp_(0, coefficients.numel() - 1)]
