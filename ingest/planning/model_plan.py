"""What measuring a model would take, without measuring it: order of sweep, memory, disk, operations, hours."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.errors import not_enough_disk, not_enough_memory
from neurothek.ingest.forward.footprint import Extent
from neurothek.ingest.jobs.job import PassJob
from neurothek.ingest.numerics.gpu_memory import planned_gpu_bytes
from neurothek.ingest.planning.agenda import Prepared, left_out, not_renamed, prepare_model
from neurothek.ingest.planning.first_look import check_request
from neurothek.ingest.planning.sweep_plan import Budget, SweepPlan, WeightsPlan, plan_sweep, plan_weights
from neurothek.ingest.planning.timing import Trial, forward_flops, product_rate, projection_flops, run_trial
from neurothek.ingest.planning.work import ModelWork, free_bytes
from neurothek.ingest.request import IngestRequest, ModelSource
from neurothek.ingest.runs.identity import why_missing


@dataclass(frozen=True)
class Allotted:
    """How much of the model stays in memory."""

    sweep: SweepPlan | None  # how the text is swept; None if it is not
    weights: WeightsPlan | None  # what jobs that read weights take where no text is swept; None if one is
    passes_stream: bool  # whether jobs with a pass of their own read weights layer by layer
    passes_bytes: int  # memory that the largest of them takes

    @property
    def is_tight(self) -> bool:
        """Whether freed memory has to go back to the system at once."""
        return any(part is not None and part.is_tight for part in (self.sweep, self.weights))


def budget_of(work: ModelWork) -> Budget:
    """What measuring may take: the memory that a person allows, or that of this process's GPU where it has less."""
    allowed = work.request.memory_bytes
    # The GPUs of a cluster's workers are the cluster's affair.
    on_gpu = planned_gpu_bytes(work.transformer.device) if work.request.engine == "local" else None
    is_of_gpu = on_gpu is not None and on_gpu < allowed
    memory = on_gpu if on_gpu is not None and is_of_gpu else allowed
    return Budget(memory, work.staging, free_bytes(work.staging), is_of_gpu)


def allot(prepared: Prepared) -> Allotted:
    """How the budgets of memory and disk are kept, by whatever jobs are left to measure."""
    work, agenda, budget = prepared.work, prepared.agenda, budget_of(prepared.work)
    passes = _passes([job for job, _ in agenda.passes], work.staging, budget)
    weights = [job.name for job, _ in agenda.weights]
    if prepared.corpus is None or not agenda.texts:
        return Allotted(None, plan_weights(work.transformer.shape, weights, budget=budget), *passes)
    chosen = plan_sweep(
        work.transformer,
        prepared.corpus,
        batch_tokens=work.request.batch_tokens,
        memory_bytes=budget.memory_bytes,
        jobs=[job.name for job, _ in agenda.texts],
        weights_jobs=weights,
        staging=budget.staging,
        free_bytes=budget.free_bytes,
        is_of_gpu=budget.is_of_gpu,
    )
    return Allotted(chosen, None, *passes)


def _passes(jobs: Sequence[PassJob], staging: Path, budget: Budget) -> tuple[bool, int]:
    """Whether jobs with a pass of their own read weights layer by layer to keep to the memory, and what they take."""
    for job in jobs:
        job.shards()
    files = [files.at_once for job in jobs if (files := job.files()) is not None]
    if max(files, default=0) > budget.free_bytes:
        raise not_enough_disk(staging, max(files), budget.free_bytes)
    resident, streamed = (
        max((job.memory_bytes(is_resident=is_resident) for job in jobs), default=0) for is_resident in (True, False)
    )
    if streamed > budget.memory_bytes:
        raise not_enough_memory(
            "measuring",
            streamed,
            budget.memory_bytes,
            instead=" or make --batch-tokens smaller",
            is_of_gpu=budget.is_of_gpu,
        )
    is_streamed = resident > budget.memory_bytes
    return is_streamed, streamed if is_streamed else resident


# Of one transaction, and of what it writes: measured on the models that ship with the package.
_PUBLISHING_SECONDS = 1.0
_PUBLISHED_BYTES_A_SECOND = 50e6

# The whole job takes so many times its matrix products (docs/benchmarks.md).
_PROJECTIONS_RATIO = 1.3


