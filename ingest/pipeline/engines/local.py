"""Measuring in this process, one shard after the other."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from neurothek.catalog.publishing.staging import StagedRun
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.chunk_pass import Observer
from neurothek.ingest.forward.sweep import sweep
from neurothek.ingest.jobs.job import ReadBack, ShardJob
from neurothek.ingest.pipeline.engines.engine import Engine
from neurothek.ingest.pipeline.engines.staged_job import PARTIAL, StagedJob, checked_frames, part_name
from neurothek.ingest.planning.agenda import device_of
from neurothek.ingest.planning.sweep_plan import SweepPlan
from neurothek.ingest.planning.work import ModelWork, Work


class LocalEngine(Engine):
    """Measures in this process."""

    def device(self, work: Work, job: str) -> str:
        """That of the request."""
        return device_of(work.request)

    def shards(self, work: Work, job: ShardJob[Any], run: StagedRun, read_back: ReadBack) -> None:
        """One after the other in their order; what they share is let go at the end."""
        shards = job.shards()
        work.progress.start(f"{work.label}: {job.name}", len(shards))
        with job.open(run.folder, read_back) as measure:
            for shard, tables in shards.items():
                if not run.has(shard, tables):
                    run.write(shard, checked_frames(measure(shard), job.tables))
                work.progress.advance()
        work.progress.finish()

    def sweep(self, work: ModelWork, corpus: Corpus, jobs: Sequence[StagedJob], plan: SweepPlan) -> None:
        """In the order of the plan; a layer is folded as soon as that order allows."""

        def missing(layer: int, chunk: int) -> list[StagedJob]:
            return [one for one in jobs if not one.has(layer, chunk)]

        def observers_for(layer: int, chunk: int) -> Sequence[Observer]:
            return [one.job.observer() for one in missing(layer, chunk)]

        def sink(layer: int, chunk: int, results: list[pl.DataFrame]) -> None:
            for one, result in zip(missing(layer, chunk), results, strict=True):
                one.run.write(part_name(layer, chunk), {PARTIAL: result}, is_passing=True)

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
