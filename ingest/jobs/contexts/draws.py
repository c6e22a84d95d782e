"""What is drawn of a text before it is read, how much of it, and the histograms counted on it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.numerics.parallel import mapped
from neurothek.ingest.numerics.random_stream import Purpose, random_stream

HISTOGRAM_POSITIONS = 32_768
"""Counted positions after which no further sequence is drawn for histograms."""


@dataclass(frozen=True, eq=False)
class Draws:
    """What is drawn of one text with one seed: the same for every layer, chunk and batch."""

    seed: int  # of the draws
    # (sequence, position) of each random place, in the order in which they were drawn
    places: tuple[tuple[int, int], ...]
    is_in_histogram: np.ndarray  # bool [n_sequences], whether a sequence's activations are counted by size
    lengths: np.ndarray  # int64 [n_sequences], how many ids each sequence has
    first_counted: int  # first counted position of each: 1 where a BOS was prepended, else 0

    @classmethod
    def of(cls, corpus: Corpus, *, n_places: int, seed: int) -> "Draws":
        """Counted positions without replacement, each as likely as any other; sequences in random order until full."""
        first = int(corpus.has_bos)
        lengths = np.diff(corpus.offsets)
        n_counted = lengths - first
        ends = np.cumsum(n_counted)
        n = min(n_places, corpus.n_counted)
        drawn = random_stream(seed, Purpose.RANDOM_PLACES).choice(corpus.n_counted, size=n, replace=False)
        sequences = np.searchsorted(ends, drawn, side="right")
        positions = drawn - (ends - n_counted)[sequences] + first
        order = random_stream(seed, Purpose.HISTOGRAM_SEQUENCES).permutation(corpus.n_sequences)
        before = np.cumsum(n_counted[order]) - n_counted[order]
        is_in_histogram = np.zeros(corpus.n_sequences, dtype=np.bool_)
        is_in_histogram[order[before < HISTOGRAM_POSITIONS]] = True
        places = tuple(zip(sequences.tolist(), positions.tolist(), strict=True))
        return cls(seed, places, is_in_histogram, lengths, first)


@dataclass(frozen=True)
class Amounts:
    """How many windows are kept for each neuron."""

    strongest: int  # around the first of its strongest places
    sampled: int  # in sequences drawn of those that it fires in
    random: int  # around positions drawn of the whole text

    @classmethod
    def of(cls, *, is_non_negative: bool) -> "Amounts":
        """ReLU keeps half as many again: most of its activations are 0 and take a bit, others a byte."""
        return cls(6, 9, 3) if is_non_negative else cls(4, 6, 2)

    @property
    def n_windows(self) -> int:
        """Windows of a neuron, at most."""
        return self.strongest + self.sampled + self.random


# The increment and the two factors of SplitMix64 (Steele, Lea and Flood 2014, figure 17), as signed numbers.
_STEP = 0x9E3779B97F4A7C15 - (1 << 64)
_FACTORS = (0xBF58476D1CE4E5B9 - (1 << 64), 0x94D049BB133111EB - (1 << 64))
_SHIFTS = (30, 27, 31)


def priorities(seed: int, rows: Int[Tensor, " rows"], columns: Int[Tensor, " columns"]) -> Int[Tensor, "rows columns"]:
    """[rows columns] 63 random bits for each pair, a function of seed, row and column alone.

    The k pairs of a column that have the highest priorities are k rows drawn without replacement, each set as likely as
    any other; of two halves of the rows the k highest of both are among the k highest of each.

    Args:
        seed: of the draw.
        rows: int64, at least 0.
        columns: int64, at least 0.
    """
    of_columns = _mixed((columns + 1) * _STEP + seed)
    of_rows = _mixed((rows + 1) * _STEP)
    return (_mixed(of_rows[:, None] ^ of_columns) >> 1) & ((1 << 63) - 1)


def _mixed(words: Tensor) -> Tensor:
    """SplitMix64's output function; torch multiplies int64 modulo 2^64."""
    for shift, factor in zip(_SHIFTS, (*_FACTORS, None), strict=True):
        # An arithmetic shift brings copies of the sign in, which are masked out.
        words = words ^ ((words >> shift) & ((1 << (64 - shift)) - 1))
        if factor is not None:
            words = words * factor
    return words


