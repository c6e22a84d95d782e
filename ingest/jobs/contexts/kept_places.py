"""The sequences that are kept for each neuron, and what it does around their strongest places."""

from dataclasses import dataclass, field
from math import isqrt
from typing import Literal

import numpy as np
import polars as pl
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int, Int8
from torch import Tensor

from neurothek.ingest.forward.batches import Batch
from neurothek.ingest.forward.counted import CountedSequences
from neurothek.ingest.jobs.contexts.draws import Draws

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
        is_new = (order >= n_kept) & self.has_window
        places, neurons = is_new.nonzero(as_tuple=True)
        if len(neurons):
            rows = self.sequences[places, neurons] - batch.first_sequence
            positions = self.positions[places, neurons]
            self._read.append(read_around(coefficients, rows=rows, positions=positions, neurons=neurons))
            self.numbers[places, neurons] = self._n_read + torch.arange(len(neurons), device=neurons.device)
            self._n_read += len(neurons)
            self._forget()

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

STEPS = 127
"""The largest |m| of a window as an integer: an activation is `integer * largest / 127`, right to half of a 127th."""


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


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows around places, cut at the ends of the sequence and before its first counted position."""

    integers: Int8[Tensor, "windows width"]  # from -127 to 127, the place itself at `N_BEFORE`
    is_nonzero: Bool[Tensor, "windows width"]  # where m is not 0; False beyond the ends
    largest: Float[Tensor, " windows"]  # the largest |m| of each window
    n_before: Int[Tensor, " windows"]  # positions of each before its place
    n_after: Int[Tensor, " windows"]  # positions of each after it

    @classmethod
    def of(
        cls,
        values: Float[Tensor, "windows width"],
        positions: Int[Tensor, " windows"],
        lengths: Int[Tensor, " windows"],
        *,
        first_counted: int,
    ) -> "Windows":
        """The windows of what `read_around` read at positions of sequences that are so long."""
        steps = torch.arange(-N_BEFORE, N_AFTER + 1, device=values.device)
        n_before = (positions - first_counted).clamp(max=N_BEFORE)
        n_after = (lengths - 1 - positions).clamp(max=N_AFTER)
        is_inside = (steps >= -n_before[:, None]) & (steps <= n_after[:, None])
        inside = values.double().masked_fill(~is_inside, 0)
        largest = inside.abs().amax(1)
        # In float64 the largest is exactly 127; a window of zeros stays one.
        scaled = inside * (STEPS / torch.where(largest > 0, largest, 1.0))[:, None]
        return cls(scaled.round().to(torch.int8), inside != 0, largest.float(), n_before, n_after)


Sort = Literal["strongest", "quantile", "random", "counts"]

PARTIAL = {
    "sort": pl.String(),
    "neuron": pl.Int32(),
    "priority": pl.Int64(),
    "activation": pl.Float32(),
    "sequence_id": pl.Int32(),
    "position": pl.Int32(),
    "n_before": pl.Int16(),
    "n_after": pl.Int16(),
    "nonzero": pl.Int64(),
    "activations": pl.List(pl.Int8()),
    "counts": pl.List(pl.Int64()),
}
"""Columns of a partial.

`priority` is what they are ranked by, the highest first; `activation` is m at the
place, and of a random one the largest |m| of the window; `nonzero` says by bits at which positions of the window m is
not 0, and `activations` are the integers there, null where no window is kept; `counts` are those of a histogram.
"""


def kept_frame(places: KeptPlaces, draws: Draws, sort: Sort) -> pl.DataFrame:
    """A row for each neuron and sequence that is kept, those with windows first."""
    has_window = places.has_window
    others = (places.ranks > 0) & ~has_window
    columns = [_columns(places, sort, mask) for mask in (has_window, others)]
    positions = places.positions[has_window].cpu()
    lengths = torch.from_numpy(draws.lengths[places.sequences[has_window].cpu().numpy()])
    windows = Windows.of(places.windows().cpu(), positions, lengths, first_counted=draws.first_counted)
    return _complete(pl.concat([columns[0].hstack(_windows_frame(windows)), columns[1]], how="diagonal"))


def _columns(places: KeptPlaces, sort: Sort, mask: Tensor) -> pl.DataFrame:
    _, neurons = mask.nonzero(as_tuple=True)
    return pl.DataFrame(
        {
            "sort": pl.repeat(sort, len(neurons), dtype=pl.String, eager=True),
            "neuron": neurons.cpu().numpy().astype(np.int32),
            "priority": places.ranks[mask].cpu().numpy(),
            "activation": places.activations[mask].cpu().numpy(),
            "sequence_id": places.sequences[mask].cpu().numpy().astype(np.int32),
            "position": places.positions[mask].cpu().numpy().astype(np.int32),
        }
    )


def random_frame(number: int, values: Float[Tensor, "d_ffn width"], draws: Draws) -> pl.DataFrame:
    """A row for each neuron: its window around the random place of that number, from what was read there."""
    sequence, position = draws.places[number]
    positions = torch.full((len(values),), position)
    lengths = torch.full((len(values),), int(draws.lengths[sequence]))
    windows = Windows.of(values.cpu(), positions, lengths, first_counted=draws.first_counted)
    frame = pl.DataFrame(
        {
            "sort": pl.repeat("random", len(values), eager=True),
            "neuron": np.arange(len(values), dtype=np.int32),
            "activation": windows.largest.numpy(),
        }
    ).with_columns(
        pl.lit(-number, pl.Int64).alias("priority"),
        pl.lit(sequence).alias("sequence_id"),
        pl.lit(position).alias("position"),
    )
    return _complete(frame.hstack(_windows_frame(windows)))


def counts_frame(counts: Int[Tensor, "d_ffn bins"]) -> pl.DataFrame:
    """A row for each neuron: its histogram."""
    lists = pl.Series(counts.cpu().numpy()).arr.to_list()
    neurons = np.arange(len(lists), dtype=np.int32)
    return _complete(pl.DataFrame({"sort": "counts", "neuron": neurons, "counts": lists}))


def _windows_frame(windows: Windows) -> pl.DataFrame:
    """The windows without what lies beyond the ends of their sequences, and only the integers where m is not 0."""
    is_nonzero = windows.is_nonzero.numpy()
    ends = np.cumsum([0, *is_nonzero.sum(axis=1)], dtype=np.int64)
    # From the buffers themselves: to convert an array Arrow would load pandas first, lest it be one of its own.
    flat = np.ascontiguousarray(windows.integers.numpy()[is_nonzero])
    integers = pa.Array.from_buffers(pa.int8(), len(flat), [None, pa.py_buffer(flat.data)])
    starts = [None, pa.py_buffer(ends.data)]
    lists = pa.Array.from_buffers(pa.large_list(pa.int8()), len(is_nonzero), starts, children=[integers])
    bits = (is_nonzero.astype(np.int64) << np.arange(WIDTH)).sum(axis=1)
    n_before = windows.n_before.numpy()
    return pl.DataFrame(
        {
            "n_before": n_before.astype(np.int16),
            "n_after": windows.n_after.numpy().astype(np.int16),
            "nonzero": bits >> (N_BEFORE - n_before),
            "activations": pl.Series(lists),
        }
    )


def _complete(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns of `PARTIAL`; what the frame has not is null."""
    return frame.select(
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in PARTIAL.items()
    )
