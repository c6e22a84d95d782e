"""The job `controls`: what random vectors say in the vocabulary, and whether neurons say more ([G] 4.1, A.1)."""

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from catalog.tables import COHERENCES, CONTROL_COHERENCES, CONTROLS, NORM_OVERLAPS, Table
from ingest import coherence, norm_overlap
from ingest.architectures import Transformer
from ingest.coherence import Coherence, Judged, judged
from ingest.corpora import Corpus
from ingest.jobs import control_frames
from ingest.jobs.control_frames import control_coherences_frame, controls_frame
from ingest.norm_overlap import NormOverlap
from ingest.random_vectors import random_vectors
from ingest.scoring import workspace_bytes
from ingest.tokenization import Tokenizer
from ingest.vocabulary import Vocabulary

_LAYER = "layer-"


@dataclass(frozen=True)
class ControlsJob:
    """Random vectors with their tokens, the change by the final norm, and the coherence of neurons against random.

    Attributes:
        transformer: the model.
        tokenizer: its tokenizer.
        n_random: random vectors a layer, for null distributions.
        n_stored: how many of them, the first ones, are kept with their tokens.
        seed: of the draw.
    """

    transformer: Transformer
    tokenizer: Tokenizer
    n_random: int = 500
    n_stored: int = 10
    seed: int = 0
    name: str = "controls"
    version: int = 1
    tables: tuple[Table, ...] = (CONTROLS, NORM_OVERLAPS, COHERENCES, CONTROL_COHERENCES)
    _opened: MutableMapping[Corpus, "_Opened"] = field(default_factory=WeakKeyDictionary, repr=False, compare=False)

    def parameters(self) -> dict[str, Any]:
        """How many vectors are drawn, how many tokens are compared, and which tokens count."""
        return {
            "n_random": self.n_random,
            "n_stored": self.n_stored,
            "seed": self.seed,
            "k": control_frames.K,
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
            self._opened[corpus] = _Opened.of(transformer, self.tokenizer, corpus)
        opened = self._opened[corpus]
        values = transformer.value_vectors(layer)
        drawn = random_vectors(values, n=self.n_random, seed=self.seed, layer=layer)
        null = opened.coherence.of(drawn)
        stored, first = drawn[: self.n_stored], judged(null[: self.n_stored], null)
        overlaps = [
            opened.overlap.row(values, layer=layer, kind="value"),
            opened.overlap.row(drawn, layer=layer, kind="random"),
        ]
        return {
            CONTROLS.name: controls_frame(stored, opened.vocabulary, layer=layer, kind="random"),
            NORM_OVERLAPS.name: pl.concat(overlaps),
            COHERENCES.name: _neurons_frame(judged(opened.coherence.of(values), null), layer),
            CONTROL_COHERENCES.name: control_coherences_frame(first, layer=layer, kind="random"),
        }

    def memory_bytes(self, transformer: Transformer, *, batch_tokens: int, is_resident: bool) -> int:
        """What measuring adds to the process's memory, estimated from above; no block is run."""
        shape = transformer.shape
        # The unembedding, its unmasked rows, those that come often enough, and these centred.
        rows = 4 * shape.vocab_size * shape.d_model
        # Coherence and the lists with and without the final norm keep their buffers.
        scorers = 2 * workspace_bytes(shape.vocab_size)
        return 4 * (rows + 4 * (shape.d_ffn + self.n_random) * shape.d_model) + scorers


@dataclass(frozen=True, eq=False)
class _Opened:
    """What the layers of one model share on one corpus."""

    vocabulary: Vocabulary
    coherence: Coherence
    overlap: NormOverlap

    @classmethod
    def of(cls, transformer: Transformer, tokenizer: Tokenizer, corpus: Corpus) -> "_Opened":
        vocabulary = Vocabulary.of(transformer.unembedding(), tokenizer.ids)
        overlap = NormOverlap(vocabulary, transformer.final_norm())
        return cls(vocabulary, Coherence(transformer, tokenizer, corpus), overlap)


def _neurons_frame(found: Judged, layer: int) -> pl.DataFrame:
    n = len(found.coherence)
    place = pl.DataFrame({"layer": np.full(n, layer, dtype=np.int16), "neuron": np.arange(n, dtype=np.int32)})
    return place.with_columns(found.columns()).cast(pl.Schema(COHERENCES.columns))
