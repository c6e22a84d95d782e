"""What comparing two models would take of memory, disk and time."""

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import torch
from jaxtyping import Int

from neurothek.catalog.publishing.publish import FinishedRun, PairedRun, publish_pair
from neurothek.catalog.tables.weights import COUNTERPARTS
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.errors import not_enough_disk, not_enough_memory
from neurothek.ingest.jobs.counterparts.job import BASIS, CounterpartsJob, PairContext
from neurothek.ingest.jobs.counterparts.listed import ListedModel
from neurothek.ingest.jobs.counterparts.overlaps import BLOCK, best_of_each_other
from neurothek.ingest.jobs.job import JobContext
from neurothek.ingest.lens.scorer import workspace_bytes
from neurothek.ingest.models.measured import find_measured, open_transformer_of
from neurothek.ingest.planning.agenda import device_of
from neurothek.ingest.planning.model_plan import in_gb, in_hours
from neurothek.ingest.planning.sweep_plan import PROCESS_BYTES, ROOMY
from neurothek.ingest.planning.work import Work, free_bytes, staging_folder
from neurothek.ingest.request import IngestRequest
from neurothek.ingest.runs.identity import RUN_COLUMNS, RunIdentity, is_missing

_K = 50
"""Tokens of a list, at most."""


@dataclass(frozen=True)
class PairPlan:
    """What comparing two models would take."""

    models: tuple[str, str]  # their names
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

    def timed(self, job: CounterpartsJob) -> "PairPlan":
        """With how long it would take, by comparing some of the neurons."""
        one, other = (_sample(model.lists(job.context.warehouse)) for model in (job.context.one, job.context.other))
        started = time.perf_counter()
        best_of_each_other(one, other, n_best=job.n_best)
        seconds = time.perf_counter() - started
        return replace(self, trial_seconds=seconds, hours=seconds * self.n_pairs / (len(one) * len(other)) / 3600)

    def lines(self) -> list[str]:
        """The plan as a person reads it."""
        entries = [
            ("pairs", f"{self.n_pairs:,} of neurons"),
            ("memory", f"up to {in_gb(self.memory_bytes)} of {in_gb(self.allowed_bytes)} allowed"),
            (
                "disk",
                f"up to {in_gb(self.disk_bytes)} under {self.staging}, where {in_gb(self.free_bytes)} are free",
            ),
            ("warehouse", f"about {in_gb(self.growth_bytes)} more"),
        ]
        if self.hours is not None:
            entries.append(("time", f"about {in_hours(self.hours)}, from a trial of {self.trial_seconds:.1f} seconds"))
        head = f"{self.models[0]} and {self.models[1]}: counterparts"
        return [head, *(f"  {name:<14}{value}" for name, value in entries)]


def pair_plan(request: IngestRequest, job: CounterpartsJob) -> PairPlan:
    """What comparing the two takes, without time."""
    one, other, staging = job.context.one, job.context.other, staging_folder(job.context.warehouse, request)
    needed = PROCESS_BYTES + max(_comparing_bytes(job), *(_drawing_bytes(model, job) for model in (one, other)))
    if needed > request.memory_bytes:
        raise not_enough_memory(f"measuring {job.name}", needed, request.memory_bytes)
    n_vectors = one.n_neurons + other.n_neurons * one.n_layers
    growth = (one.n_neurons + other.n_neurons) * job.n_best * 40
    disk = n_vectors * job.n_best * 16 + growth + (one.n_layers + other.n_layers) * job.n_random * 8 * _K
    if disk > free_bytes(staging):
        raise not_enough_disk(staging, disk, free_bytes(staging))
    return PairPlan(
        models=(one.name, other.name),
        n_pairs=one.n_neurons * other.n_neurons,
        memory_bytes=needed,
        allowed_bytes=request.memory_bytes,
        disk_bytes=disk,
        growth_bytes=growth // 2,
        staging=staging,
        free_bytes=free_bytes(staging),
    )


