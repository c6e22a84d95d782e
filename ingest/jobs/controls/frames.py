"""Vectors that are not neurons as rows of the tables `controls` and `control_coherences`, whichever job has them."""

from typing import Literal

import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.catalog.tables.texts import CONTROL_COHERENCES
from neurothek.catalog.tables.weights import CONTROLS
from neurothek.ingest.jobs.controls.coherence import Judged
from neurothek.ingest.jobs.projections.frames import projections_frame
from neurothek.ingest.lens.scorer import Kept, Scorer
from neurothek.ingest.lens.vocabulary import Vocabulary

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
    kept = min(K, len(vocabulary.ids) // 2)
    scored = Scorer(vocabulary.rows, keep=Kept(largest=kept, smallest=kept, moments=True)).score(vectors)
    norms = torch.linalg.vector_norm(vectors.double(), dim=1)
    rows = projections_frame(scored, vocabulary, layer=layer, norms=norms, bounds=None)
    named = rows.with_columns(pl.lit(kind).alias("kind"), (pl.col("neuron") + first_id).alias("control_id"))
    return named.select(pl.col(name).cast(dtype) for name, dtype in CONTROLS.columns.items())


def control_coherences_frame(judged: Judged, *, layer: int, kind: ControlKind, first_id: int = 0) -> pl.DataFrame:
    """Rows of `control_coherences` for vectors numbered as in `controls_frame`."""
    n = len(judged.coherence)
    place = pl.DataFrame({"layer": [layer] * n, "kind": [kind] * n, "control_id": range(first_id, first_id + n)})
    return place.with_columns(judged.columns()).cast(pl.Schema(CONTROL_COHERENCES.columns))
