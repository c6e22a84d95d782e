"""What comparing two models would take of memory, disk and time."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from neurothek.catalog.publishing.publish import FinishedRun, PairedRun, publish_pair
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.corpora.selection import stored_corpus
from neurothek.ingest.errors import not_enough_disk, not_enough_memory
from neurothek.ingest.jobs.job import JobContext
from neurothek.ingest.jobs.pair_job import PairContext, PairJob
from neurothek.ingest.models.measured import find_measured, open_transformer_of
from neurothek.ingest.planning.agenda import device_of
from neurothek.ingest.planning.model_plan import in_gb, in_hours
from neurothek.ingest.planning.sweep_plan import PROCESS_BYTES, ROOMY
from neurothek.ingest.planning.work import Work, free_bytes, staging_folder
from neurothek.ingest.request import IngestRequest
from neurothek.ingest.runs.identity import RUN_COLUMNS, RunIdentity, is_missing


@dataclass(frozen=True)
class PairPlan:
    """What comparing two models would take."""

    models: tuple[str, str]  # their names
    job: str  # name of the job
    text: str | None  # what they read, in words; None where the job reads no text
    n_pairs: int  # pairs of neurons
    memory_bytes: int  # what it adds to the process's memory, estimated from above
    allowed_bytes: int  # what it may add
    disk_bytes: int  # what lies in the staging folder, estimated from above
    growth_bytes: int  # about how much the warehouse grows
    staging: Path  # the folder
    free_bytes: int  # free space there
    trial_seconds: float = 0.0  # how long a part of the pairs took; 0 where none was tried
    hours: float | None = None  # how long all would take by that; None likewise

    @property
    def is_tight(self) -> bool:
        """Whether freed memory has to go back to the system at once."""
        return self.allowed_bytes < ROOMY * self.memory_bytes

    def timed(self, job: PairJob) -> "PairPlan":
        """With how long it would take, by comparing some of the neurons."""
        trial, whole = job.trial()
        return replace(self, trial_seconds=trial, hours=whole / 3600)

    def lines(self) -> list[str]:
        """The plan as a person reads it."""
        entries = [
            *([] if self.text is None else [("text", self.text)]),
            ("pairs", f"{self.n_pairs:,} of neurons"),
            ("memory", f"up to {in_gb(self.memory_bytes)} of {in_gb(self.allowed_bytes)} allowed"),
            (
                "disk",
                f"up to {in_gb(self.disk_bytes)} under {self.staging}, where {in_gb(self.free_bytes)} are free",
            ),
            ("warehouse", f"about {in_gb(self.growth_bytes)} more"),
        ]
        if self.hours is not None:
            rest = "" if self.text is None else ", without reading the text"
            entries.append(
                ("time", f"about {in_hours(self.hours)}, from a trial of {self.trial_seconds:.1f} seconds{rest}")
            )
        head = f"{self.models[0]} and {self.models[1]}: {self.job}"
        return [head, *(f"  {name:<14}{value}" for name, value in entries)]


def pair_plan(request: IngestRequest, job: PairJob) -> PairPlan:
    """What comparing the two takes, without time."""
    one, other, staging = job.context.one, job.context.other, staging_folder(job.context.warehouse, request)
    needed = PROCESS_BYTES + job.memory_bytes(batch_tokens=request.batch_tokens)
    if needed > request.memory_bytes:
        raise not_enough_memory(f"measuring {job.name}", needed, request.memory_bytes)
    disk = job.disk_bytes()
    if disk > free_bytes(staging):
        raise not_enough_disk(staging, disk, free_bytes(staging))
    return PairPlan(
        models=(one.name, other.name),
        job=job.name,
        text=job.extent(),
        n_pairs=one.n_neurons * other.n_neurons,
        memory_bytes=needed,
        allowed_bytes=request.memory_bytes,
        disk_bytes=disk,
        growth_bytes=job.growth_bytes(),
        staging=staging,
        free_bytes=free_bytes(staging),
    )


@dataclass(frozen=True)
class PairWork(Work):
    """Two models that are compared, published from either side."""

    job: PairJob

    @property
    def models(self) -> tuple[str, ...]:
        """Both models' names."""
        return (self.job.context.one.name, self.job.context.other.name)

    def publish(self, runs: Sequence[FinishedRun], corpus: Corpus | None = None) -> dict[str, int]:
        """Publish the one run as two: the files of the one model's layers come first, then those of the other's."""
        (run,) = runs
        files, n_layers = run.files[self.job.tables[0].name], self.job.context.one.n_layers
        sides = ((self.job, files[:n_layers]), (self.job.turned, files[n_layers:]))
        one, other = (_paired(job, run, half_files) for job, half_files in sides)
        return publish_pair(self.warehouse, one, other, memory_bytes=self.request.memory_bytes)


