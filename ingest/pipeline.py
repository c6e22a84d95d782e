"""From a model and a text to published rows: what is missing is measured, staged and published."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import torch

from catalog.progress import Progress, Silent
from catalog.publish import NameTaken
from catalog.staging import discard_runs
from catalog.tables import JobUnknown
from catalog.warehouse import Warehouse, first_row
from ingest import checkpoints, tokenization
from ingest.activation import ActivationRule
from ingest.architectures import open_transformer
from ingest.corpora import Corpus
from ingest.jobs import registry
from ingest.jobs.protocols import Job
from ingest.measuring import Work, measure_text, measure_weights
from ingest.records import model_record
from ingest.request import IngestRequest, ModelSource
from ingest.runs import RunIdentity, to_measure
from ingest.sweep_plan import SweepPlan, plan
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
    """

    model: str
    jobs: tuple[str, ...]
    rows: Mapping[str, int]
    up_to_date: tuple[str, ...]
    corpus: str | None
    n_tokens: int
    seconds: float


def ingest_model(
    warehouse: Warehouse, request: IngestRequest, asked: ModelSource, *, progress: Progress | None = None
) -> ModelReport:
    """Measure one model and publish the rows; what is finished is not measured again.

    Raises:
        JobUnknown: a name is no job.
        NeurothekError: one of its many kinds; what was staged by then is kept for the next attempt.
    """
    started = time.monotonic()
    check_jobs(request.jobs)
    work, checkpoint = _open(warehouse, request, asked, progress or Silent())
    rule = ActivationRule.of(work.transformer.shape, active_above=request.active_above)
    weights = [job for name, job in registry.weights_jobs().items() if name in request.jobs]
    text_jobs = registry.text_jobs(rule, work.transformer, work.tokenizer)
    texts = [job for name, job in text_jobs.items() if name in request.jobs]
    corpus = _corpus(work) if texts else None
    identities = [_identity(work, job, None) for job in weights] + [_identity(work, job, corpus) for job in texts]
    missing = {identity.job: identity for identity in to_measure(warehouse, identities, force=request.force)}
    rows = measure_weights(work, [(job, missing[job.name]) for job in weights if job.name in missing])
    todo = [(job, missing[job.name]) for job in texts if job.name in missing]
    if corpus is not None and todo:
        work, chosen = _planned(work, checkpoint, corpus)
        rows |= measure_text(work, corpus, todo, chosen)
    # A process that was killed between publishing and tidying left shards that nobody needs.
    discard_runs(work.staging, [identity.key for identity in identities])
    return ModelReport(
        model=work.model.name,
        jobs=tuple(missing),
        rows=rows,
        up_to_date=tuple(identity.job for identity in identities if identity.job not in missing),
        corpus=corpus.name if corpus else None,
        n_tokens=corpus.n_counted if corpus else 0,
        seconds=time.monotonic() - started,
    )


def check_jobs(names: Sequence[str]) -> None:
    """Refuse names that are no jobs.

    Raises:
        JobUnknown: with the nearest name.
    """
    for name in names:
        if name not in registry.NAMES:
            raise JobUnknown(name)


def _open(
    warehouse: Warehouse, request: IngestRequest, asked: ModelSource, progress: Progress
) -> tuple[Work, Checkpoint]:
    """Find the model and everything about it that can be wrong, before anything is measured."""
    checkpoint = checkpoints.find(
        asked.source, name=asked.name, revision=request.revision, allow_pickle=request.allow_pickle, progress=progress
    )
    _refuse_other_weights(warehouse, checkpoint)
    tokenizer = tokenization.load(checkpoint.folder)
    transformer = open_transformer(checkpoint, device=_device(request), dtype=_DTYPES[request.dtype])
    record = model_record(checkpoint, transformer.shape, tokenizer)
    return Work(warehouse, request, record, tokenizer, transformer, progress), checkpoint


_DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def _device(request: IngestRequest) -> str:
    if request.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return request.device


def _refuse_other_weights(warehouse: Warehouse, checkpoint: Checkpoint) -> None:
    if not warehouse.exists():
        return
    with warehouse.reader() as connection:
        known = first_row(connection, "select weights_sha256 from store.models where name = ?", [checkpoint.name])
    if known is not None and known[0] != checkpoint.weights_sha256:
        raise NameTaken(checkpoint.name)


def _corpus(work: Work) -> Corpus:
    return choose_corpus(
        work.warehouse,
        work.request.text,
        work.tokenizer,
        context_length=work.transformer.shape.context_length,
        progress=work.progress,
    )


def _planned(work: Work, checkpoint: Checkpoint, corpus: Corpus) -> tuple[Work, SweepPlan]:
    """The work with its weights where the memory budget lets them be."""
    request = work.request
    chosen = plan(work.transformer, corpus, batch_tokens=request.batch_tokens, memory_bytes=request.memory_bytes)
    if chosen.is_resident:
        return work, chosen
    streamed = open_transformer(
        checkpoint, device=work.transformer.device, dtype=work.transformer.dtype, resident=False
    )
    return Work(work.warehouse, request, work.model, work.tokenizer, streamed, work.progress), chosen


def _identity(work: Work, job: Job, corpus: Corpus | None) -> RunIdentity:
    row = work.model.row.row(0, named=True)
    return RunIdentity(
        job=job.name,
        version=job.version,
        model=work.model.name,
        weights_sha256=row["weights_sha256"],
        shape=asdict(work.transformer.shape),
        tokenizer_sha256=work.tokenizer.sha256,
        corpus_sha256=corpus.sha256 if corpus else None,
        # Weights are projected in float32 whatever the model computes in.
        dtype=work.request.dtype if corpus else "float32",
        parameters=job.parameters(),
    )
