"""The job `contexts`: where each neuron fires, every activation around these places, and how large activations are."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl

from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.texts import ACTIVATION_HISTOGRAMS, CONTEXT_WINDOWS, CONTEXTS
from neurothek.ingest.forward.chunk_pass import Observer
from neurothek.ingest.jobs.contexts import footprint
from neurothek.ingest.jobs.contexts.amounts import KEPT, Amounts
from neurothek.ingest.jobs.contexts.draws import HISTOGRAM_POSITIONS, Draws
from neurothek.ingest.jobs.contexts.histogram import LAST, N_BINS
from neurothek.ingest.jobs.contexts.observer import ContextsObserver
from neurothek.ingest.jobs.contexts.partial import PARTIAL
from neurothek.ingest.jobs.contexts.windows import N_AFTER, N_BEFORE
from neurothek.ingest.jobs.job import Frames, JobContext, Partials, SweepJob
from neurothek.ingest.request import IngestRequest


@dataclass(frozen=True)
class ContextsJob(SweepJob):
    """The places of largest |m|, a sample of the sequences that a neuron fires in, random places, and a histogram.

    Attributes:
        seed: of everything that is drawn.
    """

    seed: int = 0
    name = "contexts"
    version = 2
    tables: ClassVar[tuple[Table, ...]] = (CONTEXTS, CONTEXT_WINDOWS, ACTIVATION_HISTOGRAMS)
    footprint = staticmethod(footprint.footprint)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "ContextsJob":
        """It has no options."""
        return cls(context)

    def parameters(self) -> dict[str, Any]:
        """How many are kept and drawn, how wide windows are, and how many positions histograms count."""
        return {
            "kept": KEPT,
            "windows": self._amounts.strongest,
            "sampled": self._amounts.sampled,
            "random": self._amounts.random,
            "before": N_BEFORE,
            "after": N_AFTER,
            "histogram_positions": HISTOGRAM_POSITIONS,
            "seed": self.seed,
        }

    def observer(self) -> Observer:
        """What watches one layer of one chunk."""
        shape = self.context.shape
        return ContextsObserver(shape.d_ffn, self._draws, self._amounts, is_non_negative=shape.is_non_negative)

    def fold(self, layer: int, partials: Partials) -> Frames:
        """The strongest of all chunks, ranked; of the samples of all chunks the sample of the text; summed counts."""
        kept = pl.DataFrame(schema=PARTIAL).drop("counts")
        counts = np.zeros((0, N_BINS), dtype=np.int64)
        for partial in partials:
            counts = _added(counts, partial.filter(sort="counts"))
            kept = self._best(pl.concat([kept, partial.filter(pl.col("sort") != "counts").drop("counts")]))
        frames = (_contexts(kept.filter(sort="strongest")), self._windows(kept), _histograms(counts))
        of_layer = pl.lit(layer, pl.Int16).alias("layer")
        return {
            table.name: table.check(frame.with_columns(of_layer).select(*table.columns))
            for table, frame in zip(self.tables, frames, strict=True)
        }

    def _best(self, kept: pl.DataFrame) -> pl.DataFrame:
        """The first of each neuron and sort."""
        most = {"strongest": KEPT, "quantile": self._amounts.sampled, "random": self._amounts.random}
        ordered = kept.sort("sort", "neuron", "priority", descending=[False, False, True])
        number = pl.int_range(pl.len()).over("sort", "neuron")
        return ordered.filter(number < pl.col("sort").replace_strict(most, return_dtype=pl.Int64))

    def _windows(self, kept: pl.DataFrame) -> pl.DataFrame:
        """Rows of the table `context_windows`, without the layer: sampled sequences are ranked by |m|, too."""
        largest = pl.col("activation").abs()
        is_random = pl.col("sort") == "random"
        ordered = kept.sort(
            "neuron",
            "sort",
            pl.when(is_random).then(pl.col("priority")),
            pl.when(~is_random).then(largest),
            "sequence_id",
            descending=[False, False, True, True, False],
        )
        rank = pl.int_range(1, pl.len() + 1).over("neuron", "sort").cast(pl.Int16).alias("rank")
        # A place that was among the first of its chunk has a window; only the first of the text keep theirs.
        shown = ordered.with_columns(rank).filter(
            (pl.col("sort") != "strongest") | (pl.col("rank") <= self._amounts.strongest)
        )
        return shown.rename({"sort": "band"}).with_columns(largest.alias("largest"))

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