def _paired(job: PairJob, run: FinishedRun, files: Sequence[Path]) -> PairedRun:
    """What was found of the first model of the job's pair, in these files."""
    identity, pair = pair_identity(job), job.context
    columns = {"run_key": identity.key, "parameters": identity.parameters_json}
    row = run.row.with_columns(**{name: pl.lit(value) for name, value in columns.items()})
    half = replace(run, row=row, files={job.tables[0].name: files})
    corpus_id = None if pair.stored is None else pair.stored.corpus_id
    weights = pair.one.measured.weights_sha256
    return PairedRun(pair.one.name, pair.other.name, weights, half, projections=job.rests_on, corpus_id=corpus_id)


def opened(pair: PairContext, request: IngestRequest) -> PairContext:
    """The pair with both models opened; their weights are looked for where a person says, else where they came from."""
    contexts = {}
    for model in pair.sides.values():
        checkpoint, tokenizer = find_measured(
            model.measured, weights=model.weights, allow_pickle=request.allow_pickle, option=f"{model.name}=PATH"
        )
        transformer = open_transformer_of(model.measured, checkpoint, device=device_of(request), resident=False)
        contexts[model.name] = JobContext(transformer, tokenizer)
    if pair.stored is None:
        return replace(pair, opened=contexts)
    tokenizer = contexts[pair.one.name].tokenizer
    text = stored_corpus(pair.warehouse, pair.stored.corpus_id, tokenizer)
    return replace(pair, opened=contexts, text=text)


def pair_identity(job: PairJob) -> RunIdentity:
    """The run from the side of the first model of the job's pair."""
    model = job.context.one
    return RunIdentity(
        job=job.name,
        version=job.version,
        model=model.name,
        weights_sha256=model.measured.weights_sha256,
        # What else there is to know of both is part of the keys of their lists.
        shape={},
        tokenizer_sha256=model.tokenizer_sha256,
        dtype="float32",
        parameters=job.parameters(),
        tokenizer_identity=None if job.context.stored is None else job.context.stored.tokenizer_identity,
        **job.identity_fields(),
    )


def is_pair_missing(job: PairJob, *, force: bool) -> bool:
    """Whether the run from the side of the first model of the job's pair is to be measured."""
    identity, pair = pair_identity(job), job.context
    query = f"""
        select {", ".join(RUN_COLUMNS)} from store.runs
        where job = ? and model_id = ? and other_model_id = ? and corpus_id is not distinct from ?
    """  # noqa: S608 - names of ours
    corpus_id = None if pair.stored is None else pair.stored.corpus_id
    values = [job.name, pair.one.model_id, pair.other.model_id, corpus_id]
    with pair.warehouse.current_reader() as connection:
        rows = connection.execute(query, values).fetchall()
    earlier = dict(zip(RUN_COLUMNS, rows[0], strict=True)) if rows else None
    if earlier is not None:
        before = json.loads(earlier["parameters"])
        # Of other lists the rows say nothing, whatever else was asked.
        if any(before.get(name) != identity.parameters[name] for name in job.basis):
            return True
    return is_missing(earlier, identity, force=force)
