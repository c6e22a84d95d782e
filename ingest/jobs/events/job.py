"""The job `events`: how predictions are built, token by token and neuron by neuron, at the ends of examples ([G] 5)."""

from collections.abc import Iterator, Mapping, Sequence
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

from neurothek.catalog.problems import Invalid
from neurothek.catalog.tables.events import EVENT_SAMPLES, EVENTS, EXAMPLES, STREAMS, SUB_UPDATES
from neurothek.catalog.tables.table import Table
from neurothek.ingest.corpora.prompts import N_EVENT_EXAMPLES, N_EXAMPLES, Prompt, Prompts, cut_prompts
from neurothek.ingest.corpora.sentences import splitter
from neurothek.ingest.forward.footprint import numbers_at_work
from neurothek.ingest.jobs.events import frames
from neurothek.ingest.jobs.events.readings import events, read, watch
from neurothek.ingest.jobs.events.scores import score
from neurothek.ingest.jobs.events.sub_updates import LEADING_SHARE, N_DOMINANT, N_RANDOM
from neurothek.ingest.jobs.job import Files, Frames, JobContext, MeasureShard, PassJob, ReadBack
from neurothek.ingest.lens.logit_lens import Lens
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.request import IngestRequest

SHARD_EXAMPLES = 1_000
"""Examples of a shard; a batch never reaches across."""

EXTREME_QUANTILE = 0.999
_CONCLUSION = "conclusion"


@dataclass(frozen=True)
class EventsJob(PassJob):
    """Reads the streams of examples layer by layer, and keeps the neurons that matter most there."""

    n_examples: int = N_EXAMPLES  # examples drawn, if the corpus has so many sentences
    n_event_examples: int = N_EVENT_EXAMPLES  # how many of them are the event sample
    seed: int = 0  # of everything that is drawn
    shard_examples: int = SHARD_EXAMPLES  # examples measured at a time
    name = "events"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (EXAMPLES, STREAMS, SUB_UPDATES, EVENTS, EVENT_SAMPLES)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "EventsJob":
        """On as many examples as were asked for."""
        return cls(context, n_examples=request.examples)

    @staticmethod
    def options(parameters: Mapping[str, Any]) -> dict[str, Any]:
        """How many examples."""
        return {"examples": int(parameters["n_examples"])}

    def parameters(self) -> dict[str, Any]:
        """How examples are drawn, and what is kept of them."""
        return {
            "n_examples": self.n_examples,
            "n_event_examples": self.n_event_examples,
            "seed": self.seed,
            "sentences": splitter(),
            "dominant": N_DOMINANT,
            "random": N_RANDOM,
            "leading_share": LEADING_SHARE,
            "extreme_quantile": EXTREME_QUANTILE,
        }

    def shards(self) -> dict[str, tuple[str, ...]]:
        """Names of the shards -> names of the tables that each fills."""
        tables = tuple(table.name for table in self.tables[:-1])
        n_rows = len(self.examples.rows)
        tables_of = {f"examples-{start:06d}": tables for start in range(0, n_rows, self.shard_examples)}
        return {**tables_of, _CONCLUSION: (EVENT_SAMPLES.name,)}

    def apart(self) -> tuple[str, ...]:
        """All but the one that sums up what was measured."""
        return tuple(shard for shard in self.shards() if shard != _CONCLUSION)

    @contextmanager
    def open(self, folder: Path, read_back: ReadBack) -> Iterator[MeasureShard]:
        """What measures some examples, and at last sums up what was measured of all."""
        shared = ModelReadings(self.context)

        def measure(shard: str) -> Frames:
            if shard == _CONCLUSION:
                return {EVENT_SAMPLES.name: self._conclusion(self.examples, read_back(SUB_UPDATES.name))}
            start = int(shard.removeprefix("examples-"))
            with torch.inference_mode():
                return self.measure_examples(shared, self.examples.rows[start : start + self.shard_examples])

        yield measure

    @cached_property
    def examples(self) -> Prompts:
        """The examples that it cuts from the text."""
        context = self.context
        drawn = cut_prompts(
            context.corpus,
            context.tokenizer,
            context_length=context.shape.context_length,
            seed=self.seed,
            n_prompts=self.n_examples,
        )
        if not drawn.rows:
            raise Invalid(
                f"the job events needs sentences, but the corpus {context.corpus.name} has none with a token",
                "choose another --corpus",
                option="--corpus",
                value=context.corpus.name,
            )
        return drawn

    def memory_bytes(self, *, is_resident: bool) -> int:
        """What measuring adds to the process's memory, estimated from above."""
        transformer = self.context.transformer
        return events_bytes(
            self.context.shape,
            weights_bytes=transformer.blocks_bytes(is_resident=is_resident),
            itemsize=transformer.dtype.itemsize,
            shard_examples=self.shard_examples,
            batch_tokens=self.context.batch_tokens,
            longest=self.context.longest_of(lambda: self.examples.rows),
        )

    def files(self) -> Files | None:
        """It keeps none."""
        return None

    def measure_examples(self, shared: "ModelReadings", examples: Sequence[Prompt]) -> Frames:
        """The rows of some examples, by table."""
        transformer = self.context.transformer
        layers = watch(
            transformer,
            examples,
            shared.value_norms,
            n_event_examples=self.n_event_examples,
            seed=self.seed,
            batch_tokens=self.context.batch_tokens,
        )
        targets = shared.rows_of([example.target for example in examples])
        readings = read(shared.lens, layers, targets)
        scores = score(shared.lens, layers, readings, transformer)
        happened = events(readings.tops.cpu().numpy(), readings.candidate_ranks.cpu().numpy())
        ids = shared.lens.vocabulary.ids
        return {
            EXAMPLES.name: frames.examples_frame(examples, readings, happened, ids, n_sampled=self.n_event_examples),
            STREAMS.name: frames.streams_frame(examples, readings, layers, ids),
            SUB_UPDATES.name: frames.sub_updates_frame(examples, layers, scores),
            EVENTS.name: frames.events_frame(examples, readings, happened, ids, n_sampled=self.n_event_examples),
        }

    def _conclusion(self, drawn: Prompts, sub_updates: pl.LazyFrame) -> pl.DataFrame:
        largest = (
            sub_updates.filter(pl.col("kind") == "dominant")
            .select(pl.col("score_candidate").cast(pl.Float64).abs().quantile(EXTREME_QUANTILE, "linear"))
            .collect()
            .item()
        )
        row = {
            "seed": self.seed,
            "n_sentences": drawn.n_sentences,
            "n_examples": len(drawn.rows),
            "n_event_examples": min(len(drawn.rows), self.n_event_examples),
            "extreme_score": largest,
        }
        return pl.DataFrame([row], schema=EVENT_SAMPLES.schema)


