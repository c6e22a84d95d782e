"""The job `keys`: the tokens whose input embeddings each neuron's key likes most, beside random keys [ours]."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.catalog.tables.keys import (
    INPUT_OUTPUT,
    INPUT_OUTPUT_CONTROLS,
    KEY_CONTROLS,
    KEY_POSTINGS,
    KEY_PROJECTIONS,
)
from neurothek.catalog.tables.table import Table
from neurothek.ingest.forward.footprint import Footprint
from neurothek.ingest.jobs.job import Frames, JobContext, MeasureShard, ReadBack, WeightsJob
from neurothek.ingest.jobs.projections.job import postings_frame, projections_frame
from neurothek.ingest.lens.random_vectors import random_vectors
from neurothek.ingest.lens.scorer import Scored, Scorer, ScorerOptions, workspace_bytes
from neurothek.ingest.lens.vocabulary import Vocabulary
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.models.units import Reader
from neurothek.ingest.numerics.random_stream import Purpose
from neurothek.ingest.request import IngestRequest

N_RANDOM = 500
"""Random keys a layer and reader: as many as of value vectors."""


def _footprint(shape: Shape) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    readers = 2 if shape.is_gated else 1
    vectors = shape.d_ffn + N_RANDOM
    return Footprint(
        # The embedding, what it is scaled or projected to, and its unmasked rows.
        folding=3 * shape.vocab_size * shape.d_model * 4
        + workspace_bytes(shape.vocab_size)
        + vectors * (shape.d_model * 4 * 3 * readers + 8_000),
        # 50 ids and scores at either end; of neurons the first again as postings, of ups both.
        rows=shape.d_ffn * (4_000 if shape.is_gated else 1_700) + readers * N_RANDOM * 900,
    )


_LAYER = "layer-"


@dataclass(frozen=True)
class KeysJob(WeightsJob):
    """Scores of the unmasked tokens' input embeddings in every neuron's key, or in its gate and its up projection."""

    k: int = 50  # tokens kept at either end, at most half of the unmasked vocabulary
    n_random: int = N_RANDOM  # random keys a layer and reader
    seed: int = 0  # of their draws
    name = "keys"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (
        KEY_PROJECTIONS,
        KEY_POSTINGS,
        KEY_CONTROLS,
        INPUT_OUTPUT,
        INPUT_OUTPUT_CONTROLS,
    )
    footprint = staticmethod(_footprint)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "KeysJob":
        """It has no options."""
        return cls(context)

    def parameters(self) -> dict[str, Any]:
        """How many tokens are kept, and how many random keys are drawn."""
        return {"k": self.k, "n_random": self.n_random, "seed": self.seed}

    def shards(self) -> Mapping[str, tuple[str, ...]]:
        """One shard per layer."""
        tables = tuple(table.name for table in self.tables)
        return {f"{_LAYER}{layer:04d}": tables for layer in self.context.units.layers}

    def apart(self) -> tuple[str, ...]:
        """All of its shards."""
        return tuple(self.shards())

    @contextmanager
    def open(self, folder: Path, read_back: ReadBack) -> Iterator[MeasureShard]:
        """What measures a layer."""
        layers = _Layers(self)
        yield lambda shard: layers.measure(int(shard.removeprefix(_LAYER)))


@dataclass(frozen=True, eq=False)
class _Layers:
    """Measures the layers of one model, which share the embeddings and the scorer's memory."""

    job: KeysJob

    @cached_property
    def vocabulary(self) -> Vocabulary:
        context = self.job.context
        return Vocabulary.of(context.transformer.embedding(), context.tokenizer.ids)

    @cached_property
    def scorer(self) -> Scorer:
        k = min(self.job.k, len(self.vocabulary.ids) // 2)
        return Scorer(self.vocabulary.rows, keep=ScorerOptions(largest=k, smallest=k, moments=True))

    def measure(self, layer: int) -> Frames:
        vectors: dict[tuple[Reader, bool], Tensor] = {}
        for reader, rows in self.job.context.units.readings(layer).items():
            vectors |= {(reader, False): rows, (reader, True): self._drawn(rows, reader, layer)}
        # Together, so that no thread waits for another that scores a few hundred.
        scored, start = self.scorer.score(torch.cat(list(vectors.values()))), 0
        parts: dict[str, list[pl.DataFrame]] = {table.name: [] for table in self.job.tables}
        for (reader, is_drawn), rows in vectors.items():
            part, start = scored.part(start, start + len(rows)), start + len(rows)
            lists = self._projections(part, rows, reader, layer)
            if is_drawn:
                parts[KEY_CONTROLS.name].append(lists.rename({"neuron": "control_id"}).select(*KEY_CONTROLS.schema))
            else:
                parts[KEY_PROJECTIONS.name].append(lists)
                parts[KEY_POSTINGS.name].append(_postings(part, self.vocabulary, reader, layer))
        for table, is_drawn, number in ((INPUT_OUTPUT, False, "neuron"), (INPUT_OUTPUT_CONTROLS, True, "control_id")):
            readings = {reader: rows for (reader, drawn), rows in vectors.items() if drawn == is_drawn}
            frame = cosines_frame(readings, self._written(layer, is_drawn=is_drawn), layer=layer)
            parts[table.name].append(table.check(frame.rename({"number": number}).select(*table.schema)))
        by_neuron = pl.concat(parts[KEY_PROJECTIONS.name]).sort("neuron", maintain_order=True)
        return {**{name: pl.concat(frames) for name, frames in parts.items()}, KEY_PROJECTIONS.name: by_neuron}

    def _written(self, layer: int, *, is_drawn: bool) -> Float[Tensor, "n d_model"]:
        units = self.job.context.units
        values = units.write_vectors(layer)
        if not is_drawn:
            return values
        return random_vectors(values, n=self.job.n_random, seed=self.job.seed, layer=layer, either_sign=units.is_signed)

    def _drawn(self, rows: Float[Tensor, "d_ffn d_model"], reader: Reader, layer: int) -> Float[Tensor, "n d_model"]:
        return random_vectors(
            rows,
            n=self.job.n_random,
            seed=self.job.seed,
            layer=layer,
            # Negating a row of the up projection and a column of the output matrix changes no output.
            either_sign=reader == "up",
            purpose=Purpose.RANDOM_UPS if reader == "up" else Purpose.RANDOM_KEYS,
        )

    def _projections(
        self, scored: Scored, vectors: Float[Tensor, "n d_model"], reader: Reader, layer: int
    ) -> pl.DataFrame:
        norms = torch.linalg.vector_norm(vectors.double(), dim=1)
        rows = projections_frame(scored, self.vocabulary, layer=layer, norms=norms, bounds=None)
        named = rows.rename({"value_norm": "reading_norm"}).with_columns(pl.lit(reader).alias("reader"))
        return named.select(*KEY_PROJECTIONS.schema)


_PAIRS: Mapping[str, tuple[Reader, Reader | None]] = {
    "key_value": ("key", None),
    "up_value": ("up", None),
    "gate_value": ("gate", None),
    "gate_up": ("gate", "up"),
}
"""Column -> the vectors whose cosine it is; None stands for the value vector."""


def cosines_frame(
    readings: Mapping[Reader, Float[Tensor, "n d_model"]], values: Float[Tensor, "n d_model"], *, layer: int
) -> pl.DataFrame:
    """A row for each value vector: cosines of the vectors that read with it and with each other, null beside 0."""
    columns: dict[str, Any] = {"layer": np.full(len(values), layer), "number": np.arange(len(values))}
    for name, (one, other) in _PAIRS.items():
        columns[name] = [None] * len(values)
        if one in readings:
            left, right = readings[one].double(), (values if other is None else readings[other]).double()
            norms = torch.linalg.vector_norm(left, dim=1) * torch.linalg.vector_norm(right, dim=1)
            cosines = ((left * right).sum(1) / norms).clamp(-1, 1).cpu().numpy()
            columns[name] = [None if np.isnan(cosine) else float(cosine) for cosine in cosines]
    schema = {"layer": pl.Int16(), "number": pl.Int32(), **dict.fromkeys(_PAIRS, pl.Float64())}
    return pl.DataFrame(columns, schema=schema)


def _postings(scored: Scored, vocabulary: Vocabulary, reader: Reader, layer: int) -> pl.DataFrame:
    """What is read: the highest scores, and of up projections, whose sign is a convention, the lowest, too."""
    is_positive = pl.col("side") == "promoted"
    rows = postings_frame(scored, vocabulary, layer=layer).with_columns(
        pl.lit(reader).alias("reader"),
        pl.when(is_positive).then(pl.lit("positive")).otherwise(pl.lit("negative")).alias("pole"),
    )
    return (rows if reader == "up" else rows.filter(is_positive)).select(*KEY_POSTINGS.schema)
