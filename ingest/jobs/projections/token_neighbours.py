"""Which tokens are nearest to each other in a model's own unembedding."""

import numpy as np
import polars as pl

from neurothek.catalog.tables.weights import TOKEN_NEIGHBOURS
from neurothek.ingest.lens.scorer import Kept, Scorer
from neurothek.ingest.lens.vocabulary import Vocabulary
from neurothek.ingest.numerics.unit_vectors import unit_rows, without_self


def neighbours_frame(vocabulary: Vocabulary, *, k: int) -> pl.DataFrame:
    """Rows of `token_neighbours`: for each token the `k` others of largest cosine, ties by id [ours].

    A token whose row is zero has cosine 0 with all others.
    """
    n_tokens = len(vocabulary.ids)
    kept = min(k, n_tokens - 1)
    if kept < 1:
        return TOKEN_NEIGHBOURS.empty()
    directions = unit_rows(vocabulary.rows)
    # One more than asked for, since a token is usually its own nearest.
    nearest = Scorer(directions, keep=Kept(largest=kept + 1)).score(directions).largest
    assert nearest is not None
    rows, cosines = nearest.rows.cpu().numpy(), nearest.values.cpu().numpy()
    chosen = without_self(rows)
    columns = {
        "token_id": np.repeat(vocabulary.ids, kept),
        "rank": np.tile(np.arange(1, kept + 1, dtype=np.int16), n_tokens),
        "neighbour_id": vocabulary.ids[rows[chosen]],
        "cosine": cosines[chosen],
    }
    return pl.DataFrame(columns, schema=dict(TOKEN_NEIGHBOURS.columns))
