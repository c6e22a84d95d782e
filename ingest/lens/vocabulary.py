"""The rows of an unembedding that have a token: every score is taken against these alone."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The unmasked part of an unembedding.

    Attributes:
        ids: int32 [vocab], the token of each row, rising.
        rows: [vocab d_model], contiguous, float32.
    """

    ids: np.ndarray
    rows: Float[Tensor, "vocab d_model"]

    @classmethod
    def of(cls, unembedding: Float[Tensor, "rows d_model"], ids: np.ndarray) -> "Vocabulary":
        """Leave out the rows without a token (OPT: 50,272 rows, 50,265 tokens); nothing is copied if they come last."""
        count = len(ids)
        if count and int(ids[-1]) == count - 1:
            return cls(ids, unembedding[:count].contiguous())
        chosen = torch.from_numpy(ids.astype(np.int64)).to(unembedding.device)
        return cls(ids, unembedding[chosen])
