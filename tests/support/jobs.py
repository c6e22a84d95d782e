"""Jobs measured by hand: without a warehouse, a plan, or a run."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import polars as pl

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.jobs.job import Frames, JobContext, Partials, ShardJob
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Shape, Transformer

NO_FOLDER = Path("/nonexistent")
"""For jobs that keep no files."""


def context_of(text: Corpus | None = None, *, shape: Shape | None = None) -> JobContext:
    """Of a model that nothing is asked of but, perhaps, its shape."""
    return JobContext(Mock(spec=Transformer, shape=shape), Mock(spec=Tokenizer), text)


def partials(*frames: pl.DataFrame) -> Partials:
    """What observers handed over, in the order of the chunks."""
    return Partials(tuple(frame.lazy() for frame in frames))


def measure_shard(job: ShardJob[Any], shard: str, *, folder: Path = NO_FOLDER) -> Frames:
    """The rows of one shard, of a job that reads none back."""
    with job.open(folder, lambda table: pl.LazyFrame()) as measure:
        return measure(shard)


def measure_all(job: ShardJob[Any], *, folder: Path = NO_FOLDER) -> dict[str, pl.DataFrame]:
    """The rows of all shards, in order, as an ingest measures them; each fills the tables that it says."""
    parts: dict[str, list[pl.DataFrame]] = {table.name: [] for table in job.tables}
    with job.open(folder, lambda table: pl.concat(parts[table]).lazy()) as measure:
        for shard, tables in job.shards().items():
            frames = measure(shard)
            assert tuple(frames) == tables
            for name, frame in frames.items():
                parts[name].append(frame)
    return {table.name: table.check(pl.concat(parts[table.name])) for table in job.tables}
