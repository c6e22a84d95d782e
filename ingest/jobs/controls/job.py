"""The job `controls`: what random vectors and FFN updates promote, beside neurons ([G] 4, A.1)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.texts import COHERENCES, CONTROL_COHERENCES
from neurothek.catalog.tables.weights import CONTROLS, NORM_OVERLAPS
from neurothek.ingest.corpora.prompts import N_EVENT_EXAMPLES, Prompt, cut_prompts
from neurothek.ingest.corpora.sentences import splitter
from neurothek.ingest.forward import prompt_pass
from neurothek.ingest.forward.footprint import numbers_at_work
from neurothek.ingest.forward.prompt_pass import Look, Seen
from neurothek.ingest.jobs.controls import coherence
from neurothek.ingest.jobs.controls.coherence import Coherence, Judged, judged
from neurothek.ingest.jobs.job import Files, Frames, JobContext, MeasureShard, PassJob, ReadBack
from neurothek.ingest.jobs.projections.job import projections_frame
from neurothek.ingest.lens.random_vectors import random_vectors
from neurothek.ingest.lens.scorer import Scorer, ScorerOptions, workspace_bytes
from neurothek.ingest.lens.vocabulary import Vocabulary
from neurothek.ingest.models.transformer import Norm, Transformer
from neurothek.ingest.numerics.random_stream import Purpose, random_stream
from neurothek.ingest.request import IngestRequest

N_TOKENS = 30
"""Tokens of largest score that are compared."""

VectorKind = Literal["value", "random"]


class NormOverlap:
    """Compares the top tokens of E.v with those of E.LN_f(v), LN_f the final norm, over the unmasked vocabulary."""

    def __init__(self, vocabulary: Vocabulary, norm: Norm | None) -> None:
        self._norm = norm
        self._scorer = Scorer(vocabulary.rows, keep=ScorerOptions(largest=min(N_TOKENS, len(vocabulary.ids) // 2)))

    def row(
        self, vectors: Float[Tensor, "n d_model"], *, layer: int, kind: VectorKind, either_sign: bool = False
    ) -> pl.DataFrame:
        """A layer's row of `norm_overlaps`: means over the vectors, null where the model has no final norm.

        With `either_sign` over the opposite vectors, too: what neurons of a gated model promote below 0.
        """
        n = vectors.shape[0]
        vectors = torch.cat([vectors, -vectors]) if either_sign else vectors
        overlaps: tuple[float | None, float | None] = (None, None)
        if self._norm is not None:
            raw = self._top(vectors)
            normed, unbiased = (self._top(self._norm(vectors, bias=bias)) for bias in (True, False))
            overlaps = (mean_overlap(raw, normed), mean_overlap(raw, unbiased))
        row = (layer, kind, *overlaps, n)
        return pl.DataFrame([row], schema=NORM_OVERLAPS.schema, orient="row")

    def _top(self, vectors: Float[Tensor, "n d_model"]) -> Int[Tensor, "n k"]:
        best = self._scorer.score(vectors).largest
        assert best is not None
        return best.rows


def mean_overlap(one: Int[Tensor, "n k"], other: Int[Tensor, "n k"]) -> float:
    """Mean over rows of intersection over union; a row repeats nothing."""
    both = torch.cat([one, other], dim=1).sort(dim=1).values
    common = (both[:, 1:] == both[:, :-1]).sum(1).double()
    return float((common / (both.shape[1] - common)).mean())


N_UPDATES = 10
"""Updates a layer, as many as random vectors are kept."""


def places(n_examples: int, *, layer: int, n: int, seed: int) -> list[int]:
    """`n` of the examples, or all there are, in ascending order; every layer has its own [ours]."""
    generator = random_stream(seed, Purpose.UPDATED_EXAMPLES, layer)
    numbers: list[int] = np.sort(generator.permutation(n_examples)[:n]).tolist()
    return numbers


def ffn_updates(
    transformer: Transformer, examples: Sequence[Prompt], *, n: int, seed: int, batch_tokens: int
) -> list[Float[Tensor, "updates d_model"]]:
    """For every layer [updates d_model] the sum of m v over its neurons plus the FFN's bias, at the last position.

    The updates of a layer stand in the order of their examples. They are what the FFN adds to the stream in pre-norm
    blocks, and what the block's second norm then changes in post-norm ones.
    """
    chosen = [places(len(examples), layer=layer, n=n, seed=seed) for layer in range(transformer.shape.n_layers)]
    needed = sorted({place for layer_places in chosen for place in layer_places})
    if not needed:
        return [torch.empty(0, transformer.shape.d_model, device=transformer.device) for _ in chosen]
    is_wanted = [np.isin(needed, layer_places) for layer_places in chosen]

    def look_at(layer: int) -> Look:
        values, bias = transformer.value_vectors(layer), transformer.value_bias(layer)

        def look(seen: Seen) -> dict[str, Tensor]:
            coefficients = seen.batch.at_positions(seen.output.written)
            rows = torch.from_numpy(is_wanted[layer][seen.batch.places]).to(coefficients.device)
            updates = coefficients.new_zeros(len(coefficients), values.shape[1])
            updates[rows] = coefficients[rows] @ values + bias
            return {"updates": updates}

        return look

    with torch.inference_mode():
        prompts = [examples[place] for place in needed]
        layers = prompt_pass.run(transformer, prompts, look_at, batch_tokens=batch_tokens)
        return [columns["updates"][torch.from_numpy(rows)] for columns, rows in zip(layers, is_wanted, strict=True)]


_LAYER = "layer-"


@dataclass(frozen=True)
class ControlsJob(PassJob):
    """Random vectors and FFN updates with their tokens, the change by the final norm, and coherence against random."""

    # random vectors per layer, kept with their tokens: for null distributions, and for rules to judge
    n_random: int = 500
    n_updates: int = N_UPDATES  # FFN updates a layer, if the corpus has so many sentences
    seed: int = 0  # of the draws
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
            "k": K,
            "coherence_tokens": coherence.N_TOKENS,
            "coherence_least_count": coherence.LEAST_COUNT,
            "norm_overlap_tokens": N_TOKENS,
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
        job, values = self.job, self.job.context.units.write_vectors(layer)
        either_sign = job.context.shape.is_gated
        drawn = random_vectors(values, n=job.n_random, seed=job.seed, layer=layer, either_sign=either_sign)
        null = self.coherence.of(drawn)
        negative = self.coherence.of(-values) if either_sign else np.full(len(values), np.nan)
        overlaps = [
            self.overlap.row(values, layer=layer, kind="value", either_sign=either_sign),
            self.overlap.row(drawn, layer=layer, kind="random"),
        ]
        by_kind: dict[ControlKind, Tensor] = {"random": drawn, "ffn_update": self.updates[layer]}
        lists, alike = [], []
        for kind, vectors in by_kind.items():
            if len(vectors):
                lists.append(controls_frame(vectors, self.vocabulary, layer=layer, kind=kind))
                judgement = judged(null if kind == "random" else self.coherence.of(vectors), null)
                alike.append(control_coherences_frame(judgement, layer=layer, kind=kind))
        return {
            CONTROLS.name: pl.concat(lists),
            NORM_OVERLAPS.name: pl.concat(overlaps),
            COHERENCES.name: _neurons_frame(judged(self.coherence.of(values), null), judged(negative, null), layer),
            CONTROL_COHERENCES.name: pl.concat(alike),
        }


def _neurons_frame(positive: Judged, negative: Judged, layer: int) -> pl.DataFrame:
    """Rows of `coherences`: of what neurons promote at coefficients above 0, and of what they do at those below 0."""
    n = len(positive.coherence)
    place = pl.DataFrame({"layer": np.full(n, layer, dtype=np.int16), "neuron": np.arange(n, dtype=np.int32)})
    below = [column.alias(f"negative_{column.name}") for column in negative.columns()]
    return place.with_columns(*positive.columns(), *below).cast(pl.Schema(COHERENCES.schema))


K = 50
"""Tokens kept at either end, at most half of the unmasked vocabulary: as many as of a neuron."""

ControlKind = Literal["random", "ffn_update"]


def controls_frame(
    vectors: Float[Tensor, "n d_model"], vocabulary: Vocabulary, *, layer: int, kind: ControlKind, first_id: int = 0
) -> pl.DataFrame:
    """Rows of `controls`: what each vector says in the vocabulary, as `projections` says it of neurons.

    Args:
        vectors: float32, on the device of the vocabulary.
        vocabulary: what they are scored against.
        layer: the layer.
        kind: what they are.
        first_id: number of the first of them within its layer and kind.
    """
    k = min(K, len(vocabulary.ids) // 2)
    scored = Scorer(vocabulary.rows, keep=ScorerOptions(largest=k, smallest=k, moments=True)).score(vectors)
    norms = torch.linalg.vector_norm(vectors.double(), dim=1)
    rows = projections_frame(scored, vocabulary, layer=layer, norms=norms, bounds=None)
    named = rows.with_columns(pl.lit(kind).alias("kind"), (pl.col("neuron") + first_id).alias("control_id"))
    return named.select(pl.col(name).cast(dtype) for name, dtype in CONTROLS.schema.items())


def control_coherences_frame(judged: Judged, *, layer: int, kind: ControlKind, first_id: int = 0) -> pl.DataFrame:
    """Rows of `control_coherences` for vectors numbered as in `controls_frame`."""
    n = len(judged.coherence)
    place = pl.DataFrame({"layer": [layer] * n, "kind": [kind] * n, "control_id": range(first_id, first_id + n)})
    return place.with_columns(judged.columns()).cast(pl.Schema(CONTROL_COHERENCES.schema))
