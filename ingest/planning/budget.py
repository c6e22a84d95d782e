"""How the budgets of memory and disk are kept, by whatever jobs are left to measure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ingest.corpora.corpus import Corpus
from ingest.errors import DiskTooSmall, MemoryTooSmall
from ingest.jobs.job import FilingJob, PassJob
from ingest.models.transformer import open_transformer
from ingest.models.weights import Checkpoint
from ingest.planning.agenda import Agenda, Prepared
from ingest.planning.sweep_plan import Budget, SweepPlan, WeightsPlan, plan, plan_weights
from ingest.planning.work import Work, free_bytes


@dataclass(frozen=True)
class Allotted:
    """The work with its weights where the memory budget lets them be.

    Attributes:
        work: for jobs that read weights, and for the sweep.
        passes: for jobs with a pass of their own.
        sweep: how the text is swept; None if it is not.
        weights: what jobs that read weights take where no text is swept; None if one is.
    """

    work: Work
    passes: Work
    sweep: SweepPlan | None
    weights: WeightsPlan | None = None

    @property
    def is_tight(self) -> bool:
        """Whether freed memory has to go back to the system at once."""
        return any(found is not None and found.is_tight for found in (self.sweep, self.weights))


def allot(prepared: Prepared) -> Allotted:
    """How the budgets of memory and disk are kept, by whatever jobs are left to measure.

    Raises:
        MemoryTooSmall, JobMemoryTooSmall, DiskTooSmall: they cannot be; says how much is needed.
        SentencesMissing: the corpus has nothing for a job.
    """
    work, agenda = prepared.work, prepared.agenda
    passes = _for_passes(work, prepared.checkpoint, prepared.corpus, [job for job, _ in agenda.passes])
    if prepared.corpus is not None and agenda.texts:
        swept, chosen = _planned(work, prepared.checkpoint, prepared.corpus, agenda)
        return Allotted(swept, passes, chosen)
    budget = Budget(work.request.memory_bytes, work.staging, free_bytes(work.staging))
    weights = [job.name for job, _ in agenda.weights]
    return Allotted(work, passes, None, plan_weights(work.transformer.shape, weights, budget=budget))


def _planned(work: Work, checkpoint: Checkpoint, corpus: Corpus, agenda: Agenda) -> tuple[Work, SweepPlan]:
    request = work.request
    chosen = plan(
        work.transformer,
        corpus,
        batch_tokens=request.batch_tokens,
        memory_bytes=request.memory_bytes,
        jobs=[job.name for job, _ in agenda.texts],
        weights_jobs=[job.name for job, _ in agenda.weights],
        staging=work.staging,
        free_bytes=free_bytes(work.staging),
    )
    if chosen.is_resident:
        return work, chosen
    return _streamed(work, checkpoint), chosen


def _for_passes(work: Work, checkpoint: Checkpoint, corpus: Corpus | None, jobs: Sequence[PassJob]) -> Work:
    """Likewise for jobs with a pass of their own.

    Raises:
        MemoryTooSmall: not even one layer at a time fits; says how much is needed.
        DiskTooSmall: their files do not fit on the disk.
        SentencesMissing, SentencesTooFew, DomainUnknown: the corpus has nothing for such a job.
    """
    request = work.request
    needed_disk = 0
    for job in jobs:
        assert corpus is not None
        job.shards(corpus)
        if isinstance(job, FilingJob):
            needed_disk = max(needed_disk, job.disk_bytes(corpus))
    if needed_disk > free_bytes(work.staging):
        raise DiskTooSmall(work.staging, needed_disk, free_bytes(work.staging))

    def needed(*, is_resident: bool) -> int:
        sizes = [
            job.memory_bytes(work.transformer, batch_tokens=request.batch_tokens, is_resident=is_resident)
            for job in jobs
        ]
        return max(sizes, default=0)

    if needed(is_resident=True) <= request.memory_bytes:
        return work
    if needed(is_resident=False) > request.memory_bytes:
        raise MemoryTooSmall(needed(is_resident=False), request.memory_bytes)
    return _streamed(work, checkpoint)


def _streamed(work: Work, checkpoint: Checkpoint) -> Work:
    streamed = open_transformer(
        checkpoint, device=work.transformer.device, dtype=work.transformer.dtype, resident=False
    )
    return replace(work, transformer=streamed)
