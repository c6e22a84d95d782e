"""How similar the tokens are that a vector promotes: the mean cosine of their embeddings, against random vectors."""

from dataclasses import dataclass

import numpy as np
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.lens.random_vectors import percentiles
from neurothek.ingest.lens.scorer import Scorer, ScorerOptions
from neurothek.ingest.lens.vocabulary import Vocabulary
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.numerics.unit_vectors import SHORTEST, unit_rows

N_TOKENS = 30
"""Tokens of largest score that are compared."""

LEAST_COUNT = 10
"""How often the corpus must have a token: embeddings of rarer ones are hardly trained."""

_BLOCK = 4096


@dataclass(frozen=True)
class Judged:
    """Coherence of n vectors, each array float64 with nan where it is not defined."""

    coherence: np.ndarray  # mean pairwise cosine
    z: np.ndarray  # standard deviations above the mean of the random vectors
    percentile: np.ndarray  # share of the random vectors that are less coherent, in percent; equal ones count half

    def columns(self) -> list[pl.Series]:
        """As columns of the tables, null where not defined."""
        named = {"coherence": self.coherence, "coherence_z": self.z, "coherence_percentile": self.percentile}
        return [pl.Series(name, values, pl.Float64).fill_nan(None) for name, values in named.items()]


class Coherence:
    """Measures coherence for one model and one corpus [ours].

    The tokens are the 30 of largest raw score among those that are not special and that the corpus has at least ten
    times; their embeddings are rows of the unembedding less the mean of its unmasked rows.
    """

    def __init__(self, transformer: Transformer, tokenizer: Tokenizer, corpus: Corpus) -> None:
        unembedding = transformer.unembedding()
        ids = torch.from_numpy(_eligible(tokenizer, corpus)).to(unembedding.device)
        chosen, centre = unembedding[ids], Vocabulary.of(unembedding, tokenizer.ids).centre()
        self._units = unit_rows(chosen - centre)
        self._n_tokens = min(N_TOKENS, len(ids))
        self._scorer = Scorer(chosen, keep=ScorerOptions(largest=self._n_tokens)) if len(ids) > 1 else None

    def of(self, vectors: Float[Tensor, "n d_model"]) -> np.ndarray:
        """[n d_model] -> [n] float64 coherence; nan for a vector without direction, or without two tokens."""
        if self._scorer is None:
            return np.full(vectors.shape[0], np.nan)
        best = self._scorer.score(vectors).largest
        assert best is not None
        # A row is zero where an embedding is the mean itself: it has cosine 0 with the others.
        has_direction = (self._units != 0).any(1).double()
        # The order of a sum moves its last bits, so it is that of the ids: the same tokens are exactly as coherent.
        rows = best.rows.sort(dim=1).values
        starts = range(0, vectors.shape[0], _BLOCK)
        cosines = torch.cat([self._mean_cosine(rows[start : start + _BLOCK], has_direction) for start in starts])
        short = torch.linalg.vector_norm(vectors.double(), dim=1) < SHORTEST
        measured: np.ndarray = torch.where(short, torch.nan, cosines).cpu().numpy()
        return measured

    def _mean_cosine(self, rows: Tensor, has_direction: Tensor) -> Tensor:
        k = self._n_tokens
        sums = functional.embedding_bag(rows, self._units, mode="sum").double()
        return (sums.square().sum(1) - has_direction[rows].sum(1)) / (k * (k - 1))


def judged(coherence: np.ndarray, null: np.ndarray) -> Judged:
    """[n] and [n_random] coherences -> how the former stand among the latter; nan where either is not defined."""
    null = np.sort(null[~np.isnan(null)])
    # Of equal numbers the mean, and with it the spread, may be off by a last bit.
    spread = null.std() if len(null) and null[0] < null[-1] else 0.0
    z = (coherence - null.mean()) / spread if spread > 0 else np.full(len(coherence), np.nan)
    return Judged(coherence, z, percentiles(coherence, null))


def _eligible(tokenizer: Tokenizer, corpus: Corpus) -> np.ndarray:
    counts = corpus.token_counts_frame().group_by("token_id").agg(pl.col("n_occurrences").sum())
    often = counts.filter(pl.col("n_occurrences") >= LEAST_COUNT)["token_id"].to_numpy()
    ids = np.intersect1d(often, tokenizer.ids)
    return np.setdiff1d(ids, np.array(sorted(tokenizer.special_ids), dtype=ids.dtype)).astype(np.int64)
