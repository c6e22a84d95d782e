"""The measuring itself: shards are staged one by one, then published together."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from catalog.errors import NeurothekError
from catalog.publishing.publish import FinishedRun
from catalog.publishing.staging import RunManifest, StagedRun, StagingFull, now, staged_run
from catalog.tables.dimensions import RUNS
from catalog.tables.table import NotFinite, Table
from ingest.corpora.corpus import Corpus
from ingest.forward.sweep import Observer, sweep
from ingest.jobs.job import Partials, ReadBack, ShardJob, SweepJob
from ingest.models.errors import MeasurementOverflow
from ingest.planning.agenda import device_of
from ingest.planning.sweep_plan import SweepPlan
from ingest.planning.work import ModelWork, Work
from ingest.runs.identity import RunIdentity, versions

_SORTED = "sorted"
_PARTIAL = "partial"


def measure_shards(
    work: Work,
    jobs: Sequence[tuple[ShardJob[Any], RunIdentity]],
    *,
    remark: Callable[[str], None] = lambda text: None,
) -> dict[str, int]:
    """Measure jobs shard by shard, one job after the other, and publish each when it is whole; rows by table.

    Args:
        work: the model, or the pair of them.
        jobs: the jobs that are left to measure.
        remark: takes what a person should know of what was measured.
    """
    written: dict[str, int] = {}
    for job, identity in jobs:
        corpus = job.context.text if identity.corpus_sha256 else None
        with _staged(work, identity, corpus) as run:
            shards = job.shards()
            read_back = _reader(run, shards)
            _write_shards(work, job, run, read_back)
            files = {table.name: _files(work, run, table, _filling(table.name, shards)) for table in job.tables}
            for text in job.remarks(read_back):
                remark(text)
            finished = _finished(run, identity, files, maps=job.matrices(run.folder))
            written |= work.publish([finished], corpus)
            run.discard()
    return written


def _write_shards(work: Work, job: ShardJob[Any], run: StagedRun, read_back: ReadBack) -> None:
    """Measure the shards that are missing; what they share is let go before the rows are sorted."""
    shards = job.shards()
    work.progress.start(f"{work.label}: {job.name}", len(shards))
    with job.open(run.folder, read_back) as measure:
        for shard, tables in shards.items():
            if not run.has(shard, tables):
                run.write(shard, _checked(measure(shard), job.tables))
            work.progress.advance()
    work.progress.finish()


def measure_text(
    work: ModelWork, corpus: Corpus, jobs: Sequence[tuple[SweepJob, RunIdentity]], plan: SweepPlan
) -> dict[str, int]:
    """Measure jobs that read text in one sweep, and publish them together; rows by table."""
    with ExitStack() as stack:
        runs = [stack.enter_context(_staged(work, identity, corpus)) for _, identity in jobs]
        # Copies, so that what layers share while they are folded is let go with them.
        staged = [_StagedJob(replace(job), run) for (job, _), run in zip(jobs, runs, strict=True)]
        _sweep(work, corpus, staged, plan)
        finished = [
            _finished(one.run, identity, _shards(work, one)) for one, (_, identity) in zip(staged, jobs, strict=True)
        ]
        written = work.publish(finished, corpus)
        for run in runs:
            run.discard()
    return written


def _reader(run: StagedRun, shards: Mapping[str, tuple[str, ...]]) -> ReadBack:
    """Name of a table -> its rows in the shards that are done."""

    def read_back(table: str) -> pl.LazyFrame:
        names = [name for name in _filling(table, shards) if run.has(name, [table])]
        return pl.scan_parquet([run.path(name, table) for name in names])

    return read_back


def _filling(table: str, shards: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The shards that have rows of a table."""
    return [shard for shard, tables in shards.items() if table in tables]


@dataclass(frozen=True)
class _StagedJob:
    """A job that watches the text, and where its parts and its folded layers lie."""

    job: SweepJob
    run: StagedRun

    def has(self, layer: int, chunk: int) -> bool:
        """Whether nothing is left to see there."""
        return self.is_folded(layer) or self.run.has(_part(layer, chunk), [_PARTIAL])

    def is_folded(self, layer: int) -> bool:
        """Whether the layer's rows are there, so that its parts are not needed any more."""
        return self.run.has(_folded(layer), [table.name for table in self.job.tables])

    def fold(self, layer: int, corpus: Corpus) -> None:
        """Fold a layer's parts in the order of the chunks, then delete them."""
        parts = [_part(layer, chunk) for chunk in range(len(corpus.chunks()))]
        if not self.is_folded(layer):
            partials = Partials(tuple(self.run.scan(part, _PARTIAL) for part in parts))
            self.run.write(_folded(layer), _checked(self.job.fold(layer, partials), self.job.tables))
        for part in parts:
            self.run.drop(part, _PARTIAL)


