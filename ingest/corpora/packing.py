"""From documents to pieces of one length: encoding some at a time, joining short ones, cutting."""

from collections.abc import Iterable, Iterator

import numpy as np

from neurothek.catalog.problems import LimitExceeded
from neurothek.ingest.amounts import in_words
from neurothek.ingest.corpora.text_memory import BYTES_A_TEXT, TextMemory
from neurothek.ingest.models.tokenizer import Tokenizer

# Where a tokenizer has no EOS, documents are separated by a blank line.
BLANK_LINE = "\n\n"

_NO_IDS = np.empty(0, dtype=np.int32)


def encoded(
    texts: Iterable[Iterable[str]], tokenizer: Tokenizer, *, memory: TextMemory, where: str
) -> Iterator[tuple[np.ndarray, bool]]:
    """Ids of documents that come in blocks of text, part by part, each with whether it begins a document."""
    held: list[str] = []
    begins: list[bool] = []
    size = 0
    for blocks in texts:
        is_first = True
        for part, is_cut in tokenizer.parts(blocks, every=memory.every):
            # A character takes four bytes at most.
            if 4 * len(part) > memory.longest_part and len(part.encode()) > memory.longest_part:
                raise LimitExceeded(
                    f"the text {where} has more than {in_words(memory.longest_part)} that the tokenizer of"
                    f" {tokenizer.name} cannot split, the most that --memory {in_words(memory.memory_bytes)} allows:"
                    " allow more, or insert spaces into the text",
                    what="memory",
                    limit=memory.memory_bytes,
                )
            if not is_cut:
                continue
            held.append(part)
            begins.append(is_first)
            is_first = False
            size += len(part) + BYTES_A_TEXT
            if size >= memory.at_once:
                yield from zip(tokenizer.encode_parts(held, bytes_at_once=memory.at_once), begins, strict=True)
                held, begins, size = [], [], 0
    yield from zip(tokenizer.encode_parts(held, bytes_at_once=memory.at_once), begins, strict=True)


def cut_sequences(
    parts: Iterable[tuple[np.ndarray, bool]], separator: np.ndarray, length: int, *, packing: bool
) -> Iterator[tuple[np.ndarray, bool]]:
    """Pieces of at most `length` ids, each with whether its first id is the first of a document.

    `parts` are the ids of documents, one or more parts each, with whether a part begins one. With `packing`,
    neighbouring documents shorter than `length` are joined, a separator between two, and cut as one. A longer document
    is cut alone. The last piece of either may be shorter. A document without ids is none.
    """
    run = _Run(length)
    held: list[np.ndarray] = []
    size, is_long = 0, False
    for ids, begins in _closed(parts):
        if begins:
            if is_long:
                yield from run.rest()
            elif size:
                yield from run.extended(held, separator)
                if not packing:
                    yield from run.rest()
            held, size, is_long = [], 0, False
        if is_long:
            yield from run.extended([ids])
            continue
        held.append(ids)
        size += len(ids)
        if size >= length:
            yield from run.rest()
            yield from run.extended(held, separator)
            is_long = True
    yield from run.rest()


def _closed(parts: Iterable[tuple[np.ndarray, bool]]) -> Iterator[tuple[np.ndarray, bool]]:
    """The parts, and behind them the beginning of a document that never comes."""
    yield from parts
    yield _NO_IDS, True


class _Run:
    """Ids that are cut as one, of which less than a piece is held."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._ids, self._starts, self._is_empty = _NO_IDS, np.empty(0, dtype=np.bool_), True

    def extended(
        self, parts: list[np.ndarray], separator: np.ndarray | None = None
    ) -> Iterator[tuple[np.ndarray, bool]]:
        """Add the parts and give the whole pieces; with a separator they begin a document."""
        before = [] if separator is None or self._is_empty else [separator]
        ids = np.concatenate([*before, *parts])
        starts = np.zeros(len(ids), dtype=np.bool_)
        if separator is not None:
            starts[len(separator) if before else 0] = True
        self._is_empty = False
        self._ids = np.concatenate([self._ids, ids])
        self._starts = np.concatenate([self._starts, starts])
        whole = len(self._ids) - len(self._ids) % self._length
        for start in range(0, whole, self._length):
            yield self._ids[start : start + self._length], bool(self._starts[start])
        self._ids, self._starts = self._ids[whole:], self._starts[whole:]

    def rest(self) -> Iterator[tuple[np.ndarray, bool]]:
        """The last piece, which may be shorter, if there is one; what comes then is cut anew."""
        if len(self._ids):
            yield self._ids, bool(self._starts[0])
        self._begin_anew()


def separator(tokenizer: Tokenizer) -> np.ndarray:
    """int32 ids between two joined documents: the EOS, or a blank line where the tokenizer has none."""
    if tokenizer.eos_id is not None:
        return np.array([tokenizer.eos_id], dtype=np.int32)
    return tokenizer.encode([BLANK_LINE])[0]
