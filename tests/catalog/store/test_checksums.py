"""DuckDB's checksum against a loop over words, and against a file that DuckDB wrote."""

import io
import struct
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.store.blocks import HEADER_BYTES, computed, is_computed_at


def by_the_definition(block: bytes) -> int:
    """All words after the first, each times a constant, modulo 2^64, combined by exclusive or."""
    checksum = 5381
    for (word,) in struct.iter_unpack("<Q", block[8:]):
        checksum ^= word * 0xBF58476D1CE4E5B9 % 2**64
    return checksum


@given(blocks=st.lists(st.binary(min_size=64, max_size=64), min_size=1, max_size=4))
def test_each_block_has_the_checksum_of_the_definition(blocks: list[bytes]) -> None:
    words = np.frombuffer(b"".join(blocks), np.uint64).reshape(len(blocks), -1)
    assert computed(words).tolist() == [by_the_definition(block) for block in blocks]


@given(block=st.binary(min_size=32, max_size=32), bit=st.integers(0, 255))
def test_a_flip_changes_it_unless_it_is_in_the_checksum_itself(block: bytes, bit: int) -> None:
    flipped = bytearray(block)
    flipped[bit // 8] ^= 1 << bit % 8
    one, other = (int(computed(np.frombuffer(bytes(b), np.uint64).reshape(1, -1))[0]) for b in (block, flipped))
    # The factor is odd, so no two words have the same product.
    assert (one == other) == (bit < 64)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("checksums") / "w.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table numbers as select x, x::varchar as text from range(50000) as t(x)")
    return path.read_bytes()


def test_headers_and_blocks_that_duckdb_wrote_have_it(written: bytes) -> None:
    for place in (0, HEADER_BYTES, 2 * HEADER_BYTES):
        header = written[place : place + HEADER_BYTES]
        assert struct.unpack("<Q", header[:8])[0] == by_the_definition(header)
    first = 3 * HEADER_BYTES
    (stored,) = struct.unpack("<Q", written[first : first + 8])
    file = io.BytesIO(written)
    assert is_computed_at(file, first, stored)
    assert not is_computed_at(file, first, stored ^ 1)
    spoilt = bytearray(written)
    spoilt[first + 100] ^= 1
    assert not is_computed_at(io.BytesIO(bytes(spoilt)), first, stored)


@pytest.mark.parametrize("n_bytes", [0, 1, HEADER_BYTES - 1])
def test_too_few_bytes_have_no_checksum(n_bytes: int) -> None:
    assert not is_computed_at(io.BytesIO(bytes(n_bytes)), 0, 5381)
    assert not is_computed_at(io.BytesIO(bytes(n_bytes)), 10**6, 5381)


def test_a_header_and_blocks_of_every_size_that_duckdb_takes_are_known() -> None:
    content = np.random.default_rng(2).bytes(1 << 20)
    known = {size for size in (1 << power for power in range(9, 21)) if _is_known(content, size)}
    assert known == {HEADER_BYTES, *(size for size in (1 << power for power in range(9, 21)) if duckdb_takes(size))}


def _is_known(content: bytes, size: int) -> bool:
    """Whether the checksum of so many bytes is found where more of them follow."""
    return is_computed_at(io.BytesIO(content), 0, by_the_definition(content[:size]))


def duckdb_takes(size: int) -> bool:
    with duckdb.connect() as connection:
        try:
            connection.execute(f"set default_block_size = {size}")
        except duckdb.Error:
            return False
    return True


def test_a_header_at_the_end_of_a_file_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    block = bytes(8) + np.random.default_rng(1).bytes(HEADER_BYTES - 8)
    path = tmp_path / "short"
    path.write_bytes(b"before" + block + b"after")
    with path.open("rb") as file:
        assert is_computed_at(file, len(b"before"), by_the_definition(block))
        assert not is_computed_at(file, 0, by_the_definition(block))
