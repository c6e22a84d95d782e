"""Models that were asked, kept open as far as their memory allows, and the prompt that one is asked about."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np
from jaxtyping import Int

from neurothek.catalog.problems import Invalid, LimitExceeded
from neurothek.ingest.errors import empty_prompt
from neurothek.ingest.models.finding import KnownFiles
from neurothek.ingest.models.measured import find_measured, open_transformer_of
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer

MOST_BYTES = 2 * 2**30
"""Weights that may stay in memory between two questions."""

Key = tuple[str, str, str, str | None, bool]
Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, eq=False)
class OpenModel:
    """One open model."""

    opened: tuple[Transformer, Tokenizer]  # the model and its tokenizer
    folder: Path  # where its files lie
    stamp: Stamp  # names, sizes and times of these when it was opened
    n_bytes: int  # what its weights take


class OpenModels:
    """The models that were asked last, no more than fit into `most_bytes` together; a larger one is not kept.

    Attributes:
        most_bytes: what all kept weights may take.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        # The one that was asked last stands last.
        self._entries: dict[Key, OpenModel] = {}
        self._lock = Lock()

    @contextmanager
    def model(
        self, files: KnownFiles, *, weights: str | Path | None = None, allow_pickle: bool = False
    ) -> Iterator[tuple[Transformer, Tokenizer]]:
        """The model that the warehouse measured, for one question at a time; others wait until the context ends.

        Weights that were changed or taken away meanwhile are not answered from memory.

        Args:
            files: the model.
            weights: a folder to look in instead.
            allow_pickle: read pickled weights.
        """
        place = None if weights is None else str(weights)
        key = (files.name, files.source, files.weights_sha256, place, allow_pickle)
        # What watches a block hears of everybody who runs it.
        with self._lock:
            entry = self._entries.pop(key, None)
            if entry is None or _stamp(entry.folder) != entry.stamp:
                entry = _opened(files, weights=weights, allow_pickle=allow_pickle)
            self._entries[key] = entry
            self._make_room()
            yield entry.opened

    def _make_room(self) -> None:
        while sum(entry.n_bytes for entry in self._entries.values()) > self.most_bytes:
            del self._entries[next(iter(self._entries))]


OPEN_MODELS = OpenModels()
"""Those of this process."""


def _opened(files: KnownFiles, *, weights: str | Path | None, allow_pickle: bool) -> OpenModel:
    checkpoint, tokenizer = find_measured(files, weights=weights, allow_pickle=allow_pickle)
    stamp = _stamp(checkpoint.folder)
    transformer = open_transformer_of(files, checkpoint)
    n_bytes = transformer.blocks_bytes(is_resident=True) + transformer.embedding_bytes
    return OpenModel((transformer, tokenizer), checkpoint.folder, stamp, n_bytes)


def _stamp(folder: Path) -> Stamp:
    """Nothing of a folder that is gone."""
    try:
        files = [(path.name, path.stat()) for path in sorted(folder.iterdir())]
    except OSError:
        return ()
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in files)


def ids_of(tokenizer: Tokenizer, prompt: str, *, context_length: int) -> Int[np.ndarray, " time"]:
    """[time] the ids that a model reads, a BOS in front where the tokenizer puts one there."""
    # Bytes of a command line that are no UTF-8 come as lone surrogates, which no tokenizer reads.
    content = tokenizer.encode([prompt.encode("utf-8", "replace").decode("utf-8")])[0]
    if not len(content):
        raise empty_prompt(prompt)
    bos = [] if tokenizer.bos_id is None else [tokenizer.bos_id]
    if len(content) + len(bos) > context_length:
        length = len(content) + len(bos)
        raise LimitExceeded(
            f"the prompt has {length:,} tokens, but the model reads at most {context_length:,}",
            "shorten the prompt",
            what="tokens",
            needed=length,
            limit=context_length,
        )
    return np.concatenate([np.array(bos, dtype=np.int32), content])


def place_of(ids: Int[np.ndarray, " time"], position: int | None) -> int:
    """The position, 0-based, of one that may be counted from the end; the last one of None."""
    number = len(ids) - 1 if position is None else position
    if not -len(ids) <= number < len(ids):
        raise Invalid(
            f"there is no position {number} in a prompt of {len(ids):,} tokens",
            f"positions are 0 to {len(ids) - 1:,}, or -1 for the last",
            option="position",
            value=number,
        )
    return number % len(ids)