def _sweep(work: ModelWork, corpus: Corpus, jobs: Sequence[_StagedJob], plan: SweepPlan) -> None:
    """Show the text to every job, and fold a layer as soon as it has been seen whole."""

    def missing(layer: int, chunk: int) -> list[_StagedJob]:
        return [one for one in jobs if not one.has(layer, chunk)]

    def observers_for(layer: int, chunk: int) -> Sequence[Observer]:
        return [one.job.observer() for one in missing(layer, chunk)]

    def sink(layer: int, chunk: int, results: list[pl.DataFrame]) -> None:
        for one, result in zip(missing(layer, chunk), results, strict=True):
            one.run.write(_part(layer, chunk), {_PARTIAL: result}, is_passing=True)

    def finish(layer: int) -> None:
        for one in jobs:
            one.fold(layer, corpus)

    sweep(
        work.transformer,
        corpus,
        observers_for=observers_for,
        is_done=lambda layer, chunk: not missing(layer, chunk),
        sink=sink,
        finish=finish,
        batch_tokens=work.request.batch_tokens,
        order=plan.order,
        folder=jobs[0].run.folder,
        progress=work.progress,
        label=f"{work.label}: {', '.join(one.job.name for one in jobs)}",
    )


def _shards(work: ModelWork, staged: _StagedJob) -> dict[str, list[Path]]:
    layers = [_folded(layer) for layer in range(work.transformer.shape.n_layers)]
    return {table.name: _files(work, staged.run, table, layers) for table in staged.job.tables}


def _folded(layer: int) -> str:
    return f"layer-{layer:04d}"


def _part(layer: int, chunk: int) -> str:
    return f"layer-{layer:04d}.chunk-{chunk:06d}"


@contextmanager
def _staged(work: Work, identity: RunIdentity, corpus: Corpus | None) -> Iterator[StagedRun]:
    """A run's folder; how it ends is written down for the command `runs`."""
    device, (_, *others) = device_of(work.request), work.models
    manifest = RunManifest(
        run_key=identity.key,
        job=identity.job,
        job_version=identity.version,
        model=identity.model,
        corpus=corpus.name if corpus else None,
        parameters=identity.parameters,
        dtype=identity.dtype,
        started_at=now(),
        arithmetic=f"{device}, {work.request.batch_tokens} ids a batch" if corpus else device if others else None,
        other_model=others[0] if others else None,
    )
    with staged_run(work.staging, manifest) as run:
        try:
            yield run
        except KeyboardInterrupt:
            run.mark("interrupted")
            raise
        except NotFinite as error:
            run.discard()
            raise MeasurementOverflow(identity.model, identity.job, error.column, identity.dtype) from error
        except MeasurementOverflow:
            # Another job of the same sweep found it out: what this one saw is no better.
            run.discard()
            raise
        except NeurothekError as error:
            # Where the disk is full, the note that it is does not fit either.
            with suppress(StagingFull):
                run.mark("failed", str(error))
            raise


def _checked(frames: Mapping[str, pl.DataFrame], tables: Sequence[Table]) -> dict[str, pl.DataFrame]:
    by_name = {table.name: table for table in tables}
    return {name: by_name[name].check(frame) if name in by_name else frame for name, frame in frames.items()}


def _files(work: Work, run: StagedRun, table: Table, shards: Sequence[str]) -> list[Path]:
    """The table's files in the order in which their rows are to lie."""
    if table.order:
        return [run.sort(_SORTED, table, shards, memory_bytes=work.request.memory_bytes)]
    return [run.path(shard, table.name) for shard in shards]


def _finished(
    run: StagedRun, identity: RunIdentity, files: Mapping[str, Sequence[Path]], *, maps: Path | None = None
) -> FinishedRun:
    """The run as it is published, with the files that hold its rows in the order in which they are to lie."""
    row = {
        "run_key": identity.key,
        "job": identity.job,
        "job_version": identity.version,
        "parameters": identity.parameters_json,
        "dtype": identity.dtype,
        "started_at": run.manifest.started_at,
        "finished_at": now(),
        "n_rows": 0,
        "versions": versions(),
    }
    needs_corpus = identity.corpus_sha256 is not None
    return FinishedRun(pl.DataFrame([row], schema=dict(RUNS.columns)), files, needs_corpus=needs_corpus, maps=maps)
