"""Where the residual streams wait between two layers: in memory, or in a file."""

import os
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from neurothek.ingest.forward.batches import RightPadded
from neurothek.ingest.models.families.sub_modules import Stream
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.numerics.array_files import refusals_told


class MemoryStreams:
    """Streams in memory."""

    def __init__(self) -> None:
        self._streams: dict[int, Tensor] = {}

    def load(self, batch: RightPadded) -> Stream:
        """[batch time d_model] what `save` was given."""
        return self._streams[batch.start]

    def save(self, batch: RightPadded, stream: Stream) -> None:
        """Keep it in place of the one before."""
        self._streams[batch.start] = stream

    def packed(self) -> "PackedStreams":
        """The streams as arrays of bytes, for another process."""
        # As bytes, since numpy has no bfloat16.
        return {
            start: (tuple(stream.shape), stream.cpu().contiguous().view(torch.uint8).numpy())
            for start, stream in self._streams.items()
        }

    @classmethod
    def unpacked(cls, packed: "PackedStreams", transformer: Transformer) -> "MemoryStreams":
        """The streams that another process packed, where the model runs."""
        streams = cls()
        for start, (shape, raw) in packed.items():
            # A copy, since what another process packed may be memory that nobody may write.
            stream = torch.from_numpy(raw.copy()).view(transformer.dtype).view(shape)
            streams._streams[start] = stream.to(transformer.device)
        return streams


class StreamFile:
    """Streams in one file, the numbers of each id where it stands among all.

    Padding is not kept: it comes back as zeros, which no position that is looked at ever sees.
    """

    def __init__(self, path: Path, transformer: Transformer) -> None:
        self._path, self._dtype, self._device = path, transformer.dtype, transformer.device
        self._d_model = transformer.shape.d_model
        self._id_bytes = self._d_model * self._dtype.itemsize

    def reserve(self, n_ids: int) -> None:
        """Make the file as large as it will be, so that a full disk is found now."""
        size = n_ids * self._id_bytes
        with refusals_told(self._path.parent), self._path.open("wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            file.truncate(size)

    def load(self, batch: RightPadded) -> Stream:
        """[batch time d_model] what `save` was given, zeros for padding."""
        size, start = sum(batch.lengths) * self._id_bytes, batch.start * self._id_bytes
        # Read as bytes, since numpy has no bfloat16.
        raw = np.fromfile(self._path, np.uint8, count=size, offset=start)
        rows = torch.from_numpy(raw).view(self._dtype).view(-1, self._d_model)
        stream = torch.zeros(*batch.tokens.shape, self._d_model, dtype=self._dtype)
        for row, sequence in zip(stream, torch.split(rows, list(batch.lengths)), strict=True):
            row[: len(sequence)] = sequence
        return stream.to(self._device)

    def save(self, batch: RightPadded, stream: Stream) -> None:
        """Write it over that of the block before."""
        with refusals_told(self._path.parent), self._path.open("r+b") as file:
            file.seek(batch.start * self._id_bytes)
            for row, length in zip(stream.cpu(), batch.lengths, strict=True):
                file.write(row[:length].contiguous().view(torch.uint8).numpy().data)


PackedStreams = dict[int, tuple[tuple[int, ...], np.ndarray]]
"""Number of ids before a batch -> the shape of its stream and the bytes of it."""

Streams = MemoryStreams | StreamFile
"""What keeps the stream that left a block until the next block reads it."""
