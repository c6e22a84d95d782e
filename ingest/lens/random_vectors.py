"""Random vectors like a layer's value vectors, or its keys: what neurons are compared with ([G] 4.1)."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.ingest.numerics.random_stream import Purpose, random_stream


def random_vectors(
    values: Float[Tensor, "d_ffn d_model"],
    *,
    n: int,
    seed: int,
    layer: int,
    either_sign: bool = False,
    purpose: Purpose = Purpose.RANDOM_VECTORS,
) -> Float[Tensor, "n d_model"]:
    """[n d_model] each coordinate drawn with the mean and standard deviation it has over the layer [ours].

    Coordinates are independent and normal; the draw depends on the seed and the layer alone, and the first of more
    vectors are those of fewer. With `either_sign`, where a value vector might as well be its negative, the mean is 0
    and the deviation from it the root mean square.
    """
    generator = random_stream(seed, purpose, layer)
    noise = torch.from_numpy(generator.standard_normal((n, values.shape[1]))).to(values.device)
    exact = values.double()
    if either_sign:
        return (exact.square().mean(0).sqrt() * noise).float()
    return (exact.mean(0) + exact.std(0, correction=0) * noise).float()


def percentiles(values: Float[np.ndarray, " n"], null: Float[np.ndarray, " random"]) -> Float[np.ndarray, " n"]:
    """[n] share of the null's numbers below each value, in percent, equal ones counting half; nan where undefined."""
    null = np.sort(null[~np.isnan(null)])
    if not len(null):
        return np.full(len(values), np.nan)
    below = np.searchsorted(null, values, side="left") + np.searchsorted(null, values, side="right")
    return np.where(np.isnan(values), np.nan, 50 * below / len(null))
