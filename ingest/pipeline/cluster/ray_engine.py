"""Measuring by the workers of a Ray cluster."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray
import torch

from neurothek.catalog.files import temporary
from neurothek.catalog.publishing.staging import StagedRun
from neurothek.ingest.amounts import in_number
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.jobs import registry
from neurothek.ingest.jobs.job import Job, PassJob, ReadBack, ShardJob, SweepJob
from neurothek.ingest.numerics.gpu_memory import OF_A_GPU
from neurothek.ingest.pipeline.cluster.assignment import Assignment, MeasuredPart, Task, unpacked_frames
from neurothek.ingest.pipeline.cluster.errors import worker_differs
from neurothek.ingest.pipeline.cluster.placement import share_for_sweep
from neurothek.ingest.pipeline.cluster.session import Room, WorkerRequest, joined
from neurothek.ingest.pipeline.cluster.sweeping import ChunkUnit, Sweeping, fold_unit, layer_and_chunk, shard_units
from neurothek.ingest.pipeline.cluster.waiting import Unit, Waiting
from neurothek.ingest.pipeline.cluster.worker_pool import WorkerPool
from neurothek.ingest.pipeline.engines.engine import Engine, LocalEngine, StagedJob
from neurothek.ingest.planning.sweep_plan import SweepPlan
from neurothek.ingest.planning.work import ModelWork, Work
from neurothek.ingest.request import IngestRequest, default_memory
from neurothek.ingest.runs.identity import versions


@dataclass(frozen=True)
class RunningWorkers:
    """Workers that have started, and what they have in common."""

    pool: WorkerPool  # the workers
    device: str  # what they compute on, cpu or cuda
    memory_bytes: int  # what the least of them may take
    sees_staging: bool  # whether all of them see the staging folder


def start_workers(room: Room, staging: Path, *, n_threads: int, memory_bytes: int) -> RunningWorkers:
    """Start as many workers as there is room for.

    Args:
        room: how many, and what each gets.
        staging: where the driver stages rows.
        n_threads: CPUs of each worker.
        memory_bytes: what a person lets each take; on CPUs, workers of one machine share the default.
    """
    pool = WorkerPool(room.n_workers, n_threads=n_threads, n_gpus=room.n_gpus)
    device = "cuda" if room.n_gpus else "cpu"
    try:
        staging.mkdir(parents=True, exist_ok=True)
        with temporary(staging / "witness") as witness:
            witness.touch()
            infos = pool.worker_infos(device, witness.absolute())
        for one in infos:
            _require_same(one.machine, one.versions)
    except BaseException:
        pool.dismiss()
        raise
    on_machine = Counter(one.machine for one in infos)
    if device == "cuda":
        memory = int(OF_A_GPU * min(1.0, room.n_gpus) * min(one.memory_bytes for one in infos))
    elif memory_bytes == default_memory():
        memory = min(one.memory_bytes // 2 // on_machine[one.machine] for one in infos)
    else:
        memory = memory_bytes
    return RunningWorkers(pool, device, memory, all(one.sees_staging for one in infos))


def _require_same(machine: str, reported: str) -> None:
    """Raises if a worker's libraries are others."""
    theirs, ours = json.loads(reported), json.loads(versions())
    for name, version in ours.items():
        if theirs.get(name) != version:
            raise worker_differs(machine, name, str(theirs.get(name)), version)


