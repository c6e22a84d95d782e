"""A job that watches the text, beside its run's folder, where its parts and its folded layers lie."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from neurothek.catalog.publishing.staging import StagedRun
from neurothek.catalog.tables.table import Table
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.jobs.job import Partials, SweepJob

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
