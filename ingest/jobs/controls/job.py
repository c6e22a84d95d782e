"""The job `controls`: what random vectors and FFN updates promote, beside neurons ([G] 4, A.1)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from torch import Tensor

from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.texts import COHERENCES, CONTROL_COHERENCES
from neurothek.catalog.tables.weights import CONTROLS, NORM_OVERLAPS
from neurothek.ingest.corpora.prompts import N_EVENT_EXAMPLES, cut_prompts
from neurothek.ingest.corpora.sentences import splitter
from neurothek.ingest.forward.footprint import numbers_at_work
from neurothek.ingest.jobs.controls import coherence, frames, norm_overlap
from neurothek.ingest.jobs.controls.coherence import Coherence, Judged, judged
from neurothek.ingest.jobs.controls.ffn_updates import N_UPDATES, ffn_updates
from neurothek.ingest.jobs.controls.frames import ControlKind, control_coherences_frame, controls_frame
from neurothek.ingest.jobs.controls.norm_overlap import NormOverlap
from neurothek.ingest.jobs.job import Files, Frames, JobContext, MeasureShard, PassJob, ReadBack
from neurothek.ingest.lens.random_vectors import random_vectors
from neurothek.ingest.lens.scorer import workspace_bytes
from neurothek.ingest.lens.vocabulary import Vocabulary
from neurothek.ingest.request import IngestRequest

_LAYER = "layer-"


@dataclass(frozen=True)
class ControlsJob(PassJob):
    """Random vectors and FFN updates with their tokens, the change by the final norm, and coherence against random.

    Attributes:
        n_random: random vectors per layer, kept with their tokens: for null distributions, and for rules to judge.
        n_updates: FFN updates a layer, if the corpus has so many sentences.
        seed: of the draws.
    """

    n_random: int = 500
    n_updates: int = N_UPDATES
    seed: int = 0
    name = "controls"
    version = 4
    tables: ClassVar[tuple[Table, ...]] = (CONTROLS, NORM_OVERLAPS, COHERENCES, CONTROL_COHERENCES)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "ControlsJob":
        """It has no options."""
        return cls(context)

    def parameters(self) -> dict[str, Any]:
        """How many vectors are drawn, how many tokens are compared, and which tokens count."""
        signs = {"signs": "both"} if self.context.shape.is_gated else {}
        return {
            **signs,
            "n_random": self.n_random,
            "n_updates": self.n_updates,
            "sentences": splitter(),
            "seed": self.seed,
            "k": frames.K,
            "coherence_tokens": coherence.N_TOKENS,
            "coherence_least_count": coherence.LEAST_COUNT,
            "norm_overlap_tokens": norm_overlap.N_TOKENS,
        }

    def shards(self) -> dict[str, tuple[str, ...]]:
        """One shard per layer."""
        tables = tuple(table.name for table in self.tables)
        return {f"{_LAYER}{layer:04d}": tables for layer in range(self.context.shape.n_layers)}

    @contextmanager
    def open(self, folder: Path, read_back: ReadBack) -> Iterator[MeasureShard]:
        """What measures a layer."""
        layers = _Layers(self)
        yield lambda shard: layers.measure(int(shard.removeprefix(_LAYER)))

    def memory_bytes(self, *, is_resident: bool) -> int:
        """What measuring adds to the process's memory, estimated from above."""
        transformer, shape = self.context.transformer, self.context.shape
        # The unembedding, its unmasked rows, those that come often enough, and these centred.
        rows = 4 * shape.vocab_size * shape.d_model
        # Coherence and the lists with and without the final norm keep their buffers.
        scorers = 2 * workspace_bytes(shape.vocab_size)
        scoring = 4 * (rows + 4 * (shape.d_ffn + self.n_random) * shape.d_model) + scorers
        # Blocks run before anything is scored, over a few sentences each; resident weights stay.
        weights = transformer.blocks_bytes(is_resident=is_resident)
        working = max(self.context.batch_tokens, shape.context_length) * numbers_at_work(shape) * 4
        return scoring + weights + working

    def files(self) -> Files | None:
        """It keeps none."""
        return None


@dataclass(frozen=True, eq=False)
class _Layers:
    """Measures the layers of one model, with what they share made for the first of them."""

    job: ControlsJob

    @cached_property
    def vocabulary(self) -> Vocabulary:
        context = self.job.context
        return Vocabulary.of(context.transformer.unembedding(), context.tokenizer.ids)

    @cached_property
    def coherence(self) -> Coherence:
        context = self.job.context
        return Coherence(context.transformer, context.tokenizer, context.corpus)

    @cached_property
    def overlap(self) -> NormOverlap:
        return NormOverlap(self.vocabulary, self.job.context.transformer.final_norm())

    @cached_property
    def updates(self) -> Sequence[Tensor]:
        job, context = self.job, self.job.context
        drawn = cut_prompts(
            context.corpus,
            context.tokenizer,
            context_length=context.shape.context_length,
            seed=job.seed,
            n_prompts=N_EVENT_EXAMPLES,
        )
        return ffn_updates(
            context.transformer, drawn.rows, n=job.n_updates, seed=job.seed, batch_tokens=context.batch_tokens
        )

    def measure(self, layer: int) -> Frames:
        job, values = self.job, self.job.context.transformer.value_vectors(layer)
        either_sign = job.context.shape.is_gated
        drawn = random_vectors(values, n=job.n_random, seed=job.seed, layer=layer, either_sign=either_sign)
        null = self.coherence.of(drawn)
        negative = self.coherence.of(-values) if either_sign else np.full(len(values), np.nan)
        overlaps = [
            self.overlap.row(values, layer=layer, kind="value", either_sign=either_sign),
            self.overlap.row(drawn, layer=layer, kind="random"),
        ]
        kept: dict[ControlKind, Tensor] = {"random": drawn, "ffn_update": self.updates[layer]}
        lists, alike = [], []
        for kind, vectors in kept.items():
            if len(vectors):
                lists.append(controls_frame(vectors, self.vocabulary, layer=layer, kind=kind))
                found = judged(null if kind == "random" else self.coherence.of(vectors), null)
                alike.append(control_coherences_frame(found, layer=layer, kind=kind))
        return {
            CONTROLS.name: pl.concat(lists),
            NORM_OVERLAPS.name: pl.concat(overlaps),
            COHERENCES.name: _neurons_frame(judged(self.coherence.of(values), null), judged(negative, null), layer),
            CONTROL_COHERENCES.name: pl.concat(alike),
        }


def _neurons_frame(found: Judged, negative: Judged, layer: int) -> pl.DataFrame:
    """Rows of `coherences`: of what neurons promote at coefficients above 0, and of what they do at those below 0."""
    n = len(found.coherence)
    place = pl.DataFrame({"layer": np.full(n, layer, dtype=np.int16), "neuron": np.arange(n, dtype=np.int32)})
    below = [column.alias(f"negative_{column.name}") for column in negative.columns()]
    return place.with_columns(*found.columns(), *below).cast(pl.Schema(COHERENCES.columns))
