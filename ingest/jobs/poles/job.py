"""The job `poles`: what neurons do at coefficients above and below 0, and which share of the FFN's output is theirs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.catalog.tables.poles import CONTRIBUTIONS, GATE_CASES, POLE_ACTIVITY, POLE_CONTEXTS, POLE_NAMES, STRONG
from neurothek.catalog.tables.table import Table
from neurothek.ingest.forward.batches import Batch
from neurothek.ingest.forward.calibration import N_POSITIONS, root_mean_square
from neurothek.ingest.forward.chunk_pass import Observer
from neurothek.ingest.forward.counted import CountedSequences, counted_sequences
from neurothek.ingest.forward.footprint import Extent, Footprint
from neurothek.ingest.forward.strongest_places import N_STRONGEST, KeptPlaces, Peaks, by_strength, peaks_of
from neurothek.ingest.jobs.job import Frames, JobContext, Partials, SweepJob
from neurothek.ingest.jobs.poles.pole_tally import (
    ABS,
    ACTIVE,
    FIRST,
    LATER,
    N_STRONG,
    OPEN,
    OPEN_ABS,
    SQUARES,
    PoleTally,
    tallied,
)
from neurothek.ingest.models.families.blocks import BlockOutput
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.numerics.parallel import mapped
from neurothek.ingest.request import IngestRequest


def _footprint(shape: Shape, extent: Extent) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    # Tallies of 20 numbers: of each domain, of 32 runs of sequences at once; places of both poles, and their ranks.
    tallies = shape.d_ffn * 20 * 8 * (32 + 4 * extent.n_domains)
    places = 2 * N_STRONGEST * shape.d_ffn * 32
    rows = shape.d_ffn * (2 * extent.n_domains * 60 + 4 * 40 + 2 * N_STRONGEST * 24 + 60)
    return Footprint(
        observing=tallies + 4 * places + 2 * shape.d_ffn * 6_000 + 8 * shape.d_model * shape.d_ffn,
        folding=6 * rows,
        parts=extent.n_chunks * rows,
        rows=rows,
    )


PARTIAL = {
    "sort": pl.String(),
    "neuron": pl.Int32(),
    "domain": pl.Int16(),
    "pole": pl.Int8(),
    "n": pl.Int64(),
    "n_other": pl.Int64(),
    "total": pl.Float64(),
    "other": pl.Float64(),
    "largest": pl.Float32(),
    "priority": pl.Int64(),
    "sequence_id": pl.Int32(),
    "position": pl.Int32(),
}
"""Columns of a partial, by `sort`; what a row has not is null, and `pole` is an index into `POLE_NAMES`.