@dataclass(frozen=True)
class ModelPlan:
    """Cost of measuring one model.

    Attributes:
        model: its name.
        jobs: the jobs that are not finished.
        corpus: name of the text; None if no such job reads any.
        extent: how large the text is; None likewise.
        n_tokens: counted positions of the text, without each sequence's BOS, as the end report says; None likewise.
        sweep: how it would be read; None likewise.
        weights: what jobs that read only weights take, where no text is swept; None if one is.
        passes_bytes: memory of the largest of the jobs with a pass of their own, which are measured one after another.
        forward_flops: of one pass over the text, without the vocabulary head.
        trial: what the estimate of hours rests on; None likewise.
        hours: how long loading, tokenizing, the sweep, the projections and publishing would take; None where neither
            the sweep nor the projections are to be done.
        not_timed: jobs that the estimate leaves out.
        files: jobs that keep files -> what these take while they measure, and what stays.
        memory_bytes: the budget.
        staging: where unpublished rows would lie.
        free_bytes: free space there.
        left_out: jobs that such a model cannot be asked for.
        notes: what else there is to say, a sentence each.
        extents: jobs that take a part of the text -> how much, in words.
        reasons: job -> why it is to be measured.
        up_to_date: jobs that are finished.
        workers: what is to be said of the workers of a cluster: names of entries and their texts.
    """

    model: str
    jobs: tuple[str, ...]
    corpus: str | None
    extent: Extent | None
    n_tokens: int | None
    sweep: SweepPlan | None
    weights: WeightsPlan | None
    passes_bytes: int
    forward_flops: int
    trial: Trial | None
    hours: float | None
    not_timed: tuple[str, ...]
    files: Mapping[str, tuple[int, int]]
    memory_bytes: int
    staging: Path
    free_bytes: int
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    extents: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    up_to_date: tuple[str, ...] = ()
    workers: tuple[tuple[str, str], ...] = ()

    def lines(self) -> list[str]:
        """The plan as a person reads it."""
        if not self.jobs:
            return [f"{self.model}: {one}" for one in ("everything is up to date", *self.notes)]
        text = f" on {self.corpus} ({self.n_tokens:,} tokens)" if self.corpus else ""
        lines = [f"{self.model}: {', '.join(self.jobs)}{text}"]
        if self.left_out:
            lines.append(f"{self.model}: {left_out(self.left_out)}")
        lines += [f"{self.model}: {one}" for one in self.notes]
        entries = (*self._anew(), *self._takes(), *self._entries(), *self._files())
        return lines + [f"  {name:<14}{value}" for name, value in entries]

    def _anew(self) -> list[tuple[str, str]]:
        """Why jobs are measured, those of one reason together, and what is finished."""
        alike = {why: [job for job in self.jobs if self.reasons.get(job) == why] for why in self.reasons.values()}
        anew = [("to measure", f"{', '.join(jobs)}: {why}") for why, jobs in alike.items()]
        return [*anew, *([("up to date", ", ".join(self.up_to_date))] if self.up_to_date else [])]

    def _takes(self) -> list[tuple[str, str]]:
        return [("extent", f"{job}: {words}") for job, words in self.extents.items()]

    def _files(self) -> list[tuple[str, str]]:
        return [
            ("files", f"{job}: up to {in_gb(most)} under {self.staging} while it measures; {in_gb(lasting)} stay")
            for job, (most, lasting) in self.files.items()
        ]

    def _entries(self) -> list[tuple[str, str]]:
        takes = self.sweep or self.weights
        assert takes is not None
        entries = [
            (
                "memory",
                f"up to {in_gb(max(takes.memory_bytes, self.passes_bytes))} of {in_gb(self.memory_bytes)} allowed",
            ),
            (
                "disk",
                f"up to {in_gb(takes.disk_bytes)} under {self.staging}, where {in_gb(self.free_bytes)} are free",
            ),
            ("warehouse", f"about {in_gb(takes.growth_bytes)} more"),
        ]
        if self.sweep is not None:
            weights = "stay in memory" if self.sweep.is_resident else "are read layer by layer"
            entries = [("order", f"{self.sweep.order} outside, weights {weights}"), ("why", self.sweep.why), *entries]
            entries.append(("forward pass", f"{self.forward_flops:.2e} FLOPs"))
        return [*entries, ("time", self._time()), *self.workers]

    def _time(self) -> str:
        if self.hours is None:
            return f"not estimated for {', '.join(self.not_timed)}"
        tried = "products that were tried" if self.trial is None else f"a trial of {self.trial.seconds:.1f} seconds"
        left_out = f"; without {', '.join(self.not_timed)}" if self.not_timed else ""
        return f"about {in_hours(self.hours)} from opening to publishing, from {tried}{left_out}"


@dataclass(frozen=True)
class Estimate:
    """How long measuring a model would take in one process."""

    sweep_seconds: float  # what workers share as they share chunks and layers: the forward pass with its observers
    other_seconds: float  # what they share layer by layer: folding, and products
    alone_seconds: float  # what one process does whatever there is beside it: opening, publishing

    @property
    def hours(self) -> float:
        """All of it."""
        return (self.sweep_seconds + self.other_seconds + self.alone_seconds) / 3600


ByWorkers = Callable[[Prepared, Estimate | None], tuple[tuple[str, str], ...]]
"""What is to be said of workers: names of entries of the plan, and their texts."""


