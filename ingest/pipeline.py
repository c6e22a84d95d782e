"""From a model and a text to published rows: what is missing is measured, staged and published."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from catalog.progress import Progress, Silent
from catalog.staging import discard_runs
from catalog.tables import JobUnknown
from catalog.warehouse import Warehouse
from ingest import checkpoints, tokenization
from ingest.activation import ActivationRule
from ingest.allocation import give_back_at_once
from ingest.architectures import open_transformer
from ingest.corpora import Corpus
from ingest.errors import CausalNeeded, DiskTooSmall, MemoryTooSmall, ThresholdInvalid
from ingest.jobs import registry
from ingest.jobs.protocols import FilingJob, Job, PassJob, TextJob, WeightsJob
from ingest.measuring import Work, free_bytes, measure_passes, measure_text, measure_weights
from ingest.pairs import is_asked
from ingest.prerequisites import after, announcements, needed_first
from ingest.records import model_record
from ingest.request import IngestRequest, ModelSource
from ingest.runs import RunIdentity, refuse_other_model, to_measure
from ingest.sweep_plan import Budget, SweepPlan, WeightsPlan, plan, plan_weights
from ingest.text_errors import ExamplesInvalid
from ingest.texts import choose_corpus
from ingest.weights import Checkpoint


@dataclass(frozen=True)
class ModelReport:
    """What one ingest did for one model.

    Attributes:
        model: its name.
        jobs: jobs that were measured.
        rows: rows published, by table.
        up_to_date: jobs that were finished before.
        corpus: name of the corpus; None if no job read text.
        n_tokens: counted positions of the corpus.
        seconds: wall time.
        sweep: how the text was read; None if it was not.
        n_full_length: full-length sequences of the corpus, which alone tell of positions; None if nothing was read.
        remarks: what jobs have to say of what they measured.
    """

    model: str
    jobs: tuple[str, ...]
    rows: Mapping[str, int]
    up_to_date: tuple[str, ...]
    corpus: str | None
    n_tokens: int
    seconds: float
    sweep: SweepPlan | None = None
    n_full_length: int | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Agenda:
    """The runs that were asked for, and which of their jobs are still to be measured."""

    identities: Sequence[RunIdentity]
    weights: Sequence[tuple[WeightsJob, RunIdentity]]
    texts: Sequence[tuple[TextJob, RunIdentity]]
    passes: Sequence[tuple[PassJob, RunIdentity]]

    @property
    def jobs(self) -> tuple[str, ...]:
        """Names of the jobs that are to be measured."""
        return tuple(identity.job for _, identity in (*self.weights, *self.texts, *self.passes))


@dataclass(frozen=True)
class Prepared:
    """A model with everything that measuring it needs.

    Attributes:
        work: the model, opened.
        checkpoint: its files.
        corpus: the text; None if no job reads any.
        agenda: what is left to measure.
        left_out: jobs that such a model cannot be asked for.
        needed_first: jobs that nobody asked for, but that another one works on.
    """

    work: Work
    checkpoint: Checkpoint
    corpus: Corpus | None
    agenda: Agenda
    left_out: tuple[str, ...] = ()
    needed_first: tuple[str, ...] = ()


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


def ingest_model(
    warehouse: Warehouse,
    request: IngestRequest,
    asked: ModelSource,
    *,
    progress: Progress | None = None,
    announce: Callable[[str], None] = lambda text: None,
) -> ModelReport:
    """Measure one model and publish the rows; what is finished is not measured again.

    Everything that can be refused is refused before anything is written.

    Args:
        warehouse: where to.
        request: what.
        asked: which model.
        progress: shows how far it is.
        announce: takes what a person should know before it begins.

    Raises:
        JobUnknown: a name is no job.
        NeurothekError: one of its many kinds; what was staged by then is kept for the next attempt.
    """
    started = time.monotonic()
    check_request(request)
    warehouse.require_writable()
    prepared = prepare(warehouse, request, asked, progress=progress or Silent())
    allotted = allot(prepared)
    work, corpus, agenda = allotted.work, prepared.corpus, prepared.agenda
    for text in announcements([job for job, _ in agenda.passes], prepared.needed_first):
        announce(f"{work.model.name}: {text}")
    if allotted.is_tight:
        give_back_at_once()
    rows = measure_weights(work, agenda.weights)
    if corpus is not None and allotted.sweep is not None:
        rows |= measure_text(work, corpus, agenda.texts, allotted.sweep)
    remarks = [left_out(prepared.left_out)] if prepared.left_out else []
    if corpus is not None:
        passed, said = measure_passes(allotted.passes, corpus, agenda.passes)
        rows |= passed
        remarks += said
    # A process that was killed between publishing and tidying left shards that nobody needs.
    discard_runs(work.staging, [identity.key for identity in agenda.identities])
    warehouse.settle()
    return ModelReport(
        model=work.model.name,
        jobs=agenda.jobs,
        rows=rows,
        up_to_date=tuple(identity.job for identity in agenda.identities if identity.job not in agenda.jobs),
        corpus=corpus.name if corpus else None,
        n_tokens=corpus.n_counted if corpus else 0,
        seconds=time.monotonic() - started,
        sweep=allotted.sweep,
        n_full_length=corpus.n_full_length if corpus else None,
        remarks=tuple(remarks),
    )


def filing(agenda: Agenda) -> list[FilingJob]:
    """The jobs of an agenda that leave files beside the warehouse."""
    return [job for job, _ in agenda.passes if isinstance(job, FilingJob)]


def prepare(warehouse: Warehouse, request: IngestRequest, asked: ModelSource, *, progress: Progress) -> Prepared:
    """Open a model and its text, and find out what is left to measure.

    Nothing is written, but a file of an earlier release is brought up to date.

    Raises:
        NeurothekError: one of its many kinds.
    """
    if warehouse.exists():
        with warehouse.current_reader():
            pass
    work, checkpoint = _open(warehouse, request, asked, progress)
    jobs = _fitting(work)
    work = replace(work, request=replace(request, jobs=jobs))
    corpus = _corpus(work) if set(jobs) & {*_text_jobs(work), *_pass_jobs(work)} else None
    others = tuple(job for job in request.jobs if job not in jobs)
    passes = [job for name, job in _pass_jobs(work).items() if name in jobs]
    first = needed_first(warehouse, work.model.name, corpus, passes, asked=jobs)
    work = replace(work, request=replace(work.request, jobs=(*jobs, *first)))
    return Prepared(work, checkpoint, corpus, _agenda(work, corpus), left_out=others, needed_first=first)


def left_out(jobs: Sequence[str]) -> str:
    """Why jobs that nobody chose by name are not measured."""
    return f"left out {', '.join(jobs)}, which need a model that predicts the next token: this is a masked one"


def _fitting(work: Work) -> tuple[str, ...]:
    """The jobs asked for that the model can be asked for.

    Raises:
        CausalNeeded: one that was chosen by name is not among them, or none is left.
    """
    asked = work.request.jobs
    if not work.transformer.shape.is_masked:
        return asked
    possible = tuple(job for job in asked if job in registry.OF_MASKED)
    others = [job for job in asked if job not in registry.OF_MASKED]
    refused = [job for job in others if job in work.request.named] or (others if not possible else [])
    if refused:
        raise CausalNeeded(work.model.name, refused, registry.OF_MASKED)
    return possible


def check_request(request: IngestRequest) -> None:
    """Refuse what no model can be asked for.

    Raises:
        JobUnknown: a name is no job; with the nearest name.
        ThresholdInvalid: the threshold of activity is no finite number.
        ExamplesInvalid: fewer than one example.
        PairsApart: a job on pairs of models is among those on one.
    """
    about_pairs = is_asked(request)
    for name in request.jobs:
        if name not in registry.NAMES and not about_pairs:
            raise JobUnknown(name)
    if request.active_above is not None and not math.isfinite(request.active_above):
        raise ThresholdInvalid(request.active_above)
    if request.examples < 1:
        raise ExamplesInvalid(request.examples)


def _open(
    warehouse: Warehouse, request: IngestRequest, asked: ModelSource, progress: Progress
) -> tuple[Work, Checkpoint]:
    """Find the model and everything about it that can be wrong, before anything is measured."""
    checkpoint = checkpoints.find(
        asked.source, name=asked.name, revision=request.revision, allow_pickle=request.allow_pickle, progress=progress
    )
    tokenizer = tokenization.load(checkpoint.folder)
    transformer = open_transformer(checkpoint, device=device_of(request), dtype=_DTYPES[request.dtype])
    record = model_record(checkpoint, transformer.shape, tokenizer)
    refuse_other_model(warehouse, record)
    return Work(warehouse, request, record, tokenizer, transformer, progress), checkpoint


def _rule(work: Work) -> ActivationRule:
    return ActivationRule.of(work.transformer.shape, active_above=work.request.active_above)


def _text_jobs(work: Work) -> Mapping[str, TextJob]:
    return registry.text_jobs(_rule(work), work.transformer, work.tokenizer)


def _pass_jobs(work: Work) -> Mapping[str, PassJob]:
    return registry.pass_jobs(work.transformer, work.tokenizer, work.request)


def _agenda(work: Work, corpus: Corpus | None) -> Agenda:
    """What is asked for and not finished.

    Raises:
        ParametersDiffer: a job is finished with other parameters.
        ClustersTooMany, ClusterMemoryTooSmall: the job clusters cannot do what is asked.
    """
    weights = list(registry.weights_jobs(work.transformer.shape, work.request).values())
    texts = [job for name, job in _text_jobs(work).items() if name in work.request.jobs]
    passes = [job for name, job in _pass_jobs(work).items() if name in work.request.jobs]
    identities = [_identity(work, job, None) for job in weights]
    identities += [_identity(work, job, corpus) for job in texts]
    for number, job in enumerate(passes):
        passes[number] = after(work.warehouse, work.model.name, corpus, job, asked=identities)
        identities.append(_identity(work, passes[number], corpus))
    missing = {found.job: found for found in to_measure(work.warehouse, identities, force=work.request.force)}
    return Agenda(
        identities=identities,
        weights=[(job, missing[job.name]) for job in weights if job.name in missing],
        texts=[(job, missing[job.name]) for job in texts if job.name in missing],
        passes=[(job, missing[job.name]) for job in passes if job.name in missing],
    )


_DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def device_of(request: IngestRequest) -> str:
    """Where to compute: a GPU if there is one, unless the request says."""
    if request.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return request.device


def _corpus(work: Work) -> Corpus:
    return choose_corpus(
        work.warehouse,
        work.request.text,
        work.tokenizer,
        context_length=work.transformer.shape.context_length,
        progress=work.progress,
    )


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


def _identity(work: Work, job: Job, corpus: Corpus | None) -> RunIdentity:
    row = work.model.row.row(0, named=True)
    return RunIdentity(
        job=job.name,
        version=job.version,
        model=work.model.name,
        weights_sha256=row["weights_sha256"],
        shape=work.transformer.shape.identity(),
        tokenizer_sha256=work.tokenizer.sha256,
        corpus_sha256=corpus.sha256 if corpus else None,
        sequence_length=corpus.sequence_length if corpus else None,
        # Weights are projected in float32 whatever the model computes in.
        dtype=work.request.dtype if corpus else "float32",
        parameters=job.parameters(),
    )
