"""Value vectors as directions: what cosines between neurons are taken from."""

import torch
from jaxtyping import Float
from torch import Tensor

from ingest.models.transformer import Transformer

SHORTEST = 1e-6
"""A vector shorter than this has no direction: its cosine with any other is 0."""


def directions_of(vectors: Float[Tensor, "n d_model"]) -> Float[Tensor, "n d_model"]:
    """[n d_model] the vectors scaled to length 1, those without a direction to 0."""
    lengths = torch.linalg.vector_norm(vectors.double(), dim=1, keepdim=True)
    return torch.where(lengths < SHORTEST, 0.0, vectors / lengths).to(vectors.dtype)


def all_directions(transformer: Transformer) -> Float[Tensor, "n_neurons d_model"]:
    """[n_layers * d_ffn, d_model] the directions of all value vectors, by layer, then neuron."""
    shape = transformer.shape
    filled = torch.empty(shape.n_layers * shape.d_ffn, shape.d_model, device=transformer.device)
    for layer in range(shape.n_layers):
        filled[layer * shape.d_ffn : (layer + 1) * shape.d_ffn] = directions_of(transformer.value_vectors(layer))
    return filled
