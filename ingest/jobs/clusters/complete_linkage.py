"""Complete linkage of vectors by cosine distance: all pairs' distances, and the merges that a library makes of them."""

import math
from collections.abc import Iterator

import fastcluster
import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.ingest.numerics.parallel import share

try:
    # Private, and pinned for that: unlike the public function it works in the distances' own memory.
    from _fastcluster import linkage_wrap
except ImportError:
    linkage_wrap = None

_BLOCK = 512
# A float64 number; the public function copies it.
_BYTES_A_PAIR = 8 if linkage_wrap is not None else 16


def linkage_bytes(n: int) -> int:
    """Memory that the distances of `n` vectors take while they are linked."""
    return _BYTES_A_PAIR * (n * (n - 1) // 2)


def most_within(memory_bytes: int) -> int:
    """How many vectors can be linked within so much memory."""
    return math.isqrt(2 * max(0, memory_bytes) // _BYTES_A_PAIR)


def place(row: int, n: int) -> int:
    """Where the distances of `row` to the rows after it begin, in condensed distances of `n` vectors."""
    return n * row - row * (row + 1) // 2


def cosine_distances(directions: Float[Tensor, "n d_model"], *, either_sign: bool = False) -> np.ndarray:
    """[n d_model] directions -> [n (n - 1) / 2] float64, 1 - cosine of every pair, condensed as by scipy.

    With `either_sign` a vector and its negative are one: 1 - |cosine|.
    """
    n = directions.shape[0]
    distances = np.empty(n * (n - 1) // 2)

    def work(mine: Iterator[int]) -> None:
        with torch.inference_mode():
            for start in mine:
                cosines = directions[start : start + _BLOCK] @ directions[start:].T
                if either_sign:
                    cosines.abs_()
                block = (1 - cosines).clamp_min_(0).cpu().numpy()
                for offset, row in enumerate(block):
                    first = place(start + offset, n)
                    distances[first : first + len(row) - 1 - offset] = row[offset + 1 :]

    # Blocks get shorter: the long ones are handed out first.
    share(range(0, n, _BLOCK), work, workers=workers_on(directions.device))
    return distances


def complete_linkage(distances: np.ndarray, n: int) -> np.ndarray:
    """[n (n - 1) / 2] float64, destroyed -> [n - 1, 4] merges by rising height, as scipy writes them."""
    if n < 2:
        return np.empty((0, 4))
    if linkage_wrap is None:
        merges: np.ndarray = fastcluster.linkage(distances, "complete", preserve_input=False)
        return merges
    merges = np.empty((n - 1, 4))
    linkage_wrap(n, distances, merges, fastcluster.mthidx["complete"])
    return merges


def workers_on(device: torch.device) -> int:
    """How many threads share work on this device."""
    return torch.get_num_threads() if device.type == "cpu" else 1
