"""The job `contexts`: where each neuron fires, every activation around these places, and how large activations are."""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.texts import ACTIVATION_HISTOGRAMS, CONTEXT_WINDOWS, CONTEXTS
from neurothek.ingest.forward.batches import Batch
from neurothek.ingest.forward.chunk_pass import Observer
from neurothek.ingest.forward.counted import CountedSequences, counted_sequences
from neurothek.ingest.forward.footprint import Extent, Footprint
from neurothek.ingest.forward.strongest_places import (
    N_AFTER,
    N_BEFORE,
    N_STRONGEST,
    WIDTH,
    KeptPlaces,
    Peaks,
    by_strength,
    peaks_of,
    read_around,
)
from neurothek.ingest.jobs.contexts import draws
from neurothek.ingest.jobs.contexts.draws import (
    HISTOGRAM_POSITIONS,
    LAST,
    N_BINS,
    Amounts,
    Draws,
    priorities,
)
from neurothek.ingest.jobs.contexts.kept_places import PARTIAL, counts_frame, kept_frame, random_frame
from neurothek.ingest.jobs.job import Frames, JobContext, Partials, SweepJob
from neurothek.ingest.models.families.blocks import BlockOutput
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.numerics.parallel import mapped
from neurothek.ingest.request import IngestRequest

# Of ReLU's activations in a window at most about half are not 0: it is one of ten at all positions.
_SHARE_OF_RELU = 0.5

# Largest |m|, place, bits and ends of a window, and a place without one.
_WINDOW_BYTES, _PLACE_BYTES = 34, 16

# Counts from the first bin to the last: half of all bins, most of them small.
_HISTOGRAM_BYTES = N_BINS // 2 * 4


def _footprint(shape: Shape, extent: Extent) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    amounts = Amounts.of(is_non_negative=shape.is_non_negative)
    share = _SHARE_OF_RELU if shape.is_non_negative else 1
    windows = amounts.n_windows * (_WINDOW_BYTES + int(WIDTH * share))
    rows = shape.d_ffn * (N_STRONGEST * _PLACE_BYTES + windows + _HISTOGRAM_BYTES)
    # The best of 80 sequences by neuron and a thread's search of one sequence; three times the windows as read;
    # and 2,048 positions of each neuron, twice, while a thread counts them.
    read = 3 * amounts.n_windows * WIDTH * 4
    observing = shape.d_ffn * (6_000 + read + (1_500 + 2 * 2_048 * 4) * torch.get_num_threads())
    parts = extent.n_chunks * shape.d_ffn * (N_STRONGEST * _PLACE_BYTES + windows + N_BINS * 8)
    return Footprint(observing=observing, folding=6 * rows + 2 * N_BINS * 8 * shape.d_ffn, parts=parts, rows=rows)


