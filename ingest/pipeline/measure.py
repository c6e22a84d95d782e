"""The measuring itself: shards are staged one by one, then published together."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from neurothek.catalog.problems import LimitExceeded, NeurothekError, Unavailable
from neurothek.catalog.publishing.publish import FinishedRun
from neurothek.catalog.publishing.staging import RunManifest, StagedRun, now, staged_run
from neurothek.catalog.tables.dimensions import RUNS
from neurothek.catalog.tables.table import NotFinite, Table
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.jobs.job import ReadBack, ShardJob, SweepJob
from neurothek.ingest.numerics.gpu_memory import gpu_memory_told
from neurothek.ingest.pipeline.engines.engine import Engine, LocalEngine, StagedJob, folded
from neurothek.ingest.planning.sweep_plan import SweepPlan
from neurothek.ingest.planning.work import ModelWork, Work
from neurothek.ingest.runs.identity import RunIdentity, versions

_SORTED = "sorted"
_RANGE = "number range"

LOCAL = LocalEngine()
"""Measures in this process."""


def measure_shards(
    work: Work,
    jobs: Sequence[tuple[ShardJob[Any], RunIdentity]],
    *,
    engine: Engine = LOCAL,
    remark: Callable[[str], None] = lambda text: None,
) -> dict[str, int]:
    """Measure jobs shard by shard, one job after the other, and publish each when it is whole; rows by table.

    Args:
        work: the model, or the pair of them.
        jobs: the jobs that are left to measure.
        engine: what measures them.
        remark: takes what a person should know of what was measured.
    """
    written: dict[str, int] = {}
    for job, identity in jobs:
        corpus = job.context.text if identity.corpus_sha256 else None
        with _staged(work, identity, corpus, engine) as run:
            shards = job.shards()
            read_back = _reader(run, shards)
            with gpu_memory_told(_words(work, [job.name])):
                engine.shards(work, job, run, read_back)
            files = {table.name: _files(work, run, table, _filling(table.name, shards)) for table in job.tables}
            for text in job.remarks(read_back):
                remark(text)
            finished = _finished(run, identity, files, maps=job.matrices(run.folder))
            written |= work.publish([finished], corpus)
            run.discard()
    return written


def measure_text(
    work: ModelWork,
    corpus: Corpus,
    jobs: Sequence[tuple[SweepJob, RunIdentity]],
    plan: SweepPlan,
    *,
    engine: Engine = LOCAL,
) -> dict[str, int]:
    """Measure jobs that read text in one sweep, and publish them together; rows by table."""
    with ExitStack() as stack:
        runs = [stack.enter_context(_staged(work, identity, corpus, engine)) for _, identity in jobs]
        # Copies, so that what layers share while they are folded is let go with them.
        staged = [StagedJob(replace(job), run) for (job, _), run in zip(jobs, runs, strict=True)]
        with gpu_memory_told(_words(work, [one.job.name for one in staged])):
            engine.sweep(work, corpus, staged, plan)
        finished = [
            _finished(one.run, identity, _shards(work, one)) for one, (_, identity) in zip(staged, jobs, strict=True)
        ]
        written = work.publish(finished, corpus)
        for run in runs:
            run.discard()
    return written


def _words(work: Work, jobs: Sequence[str]) -> str:
    """The work, as a sentence about it begins."""
    return f"measuring {', '.join(jobs)} of {work.label}"


def _reader(run: StagedRun, shards: Mapping[str, tuple[str, ...]]) -> ReadBack:
    """Name of a table -> its rows in the shards that are done."""

    def read_back(table: str) -> pl.LazyFrame:
        names = [name for name in _filling(table, shards) if run.has(name, [table])]
        return pl.scan_parquet([run.path(name, table) for name in names])

    return read_back


def _filling(table: str, shards: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The shards that have rows of a table."""
    return [shard for shard, tables in shards.items() if table in tables]


def _shards(work: ModelWork, staged: StagedJob) -> dict[str, list[Path]]:
    layers = [folded(layer) for layer in range(work.transformer.shape.n_layers)]
    return {table.name: _files(work, staged.run, table, layers) for table in staged.job.tables}


@contextmanager
def _staged(work: Work, identity: RunIdentity, corpus: Corpus | None, engine: Engine) -> Iterator[StagedRun]:
    """A run's folder; how it ends is written down for the command `runs`."""
    device, (_, *others) = engine.device(work, identity.job), work.models
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
            raise LimitExceeded(
                f"{identity.job} of {identity.model} cannot be measured: the weights are so large that {error.column}"
                f" overflows in {identity.dtype}; its staged rows were deleted",
                "measure in float32" if identity.dtype != "float32" else "restore the original weights",
                what=_RANGE,
            ) from error
        except NeurothekError as error:
            if isinstance(error, LimitExceeded) and error.what == _RANGE:
                # Another job of the same sweep found it out: what this one saw is no better.
                run.discard()
                raise
            # Where the disk is full, the note that it is does not fit either.
            with suppress(Unavailable):
                run.mark("failed", str(error))
            raise


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
        "tokenizer_identity": identity.tokenizer_identity,
    }
    needs_corpus = identity.corpus_sha256 is not None
    return FinishedRun(pl.DataFrame([row], schema=RUNS.schema), files, needs_corpus=needs_corpus, maps=maps)
