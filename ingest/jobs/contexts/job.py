"""The job `contexts`: the ten places where each neuron fires most strongly, at most one a sequence."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from catalog.tables import CONTEXTS, Table
from ingest.corpora.corpus import Corpus
from ingest.forward.sweep import Observer
from ingest.jobs.contexts.observer import KEPT, PARTIAL, ContextsObserver
from ingest.models.transformer import Shape


@dataclass(frozen=True)
class ContextsJob:
    """The places of largest |m|, sign kept; ties by sequence, then position."""

    name: str = "contexts"
    version: int = 1
    tables: tuple[Table, ...] = (CONTEXTS,)

    def parameters(self) -> dict[str, Any]:
        """How many are kept."""
        return {"kept": KEPT}

    def observer(self, shape: Shape, corpus: Corpus) -> Observer:
        """What watches one layer of one chunk."""
        return ContextsObserver(shape.d_ffn, is_non_negative=shape.is_non_negative)

    def fold(
        self,
        layer: int,
        partials: Iterable[pl.DataFrame],
        corpus: Corpus,
    ) -> dict[str, pl.DataFrame]:
        """The ten best of all chunks, ranked."""
        best = pl.DataFrame(schema=PARTIAL)
        for partial in partials:
            best = _ranked(pl.concat([best, partial]))
        rows = _ranked(best).with_columns(
            pl.lit(layer, pl.Int16).alias("layer"),
            pl.int_range(1, pl.len() + 1).over("neuron").cast(pl.Int16).alias("rank"),
        )
        return {"contexts": CONTEXTS.check(rows.select(*CONTEXTS.columns))}


def _ranked(contexts: pl.DataFrame) -> pl.DataFrame:
    """The best of each neuron, best first, ties by sequence."""
    ordered = contexts.sort("neuron", pl.col("activation").abs(), "sequence_id", descending=[False, True, False])
    return ordered.filter(pl.int_range(pl.len()).over("neuron") < KEPT)
