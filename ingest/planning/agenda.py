"""Everything about a model and its text that is found out before anything is measured."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from neurothek.catalog.progress import Progress
from neurothek.catalog.publishing.publish import changed_tokenizer
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.corpora.selection import OtherIds, choose_corpus, known_as, on_shown, other_ids
from neurothek.ingest.corpora.text_memory import TextMemory
from neurothek.ingest.errors import causal_model_needed, signs_needed
from neurothek.ingest.jobs import registry
from neurothek.ingest.jobs.additive import AdditiveJob
from neurothek.ingest.jobs.job import Job, JobContext, PassJob, SweepJob, WeightsJob
from neurothek.ingest.models import checkpoints
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.finding import by_name
from neurothek.ingest.models.measured import find_measured
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import open_transformer
from neurothek.ingest.models.weights import Checkpoint
from neurothek.ingest.planning.work import ModelWork
from neurothek.ingest.request import DEFAULT_JOBS, IngestRequest, ModelSource
from neurothek.ingest.runs.finished import EarlierRuns
from neurothek.ingest.runs.identity import RunIdentity, refuse_other_model, to_measure
from neurothek.ingest.runs.records import model_record


def needed_first(
    warehouse: Warehouse, model: str, corpus: Corpus | None, jobs: Iterable[Job[JobContext]]
) -> tuple[str, ...]:
    """Jobs that are not among `jobs`, that one of these works on, and that are not finished."""
    jobs_by_name, first = {job.name: job for job in jobs}, dict[str, None]()
    for job in jobs_by_name.values():
        if job.needed and corpus is not None:
            finished = EarlierRuns.finished(warehouse, model, corpus, jobs=job.needed)
            first |= dict.fromkeys(one for one in job.needed if one not in jobs_by_name and not finished.has(one))
    return tuple(first)


def after(warehouse: Warehouse, model: str, job: Job[Any], *, identities: Sequence[RunIdentity] = ()) -> Job[Any]:
    """The job on the runs of others: those that are asked for beside it, else those that are finished.

    One that adds to what there is gets the warehouse, where it finds its own.
    """
    if not job.needed and not isinstance(job, AdditiveJob):
        return job
    finished = EarlierRuns.finished(warehouse, model, job.context.corpus, jobs=job.needed)
    keys = {**finished.keys, **{one.job: one.key for one in identities if one.job in job.needed}}
    return job.within(replace(job.context, runs=replace(finished, keys=keys)))


def announcements(jobs: Sequence[PassJob], first: Sequence[str]) -> list[str]:
    """What a person should know before these jobs begin, of which `first` were asked for by nobody."""
    lines = [text for job in jobs if (text := job.announcement())]
    if first:
        names = ", ".join(job.name for job in jobs if job.needed)
        lines.append(f"{names} needs the results of {', '.join(first)}, so these are measured first")
    return lines


@dataclass(frozen=True)
class Agenda:
    """The runs that were asked for, and which of their jobs are still to be measured."""

    identities: Sequence[RunIdentity]
    missing: Sequence[tuple[Job[JobContext], RunIdentity]] = ()

    @property
    def jobs(self) -> tuple[str, ...]:
        """Names of the jobs that are to be measured."""
        return tuple(job.name for job, _ in self.missing)

    @property
    def weights(self) -> list[tuple[WeightsJob, RunIdentity]]:
        """Those of them that read only weights."""
        return [(job, identity) for job, identity in self.missing if isinstance(job, WeightsJob)]

    @property
    def texts(self) -> list[tuple[SweepJob, RunIdentity]]:
        """Those that watch the text run through the model."""
        return [(job, identity) for job, identity in self.missing if isinstance(job, SweepJob)]

    @property
    def passes(self) -> list[tuple[PassJob, RunIdentity]]:
        """Those that read the text in a pass of their own."""
        return [(job, identity) for job, identity in self.missing if isinstance(job, PassJob)]


@dataclass(frozen=True)
class Prepared:
    """A model with everything that measuring it needs."""

    work: ModelWork  # the model, opened
    corpus: Corpus | None  # the text; None if no job reads any
    agenda: Agenda  # what is left to measure
    left_out: tuple[str, ...] = ()  # jobs that such a model cannot be asked for
    needed_first: tuple[str, ...] = ()  # jobs that nobody asked for, but that another one works on
    replaced: tuple[OtherIds, ...] = ()  # the same text in ids of another tokenizer, on which the model was measured
    unused_name: str | None = None  # what the text should be called, where its ids are there under another name


def prepare_model(warehouse: Warehouse, request: IngestRequest, source: ModelSource, *, progress: Progress) -> Prepared:
    """Open a model and its text, and find out what is left to measure.

    Nothing is written, but a file of an earlier release is brought up to date.
    """
    if warehouse.exists():
        with warehouse.current_reader():
            pass
    work = _open(warehouse, request, source, progress)
    if request.named:
        text = on_shown(warehouse, request.text, work.model.name)
        work = replace(work, request=replace(work.request, text=text))
    jobs = _fitting(work)
    others = tuple(job for job in request.jobs if job not in jobs and job not in registry.OF_SIGNS)
    opened = {name: _opened(work, name) for name in registry.ON_MODELS if name in jobs}
    corpus = _corpus(work) if any(registry.JOBS[name].reads_text for name in opened) else None
    stored_name = None if corpus is None else known_as(warehouse, corpus)
    if corpus is not None and stored_name is not None:
        corpus = replace(corpus, name=stored_name)
    unused_name = None if stored_name is None or request.text.name == stored_name else request.text.name
    replaced = () if corpus is None else _replaced(work, corpus, is_chosen=request.text.corpus_id is not None)
    first = needed_first(warehouse, work.model.name, corpus, opened.values())
    opened |= {name: _opened(work, name) for name in first}
    agenda = _agenda(work, corpus, [opened[name] for name in registry.ON_MODELS if name in opened])
    return Prepared(
        work,
        corpus,
        agenda,
        left_out=others,
        needed_first=first,
        replaced=replaced,
        unused_name=unused_name,
    )


def _replaced(work: ModelWork, corpus: Corpus, *, is_chosen: bool) -> tuple[OtherIds, ...]:
    """What was measured of the text in other ids, and goes when it is measured in these.

    Args:
        work: the model.
        corpus: the text.
        is_chosen: whether it was asked for by its number, as what it is.
    """
    changed = other_ids(work.warehouse, work.model.name, corpus, work.tokenizer)
    parts = dict.fromkeys(part for one in changed for part in one.differences)
    if changed and (is_chosen or (parts and not work.request.force)):
        raise changed_tokenizer(work.model.name, corpus=changed[0].name, parts=tuple(parts))
    return tuple(changed)


def _opened(work: ModelWork, name: str) -> Job[JobContext]:
    """The job that was asked for, on a text that is not chosen yet."""
    context = JobContext(work.transformer, work.tokenizer, batch_tokens=work.request.batch_tokens)
    return registry.job_class(name).from_options(context, work.request)


def _fitting(work: ModelWork) -> tuple[str, ...]:
    """The jobs asked for that the model can be asked for."""
    jobs, shape = work.request.jobs, work.transformer.shape
    if shape.is_non_negative:
        if refused := [job for job in registry.OF_SIGNS if job in work.request.named]:
            raise signs_needed(work.model.name, refused)
        jobs = tuple(job for job in jobs if job not in registry.OF_SIGNS)
    elif set(DEFAULT_JOBS) <= set(jobs) and not shape.is_masked:
        jobs = tuple(dict.fromkeys((*jobs, *registry.OF_SIGNS)))
    if not shape.is_masked:
        return jobs
    possible = tuple(job for job in jobs if job in registry.OF_MASKED)
    others = [job for job in jobs if job not in registry.OF_MASKED]
    refused = [job for job in others if job in work.request.named] or (others if not possible else [])
    if refused:
        raise causal_model_needed(work.model.name, refused, registry.OF_MASKED)
    return possible


def _open(warehouse: Warehouse, request: IngestRequest, source: ModelSource, progress: Progress) -> ModelWork:
    """Find the model and everything about it that can be wrong, before anything is measured."""
    request, checkpoint, tokenizer = _files(warehouse, request, source, progress)
    transformer = open_transformer(checkpoint, device=device_of(request), dtype=DTYPES[request.dtype])
    record = model_record(checkpoint, transformer.shape, tokenizer, family=request.family, variant=request.variant)
    refuse_other_model(warehouse, record)
    return ModelWork(warehouse, request, progress, record, checkpoint, tokenizer, transformer)


def _files(
    warehouse: Warehouse, request: IngestRequest, source: ModelSource, progress: Progress
) -> tuple[IngestRequest, Checkpoint, Tokenizer]:
    """A model's files: those that the warehouse measured if it has one of that name, else what the source names.

    A model that was measured with its tokenizer.json as it is goes on so.
    """
    measured = by_name(warehouse, source, revision=request.revision)
    if measured is not None:
        option = f"{measured.name}=PATH"
        measured = replace(measured, tokenizer_from_file=measured.tokenizer_from_file or request.tokenizer_from_file)
        request = replace(request, tokenizer_from_file=measured.tokenizer_from_file)
        return request, *find_measured(
            measured, weights=None, allow_pickle=request.allow_pickle, option=option, progress=progress
        )
    checkpoint = checkpoints.find(
        source.source, name=source.name, revision=request.revision, allow_pickle=request.allow_pickle, progress=progress
    )
    return request, checkpoint, tokenization.load(checkpoint.folder, from_file=request.tokenizer_from_file)


def _agenda(work: ModelWork, corpus: Corpus | None, jobs: Sequence[Job[JobContext]]) -> Agenda:
    """What is asked for and not finished."""
    jobs_by_name: dict[str, Job[JobContext]] = {}
    identities: list[RunIdentity] = []
    for opened in jobs:
        job = opened.within(replace(opened.context, text=corpus))
        job = after(work.warehouse, work.model.name, job, identities=identities)
        jobs_by_name[job.name] = job
        identities.append(_identity(work, job))
    missing = to_measure(work.warehouse, identities, force=work.request.force)
    return Agenda(identities, [(jobs_by_name[identity.job], identity) for identity in missing])


DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def device_of(request: IngestRequest) -> str:
    """Where this process computes: a GPU if there is one, unless the request says, which with Ray is about workers."""
    if request.device == "auto" or (request.device == "cuda" and request.engine == "ray"):
        return "cuda" if torch.cuda.is_available() else "cpu"
    return request.device


def _corpus(work: ModelWork) -> Corpus:
    return choose_corpus(
        work.warehouse,
        work.request.text,
        work.tokenizer,
        context_length=work.transformer.shape.context_length,
        progress=work.progress,
        memory=TextMemory(work.request.memory_bytes),
    )


def _identity(work: ModelWork, job: Job[JobContext]) -> RunIdentity:
    row = work.model.row.row(0, named=True)
    corpus = job.context.text if registry.JOBS[job.name].reads_text else None
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
        tokenizer_identity=work.tokenizer.identity,
        tokenizes=registry.JOBS[job.name].tokenizes,
    )


def not_renamed(new: str, name: str) -> str:
    """What became of a name for a text that has one."""
    return f"the same ids are already in the warehouse as {name}: --corpus-name {new} has no effect, it names new texts"


def left_out(jobs: Sequence[str]) -> str:
    """Why jobs that nobody chose by name are not measured."""
    return f"left out {', '.join(jobs)}, which need a model that predicts the next token: this one is masked"