Sort pole: of a domain, `n` active and `n_other` strong positions, `total` |m|, `other` m squared, `largest` |m|. Sort
gate: `n` positions and `total` |m| of a pole where the gate is open. Sort share: `n` positions and the sum `total` of
their shares, after position 0 where `pole` is 0, and at it where that is 1. Sort scale: `largest` is the root mean
square. Sort place: `largest` is m there, and `priority` what it is ranked by.
"""


@dataclass(frozen=True)
class PolesJob(SweepJob):
    """Counts by sign, gate cases, the strongest places of each sign, and shares of the FFN's output."""

    name = "poles"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (POLE_ACTIVITY, GATE_CASES, POLE_CONTEXTS, CONTRIBUTIONS)
    footprint = staticmethod(_footprint)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "PolesJob":
        """It has no options."""
        return cls(context)

    def parameters(self) -> dict[str, Any]:
        """When a coefficient is strong, and how many places are kept of each sign."""
        return {"strong": STRONG, "calibration_positions": N_POSITIONS, "kept": N_STRONGEST}

    def observer(self, layer: int) -> Observer:
        """What watches the layer over one chunk."""
        context = self.context
        norms = context.units.write_vectors(layer).norm(dim=1)
        scales = root_mean_square(context.transformer, context.corpus, layer, batch_tokens=context.batch_tokens)
        return PolesObserver(scales, norms)

    def fold(self, layer: int, partials: Partials) -> Frames:
        """Sums are added in the order of the chunks: every run gives the same bits."""
        sums = pl.DataFrame(schema=PARTIAL)
        places = pl.DataFrame(schema=PARTIAL)
        for partial in partials:
            sums = _summed(pl.concat([sums, partial.filter(pl.col("sort") != "place")]))
            places = _best(pl.concat([places, partial.filter(sort="place")]))
        frames = {
            POLE_ACTIVITY.name: self._activity(sums),
            GATE_CASES.name: _cases(sums),
            POLE_CONTEXTS.name: _contexts(places),
            CONTRIBUTIONS.name: _contributions(sums),
        }
        of_layer = pl.lit(layer, pl.Int16).alias("layer")
        tables = {table.name: table for table in self.tables}
        return {
            name: tables[name].check(frame.with_columns(of_layer).select(*tables[name].schema))
            for name, frame in frames.items()
        }

    def _activity(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Rows of the table `pole_activity`, without the layer."""
        domains = dict(enumerate(self.context.corpus.domains))
        return (
            sums.filter(sort="pole")
            .with_columns(pl.col("domain").replace_strict(domains, return_dtype=pl.String), _pole_name())
            .rename({"n": "n_active", "n_other": "n_strong", "total": "abs_sum", "other": "square_sum"})
            .sort("neuron", "domain", "pole")
        )


def _contributions(sums: pl.DataFrame) -> pl.DataFrame:
    """Rows of the table `contributions`, without the layer."""
    later, first = (sums.filter(pl.col("sort") == "share", pl.col("pole") == place) for place in (LATER, FIRST))
    both = (
        sums.filter(sort="scale")
        .select("neuron", root_mean_square="largest")
        .join(later.select("neuron", "n", "total", "largest"), on="neuron")
        .join(first.select("neuron", "n", "total", "largest"), on="neuron", suffix="_first")
    )
    n, has_later = pl.col("n") + pl.col("n_first"), pl.col("n") > 0
    return both.sort("neuron").select(
        "neuron",
        "root_mean_square",
        n.alias("n_positions"),
        ((pl.col("total") + pl.col("total_first")) / n.clip(1)).alias("contribution_mean"),
        pl.max_horizontal("largest", "largest_first").alias("contribution_max"),
        pl.when(has_later).then(pl.col("total") / pl.col("n")).alias("contribution_mean_later"),
        pl.when(has_later).then(pl.col("largest")).alias("contribution_max_later"),
    )


def _pole_name() -> pl.Expr:
    return pl.col("pole").replace_strict(dict(enumerate(POLE_NAMES)), return_dtype=pl.String)


def _summed(rows: pl.DataFrame) -> pl.DataFrame:
    """The sums of two stretches of text together."""
    summed = rows.group_by("sort", "neuron", "domain", "pole", maintain_order=True).agg(
        *(pl.col(name).sum() for name in ("n", "n_other", "total", "other")), pl.col("largest").max()
    )
    return pl.concat([pl.DataFrame(schema=PARTIAL), summed], how="diagonal")


def _best(places: pl.DataFrame) -> pl.DataFrame:
    """The first places of each neuron and pole."""
    ordered = places.sort("pole", "neuron", "priority", descending=[False, False, True])
    return ordered.filter(pl.int_range(pl.len()).over("pole", "neuron") < N_STRONGEST)


def _contexts(places: pl.DataFrame) -> pl.DataFrame:
    """Rows of the table `pole_contexts`, without the layer."""
    rank = pl.int_range(1, pl.len() + 1).over("pole", "neuron").cast(pl.Int16).alias("rank")
    return places.with_columns(rank, _pole_name()).rename({"largest": "activation"}).sort("neuron", "pole", "rank")


def _cases(sums: pl.DataFrame) -> pl.DataFrame:
    """Rows of the table `gate_cases`, without the layer: where the gate is not open is what is left of a pole."""
    grain = ["neuron", "pole"]
    whole = sums.filter(sort="pole").group_by(grain, maintain_order=True).agg(pl.col("n").sum(), pl.col("total").sum())
    opened = sums.filter(sort="gate").select(*grain, n_open="n", open_total="total")
    both = whole.join(opened, on=grain, maintain_order="left")
    closed_total = pl.when(pl.col("n") > pl.col("n_open")).then(pl.col("total") - pl.col("open_total")).otherwise(0.0)
    parts = []
    for pole in range(2):
        of_pole = both.filter(pole=pole)
        # The coefficient has the sign of the gate times that of up.
        up = "+" if pole == 0 else "-"
        opposite = "-" if pole == 0 else "+"
        for case, n, total in (
            (f"g+u{up}", pl.col("n_open"), pl.col("open_total")),
            (f"g-u{opposite}", pl.col("n") - pl.col("n_open"), closed_total.clip(0)),
        ):
            parts.append(
                of_pole.select(
                    "neuron", pl.lit(case).alias("gate_case"), n.alias("n_positions"), total.alias("abs_sum")
                )
            )
    return pl.concat(parts).sort("neuron", "gate_case")


class PolesObserver:
    """Counts one layer's coefficients over one chunk by sign, and keeps the strongest places of each sign."""

    def __init__(self, scales: Float[Tensor, " d_ffn"], norms: Float[Tensor, " d_ffn"]) -> None:
        """Watch neurons whose coefficients have root mean squares `scales`, and their value vectors `norms`."""
        self._scales, self._norms, self._d_ffn = scales, norms, len(scales)
        self._is_gated = False
        self._tallies: dict[int, PoleTally] = {}
        self._places: tuple[KeptPlaces, KeptPlaces] | None = None

    def observe(self, batch: Batch, output: BlockOutput) -> None:
        """Take in what a block did with a batch."""
        groups = counted_sequences(batch, output.coefficients, output.gates)
        runs = [run for run in chain.from_iterable(groups) if run.coefficients.shape[1]]
        if not runs:
            return
        scales, device = _scales(output), output.coefficients.device
        self._is_gated = output.gates is not None
        for run in runs:
            self._tallies.setdefault(run.domain, PoleTally.empty(self._d_ffn, device))

        def count(run: CountedSequences) -> tuple[PoleTally, tuple[Peaks, Peaks]]:
            n_sequences, time, _ = run.coefficients.shape
            first = run.first - batch.first_sequence
            rows = scales[first : first + n_sequences, run.first_position : run.first_position + time]
            return tallied(run, rows, STRONG * self._scales), _peaks_of_poles(run)

        of_runs = mapped(count, runs, device=device)
        for run, (tally, _) in zip(runs, of_runs, strict=True):
            self._tallies[run.domain].append(tally)
        self._keep(batch, output.coefficients, [peaks for _, peaks in of_runs])

    def result(self) -> pl.DataFrame:
        """What was seen, with the columns of `PARTIAL`."""
        frames = [pl.DataFrame(schema=PARTIAL)]
        whole = PoleTally.empty(self._d_ffn, self._scales.device)
        for domain in sorted(self._tallies):
            tally = self._tallies[domain]
            whole.append(tally)
            frames += [self._pole_frame(tally, domain, pole) for pole in range(2)]
        if self._is_gated:
            frames += [self._gate_frame(whole, pole) for pole in range(2)]
        frames.append(pl.DataFrame({**self._numbers("scale", 0), "largest": self._scales.cpu().numpy()}))
        frames += [self._share_frame(whole, place) for place in (LATER, FIRST)]
        for pole, places in enumerate(self._places or ()):
            strongest = places.frame(places.ranks > 0).rename({"activation": "largest"})
            frames.append(strongest.with_columns(sort=pl.lit("place"), pole=pl.lit(pole)))
        return pl.concat(frames, how="diagonal_relaxed").select(
            pl.col(name).cast(kind) for name, kind in PARTIAL.items()
        )

    def _keep(
        self, batch: Batch, coefficients: Float[Tensor, "batch time d_ffn"], peaks: Sequence[tuple[Peaks, Peaks]]
    ) -> None:
        if self._places is None:
            none = (KeptPlaces.none(N_STRONGEST, 0, d_ffn=self._d_ffn, device=coefficients.device) for _ in POLE_NAMES)
            self._places = (next(none), next(none))
        for pole, places in enumerate(self._places):
            parts = [pair[pole] for pair in peaks]
            joined = Peaks(
                *(
                    torch.cat([getattr(one, part) for one in parts])
                    for part in ("sequences", "activations", "positions")
                )
            )
            places.add(batch, coefficients, joined, by_strength(joined))

    def _numbers(self, sort: str, pole: int) -> dict[str, Any]:
        """The columns that say which row one is."""
        neurons = np.arange(self._d_ffn, dtype=np.int32)
        return {"sort": pl.repeat(sort, self._d_ffn, eager=True), "neuron": neurons, "pole": [pole] * self._d_ffn}

    def _pole_frame(self, tally: PoleTally, domain: int, pole: int) -> pl.DataFrame:
        totals = tally.totals[pole].cpu().numpy()
        return pl.DataFrame(
            {
                **self._numbers("pole", pole),
                "domain": [domain] * self._d_ffn,
                "n": totals[ACTIVE].astype(np.int64),
                "n_other": totals[N_STRONG].astype(np.int64),
                "total": totals[ABS],
                "other": totals[SQUARES],
                "largest": tally.largest[pole].cpu().numpy(),
            }
        )

    def _gate_frame(self, whole: PoleTally, pole: int) -> pl.DataFrame:
        totals = whole.totals[pole].cpu().numpy()
        return pl.DataFrame(
            {**self._numbers("gate", pole), "n": totals[OPEN].astype(np.int64), "total": totals[OPEN_ABS]}
        )

    def _share_frame(self, whole: PoleTally, place: int) -> pl.DataFrame:
        n = whole.n_first if place == FIRST else whole.n_positions - whole.n_first
        return pl.DataFrame(
            {
                **self._numbers("share", place),
                "n": [n] * self._d_ffn,
                "total": (whole.shares[place] * self._norms.double()).cpu().numpy(),
                "largest": (whole.largest_shares[place] * self._norms).cpu().numpy(),
            }
        )


def _scales(output: BlockOutput) -> Float[Tensor, "batch time"]:
    """[batch time] 1 over what |m| ||v|| is divided by: the norm of what the FFN adds, and the norm's own divisor."""
    divisors = output.added.float().norm(dim=-1)
    if output.divisors is not None:
        divisors = divisors * output.divisors
    return torch.where(divisors > 0, 1 / divisors, 0.0)


def _peaks_of_poles(run: CountedSequences) -> tuple[Peaks, Peaks]:
    """The largest m of each sequence that is above 0, and the smallest that is below."""
    peaks = []
    for sign in (1, -1):
        turned = run if sign == 1 else replace(run, coefficients=-run.coefficients)
        of_sign = peaks_of(turned, is_non_negative=True)
        peaks.append(replace(of_sign, activations=sign * of_sign.activations.clamp_min(0)))
    return peaks[0], peaks[1]