def plan_model(
    warehouse: Warehouse,
    request: IngestRequest,
    source: ModelSource,
    *,
    progress: Progress | None = None,
    by_workers: ByWorkers = lambda prepared, estimate: (),
) -> ModelPlan:
    """Find out what measuring one model would take; nothing is written into the warehouse."""
    check_request(request)
    started = time.perf_counter()
    prepared = prepare_model(warehouse, request, source, progress=progress or Silent())
    opening_seconds = time.perf_counter() - started
    allotted = allot(prepared)
    if prepared.corpus is None or allotted.sweep is None:
        estimate = _estimated(prepared, allotted, None, None, opening_seconds=opening_seconds)
        return _described(prepared, allotted, None, estimate, by_workers(prepared, estimate))
    if not allotted.sweep.is_resident:
        prepared.work.transformer.stream()
    texts = [job for job, _ in prepared.agenda.texts]
    trial = run_trial(prepared.work.transformer, prepared.corpus, texts, batch_tokens=request.batch_tokens)
    extent = Extent.of(prepared.corpus)
    estimate = _estimated(prepared, allotted, extent, trial, opening_seconds=opening_seconds)
    return _described(prepared, allotted, trial, estimate, by_workers(prepared, estimate))


def _described(
    prepared: Prepared,
    allotted: Allotted,
    trial: Trial | None,
    estimate: Estimate | None,
    workers: tuple[tuple[str, str], ...],
) -> ModelPlan:
    work, corpus, sweep = prepared.work, prepared.corpus, allotted.sweep
    extent = Extent.of(corpus) if corpus and sweep else None
    flops = forward_flops(work.transformer.shape, extent) if extent else 0
    missing = prepared.agenda.jobs
    timed = {"projections", *(job.name for job, _ in prepared.agenda.texts)}
    return ModelPlan(
        model=work.model.name,
        jobs=prepared.agenda.jobs,
        corpus=corpus.name if corpus and sweep else None,
        extent=extent,
        n_tokens=corpus.n_counted if corpus and sweep else None,
        sweep=sweep,
        weights=allotted.weights,
        passes_bytes=allotted.passes_bytes,
        forward_flops=flops,
        trial=trial,
        hours=None if estimate is None else estimate.hours,
        not_timed=tuple(job for job in prepared.agenda.jobs if job not in timed),
        files=_files(prepared),
        memory_bytes=budget_of(work).memory_bytes,
        staging=work.staging,
        free_bytes=free_bytes(work.staging),
        left_out=prepared.left_out,
        notes=() if not corpus or prepared.unused_name is None else (not_renamed(prepared.unused_name, corpus.name),),
        reasons={one.job: why_missing(work.warehouse, one) for one in prepared.agenda.identities if one.job in missing},
        up_to_date=tuple(one.job for one in prepared.agenda.identities if one.job not in missing),
        extents=_extents(prepared),
        workers=workers,
    )


def _extents(prepared: Prepared) -> dict[str, str]:
    return {job.name: words for job, _ in prepared.agenda.passes if (words := job.extent())}


def _files(prepared: Prepared) -> dict[str, tuple[int, int]]:
    passes = prepared.agenda.passes
    return {job.name: (files.at_once, files.stay) for job, _ in passes if (files := job.files()) is not None}


def _estimated(
    prepared: Prepared, allotted: Allotted, extent: Extent | None, trial: Trial | None, *, opening_seconds: float
) -> Estimate | None:
    """What measuring takes, and beside it opening, as long as it took for the plan, and publishing.

    The sweep goes at the trial's speed, and the products of the projections at as many operations a second.
    """
    takes = allotted.sweep or allotted.weights
    transformer, shape = prepared.work.transformer, prepared.work.transformer.shape
    has_projections = "projections" in prepared.agenda.jobs
    if takes is None or (trial is None and not has_projections):
        return None
    alone = opening_seconds + _PUBLISHING_SECONDS + takes.growth_bytes / _PUBLISHED_BYTES_A_SECOND
    if trial is None or extent is None:
        return Estimate(0.0, _PROJECTIONS_RATIO * projection_flops(shape) / product_rate(transformer), alone)
    reading = trial.reading_seconds / trial.n_tokens * extent.n_tokens * shape.n_layers
    others = trial.sweep_seconds(n_layers=shape.n_layers, n_tokens=extent.n_tokens) - reading
    if has_projections:
        rate = forward_flops(shape, extent) / extent.n_tokens / shape.n_layers * trial.n_tokens / trial.reading_seconds
        others += _PROJECTIONS_RATIO * projection_flops(shape) / rate
    return Estimate(reading, others, alone)


def in_gb(size: int) -> str:
    """A size as a plan says it."""
    return f"{size / 1e9:.2f} GB"


def in_hours(hours: float) -> str:
    """A time as a plan says it."""
    return f"{hours:.2f} hours" if hours >= 0.1 else f"{60 * hours:.1f} minutes"
