"""The job `controls`: what random vectors and FFN updates say in the vocabulary, beside neurons ([G] 4, A.1)."""

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from torch import Tensor

from catalog.tables import COHERENCES, CONTROL_COHERENCES, CONTROLS, NORM_OVERLAPS, Table
from ingest.corpora.corpus import Corpus
from ingest.corpora.examples import N_EVENT_EXAMPLES, examples
from ingest.corpora.sentences import splitter
from ingest.forward.footprint import numbers_at_work
from ingest.jobs.controls import coherence, frames, norm_overlap
from ingest.jobs.controls.coherence import Coherence, Judged, judged
from ingest.jobs.controls.ffn_updates import N_UPDATES, ffn_updates
from ingest.jobs.controls.frames import ControlKind, control_coherences_frame, controls_frame
from ingest.jobs.controls.norm_overlap import NormOverlap
from ingest.lens.random_vectors import random_vectors
from ingest.lens.scorer import workspace_bytes
from ingest.lens.vocabulary import Vocabulary
from ingest.models.tokenizer import Tokenizer
from ingest.models.transformer import Transformer

_LAYER = "layer-"


@dataclass(frozen=True)
class ControlsJob:
    """Random vectors and FFN updates with their tokens, the change by the final norm, and coherence against random.

    Attributes:
        transformer: the model.
        tokenizer: its tokenizer.
        n_random: random vectors a layer, for null distributions.
        n_stored: how many of them, the first ones, are kept with their tokens.
        n_updates: FFN updates a layer, if the corpus has so many sentences.
        seed: of the draws.
    """

    transformer: Transformer
    tokenizer: Tokenizer
    n_random: int = 500
    n_stored: int = 10
    n_updates: int = N_UPDATES
    seed: int = 0
    name: str = "controls"
    version: int = 2
    tables: tuple[Table, ...] = (CONTROLS, NORM_OVERLAPS, COHERENCES, CONTROL_COHERENCES)
    _opened: MutableMapping[Corpus, "_Opened"] = field(default_factory=WeakKeyDictionary, repr=False, compare=False)

    def parameters(self) -> dict[str, Any]:
        """How many vectors are drawn, how many tokens are compared, and which tokens count."""
        return {
            "n_random": self.n_random,
            "n_stored": self.n_stored,
            "n_updates": self.n_updates,
            "sentences": splitter(),
            "seed": self.seed,
            "k": frames.K,
            "coherence_tokens": coherence.N_TOKENS,
            "coherence_least_count": coherence.LEAST_COUNT,
            "norm_overlap_tokens": norm_overlap.N_TOKENS,
        }

    def shards(self, corpus: Corpus) -> dict[str, tuple[str, ...]]:
        """One shard a layer."""
        tables = tuple(table.name for table in self.tables)
        return {f"{_LAYER}{layer:04d}": tables for layer in range(self.transformer.shape.n_layers)}

    def measure(
        self,
        shard: str,
        transformer: Transformer,
        corpus: Corpus,
        *,
        batch_tokens: int,
        read_back: Callable[[str], pl.LazyFrame],
    ) -> dict[str, pl.DataFrame]:
        """The rows of one layer, by table."""
        layer = int(shard.removeprefix(_LAYER))
        if corpus not in self._opened:
            self._opened[corpus] = self._open(transformer, corpus, batch_tokens=batch_tokens)
        opened = self._opened[corpus]
        values = transformer.value_vectors(layer)
        drawn = random_vectors(values, n=self.n_random, seed=self.seed, layer=layer)
        null = opened.coherence.of(drawn)
        overlaps = [
            opened.overlap.row(values, layer=layer, kind="value"),
            opened.overlap.row(drawn, layer=layer, kind="random"),
        ]
        kept: dict[ControlKind, Tensor] = {"random": drawn[: self.n_stored], "ffn_update": opened.updates[layer]}
        lists, alike = [], []
        for kind, vectors in kept.items():
            if len(vectors):
                lists.append(controls_frame(vectors, opened.vocabulary, layer=layer, kind=kind))
                found = judged(opened.coherence.of(vectors), null)
                alike.append(control_coherences_frame(found, layer=layer, kind=kind))
        return {
            CONTROLS.name: pl.concat(lists),
            NORM_OVERLAPS.name: pl.concat(overlaps),
            COHERENCES.name: _neurons_frame(judged(opened.coherence.of(values), null), layer),
            CONTROL_COHERENCES.name: pl.concat(alike),
        }

    def memory_bytes(self, transformer: Transformer, *, batch_tokens: int, is_resident: bool) -> int:
        """What measuring adds to the process's memory, estimated from above."""
        shape = transformer.shape
        # The unembedding, its unmasked rows, those that come often enough, and these centred.
        rows = 4 * shape.vocab_size * shape.d_model
        # Coherence and the lists with and without the final norm keep their buffers.
        scorers = 2 * workspace_bytes(shape.vocab_size)
        scoring = 4 * (rows + 4 * (shape.d_ffn + self.n_random) * shape.d_model) + scorers
        # Blocks run before anything is scored, over a few sentences each; resident weights stay.
        weights = sum(transformer.block_bytes(layer) for layer in range(shape.n_layers if is_resident else 1))
        working = max(batch_tokens, shape.context_length) * numbers_at_work(shape) * 4
        return scoring + weights + working

    def _open(self, transformer: Transformer, corpus: Corpus, *, batch_tokens: int) -> "_Opened":
        vocabulary = Vocabulary.of(transformer.unembedding(), self.tokenizer.ids)
        length = transformer.shape.context_length
        drawn = examples(corpus, self.tokenizer, context_length=length, seed=self.seed, n_examples=N_EVENT_EXAMPLES)
        return _Opened(
            vocabulary,
            Coherence(transformer, self.tokenizer, corpus),
            NormOverlap(vocabulary, transformer.final_norm()),
            ffn_updates(transformer, drawn.rows, n=self.n_updates, seed=self.seed, batch_tokens=batch_tokens),
        )


@dataclass(frozen=True, eq=False)
class _Opened:
    """What the layers of one model share on one corpus."""

    vocabulary: Vocabulary
    coherence: Coherence
    overlap: NormOverlap
    updates: Sequence[Tensor]


def _neurons_frame(found: Judged, layer: int) -> pl.DataFrame:
    n = len(found.coherence)
    place = pl.DataFrame({"layer": np.full(n, layer, dtype=np.int16), "neuron": np.arange(n, dtype=np.int32)})
    return place.with_columns(found.columns()).cast(pl.Schema(COHERENCES.columns))