class RayEngine(Engine):
    """Has workers measure whatever stands for itself, and measures the rest in this process."""

    def __init__(self, request: IngestRequest) -> None:
        usual = {"cpu": 0.0, "cuda": 1.0}.get(request.device)
        n_gpus = usual if request.gpus_per_worker is None else request.gpus_per_worker
        self._worker_request = WorkerRequest(request.address, request.workers, n_gpus, torch.get_num_threads())
        self._memory_bytes = request.memory_bytes
        self._here = LocalEngine()
        self._held = ExitStack()
        self._room: Room | None = None
        self._running: RunningWorkers | None = None
        self._corpora: dict[str, Any] = {}
        self._n_parts = self._n_bytes = self._n_lost = 0

    def close(self) -> None:
        """Let the workers go and leave the cluster."""
        self._dismiss()
        self._corpora.clear()
        self._held.close()

    def device(self, work: Work, job: str) -> str:
        """That of the workers, unless the job is measured here."""
        kind = registry.job_class(job)
        is_apart = issubclass(kind, SweepJob) or (issubclass(kind, ShardJob) and kind.apart is not ShardJob.apart)
        if not (is_apart and isinstance(work, ModelWork)):
            return self._here.device(work, job)
        return "cuda" if self._joined(work).n_gpus else "cpu"

    def shards(self, work: Work, job: ShardJob[Any], run: StagedRun, read_back: ReadBack) -> None:
        """Those that stand apart by the workers, then the others here."""
        shards = job.shards()
        missing = [shard for shard in job.apart() if not run.has(shard, shards[shard])]
        if missing and isinstance(work, ModelWork):
            self._apart(work, job, run, missing)
        self._here.shards(work, job, run, read_back)

    def sweep(self, work: ModelWork, corpus: Corpus, jobs: Sequence[StagedJob], plan: SweepPlan) -> None:
        """Chunks by all workers, or through pipelines of them; layers are folded as soon as they were seen.

        Workers fold, too, where they see the staging folder: else this process does.
        """
        n_layers = work.transformer.shape.n_layers
        by_name = {one.job.name: one for one in jobs}
        with self._workers(work) as running:
            placement = share_for_sweep(
                work, corpus, list(by_name), memory_bytes=running.memory_bytes, n_workers=len(running.pool)
            )
            running.pool.place(placement.places())
            sweeping = Sweeping(corpus, jobs, placement, n_layers=n_layers)
            staged = [(one.job, one.run) for one in jobs]
            self._prepare(work, running, corpus, staged, is_resident=placement.is_resident)

            def fold(job: str, layer: int) -> None:
                if running.sees_staging:
                    sweeping.waiting.add(fold_unit(job, layer))
                else:
                    with torch.inference_mode():
                        by_name[job].fold(layer, corpus)

            def take(unit: Unit, part: MeasuredPart | None, reference: object) -> None:
                if part is None:
                    sweeping.keep(unit, reference)
                    return
                work.progress.advance()
                self._write(by_name[part.job].run, part, is_passing=True)
                if isinstance(unit, ChunkUnit) and sweeping.seen(part.job, *layer_and_chunk(part.shard)):
                    fold(part.job, layer_and_chunk(part.shard)[0])

            unfolded = [(job, layer) for job in by_name for layer in range(n_layers)]
            unfolded = [(job, layer) for job, layer in unfolded if not by_name[job].is_folded(layer)]
            title = f"{work.label}: {', '.join(by_name)} by {in_number(placement.n_workers, 'worker')}"
            work.progress.start(title, sweeping.n_left + len(unfolded) * running.sees_staging)
            for job, layer in unfolded:
                if sweeping.is_whole(job, layer):
                    fold(job, layer)
            running.pool.run(sweeping.waiting, take, sweeping.done)
        work.progress.finish()

    def details(self) -> list[str]:
        """How much was handed over, and how many workers were lost."""
        if self._room is None:
            return []
        workers = in_number(len(self._running.pool) if self._running else self._room.n_workers, "worker")
        machines = in_number(self._room.n_nodes, "machine")
        n_lost = self._n_lost + (self._running.pool.n_lost if self._running else 0)
        moved, lost = f"{self._n_bytes / 1e6:,.1f} MB", in_number(n_lost, "worker")
        return [
            f"{workers} on {machines} handed over {self._n_parts:,} parts, {moved} through the object store; {lost}"
            " lost and replaced"
        ]

    def _apart(self, work: ModelWork, job: ShardJob[Any], run: StagedRun, missing: Sequence[str]) -> None:
        with self._workers(work) as running:
            n_workers = len(running.pool)
            running.pool.place([0] * n_workers)
            is_resident = not isinstance(job, PassJob) or job.memory_bytes(is_resident=True) <= running.memory_bytes
            self._prepare(work, running, job.context.text, [(job, run)], is_resident=is_resident)
            work.progress.start(f"{work.label}: {job.name} by {in_number(n_workers, 'worker')}", len(missing))

            def take(unit: Unit, part: MeasuredPart | None, reference: object) -> None:
                assert part is not None
                self._write(run, part, is_passing=False)
                work.progress.advance()

            running.pool.run(Waiting(shard_units(job.name, missing)), take, lambda unit: None)
        work.progress.finish()

    def _joined(self, work: Work) -> Room:
        if self._room is None:
            work.progress.start("joining the cluster" if self._worker_request.address else "starting Ray", 0)
            self._room = self._held.enter_context(joined(self._worker_request, memory_bytes=self._memory_bytes))
            work.progress.finish()
        return self._room

    @contextmanager
    def _workers(self, work: ModelWork) -> Iterator[RunningWorkers]:
        """Workers that have started; after an error they are let go, whatever they are doing."""
        room = self._joined(work)
        try:
            if self._running is None:
                work.progress.start(f"starting {in_number(room.n_workers, 'worker')}", 0)
                self._running = start_workers(
                    room, work.staging, n_threads=self._worker_request.n_threads, memory_bytes=self._memory_bytes
                )
                work.progress.finish()
            yield self._running
        except BaseException:
            self._dismiss()
            raise

    def _dismiss(self) -> None:
        if self._running is not None:
            self._n_lost += self._running.pool.n_lost
            self._running.pool.dismiss()
            self._running = None

    def _prepare(
        self,
        work: ModelWork,
        running: RunningWorkers,
        corpus: Corpus | None,
        jobs: Sequence[tuple[Job[Any], StagedRun]],
        *,
        is_resident: bool,
    ) -> None:
        """Tell the workers which model and which jobs."""
        checkpoint = work.checkpoint
        assignment = Assignment(
            name=work.model.name,
            source=checkpoint.source,
            revision=checkpoint.revision,
            folder=checkpoint.folder.absolute(),
            weights_sha256=checkpoint.weights_sha256,
            request=replace(work.request, staging=None, interventions=(), steering=None, single_neurons=()),
            device=running.device,
            n_threads=self._worker_request.n_threads,
        )
        outboxes = {job.name: StagedRun(run.folder.absolute(), run.manifest) for job, run in jobs}
        task = Task(
            parameters={job.name: job.parameters() for job, _ in jobs},
            is_resident=is_resident,
            outboxes=outboxes if running.sees_staging else {},
        )
        running.pool.prepare(("open", (assignment,)), ("take_task", (task, self._reference(corpus))))

    def _reference(self, corpus: Corpus | None) -> object:
        """Where the workers find a corpus, which goes to each machine once."""
        if corpus is None:
            return None
        if corpus.sha256 not in self._corpora:
            self._corpora = {corpus.sha256: ray.put(corpus)}
        return self._corpora[corpus.sha256]

    def _write(self, run: StagedRun, part: MeasuredPart, *, is_passing: bool) -> None:
        """Write what a worker handed back, unless it wrote that itself."""
        self._n_parts += 1
        self._n_bytes += part.n_bytes
        if part.frames:
            run.write(part.shard, unpacked_frames(part.frames), is_passing=is_passing)
