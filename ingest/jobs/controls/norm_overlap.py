"""How far the final norm changes which tokens a vector promotes ([G] A.1; that the final norm is meant is ours)."""

from typing import Literal

import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.catalog.tables.weights import NORM_OVERLAPS
from neurothek.ingest.lens.scorer import Kept, Scorer
from neurothek.ingest.lens.vocabulary import Vocabulary
from neurothek.ingest.models.transformer import Norm

N_TOKENS = 30
"""Tokens of largest score that are compared."""

VectorKind = Literal["value", "random"]


class NormOverlap:
    """Compares the top tokens of E.v with those of E.LN_f(v), LN_f the final norm, over the unmasked vocabulary."""

    def __init__(self, vocabulary: Vocabulary, norm: Norm | None) -> None:
        self._norm = norm
        self._scorer = Scorer(vocabulary.rows, keep=Kept(largest=min(N_TOKENS, len(vocabulary.ids) // 2)))

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
        return pl.DataFrame([row], schema=dict(NORM_OVERLAPS.columns), orient="row")

    def _top(self, vectors: Float[Tensor, "n d_model"]) -> Int[Tensor, "n k"]:
        best = self._scorer.score(vectors).largest
        assert best is not None
        return best.rows


def mean_overlap(one: Int[Tensor, "n k"], other: Int[Tensor, "n k"]) -> float:
    """Mean over rows of intersection over union; a row repeats nothing."""
    both = torch.cat([one, other], dim=1).sort(dim=1).values
    common = (both[:, 1:] == both[:, :-1]).sum(1).double()
    return float((common / (both.shape[1] - common)).mean())
