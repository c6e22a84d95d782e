"""What a job is: its name and version, the tables it fills, and how it measures shard by shard."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import polars as pl

from catalog.tables import Table
from ingest.corpora.corpus import Corpus
from ingest.forward.sweep import Observer
from ingest.models.tokenizer import Tokenizer
from ingest.models.transformer import Shape, Transformer
from ingest.runs.finished import EarlierRuns


@runtime_checkable
class Job(Protocol):
    """What all jobs say of themselves.

    Attributes:
        name: the job's name on the command line and in `runs`.
        version: raised when a number's meaning changes; older runs are then measured anew.
        tables: the tables it fills.
    """

    @property
    def name(self) -> str:
        """The job's name."""

    @property
    def version(self) -> int:
        """Version of what its numbers mean."""

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables it fills."""

    def parameters(self) -> dict[str, Any]:
        """What changes its numbers, as JSON values: part of the run's identity."""


@runtime_checkable
class WeightsJob(Job, Protocol):
    """A job that reads only weights."""

    def shards(self, shape: Shape) -> Mapping[str, tuple[str, ...]]:
        """Names of its shards in the order in which they are measured -> names of the tables that each fills."""

    def measure(self, shard: str, transformer: Transformer, tokenizer: Tokenizer) -> dict[str, pl.DataFrame]:
        """The rows of one shard, by table."""


@dataclass(frozen=True)
class Partials:
    """What a layer's observers saw, in the order of the chunks; each part is read when its turn comes.

    Attributes:
        scans: the parts, not read yet, for a job that wants only some of their rows at a time.
    """

    scans: tuple[pl.LazyFrame, ...]

    def __len__(self) -> int:
        return len(self.scans)

    def __iter__(self) -> Iterator[pl.DataFrame]:
        return (scan.collect() for scan in self.scans)


@runtime_checkable
class PassJob(Job, Protocol):
    """A job that reads a text in a pass of its own, shard by shard."""

    def shards(self, corpus: Corpus) -> Mapping[str, tuple[str, ...]]:
        """Names of its shards in the order in which they are measured -> names of the tables that each fills."""

    def measure(
        self,
        shard: str,
        transformer: Transformer,
        corpus: Corpus,
        *,
        batch_tokens: int,
        read_back: Callable[[str], pl.LazyFrame],
    ) -> dict[str, pl.DataFrame]:
        """The rows of one shard, by table.

        Args:
            shard: its name.
            transformer: the model.
            corpus: the text.
            batch_tokens: padded ids a batch holds at most.
            read_back: name of a table -> its rows in the shards measured before.
        """

    def memory_bytes(self, transformer: Transformer, *, batch_tokens: int, is_resident: bool) -> int:
        """What measuring adds to the process's memory, estimated from above."""


@runtime_checkable
class FilingJob(PassJob, Protocol):
    """A pass job that keeps files of its own in its run's folder, and leaves some of them beside the warehouse."""

    def within(self, folder: Path) -> "FilingJob":
        """The job with the folder for its files."""

    def disk_bytes(self, corpus: Corpus) -> int:
        """What its files take at once while it measures, estimated from above."""

    def kept_bytes(self) -> int:
        """What stays beside the warehouse of them."""

    def maps(self) -> Path | None:
        """Folder of the matrices that stay; None where there are none."""

    def extent(self, corpus: Corpus) -> str | None:
        """How much of the text it takes, in words, where that is something of its own."""

    def announcement(self) -> str | None:
        """What a person should know before it begins, if anything."""

    def remarks(self, corpus: Corpus, read_back: Callable[[str], pl.LazyFrame]) -> Sequence[str]:
        """What a person should know of what was measured."""


@runtime_checkable
class DerivedJob(FilingJob, Protocol):
    """A filing job that works on what other jobs measured of the same model and text."""

    @property
    def needed(self) -> Mapping[str, int]:
        """The other jobs, and the version of each."""

    def after(self, runs: EarlierRuns) -> "DerivedJob":
        """The job on finished runs of the other jobs."""


@runtime_checkable
class TextJob(Job, Protocol):
    """A job whose observers watch a text run through the model."""

    def observer(self, shape: Shape, corpus: Corpus) -> Observer:
        """What watches one layer of one chunk."""

    def fold(self, layer: int, partials: Partials, corpus: Corpus) -> dict[str, pl.DataFrame]:
        """A layer's rows by table, from what its observers saw, given in the order of the chunks."""
