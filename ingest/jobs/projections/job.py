"""The job `projections`: what each value vector promotes and suppresses, and what its tokens are like ([G] 3, 4)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.weights import LOGIT_HISTOGRAMS, POSTINGS, PROJECTIONS, TOKEN_INDICATORS, TOKEN_NEIGHBOURS
from neurothek.ingest.jobs.job import Frames, JobContext, MeasureShard, ReadBack, WeightsJob
from neurothek.ingest.jobs.projections import footprint
from neurothek.ingest.jobs.projections.frames import histograms_frame, postings_frame, projections_frame
from neurothek.ingest.jobs.projections.token_indicators import indicators_frame
from neurothek.ingest.jobs.projections.token_neighbours import neighbours_frame
from neurothek.ingest.lens.byte_pieces import BytePieces
from neurothek.ingest.lens.scorer import Kept, Scorer
from neurothek.ingest.lens.vocabulary import Vocabulary
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.request import IngestRequest

_TOKENS = "tokens"
_LAYER = "layer-"


@dataclass(frozen=True)
class ProjectionsJob(WeightsJob):
    """Scores of every neuron against the unmasked vocabulary: moments, histogram, highest and lowest tokens.

    Attributes:
        k: tokens kept at either end, at most half of the unmasked vocabulary.
        neighbours: tokens nearest to each token that are kept.
    """

    k: int = 50
    neighbours: int = 20
    name = "projections"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (
        PROJECTIONS,
        POSTINGS,
        TOKEN_NEIGHBOURS,
        LOGIT_HISTOGRAMS,
        TOKEN_INDICATORS,
    )
    footprint = staticmethod(footprint.footprint)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "ProjectionsJob":
        """It has no options."""
        return cls(context)

    def parameters(self) -> dict[str, Any]:
        """How many tokens are kept."""
        return {"k": self.k, "neighbours": self.neighbours}

    def shards(self) -> Mapping[str, tuple[str, ...]]:
        """One shard for the tokens and one per layer."""
        of_layer = (PROJECTIONS.name, POSTINGS.name, LOGIT_HISTOGRAMS.name)
        layers = [f"{_LAYER}{layer:04d}" for layer in range(self.context.shape.n_layers)]
        return {_TOKENS: (TOKEN_NEIGHBOURS.name, TOKEN_INDICATORS.name), **dict.fromkeys(layers, of_layer)}

    def apart(self) -> tuple[str, ...]:
        """All of its shards."""
        return tuple(self.shards())

    @contextmanager
    def open(self, folder: Path, read_back: ReadBack) -> Iterator[MeasureShard]:
        """What measures the tokens, or a layer."""
        layers = _Layers(self.context, self.k)

        def measure(shard: str) -> Frames:
            if shard == _TOKENS:
                return self._of_tokens()
            return layers.measure(int(shard.removeprefix(_LAYER)))

        yield measure

    def _of_tokens(self) -> Frames:
        unembedding, tokenizer = self.context.transformer.unembedding(), self.context.tokenizer
        vocabulary = Vocabulary.of(unembedding, tokenizer.ids)
        is_masked = np.ones(len(unembedding), dtype=bool)
        is_masked[tokenizer.ids] = False
        masked = unembedding[torch.from_numpy(is_masked).to(unembedding.device)]
        pieces = BytePieces.of(tokenizer.pieces, tokenizer.contents())
        return {
            TOKEN_NEIGHBOURS.name: neighbours_frame(vocabulary, k=self.neighbours),
            TOKEN_INDICATORS.name: indicators_frame(vocabulary, pieces, masked),
        }


@dataclass(frozen=True, eq=False)
class _Layers:
    """Measures the layers of one model, which share the vocabulary and the scorer's memory."""

    context: JobContext
    k: int

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of(self.context.transformer.unembedding(), self.context.tokenizer.ids)

    @cached_property
    def scorer(self) -> Scorer:
        kept = min(self.k, len(self.vocabulary.ids) // 2)
        return Scorer(self.vocabulary.rows, keep=Kept(largest=kept, smallest=kept, moments=True, histogram=True))

    def measure(self, layer: int) -> Frames:
        transformer = self.context.transformer
        values = transformer.value_vectors(layer)
        scored = self.scorer.score(values)
        norms = torch.linalg.vector_norm(values.double(), dim=1)
        bounds = preactivation_bounds(transformer, layer)
        return {
            PROJECTIONS.name: projections_frame(scored, self.vocabulary, layer=layer, norms=norms, bounds=bounds),
            POSTINGS.name: postings_frame(scored, self.vocabulary, layer=layer),
            LOGIT_HISTOGRAMS.name: histograms_frame(scored, layer=layer),
        }


def preactivation_bounds(transformer: Transformer, layer: int) -> Float[Tensor, " d_ffn"] | None:
    """[d_ffn] float64: what no input can lift each neuron's pre-activation above; None for post-norm blocks [ours].

    A normalized vector has mean 0 and a norm of at most sqrt(d), so gamma * k - mean(gamma * k) meets it at best in its
    own direction: |gamma * k - mean(gamma * k)| * sqrt(d) + beta . k + bias. An RMS norm takes off no mean, and neither
    does its bound: |gamma * k| * sqrt(d) + bias. In a gated FFN it is the gate's pre-activation that is bounded.
    """
    norm = transformer.ffn_norm(layer)
    if norm is None:
        return None
    keys = transformer.key_vectors(layer).double()
    bounds = keys @ norm.beta.double() + transformer.key_bias(layer)
    bounds += torch.linalg.vector_norm(norm.readers_(keys), dim=1) * keys.shape[1] ** 0.5
    return bounds
