"""Where the residual streams wait between two layers: in memory for one chunk, in a file for the whole corpus."""

import os
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from catalog.staging import StagingFull
from ingest.corpora.corpus import Corpus
from ingest.forward.batches import Batch
from ingest.models.transformer import Transformer


@runtime_checkable
class Streams(Protocol):
    """Keeps the stream that left a block until the next block reads it."""

    def load(self, batch: Batch) -> Float[Tensor, "batch time d_model"]:
        """The stream of a batch as the block before left it."""

    def save(self, batch: Batch, stream: Float[Tensor, "batch time d_model"]) -> None:
        """Keep the stream that left this block."""


class ChunkStreams:
    """The streams of one chunk, in memory."""

    def __init__(self) -> None:
        self._streams: dict[int, Tensor] = {}

    def load(self, batch: Batch) -> Float[Tensor, "batch time d_model"]:
        """[batch time d_model] what `save` was given."""
        return self._streams[batch.first_sequence]

    def save(self, batch: Batch, stream: Float[Tensor, "batch time d_model"]) -> None:
        """Keep it in place of the one before."""
        self._streams[batch.first_sequence] = stream


class DiskStreams:
    """The streams of a whole corpus in one memory-mapped file, deleted when it is closed.

    Padding is not kept: it comes back as zeros, which no counted position ever sees, since attention looks back only.
    """

    def __init__(self, folder: Path, corpus: Corpus, transformer: Transformer) -> None:
        self._path = folder / f".streams.{os.getpid()}"
        self._corpus, self._transformer = corpus, transformer
        self._itemsize = transformer.dtype.itemsize
        self._shape = (corpus.n_tokens, transformer.shape.d_model)

    @staticmethod
    def bytes_needed(corpus: Corpus, transformer: Transformer) -> int:
        """Size of the file."""
        return corpus.n_tokens * transformer.shape.d_model * transformer.dtype.itemsize

    def __enter__(self) -> "DiskStreams":
        # Two-byte floats are kept as integers, since numpy has no bfloat16; no arithmetic is done on them.
        kind = {2: np.int16, 4: np.float32, 8: np.float64}[self._itemsize]
        self._reserve()
        self._file = np.memmap(self._path, dtype=kind, mode="r+", shape=self._shape)
        return self

    def _reserve(self) -> None:
        """Take the disk space now: a mapped file that outgrows its disk kills the process.

        Raises:
            StagingFull: it is not there.
        """
        size = self.bytes_needed(self._corpus, self._transformer)
        try:
            with self._path.open("wb") as file:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                file.truncate(size)
        except OSError as error:
            self._path.unlink(missing_ok=True)
            raise StagingFull(self._path.parent, error) from error

    def __exit__(self, *_: object) -> None:
        del self._file
        self._path.unlink(missing_ok=True)

    def load(self, batch: Batch) -> Float[Tensor, "batch time d_model"]:
        """[batch time d_model] what `save` was given, zeros for padding."""
        stream = torch.zeros((*batch.tokens.shape, self._shape[1]), dtype=self._transformer.dtype)
        for row, (sequence, length) in enumerate(self._sequences(batch)):
            start = int(self._corpus.offsets[sequence])
            stored = torch.from_numpy(np.array(self._file[start : start + length]))
            stream[row, :length] = stored.view(self._transformer.dtype)
        return stream.to(self._transformer.device)

    def save(self, batch: Batch, stream: Float[Tensor, "batch time d_model"]) -> None:
        """Write the ids' rows over those of the block before."""
        here = stream.to("cpu")
        for row, (sequence, length) in enumerate(self._sequences(batch)):
            start = int(self._corpus.offsets[sequence])
            stored = here[row, :length].contiguous()
            raw = stored.view(torch.int16) if self._itemsize == 2 else stored
            self._file[start : start + length] = raw.numpy()

    @staticmethod
    def _sequences(batch: Batch) -> list[tuple[int, int]]:
        return [(batch.first_sequence + row, length) for row, length in enumerate(batch.lengths)]