@dataclass(frozen=True)
class ContextsJob(SweepJob):
    """The places of largest |m|, a sample of the sequences that a neuron fires in, random places, and a histogram."""

    seed: int = 0  # of everything that is drawn
    name = "contexts"
    version = 2
    tables: ClassVar[tuple[Table, ...]] = (CONTEXTS, CONTEXT_WINDOWS, ACTIVATION_HISTOGRAMS)
    footprint = staticmethod(_footprint)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "ContextsJob":
        """It has no options."""
        return cls(context)

    def parameters(self) -> dict[str, Any]:
        """How many are kept and drawn, how wide windows are, and how many positions histograms count."""
        return {
            "kept": N_STRONGEST,
            "windows": self._amounts.strongest,
            "sampled": self._amounts.sampled,
            "random": self._amounts.random,
            "before": N_BEFORE,
            "after": N_AFTER,
            "histogram_positions": HISTOGRAM_POSITIONS,
            "seed": self.seed,
        }

    def observer(self, layer: int) -> Observer:
        """What watches the layer over one chunk."""
        shape = self.context.shape
        return ContextsObserver(shape.d_ffn, self._draws, self._amounts, is_non_negative=shape.is_non_negative)

    def fold(self, layer: int, partials: Partials) -> Frames:
        """The strongest of all chunks, ranked; of the samples of all chunks the sample of the text; summed counts."""
        strongest = pl.DataFrame(schema=PARTIAL).drop("counts")
        counts = np.zeros((0, N_BINS), dtype=np.int64)
        for partial in partials:
            counts = _added(counts, partial.filter(sort="counts"))
            strongest = self._best(pl.concat([strongest, partial.filter(pl.col("sort") != "counts").drop("counts")]))
        frames = (_contexts(strongest.filter(sort="strongest")), self._windows(strongest), _histograms(counts))
        of_layer = pl.lit(layer, pl.Int16).alias("layer")
        return {
            table.name: table.check(frame.with_columns(of_layer).select(*table.schema))
            for table, frame in zip(self.tables, frames, strict=True)
        }

    def _best(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The first of each neuron and sort."""
        most = {"strongest": N_STRONGEST, "quantile": self._amounts.sampled, "random": self._amounts.random}
        ordered = rows.sort("sort", "neuron", "priority", descending=[False, False, True])
        number = pl.int_range(pl.len()).over("sort", "neuron")
        return ordered.filter(number < pl.col("sort").replace_strict(most, return_dtype=pl.Int64))

    def _windows(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of the table `context_windows`, without the layer: sampled sequences are ranked by |m|, too."""
        largest = pl.col("activation").abs()
        is_random = pl.col("sort") == "random"
        ordered = rows.sort(
            "neuron",
            "sort",
            pl.when(is_random).then(pl.col("priority")),
            pl.when(~is_random).then(largest),
            "sequence_id",
            descending=[False, False, True, True, False],
        )
        rank = pl.int_range(1, pl.len() + 1).over("neuron", "sort").cast(pl.Int16).alias("rank")
        # A place that was among the first of its chunk has a window; only the first of the text keep theirs.
        best = ordered.with_columns(rank).filter(
            (pl.col("sort") != "strongest") | (pl.col("rank") <= self._amounts.strongest)
        )
        return best.rename({"sort": "band"}).with_columns(largest.alias("largest"))

    @cached_property
    def _amounts(self) -> Amounts:
        return Amounts.of(is_non_negative=self.context.shape.is_non_negative)

    @cached_property
    def _draws(self) -> Draws:
        return Draws.of(self.context.corpus, n_places=self._amounts.random, seed=self.seed)


def _added(counts: np.ndarray, more: pl.DataFrame) -> np.ndarray:
    """[n_neurons n_bins] the counts of two stretches of text together."""
    if more.is_empty():
        return counts
    by_neuron = more.sort("neuron")["counts"].explode().to_numpy().reshape(-1, N_BINS)
    return by_neuron if not len(counts) else counts + by_neuron


def _contexts(strongest: pl.DataFrame) -> pl.DataFrame:
    """Rows of the table `contexts`, without the layer."""
    rank = pl.int_range(1, pl.len() + 1).over("neuron").cast(pl.Int16).alias("rank")
    return strongest.select("neuron", rank, "activation", "sequence_id", "position")


def _histograms(counts: np.ndarray) -> pl.DataFrame:
    """Rows of the table `activation_histograms`, without the layer: lists from the first bin with any to the last."""
    is_filled = counts > 0
    first = is_filled.argmax(axis=1)
    n_bins = N_BINS - is_filled[:, ::-1].argmax(axis=1) - first
    lists = pl.Series(counts, dtype=pl.Array(pl.Int64, N_BINS)).arr.to_list()
    return pl.DataFrame(
        {
            "neuron": np.arange(len(counts), dtype=np.int32),
            "n_positions": counts.sum(axis=1),
            "first_bin": (first - LAST).astype(np.int16),
            "counts": lists,
            "first": first,
            "n_bins": n_bins,
        }
    ).with_columns(pl.col("counts").list.slice("first", "n_bins"))


class ContextsObserver:
    """Keeps, for one layer over one chunk, where each neuron is strongest, and a random sample of where it fires.

    Of several equally strong positions of a sequence the first counts; coefficients of exactly 0 are not contexts.
    """

    def __init__(self, d_ffn: int, draws: Draws, amounts: Amounts, *, is_non_negative: bool) -> None:
        """Watch `d_ffn` neurons; `is_non_negative` says that no coefficient can be below 0 (ReLU)."""
        self._d_ffn, self._draws, self._amounts, self._is_non_negative = d_ffn, draws, amounts, is_non_negative
        self._places: tuple[KeptPlaces, KeptPlaces] | None = None
        self._random: list[pl.DataFrame] = []
        self._counts: Int[Tensor, "d_ffn bins"] | None = None

    def observe(self, batch: Batch, output: BlockOutput) -> None:
        """Take in the coefficients m of a batch; the gates play no part."""
        coefficients = output.coefficients
        # A sequence that is only a BOS has no counted position.
        runs = [run for run in chain.from_iterable(counted_sequences(batch, coefficients)) if run.coefficients.shape[1]]
        if not runs:
            return
        self._keep(batch, coefficients, self._peaks(runs))
        self._count(runs)
        self._take_random(batch, coefficients)

    def result(self) -> pl.DataFrame:
        """What was kept, with the columns of `PARTIAL`."""
        parts = [pl.DataFrame(schema=PARTIAL), *self._random]
        if self._places is not None:
            strongest, sampled = self._places
            parts += [kept_frame(strongest, self._draws, "strongest"), kept_frame(sampled, self._draws, "quantile")]
        if self._counts is not None:
            parts.append(counts_frame(self._counts))
        return pl.concat(parts)

    def _peaks(self, runs: list[CountedSequences]) -> Peaks:
        parts = mapped(
            lambda run: peaks_of(run, is_non_negative=self._is_non_negative), runs, device=runs[0].coefficients.device
        )
        return Peaks(
            *(torch.cat([getattr(one, part) for one in parts]) for part in ("sequences", "activations", "positions"))
        )

    def _keep(self, batch: Batch, coefficients: Float[Tensor, "batch time d_ffn"], peaks: Peaks) -> None:
        device = coefficients.device
        if self._places is None:
            n_strongest, n_sampled = self._amounts.strongest, self._amounts.sampled
            self._places = (
                KeptPlaces.none(N_STRONGEST, n_strongest, d_ffn=self._d_ffn, device=device),
                KeptPlaces.none(n_sampled, n_sampled, d_ffn=self._d_ffn, device=device),
            )
        strongest, sampled = self._places
        strongest.add(batch, coefficients, peaks, by_strength(peaks))
        drawn = priorities(self._draws.seed, peaks.sequences, torch.arange(self._d_ffn, device=device))
        sampled.add(batch, coefficients, peaks, drawn.masked_fill_(peaks.activations == 0, 0))

    def _count(self, runs: list[CountedSequences]) -> None:
        chosen = [
            sequence
            for run in runs
            for number, sequence in enumerate(run.coefficients, start=run.first)
            if self._draws.is_in_histogram[number]
        ]
        if chosen:
            counts = draws.counts_by_size(chosen)
            self._counts = counts if self._counts is None else self._counts + counts

    def _take_random(self, batch: Batch, coefficients: Float[Tensor, "batch time d_ffn"]) -> None:
        neurons = torch.arange(self._d_ffn, device=coefficients.device)
        for number, (sequence, position) in enumerate(self._draws.places):
            row = sequence - batch.first_sequence
            if 0 <= row < len(batch.lengths):
                rows, positions = torch.full_like(neurons, row), torch.full_like(neurons, position)
                values = read_around(coefficients, rows=rows, positions=positions, neurons=neurons)
                self._random.append(random_frame(number, values, self._draws))
