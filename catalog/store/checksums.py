"""The checksum that DuckDB writes before each header and each block of a file."""

from typing import BinaryIO

import numpy as np

HEADER_BYTES = 4096

# duckdb/src/common/checksum.cpp: all words of eight bytes, each multiplied, combined by exclusive or.
_FACTOR, _SEED = np.uint64(0xBF58476D1CE4E5B9), np.uint64(5381)

_SIZES = (HEADER_BYTES, *(1 << power for power in range(14, 19)))
"""Of a header, and of blocks as DuckDB can be told to make them."""


def computed(words: np.ndarray) -> np.ndarray:
    """uint64 [n]: the checksums of n blocks, uint64 [n words], whose first words are those that were stored."""
    checksums: np.ndarray = np.bitwise_xor.reduce(words[:, 1:] * _FACTOR, axis=1) ^ _SEED
    return checksums


def is_computed_at(file: BinaryIO, place: int, checksum: int) -> bool:
    """Whether what the file holds from a place on, as far as a header or a block goes, has the checksum."""
    file.seek(place)
    content = file.read(max(_SIZES))
    blocks = (np.frombuffer(content[:size], np.uint64) for size in _SIZES if size <= len(content))
    return any(int(computed(block.reshape(1, -1))[0]) == checksum for block in blocks)