def _comparing_bytes(job: CounterpartsJob) -> int:
    """The lists of both, what a block lists at every rank, what each thread compares with it, the best so far."""
    one, other = job.context.one, job.context.other
    lists = sum((model.n_neurons + model.n_layers * job.n_random) * 2 * _K * 4 * 2 for model in (one, other))
    listed = BLOCK * 2 * _K * _K * 40
    compared = torch.get_num_threads() * BLOCK * BLOCK * 8 * 6
    best = other.n_neurons * job.n_best * 16 * 8
    return lists + listed + compared + best


def _drawing_bytes(model: ListedModel, job: CounterpartsJob) -> int:
    """The unembedding and its unmasked rows, a layer's vectors in both precisions, the scorer's buffers."""
    table = 4 * model.vocab_size * model.d_model
    vectors = 4 * (4 * model.d_ffn + 6 * job.n_random) * model.d_model
    lists = model.n_neurons * 2 * _K * 4 * 2
    return 2 * table + vectors + lists + workspace_bytes(model.vocab_size)


def _sample(lists: Int[np.ndarray, "n_layers d_ffn 2 k"]) -> Int[np.ndarray, "n 2 k"]:
    """[n 2 k] neurons from all layers, as many as are compared at once."""
    flat = lists.reshape(-1, *lists.shape[2:])
    return flat[:: math.ceil(len(flat) / BLOCK)]


@dataclass(frozen=True)
class PairWork(Work):
    """Two models that are compared, published from either side."""

    job: CounterpartsJob

    @property
    def models(self) -> tuple[str, ...]:
        """Both models' names."""
        return (self.job.context.one.name, self.job.context.other.name)

    def publish(self, runs: Sequence[FinishedRun], corpus: Corpus | None = None) -> dict[str, int]:
        """Publish the one run as two: the files of the one model's layers come first, then those of the other's."""
        (run,) = runs
        files, n_layers = run.files[COUNTERPARTS.name], self.job.context.one.n_layers
        sides = ((self.job, files[:n_layers]), (self.job.turned, files[n_layers:]))
        one, other = (_paired(job, run, half_files) for job, half_files in sides)
        return publish_pair(self.warehouse, one, other, memory_bytes=self.request.memory_bytes)


def _paired(job: CounterpartsJob, run: FinishedRun, files: Sequence[Path]) -> PairedRun:
    """What was found of the first model of the job's pair, in these files."""
    identity, pair = pair_identity(job), job.context
    columns = {"run_key": identity.key, "parameters": identity.parameters_json}
    row = run.row.with_columns(**{name: pl.lit(value) for name, value in columns.items()})
    half = replace(run, row=row, files={COUNTERPARTS.name: files})
    return PairedRun(pair.one.name, pair.other.name, str(pair.one.projections), half)


def opened(pair: PairContext, request: IngestRequest) -> PairContext:
    """The pair with both models opened; their weights are looked for where a person says, else where they came from."""
    contexts = {}
    for model in pair.sides.values():
        checkpoint, tokenizer = find_measured(
            model.measured, weights=model.weights, allow_pickle=request.allow_pickle, option=f"{model.name}=PATH"
        )
        transformer = open_transformer_of(model.measured, checkpoint, device=device_of(request), resident=False)
        contexts[model.name] = JobContext(transformer, tokenizer)
    return replace(pair, opened=contexts)


def pair_identity(job: CounterpartsJob) -> RunIdentity:
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
        corpus_sha256=None,
        sequence_length=None,
        dtype="float32",
        parameters=job.parameters(),
        tokenizer_identity=None,
    )


def is_pair_missing(job: CounterpartsJob, *, force: bool) -> bool:
    """Whether the run from the side of the first model of the job's pair is to be measured."""
    identity, pair = pair_identity(job), job.context
    query = f"select {', '.join(RUN_COLUMNS)} from store.runs where job = ? and model_id = ? and other_model_id = ?"  # noqa: S608 - names of ours
    with pair.warehouse.current_reader() as connection:
        rows = connection.execute(query, [job.name, pair.one.model_id, pair.other.model_id]).fetchall()
    earlier = dict(zip(RUN_COLUMNS, rows[0], strict=True)) if rows else None
    if earlier is not None:
        before = json.loads(earlier["parameters"])
        # Of other lists the rows say nothing, whatever else was asked.
        if any(before.get(name) != identity.parameters[name] for name in BASIS):
            return True
    return is_missing(earlier, identity, force=force)
