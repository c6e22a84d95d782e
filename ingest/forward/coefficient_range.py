"""The smallest and the largest coefficient of each neuron, which say at which pole it is strongest (ours)."""

from collections.abc import Iterable

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from neurothek.ingest.forward.batches import Batch
from neurothek.ingest.numerics.parallel import mapped


class CoefficientRange:
    """The smallest and the largest coefficient of each neuron of a layer so far."""

    def __init__(self, d_ffn: int) -> None:
        """Watch `d_ffn` neurons."""
        self._lowest: Float[Tensor, " d_ffn"] | None = None
        self._highest: Float[Tensor, " d_ffn"] | None = None
        self._d_ffn = d_ffn

    def observe(self, batch: Batch, coefficients: Float[Tensor, "batch time d_ffn"]) -> None:
        """Take in the coefficients of a batch at its counted positions."""
        counted = [
            sequence[batch.first_counted : length]
            for sequence, length in zip(coefficients, batch.lengths, strict=True)
            if length > batch.first_counted
        ]
        for lowest, highest in mapped(_ends, counted, device=coefficients.device):
            self._lowest = lowest if self._lowest is None else torch.minimum(self._lowest, lowest)
            self._highest = highest if self._highest is None else torch.maximum(self._highest, highest)

    def result(self) -> Float[np.ndarray, "2 d_ffn"]:
        """[2 d_ffn] float32: the smallest, then the largest; 0 where there was no counted position."""
        if self._lowest is None or self._highest is None:
            return np.zeros((2, self._d_ffn), dtype=np.float32)
        return np.stack([self._lowest.cpu().numpy(), self._highest.cpu().numpy()])


def _ends(counted: Float[Tensor, "time d_ffn"]) -> tuple[Float[Tensor, " d_ffn"], Float[Tensor, " d_ffn"]]:
    return counted.amin(0).float(), counted.amax(0).float()


def strongest_below_zero(extremes: Iterable[Float[np.ndarray, "2 n"]]) -> Bool[np.ndarray, " n"]:
    """Bool [n] which neurons are strongest at a coefficient below 0, of the extremes of all chunks of a text."""
    every = np.stack(list(extremes))
    # 0 where a chunk had no counted position: it takes neither pole any further.
    is_below: Bool[np.ndarray, " n"] = np.maximum(every[:, 1].max(0), 0) < -np.minimum(every[:, 0].min(0), 0)
    return is_below
