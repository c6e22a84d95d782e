"""The job `activity`: how often and how strongly each neuron fires, by domain ([V] 3)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.texts import ACTIVITY
from neurothek.ingest.forward.activation_rule import ActivationRule
from neurothek.ingest.forward.batches import Batch
from neurothek.ingest.forward.chunk_pass import Observer
from neurothek.ingest.forward.counted import CountedSequences, counted_sequences
from neurothek.ingest.forward.footprint import Extent, Footprint
from neurothek.ingest.jobs.activity.tally import (
    ABOVE,
    ABS,
    ACTIVE,
    BOS,
    BOS_ACTIVE,
    FIRST_ABOVE,
    SQUARES,
    SUM,
    Tallier,
    Tally,
)
from neurothek.ingest.jobs.job import Frames, Partials, RuleJob
from neurothek.ingest.models.families.blocks import BlockOutput
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.numerics.parallel import mapped


def _footprint(shape: Shape, extent: Extent) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    # Tallies of 13 numbers: of each domain, of 32 sequences at once, of the frames made of them.
    tallies = shape.d_ffn * 13 * 8 * (32 + 6 * extent.n_domains)
    rows = shape.d_ffn * extent.n_domains * 130
    return Footprint(observing=tallies, folding=6 * rows, parts=extent.n_chunks * rows, rows=rows)


PARTIAL = {
    "domain": pl.Int16(),
    "neuron": pl.Int32(),
    "n_sequences": pl.Int64(),
    **{name: ACTIVITY.schema[name] for name in ("n_positions", "n_active", "n_active_bos")},
    "activation_bos": pl.Float64(),
    **{name: ACTIVITY.schema[name] for name in ("activation_sum", "activation_abs_sum", "activation_square_sum")},
    "activation_min": pl.Float32(),
    "activation_max": pl.Float32(),
    **{f"n_above_{number}": pl.Int64() for number in range(len(ABOVE))},
    "first_active": pl.Int64(),
}
"""Columns of a partial: sums over one chunk, `activation_bos` a sum, `first_active` -1 where never."""


class ActivityObserver:
    """Counts one layer's activations over one chunk, by domain.

    Each run of sequences is counted by one thread and appended in the order of the corpus: the sums do not depend on
    how many threads there are.
    """

    def __init__(self, d_ffn: int, rule: ActivationRule, *, is_non_negative: bool) -> None:
        """Watch `d_ffn` neurons; `is_non_negative` says that no coefficient can be below 0 (ReLU)."""
        self._d_ffn = d_ffn
        self._tallier = Tallier(rule, is_non_negative)
        self._tallies: dict[int, Tally] = {}

    def observe(self, batch: Batch, output: BlockOutput) -> None:
        """Take in the coefficients m of a batch, and the gates' pre-activations."""
        coefficients = output.coefficients
        decisive = output.gates if self._tallier.rule.is_of_gate else None
        for runs in counted_sequences(batch, coefficients, decisive):
            for run in runs:
                self._tallies.setdefault(run.domain, Tally.empty(self._d_ffn, coefficients.device))
            tallies = mapped(self._count, runs, device=coefficients.device)
            for run, tally in zip(runs, tallies, strict=True):
                self._tallies[run.domain].append(tally)

    def result(self) -> pl.DataFrame:
        """One row a domain of the chunk and neuron, with the columns of PARTIAL."""
        return pl.concat([self._frame(domain) for domain in sorted(self._tallies)])

    def _count(self, run: CountedSequences) -> Tally:
        # The domain's tally is not appended to while sequences are counted: it says who fired before.
        ignored = self._tallies[run.domain].first_active >= 0
        return self._tallier.sequences(run, ignored=ignored)

    def _frame(self, domain: int) -> pl.DataFrame:
        tally = self._tallies[domain]
        totals = tally.totals.cpu().numpy()
        # A sum that overflows is refused when the rows are checked.
        with np.errstate(invalid="ignore"):
            counts = totals.astype(np.int64)
        columns = {
            "domain": np.full(self._d_ffn, domain, dtype=np.int16),
            "neuron": np.arange(self._d_ffn, dtype=np.int32),
            "n_sequences": np.full(self._d_ffn, tally.n_sequences),
            "n_positions": np.full(self._d_ffn, tally.n_positions),
            "n_active": counts[ACTIVE],
            "n_active_bos": counts[BOS_ACTIVE],
            "activation_bos": totals[BOS],
            "activation_sum": totals[SUM],
            "activation_abs_sum": totals[ABS],
            "activation_square_sum": totals[SQUARES],
            "activation_min": tally.minimum.cpu().numpy(),
            "activation_max": tally.maximum.cpu().numpy(),
            **{f"n_above_{number}": counts[FIRST_ABOVE + number] for number in range(len(ABOVE))},
            "first_active": tally.first_active.cpu().numpy(),
        }
        return pl.DataFrame(columns, schema=PARTIAL)


@dataclass(frozen=True)
class ActivityJob(RuleJob):
    """Counts and sums over the counted positions of every domain."""

    name = "activity"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (ACTIVITY,)
    footprint = staticmethod(_footprint)

    def parameters(self) -> dict[str, Any]:
        """The activation rule and the thresholds of |m|."""
        return {"activation_rule": str(self.rule), "above": list(ABOVE)}

    def observer(self, layer: int) -> Observer:
        """What watches the layer over one chunk."""
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
        return ACTIVITY.check(named.sort("neuron", "domain").select(*ACTIVITY.schema))


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
