"""What measures the shards of jobs: the seam between what is measured and the processes that do it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from neurothek.catalog.publishing.staging import StagedRun
from neurothek.catalog.tables.table import Table
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.chunk_pass import Observer
from neurothek.ingest.forward.sweep import sweep
from neurothek.ingest.jobs.job import Partials, ReadBack, ShardJob, SweepJob
from neurothek.ingest.planning.agenda import device_of
from neurothek.ingest.planning.sweep_plan import SweepPlan
from neurothek.ingest.planning.work import ModelWork, Work

PARTIAL = "partial"
"""Name of the frame that an observer leaves, where a table's would stand."""


@dataclass(frozen=True)
class StagedJob:
    """A job that watches the text, and where its parts and its folded layers lie."""

    job: SweepJob
    run: StagedRun

    def has(self, layer: int, chunk: int) -> bool:
        """Whether nothing is left to see there."""
        return self.is_folded(layer) or self.run.has(part_name(layer, chunk), [PARTIAL])

    def is_folded(self, layer: int) -> bool:
        """Whether the layer's rows are there, so that its parts are not needed any more."""
        return self.run.has(folded(layer), [table.name for table in self.job.tables])

    def fold(self, layer: int, corpus: Corpus) -> None:
        """Fold a layer's parts in the order of the chunks, then delete them."""
        if not self.is_folded(layer):
            self.run.write(folded(layer), self.rows(layer, corpus))
        self.drop_parts(layer, corpus)

    def rows(self, layer: int, corpus: Corpus) -> dict[str, pl.DataFrame]:
        """A layer's rows, from its parts in the order of the chunks."""
        parts = (self.run.scan(part_name(layer, chunk), PARTIAL) for chunk in range(len(corpus.chunks())))
        return checked_frames(self.job.fold(layer, Partials(tuple(parts))), self.job.tables)

    def drop_parts(self, layer: int, corpus: Corpus) -> None:
        """Delete a layer's parts, which its rows have taken the place of."""
        for chunk in range(len(corpus.chunks())):
            self.run.drop(part_name(layer, chunk), PARTIAL)


def folded(layer: int) -> str:
    """Name of the shard with a layer's rows."""
    return f"layer-{layer:04d}"


def part_name(layer: int, chunk: int) -> str:
    """Name of the shard with what was seen of one layer in one chunk."""
    return f"layer-{layer:04d}.chunk-{chunk:06d}"


def checked_frames(frames: Mapping[str, pl.DataFrame], tables: Sequence[Table]) -> dict[str, pl.DataFrame]:
    """Frames by name, those of tables as these must be."""
    by_name = {table.name: table for table in tables}
    return {name: by_name[name].check(frame) if name in by_name else frame for name, frame in frames.items()}


class Engine(ABC):
    """Measures what is missing of a run, into its folder; no engine changes a bit of it.

    An engine only fills the folders of staged runs. Whoever calls it opens these, sorts what is there, and publishes.
    """

    @abstractmethod
    def device(self, work: Work, job: str) -> str:
        """Kind of device that a job is measured on: cpu or cuda."""

    @abstractmethod
    def shards(self, work: Work, job: ShardJob[Any], run: StagedRun, read_back: ReadBack) -> None:
        """Measure the shards of a job that the run does not have.

        Args:
            work: the model, or the pair of them.
            job: the job.
            run: takes the shards.
            read_back: rows of the shards that are done.
        """

    @abstractmethod
    def sweep(self, work: ModelWork, corpus: Corpus, jobs: Sequence[StagedJob], plan: SweepPlan) -> None:
        """Show a text to jobs where they have not seen it, and fold each layer once all of it was seen.

        Args:
            work: the model.
            corpus: the text.
            jobs: the jobs, each with its run, which takes the parts.
            plan: how one process keeps within its memory.
        """

    def details(self) -> Sequence[str]:
        """What it has to say of what it did, for those who ask for details."""
        return ()


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
            return [one.job.observer(layer) for one in missing(layer, chunk)]

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
