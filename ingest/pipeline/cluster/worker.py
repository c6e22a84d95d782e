"""What a worker does: it opens the model once, and measures the parts that it is given."""

import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from errno import EDQUOT, ENOSPC
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import torch

from neurothek.catalog.problems import Busy, NeurothekError, Unavailable
from neurothek.catalog.publishing.staging import StagedRun
from neurothek.catalog.tables.table import NotFinite
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.chunk_pass import take_through
from neurothek.ingest.forward.stream_store import MemoryStreams, PackedStreams
from neurothek.ingest.jobs import registry
from neurothek.ingest.jobs.job import Job, JobContext, MeasureShard, ShardJob, SweepJob
from neurothek.ingest.models import checkpoints
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer, open_transformer
from neurothek.ingest.pipeline.cluster.assignment import (
    Assignment,
    Failure,
    Handed,
    MeasuredPart,
    StreamsFollow,
    Task,
    WorkerInfo,
    packed_frames,
)
from neurothek.ingest.pipeline.cluster.errors import worker_differs
from neurothek.ingest.pipeline.engines.engine import PARTIAL, StagedJob, checked_frames, folded, part_name
from neurothek.ingest.planning.agenda import DTYPES
from neurothek.ingest.request import default_memory
from neurothek.ingest.runs.identity import versions


