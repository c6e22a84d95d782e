"""The rows of an unembedding that have a token: every score is taken against these alone."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

_BLOCK = 512
"""Rows that are summed at once."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The unmasked part of an unembedding."""

    ids: np.ndarray  # int32 [vocab], the token of each row, rising
    rows: Float[Tensor, "vocab d_model"]  # [vocab d_model], contiguous, float32

    @classmethod
    def of(cls, unembedding: Float[Tensor, "rows d_model"], ids: np.ndarray) -> "Vocabulary":
        """Leave out the rows without a token (OPT: 50,272 rows, 50,265 tokens); nothing is copied if they come last."""
        count = len(ids)
        if count and int(ids[-1]) == count - 1:
            return cls(ids, unembedding[:count].contiguous())
        chosen = torch.from_numpy(ids.astype(np.int64)).to(unembedding.device)
        return cls(ids, unembedding[chosen])

    def centre(self) -> Float[Tensor, " d_model"]:
        """[d_model] the mean of the rows, summed in float64: times a vector it is the mean of the vector's scores."""
        # Over all rows at once torch sums ten times as long.
        sums = [block.sum(0, dtype=torch.float64) for block in torch.split(self.rows, _BLOCK)]
        return (torch.stack(sums).sum(0) / len(self.rows)).float()


NEVER_IN_UTF8 = frozenset({0xC0, 0xC1, *range(0xF5, 0x100)})
"""Bytes that begin or continue no character."""

LEAST_UNUSED = 3
"""Unused pieces of a kind that are needed to say what unused rows are like."""

_UNUSED = re.compile(r"[\[<]\|?(?:unused|reserved_special_token)[ _-]?\d+\|?[\]>]")


@dataclass(frozen=True, eq=False)
class BytePieces:
    """What is known of a vocabulary's pieces from how they are written."""

    # [vocab] pieces that are no whole characters, and single bytes that a tokenizer falls back on
    is_byte: Bool[np.ndarray, " vocab"]
    # [vocab] pieces that no text trains: single bytes that UTF-8 has no use for; where there are fewer than
    # `LEAST_UNUSED`, those called unused, such as [unused7]
    is_unused: Bool[np.ndarray, " vocab"]

    @classmethod
    def of(cls, pieces: Sequence[str], contents: Sequence[bytes | None]) -> "BytePieces":
        """Of pieces in the order of their ids.

        Args:
            pieces: as the tokenizer writes them.
            contents: the bytes that each stands for, where the tokenizer works on bytes: None for any other.
        """
        is_byte = [held is not None and not _is_text(piece, held) for piece, held in zip(pieces, contents, strict=True)]
        impossible = [held is not None and len(held) == 1 and held[0] in NEVER_IN_UTF8 for held in contents]
        if sum(impossible) < LEAST_UNUSED:
            impossible = [_UNUSED.fullmatch(piece) is not None for piece in pieces]
        return cls(np.array(is_byte, dtype=bool), np.array(impossible, dtype=bool))


def _is_text(piece: str, held: bytes) -> bool:
    if piece.startswith("<0x") and len(held) == 1:
        return False
    try:
        held.decode()
    except UnicodeDecodeError:
        return False
    return True
