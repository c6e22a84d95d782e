"""How the budgets of memory and disk are kept, by whatever jobs are left to measure."""

from collections.abc import Sequence
from dataclasses import dataclass

from neurothek.ingest.errors import not_enough_disk, not_enough_memory
from neurothek.ingest.jobs.job import PassJob
from neurothek.ingest.planning.agenda import Prepared
from neurothek.ingest.planning.sweep_plan import Budget, SweepPlan, WeightsPlan, plan, plan_weights
from neurothek.ingest.planning.work import ModelWork, free_bytes


@dataclass(frozen=True)
class Allotted:
    """How much of the model stays in memory.

    Attributes:
        sweep: how the text is swept; None if it is not.
        weights: what jobs that read weights take where no text is swept; None if one is.
        passes_stream: whether jobs with a pass of their own read weights layer by layer.
    """

    sweep: SweepPlan | None
    weights: WeightsPlan | None
    passes_stream: bool

    @property
    def is_tight(self) -> bool:
        """Whether freed memory has to go back to the system at once."""
        return any(found is not None and found.is_tight for found in (self.sweep, self.weights))


def allot(prepared: Prepared) -> Allotted:
    """How the budgets of memory and disk are kept, by whatever jobs are left to measure."""
    work, agenda = prepared.work, prepared.agenda
    passes_stream = _passes_stream(work, [job for job, _ in agenda.passes])
    weights = [job.name for job, _ in agenda.weights]
    if prepared.corpus is None or not agenda.texts:
        budget = Budget(work.request.memory_bytes, work.staging, free_bytes(work.staging))
        return Allotted(None, plan_weights(work.transformer.shape, weights, budget=budget), passes_stream)
    chosen = plan(
        work.transformer,
        prepared.corpus,
        batch_tokens=work.request.batch_tokens,
        memory_bytes=work.request.memory_bytes,
        jobs=[job.name for job, _ in agenda.texts],
        weights_jobs=weights,
        staging=work.staging,
        free_bytes=free_bytes(work.staging),
    )
    return Allotted(chosen, None, passes_stream)


def _passes_stream(work: ModelWork, jobs: Sequence[PassJob]) -> bool:
    """Whether jobs with a pass of their own have to read weights layer by layer to keep within the memory."""
    for job in jobs:
        job.shards()
    files = [files.at_once for job in jobs if (files := job.files()) is not None]
    if max(files, default=0) > free_bytes(work.staging):
        raise not_enough_disk(work.staging, max(files), free_bytes(work.staging))
    resident, streamed = (
        max((job.memory_bytes(is_resident=is_resident) for job in jobs), default=0) for is_resident in (True, False)
    )
    if streamed > work.request.memory_bytes:
        raise not_enough_memory(
            "measuring", streamed, work.request.memory_bytes, instead=" or make --batch-tokens smaller"
        )
    return resident > work.request.memory_bytes
