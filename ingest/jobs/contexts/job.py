"""The job `contexts`: the ten places where each neuron fires most strongly, at most one per sequence."""

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from catalog.tables.table import Table
from catalog.tables.texts import CONTEXTS
from ingest.forward.sweep import Observer
from ingest.jobs.contexts import footprint
from ingest.jobs.contexts.observer import KEPT, PARTIAL, ContextsObserver
from ingest.jobs.job import Frames, JobContext, Partials, SweepJob
from ingest.request import IngestRequest


@dataclass(frozen=True)
class ContextsJob(SweepJob):
    """The places of largest |m|, sign kept; ties by sequence, then position."""

    name = "contexts"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (CONTEXTS,)
    footprint = staticmethod(footprint.footprint)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "ContextsJob":
        """It has no options."""
        return cls(context)

    def parameters(self) -> dict[str, Any]:
        """How many are kept."""
        return {"kept": KEPT}

    def observer(self) -> Observer:
        """What watches one layer of one chunk."""
        return ContextsObserver(self.context.shape.d_ffn, is_non_negative=self.context.shape.is_non_negative)

    def fold(self, layer: int, partials: Partials) -> Frames:
        """The ten best of all chunks, ranked."""
        best = pl.DataFrame(schema=PARTIAL)
        for partial in partials:
            best = _ranked(pl.concat([best, partial]))
        rows = _ranked(best).with_columns(
            pl.lit(layer, pl.Int16).alias("layer"),
            pl.int_range(1, pl.len() + 1).over("neuron").cast(pl.Int16).alias("rank"),
        )
        return {"contexts": CONTEXTS.check(rows.select(*CONTEXTS.columns))}


def _ranked(contexts: pl.DataFrame) -> pl.DataFrame:
    """The best of each neuron, best first, ties by sequence."""
    ordered = contexts.sort("neuron", pl.col("activation").abs(), "sequence_id", descending=[False, True, False])
    return ordered.filter(pl.int_range(pl.len()).over("neuron") < KEPT)
