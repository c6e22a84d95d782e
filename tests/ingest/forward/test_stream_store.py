"""Streams between two layers come back as they were given, in memory and from a file, but for padding."""

from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from neurothek.catalog.problems import Unavailable
from neurothek.ingest.forward.batches import RightPadded
from neurothek.ingest.forward.stream_store import MemoryStreams, StreamFile
from neurothek.ingest.models.transformer import Transformer

WIDTH = 5
LENGTHS = ((3, 1), (4,), (2, 2, 1))


def transformer(dtype: torch.dtype) -> Mock:
    return Mock(spec=Transformer, dtype=dtype, device=torch.device("cpu"), shape=Mock(d_model=WIDTH))


def cut() -> list[RightPadded]:
    starts = [0, 4, 8]
    return [
        RightPadded(start, torch.zeros(len(lengths), max(lengths), dtype=torch.int64), lengths)
        for start, lengths in zip(starts, LENGTHS, strict=True)
    ]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_file_gives_back_what_it_was_given_in_any_order_with_zeros_for_padding(
    dtype: torch.dtype, tmp_path: Path
) -> None:
    streams = StreamFile(tmp_path / "streams", transformer(dtype))
    streams.reserve(13)
    assert (tmp_path / "streams").stat().st_size == 13 * WIDTH * dtype.itemsize
    given = [torch.randn(*batch.tokens.shape, WIDTH).to(dtype) for batch in cut()]
    for batch, stream in reversed(list(zip(cut(), given, strict=True))):
        streams.save(batch, torch.ones_like(stream))
        streams.save(batch, stream)
    for batch, stream in zip(cut(), given, strict=True):
        for row, own, length in zip(streams.load(batch), stream, batch.lengths, strict=True):
            assert torch.equal(row[:length], own[:length])
            assert not row[length:].any()
    assert (tmp_path / "streams").stat().st_size == 13 * WIDTH * dtype.itemsize


def test_memory_keeps_the_last_stream_of_each_batch() -> None:
    streams, given = MemoryStreams(), [torch.randn(*batch.tokens.shape, WIDTH) for batch in cut()]
    for batch, stream in zip(cut(), given, strict=True):
        streams.save(batch, -stream)
        streams.save(batch, stream)
    for batch, stream in zip(cut(), given, strict=True):
        assert torch.equal(streams.load(batch), stream)


def test_a_disk_that_refuses_is_one_sentence(tmp_path: Path) -> None:
    streams = StreamFile(tmp_path / "gone" / "streams", transformer(torch.float32))
    with pytest.raises(Unavailable, match="No such file or directory"):
        streams.reserve(1)
    with pytest.raises(Unavailable, match="No such file or directory"):
        streams.save(cut()[0], torch.zeros(2, 3, WIDTH))
