"""Value vectors as directions: what cosines between neurons are taken from."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

SHORTEST = 1e-6
"""A vector shorter than this has no direction: its cosine with any other is 0."""


def directions_of(vectors: Float[Tensor, "n d_model"]) -> Float[Tensor, "n d_model"]:
    """[n d_model] the vectors scaled to length 1, those without a direction to 0."""
    lengths = torch.linalg.vector_norm(vectors.double(), dim=1, keepdim=True)
    return torch.where(lengths < SHORTEST, 0.0, vectors / lengths).to(vectors.dtype)


def unit_rows(matrix: Float[Tensor, "rows d_model"]) -> Float[Tensor, "rows d_model"]:
    """[rows d_model] rows scaled to length 1; zero rows stay zero."""
    norms = torch.linalg.vector_norm(matrix, dim=1, keepdim=True)
    return torch.where(norms > 0, matrix / norms, 0.0)


def without_self(rows: np.ndarray) -> np.ndarray:
    """[tokens k+1] -> bool mask that leaves k in each row: all but the token itself, or the last if it is not there."""
    chosen: np.ndarray = rows != np.arange(len(rows))[:, None]
    chosen[chosen.all(1), -1] = False
    return chosen
