"""Which value vectors of a model point nearly the same way, layer against layer."""

import numpy as np
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.catalog.tables.weights import NEIGHBOURS
from neurothek.ingest.lens.scorer import Kept, Scorer
from neurothek.ingest.lens.top_k import Extremes, bound_groups_, group_count, select
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.numerics.unit_vectors import directions_of, without_self

_BLOCK = 512
"""Neurons whose cosines with a whole layer are held at once."""


def value_neighbours_frame(transformer: Transformer, layer: int, *, k: int) -> pl.DataFrame:
    """Rows of `neighbours`: for each neuron of the layer the `k` others of the model with the largest cosine.

    In a gated model, where signs are a convention, with the largest |cosine|. Ties go to the lower layer, then the
    lower neuron. Two layers are in memory at once.
    """
    shape = transformer.shape
    kept = min(k, shape.n_layers * shape.d_ffn - 1)
    if kept < 1:
        return NEIGHBOURS.empty()
    mine = directions_of(transformer.value_vectors(layer))
    cosines: np.ndarray = np.empty((shape.d_ffn, 0), dtype=np.float32)
    places: np.ndarray = np.empty((shape.d_ffn, 0), dtype=np.int64)
    for other in range(shape.n_layers):
        theirs = mine if other == layer else directions_of(transformer.value_vectors(other))
        # One more than asked for among its own layer, where a neuron is usually its own nearest.
        n_nearest = min(kept + (other == layer), shape.d_ffn)
        nearest = _aligned(theirs, mine, k=n_nearest) if shape.is_gated else _nearest(theirs, mine, k=n_nearest)
        rows, values = nearest.rows.cpu().numpy(), nearest.values.cpu().numpy()
        if other == layer:
            chosen = without_self(rows)
            rows, values = (part[chosen].reshape(shape.d_ffn, -1) for part in (rows, values))
        cosines = np.concatenate([cosines, values], axis=1)
        places = np.concatenate([places, other * shape.d_ffn + rows], axis=1)
        sizes = np.abs(cosines) if shape.is_gated else cosines
        best = np.argsort(-sizes, axis=1, kind="stable")[:, :kept]
        cosines, places = (np.take_along_axis(part, best, axis=1) for part in (cosines, places))
    return _frame(layer, shape.d_ffn, cosines, places)


def _nearest(theirs: Float[Tensor, "n d_model"], mine: Float[Tensor, "m d_model"], *, k: int) -> Extremes:
    """Of each of mine the `k` with the largest cosine."""
    nearest = Scorer(theirs, keep=Kept(largest=k)).score(mine).largest
    assert nearest is not None
    return nearest


@torch.inference_mode()
def _aligned(theirs: Float[Tensor, "n d_model"], mine: Float[Tensor, "m d_model"], *, k: int) -> Extremes:
    """Of each of mine the `k` with the largest |cosine|, and their cosines."""
    found = []
    for block in torch.split(mine, _BLOCK):
        cosines = theirs @ block.T
        sizes = cosines.abs()
        bounds = sizes.new_empty(group_count(len(sizes)), len(block))
        bound_groups_(bounds, sizes, first_row=0, side="largest")
        rows = select(sizes, bounds, k=k, side="largest").rows
        found.append(Extremes(rows, cosines.T.gather(1, rows)))
    return Extremes.joined(found)


def _frame(layer: int, d_ffn: int, cosines: np.ndarray, places: np.ndarray) -> pl.DataFrame:
    n, kept = places.shape
    columns = {
        "layer": np.full(n * kept, layer, dtype=np.int16),
        "neuron": np.repeat(np.arange(n, dtype=np.int32), kept),
        "rank": np.tile(np.arange(1, kept + 1, dtype=np.int16), n),
        "other_layer": (places.ravel() // d_ffn).astype(np.int16),
        "other_neuron": (places.ravel() % d_ffn).astype(np.int32),
        "cosine": np.clip(cosines.ravel(), -1, 1),
    }
    return pl.DataFrame(columns, schema=dict(NEIGHBOURS.columns))


def all_directions(transformer: Transformer) -> Float[Tensor, "n_neurons d_model"]:
    """[n_layers * d_ffn, d_model] the directions of all value vectors, by layer, then neuron."""
    shape = transformer.shape
    filled = torch.empty(shape.n_layers * shape.d_ffn, shape.d_model, device=transformer.device)
    for layer in range(shape.n_layers):
        filled[layer * shape.d_ffn : (layer + 1) * shape.d_ffn] = directions_of(transformer.value_vectors(layer))
    return filled
