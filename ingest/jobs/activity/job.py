"""The job `activity`: how often and how strongly each neuron fires, by domain ([V] 3)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.texts import ACTIVITY
from neurothek.ingest.forward.chunk_pass import Observer
from neurothek.ingest.jobs.activity import footprint
from neurothek.ingest.jobs.activity.observer import PARTIAL, ActivityObserver
from neurothek.ingest.jobs.activity.tally import ABOVE
from neurothek.ingest.jobs.job import Frames, Partials, RuleJob


@dataclass(frozen=True)
class ActivityJob(RuleJob):
    """Counts and sums over the counted positions of every domain."""

    name = "activity"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (ACTIVITY,)
    footprint = staticmethod(footprint.footprint)

    def parameters(self) -> dict[str, Any]:
        """The activation rule and the thresholds of |m|."""
        return {"activation_rule": str(self.rule), "above": list(ABOVE)}

    def observer(self) -> Observer:
        """What watches one layer of one chunk."""
        return ActivityObserver(self.context.shape.d_ffn, self.rule, is_non_negative=self.context.shape.is_non_negative)

    def fold(self, layer: int, partials: Partials) -> Frames:
        """One row per neuron and domain; sums are added in the order of the chunks: every run gives the same bits."""
        folded = pl.DataFrame(schema=PARTIAL)
        for partial in partials:
            folded = _appended(folded, partial)
        return {"activity": self._rows(folded, layer)}

    def _rows(self, folded: pl.DataFrame, layer: int) -> pl.DataFrame:
        corpus = self.context.corpus
        has_bos = pl.lit(corpus.has_bos)
        named = folded.with_columns(
            pl.lit(layer, pl.Int16).alias("layer"),
            pl.col("domain").replace_strict(dict(enumerate(corpus.domains)), return_dtype=pl.String),
            pl.when(has_bos).then(pl.col("activation_bos") / pl.col("n_sequences")).alias("activation_bos"),
            pl.when(pl.col("first_active") >= 0).then(pl.col("first_active")).alias("first_active"),
            pl.concat_list(f"n_above_{number}" for number in range(len(ABOVE))).alias("n_above"),
        )
        return ACTIVITY.check(named.sort("neuron", "domain").select(*ACTIVITY.columns))


_EXTREMES = ("activation_min", "activation_max")
_GRAIN = ["domain", "neuron"]
_SUMS = [name for name in PARTIAL if name.startswith(("n_", "activation_")) and name not in _EXTREMES]


def _appended(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """What was seen of two stretches of text, one after the other."""
    text = pl.concat([before, after])
    earlier = pl.col("n_positions").first() * (pl.len() - 1)
    first_active = pl.col("first_active")
    placed = pl.when(first_active.last() >= 0).then(first_active.last() + earlier).otherwise(-1)
    sums = text.group_by(_GRAIN, maintain_order=True).agg(
        *(pl.col(name).sum() for name in _SUMS),
        pl.col("activation_min").min(),
        pl.col("activation_max").max(),
        pl.when(first_active.first() >= 0).then(first_active.first()).otherwise(placed).alias("first_active"),
    )
    return sums.select(pl.col(name).cast(kind) for name, kind in PARTIAL.items())
