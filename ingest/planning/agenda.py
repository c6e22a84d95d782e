"""Everything about a model and its text that is found out before anything is measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from catalog.progress import Progress
from catalog.warehouse import Warehouse
from ingest.corpora.corpus import Corpus
from ingest.corpora.selection import choose_corpus
from ingest.corpora.text_memory import TextMemory
from ingest.errors import CausalNeeded
from ingest.forward.activation_rule import ActivationRule
from ingest.jobs import registry
from ingest.jobs.job import FilingJob, Job, PassJob, TextJob, WeightsJob
from ingest.models import checkpoints
from ingest.models import tokenizer as tokenization
from ingest.models.finding import by_name
from ingest.models.measured import find_measured
from ingest.models.tokenizer import Tokenizer
from ingest.models.transformer import open_transformer
from ingest.models.weights import Checkpoint
from ingest.planning.prerequisites import after, needed_first
from ingest.planning.work import Work
from ingest.request import IngestRequest, ModelSource
from ingest.runs.identity import RunIdentity, refuse_other_model, to_measure
from ingest.runs.records import model_record


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

    @property
    def filing(self) -> list[FilingJob]:
        """Those that leave files beside the warehouse."""
        return [job for job, _ in self.passes if isinstance(job, FilingJob)]


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


def _open(
    warehouse: Warehouse, request: IngestRequest, asked: ModelSource, progress: Progress
) -> tuple[Work, Checkpoint]:
    """Find the model and everything about it that can be wrong, before anything is measured."""
    checkpoint, tokenizer = _files(warehouse, request, asked, progress)
    transformer = open_transformer(checkpoint, device=device_of(request), dtype=_DTYPES[request.dtype])
    record = model_record(checkpoint, transformer.shape, tokenizer, family=request.family, variant=request.variant)
    refuse_other_model(warehouse, record)
    return Work(warehouse, request, record, tokenizer, transformer, progress), checkpoint


def _files(
    warehouse: Warehouse, request: IngestRequest, asked: ModelSource, progress: Progress
) -> tuple[Checkpoint, Tokenizer]:
    """A model's files: those that the warehouse measured if it has one of that name, else what the source names."""
    known = by_name(warehouse, asked, revision=request.revision)
    if known is not None:
        option = f"{known.name}=PATH"
        return find_measured(known, weights=None, allow_pickle=request.allow_pickle, option=option, progress=progress)
    checkpoint = checkpoints.find(
        asked.source, name=asked.name, revision=request.revision, allow_pickle=request.allow_pickle, progress=progress
    )
    return checkpoint, tokenization.load(checkpoint.folder)


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
        memory=TextMemory(work.request.memory_bytes),
    )


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


def left_out(jobs: Sequence[str]) -> str:
    """Why jobs that nobody chose by name are not measured."""
    return f"left out {', '.join(jobs)}, which need a model that predicts the next token: this is a masked one"