@dataclass(frozen=True, eq=False)
class ModelReadings:
    """What all examples of one model share, read from its weights when it is asked for."""

    context: JobContext

    @cached_property
    def lens(self) -> Lens:
        """Reads streams in the vocabulary."""
        return Lens.of(self.context.transformer, self.context.tokenizer)

    @cached_property
    def value_norms(self) -> Sequence[Float[Tensor, " d_ffn"]]:
        """[d_ffn] a layer: the lengths of its value vectors."""
        units = self.context.units
        return [torch.linalg.vector_norm(units.write_vectors(layer), dim=1) for layer in units.layers]

    def rows_of(self, tokens: Sequence[int | None]) -> Tensor:
        """[examples] the tokens as rows of the vocabulary; 0 where there is none."""
        ids = self.lens.vocabulary.ids
        rows = np.searchsorted(ids, [ids[0] if token is None else token for token in tokens])
        return torch.from_numpy(rows).to(self.lens.vocabulary.rows.device)


_LONG = 64
"""Ids of an example, padding included, beyond which the estimate does not look."""


def events_bytes(
    shape: Shape, *, weights_bytes: int, itemsize: int, shard_examples: int, batch_tokens: int, longest: int
) -> int:
    """What measuring adds to the process's memory.

    Args:
        shape: the model's.
        weights_bytes: of the blocks that stay in memory: all, or one.
        itemsize: bytes of a number of its streams.
        shard_examples: examples that are measured together.
        batch_tokens: padded ids a batch holds at most.
        longest: ids of the longest example.
    """
    unembedding = shape.vocab_size * shape.d_model * 4
    # Two streams per layer and example, and three times the logits of a hundred examples.
    states = shard_examples * shape.n_layers * 2 * shape.d_model * 4
    logits = 3 * 128 * shape.vocab_size * 4
    # Streams of a whole shard wait between two layers; a block works on one batch.
    waiting = shard_examples * min(shape.context_length, _LONG) * shape.d_model * itemsize
    working = max(batch_tokens, longest) * numbers_at_work(shape) * 4
    return weights_bytes + unembedding + states + logits + waiting + working
