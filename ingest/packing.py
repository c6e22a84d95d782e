"""From documents to pieces of one length: encoding some at a time, joining short ones, cutting."""

import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from ingest.tokenization import Tokenizer

# Where a tokenizer has no EOS, documents are separated by a blank line.
BLANK_LINE = "\n\n"
CHARACTERS_AT_ONCE = 1 << 18


def encoded(texts: Iterable[str], tokenizer: Tokenizer) -> Iterator[np.ndarray]:
    """Ids of each document that has any, encoded some hundred kilobytes at a time."""
    held: list[str] = []
    size = 0
    for text in texts:
        held.append(text)
        size += len(text)
        if size >= CHARACTERS_AT_ONCE:
            yield from (ids for ids in tokenizer.encode(held) if len(ids))
            held, size = [], 0
    yield from (ids for ids in tokenizer.encode(held) if len(ids))


def cut(
    documents: Iterable[np.ndarray], separator: np.ndarray, length: int, *, packing: bool
) -> Iterator[tuple[np.ndarray, bool]]:
    """Pieces of at most `length` ids, each with whether its first id is the first of a document.

    With `packing`, neighbouring documents shorter than `length` are joined, a separator between two, and cut as one.
    A longer document is cut alone. The last piece of either may be shorter.
    """
    for is_short, run in itertools.groupby(documents, key=lambda ids: packing and len(ids) < length):
        for joined in [run] if is_short else ([ids] for ids in run):
            yield from _pieces(joined, separator, length)


def _pieces(joined: Iterable[np.ndarray], separator: np.ndarray, length: int) -> Iterator[tuple[np.ndarray, bool]]:
    """Cut documents joined by separators; the last piece may be shorter. Holds one document at a time."""
    held = np.empty(0, dtype=np.int32)
    starts = np.empty(0, dtype=np.bool_)
    for number, ids in enumerate(joined):
        part = ids if number == 0 else np.concatenate([separator, ids])
        held = np.concatenate([held, part])
        starts = np.concatenate([starts, np.arange(len(part)) == len(part) - len(ids)])
        whole = len(held) - len(held) % length
        for start in range(0, whole, length):
            yield held[start : start + length], bool(starts[start])
        held, starts = held[whole:], starts[whole:]
    if len(held):
        yield held, bool(starts[0])


def separator(tokenizer: Tokenizer) -> np.ndarray:
    """int32 ids between two joined documents: the EOS, or a blank line where the tokenizer has none."""
    if tokenizer.eos_id is not None:
        return np.array([tokenizer.eos_id], dtype=np.int32)
    return tokenizer.encode([BLANK_LINE])[0]