class Worker:
    """Measures parts of one model after another; knows nothing of the cluster that it lives in."""

    def __init__(self) -> None:
        self._assignment: Assignment | None = None
        self._task = Task({}, is_resident=True)
        self._corpus: Corpus | None = None
        self._watching: dict[str, SweepJob] = {}
        self._measuring: dict[str, tuple[ShardJob[Any], MeasureShard]] = {}
        self._held = ExitStack()

    def info(self, device: str, witness: Path) -> WorkerInfo:
        """Its machine, its libraries and its memory.

        Args:
            device: cpu or cuda.
            witness: a file that the driver wrote into its staging folder.
        """
        memory = torch.cuda.get_device_properties(0).total_memory if device == "cuda" else 2 * default_memory()
        return WorkerInfo(platform.node(), versions(), memory, witness.exists())

    def open(self, assignment: Assignment) -> Failure | None:
        """Take on a model; what was known of another is let go."""
        self._close()
        if assignment == self._assignment:
            return None
        torch.set_num_threads(assignment.n_threads)
        self._assignment = assignment
        for name in ("transformer", "tokenizer", "_checkpoint"):
            self.__dict__.pop(name, None)
        try:
            self._require_same()
        except NeurothekError as error:
            return Failure("refused", platform.node(), str(error))
        return None

    def take_task(self, task: Task, corpus: Corpus | None) -> Failure | None:
        """Take on the jobs of a task, which must be those of the driver to the last parameter."""
        self._close()
        self._task, self._corpus = task, corpus
        if not task.is_resident:
            self.transformer.stream()
        try:
            for name, expected in task.parameters.items():
                parameters = self._job(name).parameters()
                if parameters != expected:
                    different = sorted(
                        key for key in {*parameters, *expected} if parameters.get(key) != expected.get(key)
                    )
                    key = different[0]
                    theirs, ours = str(parameters.get(key)), str(expected.get(key))
                    return Failure(
                        "refused",
                        platform.node(),
                        str(worker_differs(platform.node(), f"for {name} the {key}", theirs, ours)),
                    )
        except NeurothekError as error:
            return Failure("refused", platform.node(), str(error))
        return None

    def shards(self, job: str, names: Sequence[str]) -> Iterator[Handed]:
        """Measure shards of a job, one after the other."""
        try:
            for name in names:
                one, measure = self._measure(job)
                yield self._handed(job, name, checked_frames(measure(name), one.tables))
        except (NeurothekError, OSError) as error:
            yield _failure(error)

    def chunk(
        self,
        number: int,
        watched: Mapping[int, Sequence[str]],
        streams: PackedStreams | None,
        is_passed_on: bool,
    ) -> Iterator[Handed]:
        """Take one chunk through blocks, and hand back what the observers of each saw.

        Args:
            number: which chunk.
            watched: layer -> the jobs that watch it, in the order of the layers.
            streams: what entered the first of them; None for the model's first.
            is_passed_on: whether the streams that left the last of them are handed back at the end.
        """
        assert self._corpus is not None
        transformer = self.transformer
        held = MemoryStreams() if streams is None else MemoryStreams.unpacked(streams, transformer)
        try:
            seen = take_through(
                transformer,
                self._corpus,
                number,
                ((layer, [self._watcher(job).observer(layer) for job in jobs]) for layer, jobs in watched.items()),
                streams=held,
                batch_tokens=self._current_assignment.request.batch_tokens,
            )
            for layer, results in seen:
                for job, frame in zip(watched[layer], results, strict=True):
                    yield self._handed(job, part_name(layer, number), {PARTIAL: frame}, is_passing=True)
            if is_passed_on:
                yield StreamsFollow()
                yield held.packed()
        except (NeurothekError, OSError) as error:
            yield _failure(error)

    def fold(self, job: str, layer: int) -> Iterator[Handed]:
        """Fold what was seen of a layer, all of which lies in the job's outbox, into its rows.

        Args:
            job: the job.
            layer: which layer.
        """
        assert self._corpus is not None
        try:
            staged = StagedJob(self._watcher(job), self._task.outboxes[job])
            if not staged.is_folded(layer):
                with torch.inference_mode():
                    rows = staged.rows(layer, self._corpus)
                self._handed(job, folded(layer), rows)
            self._require_ours(staged.run, job)
            staged.drop_parts(layer, self._corpus)
            yield MeasuredPart(job, folded(layer))
        except (NeurothekError, OSError) as error:
            yield _failure(error)

    @cached_property
    def transformer(self) -> Transformer:
        """The model."""
        assignment = self._current_assignment
        return open_transformer(self._checkpoint, device=assignment.device, dtype=DTYPES[assignment.request.dtype])

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Its tokenizer."""
        return tokenization.load(
            self._checkpoint.folder, from_file=self._current_assignment.request.tokenizer_from_file
        )

    @property
    def _current_assignment(self) -> Assignment:
        assert self._assignment is not None
        return self._assignment

    @cached_property
    def _checkpoint(self) -> checkpoints.Checkpoint:
        """The model's files: where the driver has them, else what its name stands for here."""
        assignment = self._current_assignment
        is_there = assignment.folder.exists()
        return checkpoints.find(
            str(assignment.folder) if is_there else assignment.source,
            name=assignment.name,
            revision=None if is_there else assignment.revision,
            allow_pickle=assignment.request.allow_pickle,
        )

    def _require_same(self) -> None:
        """Raises if the weights here are others."""
        assignment, sha256 = self._current_assignment, self._checkpoint.weights_sha256
        if sha256 != assignment.weights_sha256:
            what = f"weights of {assignment.name} with sha256"
            raise worker_differs(platform.node(), what, f"{sha256[:12]}…", f"{assignment.weights_sha256[:12]}…")

    def _job(self, name: str) -> Job[Any]:
        assignment = self._current_assignment
        context = JobContext(self.transformer, self.tokenizer, batch_tokens=assignment.request.batch_tokens)
        job = registry.job_class(name).from_options(context, assignment.request)
        return job.within(replace(context, text=self._corpus))

    def _watcher(self, name: str) -> SweepJob:
        if name not in self._watching:
            job = self._job(name)
            assert isinstance(job, SweepJob)
            self._watching[name] = job
        return self._watching[name]

    def _measure(self, name: str) -> tuple[ShardJob[Any], MeasureShard]:
        """A job and what measures its shards, which stays open until the next task."""
        if name not in self._measuring:
            job = self._job(name)
            assert isinstance(job, ShardJob)
            self._measuring[name] = (job, self._held.enter_context(job.open(Path(), _nothing_to_read)))
        return self._measuring[name]

    def _handed(
        self, job: str, shard: str, frames: Mapping[str, pl.DataFrame], *, is_passing: bool = False
    ) -> MeasuredPart:
        """A shard as it is handed back, or written where the driver finds it."""
        outbox = self._task.outboxes.get(job)
        if outbox is None:
            return MeasuredPart(job, shard, packed_frames(frames))
        self._require_ours(outbox, job)
        outbox.write(shard, frames, is_passing=is_passing)
        return MeasuredPart(job, shard)

    def _require_ours(self, outbox: StagedRun, job: str) -> None:
        """Raises where the driver is gone, and somebody else measures, or has measured, the same."""
        if not outbox.is_ours():
            raise Busy(
                f"another process has taken up the run of {job}",
                "let it finish, or stop it and repeat the command",
                path=job,
            )

    def _close(self) -> None:
        """Let go of the jobs before."""
        self._held.close()
        self._watching, self._measuring = {}, {}


def _nothing_to_read(table: str) -> pl.LazyFrame:
    """Shards that are measured apart build on no others."""
    raise AssertionError(table)


def _failure(error: NeurothekError | OSError) -> Failure:
    """An error as it is handed back, where it says something that the driver acts upon."""
    if isinstance(error, NotFinite):
        return Failure("overflow", platform.node(), str(error), error.table, error.column)
    is_disk = isinstance(error, Unavailable) and error.what == "staging"
    if is_disk or (isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT)):
        return Failure("disk", platform.node(), str(error))
    if isinstance(error, OSError):
        raise error
    return Failure("refused", platform.node(), str(error))
