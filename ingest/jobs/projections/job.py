"""The job `projections`: what each value vector says in the vocabulary, and which tokens are alike ([G] 3, 4)."""

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from catalog.tables import POSTINGS, PROJECTIONS, TOKEN_NEIGHBOURS, Table
from ingest.jobs.projections.frames import postings_frame, projections_frame
from ingest.jobs.projections.token_neighbours import neighbours_frame
from ingest.lens.scorer import Keep, Scorer
from ingest.lens.vocabulary import Vocabulary
from ingest.models.tokenizer import Tokenizer
from ingest.models.transformer import Shape, Transformer

_TOKENS = "tokens"
_LAYER = "layer-"


@dataclass(frozen=True)
class ProjectionsJob:
    """Scores of every neuron against the unmasked vocabulary: moments, top and bottom tokens, and these as postings.

    Attributes:
        k: tokens kept at either end, at most half of the unmasked vocabulary.
        neighbours: tokens nearest to each token that are kept.
    """

    k: int = 50
    neighbours: int = 20
    name: str = "projections"
    version: int = 1
    tables: tuple[Table, ...] = (PROJECTIONS, POSTINGS, TOKEN_NEIGHBOURS)
    _opened: MutableMapping[Transformer, "_Opened"] = field(
        default_factory=WeakKeyDictionary, repr=False, compare=False
    )

    def parameters(self) -> dict[str, Any]:
        """How many tokens are kept."""
        return {"k": self.k, "neighbours": self.neighbours}

    def shards(self, shape: Shape) -> Mapping[str, tuple[str, ...]]:
        """One shard for the tokens and one a layer."""
        layers = {f"{_LAYER}{layer:04d}": (PROJECTIONS.name, POSTINGS.name) for layer in range(shape.n_layers)}
        return {_TOKENS: (TOKEN_NEIGHBOURS.name,), **layers}

    def measure(self, shard: str, transformer: Transformer, tokenizer: Tokenizer) -> dict[str, pl.DataFrame]:
        """The rows of one shard, by table.

        What the layers share is made for the first of them and let go with the last.
        """
        if shard == _TOKENS:
            vocabulary = Vocabulary.of(transformer.unembedding(), tokenizer.ids)
            return {TOKEN_NEIGHBOURS.name: neighbours_frame(vocabulary, k=self.neighbours)}
        layer = int(shard.removeprefix(_LAYER))
        opened = self._opened.get(transformer)
        if opened is None or opened.vocabulary.ids is not tokenizer.ids:
            opened = self._opened[transformer] = _Opened.of(transformer, tokenizer, k=self.k)
        if layer == transformer.shape.n_layers - 1:
            del self._opened[transformer]
        return opened.measure(layer, transformer)


@dataclass(frozen=True, eq=False)
class _Opened:
    """What the layers of one model share."""

    vocabulary: Vocabulary
    scorer: Scorer

    @classmethod
    def of(cls, transformer: Transformer, tokenizer: Tokenizer, *, k: int) -> "_Opened":
        vocabulary = Vocabulary.of(transformer.unembedding(), tokenizer.ids)
        kept = min(k, len(vocabulary.ids) // 2)
        return cls(vocabulary, Scorer(vocabulary.rows, keep=Keep(largest=kept, smallest=kept, moments=True)))

    def measure(self, layer: int, transformer: Transformer) -> dict[str, pl.DataFrame]:
        values = transformer.value_vectors(layer)
        scored = self.scorer.score(values)
        norms = torch.linalg.vector_norm(values.double(), dim=1)
        bounds = preactivation_bounds(transformer, layer)
        return {
            PROJECTIONS.name: projections_frame(scored, self.vocabulary, layer=layer, norms=norms, bounds=bounds),
            POSTINGS.name: postings_frame(scored, self.vocabulary, layer=layer),
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