LOWEST, HIGHEST = -8, 8
"""Bins have the edges 2^e and 1.5 * 2^e from e = -8 on; from 2^8 on there is one."""

LAST = 2 * (HIGHEST - LOWEST) + 2
"""Number of the bin from 2^8 on; bin 1 is what is below 2^-8, bin 0 is 0, bin -n is bin n of negative activations."""

N_BINS = 2 * LAST + 1

# Sign, exponent and the first bit of the fraction: the upper ten bits of a float32.
_N_CODES, _SHIFT = 1 << 10, 22

# Counts of 32 neurons are 256 KB, and their coefficients at 2,048 positions as much: both stay in a core's cache. A GPU
# takes all neurons at once: there a call costs more than the memory it walks through.
_NEURONS, _POSITIONS = 32, 2_048


def bins_of_codes() -> Int[Tensor, " codes"]:
    """[1024] the bin, from 0, of the numbers that begin with each ten bits.

    Below 2^-127, which no model computes with, the bits are those of 0.
    """
    codes = torch.arange(_N_CODES)
    size = codes & (_N_CODES // 2 - 1)
    first = 2 * (127 + LOWEST)
    number = (size - first + 2).clamp(1, LAST).where(size > 0, 0)
    return LAST + torch.where(codes < _N_CODES // 2, number, -number)


def counts_by_size(sequences: Sequence[Float[Tensor, "_ d_ffn"]]) -> Int[Tensor, "d_ffn bins"]:
    """[d_ffn bins] how many positions' activations lie in each bin, from bin -LAST to LAST."""
    device = sequences[0].device
    bins = bins_of_codes().to(device)
    counts = mapped(lambda block: _counts(block, bins), list(_blocks(sequences)), device=device)
    return torch.stack(counts).sum(0)


def _blocks(sequences: Sequence[Float[Tensor, "_ d_ffn"]]) -> Iterator[list[Float[Tensor, "_ d_ffn"]]]:
    """The positions of the sequences, about 2,048 at a time."""
    block: list[Tensor] = []
    for piece in (piece for sequence in sequences for piece in torch.split(sequence, _POSITIONS)):
        if block and sum(map(len, block)) + len(piece) > _POSITIONS:
            yield block
            block = []
        block.append(piece)
    yield block


def _counts(pieces: Sequence[Float[Tensor, "_ d_ffn"]], bins: Int[Tensor, " codes"]) -> Int[Tensor, "d_ffn bins"]:
    # One copy with each neuron's coefficients side by side: to pick them from rows that far apart takes five times as
    # long as all the rest.
    by_neuron = torch.cat(list(pieces)).T.float().contiguous()
    counts = torch.zeros(len(by_neuron), N_BINS, dtype=torch.int64, device=bins.device)
    together = _NEURONS if bins.device.type == "cpu" else len(by_neuron)
    for values, target in zip(torch.split(by_neuron, together), torch.split(counts, together), strict=True):
        starts = torch.arange(len(values), device=bins.device)[:, None] * _N_CODES
        codes = (values.view(torch.int32) >> _SHIFT) & (_N_CODES - 1)
        of_codes = _bincount((codes + starts).flatten(), len(values) * _N_CODES)
        target.index_add_(1, bins, of_codes.view(-1, _N_CODES))
    return counts


def _bincount(places: Int[Tensor, " places"], n_bins: int) -> Int[Tensor, " bins"]:
    if places.device.type == "cpu":
        # A fifth faster than torch's own (torch 2.13, NumPy 2).
        return torch.from_numpy(np.bincount(places.numpy(), minlength=n_bins))
    return torch.bincount(places, minlength=n_bins)
