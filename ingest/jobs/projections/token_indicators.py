"""Which rows of an unembedding lie where those lie that no text trains ([L] 3)."""

import numpy as np
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.catalog.tables.weights import TOKEN_INDICATORS
from neurothek.ingest.lens.byte_pieces import LEAST_UNUSED, BytePieces
from neurothek.ingest.lens.vocabulary import Vocabulary

MARGIN = 2.0
"""How many times as far as unused rows a row may be, and still be called undertrained ([ours])."""

LARGEST_SHARE = 0.5
"""Of the median distance: unused rows that lie apart say nothing of others ([ours])."""


def indicators_frame(vocabulary: Vocabulary, pieces: BytePieces, masked: Float[Tensor, "rows d_model"]) -> pl.DataFrame:
    """One row a token of `token_indicators`.

    The indicator is that of Land and Bartolo 2024, Fishing for Magikarp, for output embeddings: the cosine distance of
    a row from the mean of unused ones, here without taking off a common component; they look at the nearest by hand or
    test them with prompts, where we have a limit.

    Args:
        vocabulary: the tokens' rows.
        pieces: which of them are bytes or unused.
        masked: rows of the unembedding without a token, which stand in where too few tokens are unused.
    """
    rows = vocabulary.rows.double()
    norms = torch.linalg.vector_norm(rows, dim=1)
    unused = torch.from_numpy(pieces.is_unused).to(rows.device)
    is_own = int((unused & (norms > 0)).sum()) >= LEAST_UNUSED
    reference = rows[unused & (norms > 0)] if is_own else masked.double()[masked.abs().sum(1) > 0]
    distances, limit = torch.full_like(norms, torch.nan), None
    if len(reference) >= LEAST_UNUSED:
        among = _distances_among(reference)
        distances = _distances(rows, reference.sum(0))
        if is_own:
            distances[unused & (norms > 0)] = among
        median = float(distances[norms > 0].median())
        limit = min(MARGIN * float(among.max()), LARGEST_SHARE * median)
    columns = {
        "token_id": vocabulary.ids,
        "row_norm": norms.cpu().numpy(),
        "unused_distance": torch.where(norms > 0, distances, torch.nan).cpu().numpy(),
        "unused_limit": np.full(len(norms), np.nan if limit is None else limit),
        "is_unused": pieces.is_unused,
        "is_byte": pieces.is_byte,
    }
    frame = pl.DataFrame(columns).cast(pl.Schema(TOKEN_INDICATORS.columns))
    return frame.with_columns(pl.col("unused_distance", "unused_limit").fill_nan(None))


def _distances(rows: Float[Tensor, "rows d_model"], centre: Float[Tensor, "*_ d_model"]) -> Float[Tensor, " rows"]:
    return 1 - torch.nn.functional.cosine_similarity(rows, centre.expand_as(rows), dim=1)


def _distances_among(rows: Float[Tensor, "rows d_model"]) -> Float[Tensor, " rows"]:
    """Of each row from the mean of the others, whose length says nothing of its direction."""
    return _distances(rows, rows.sum(0) - rows)
