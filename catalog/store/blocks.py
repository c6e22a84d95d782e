"""Every block of a warehouse, read as it lies in the file and compared with the checksum that DuckDB wrote before it.

DuckDB looks at a checksum when it reads the block, and it reads no block that a question does not need.
"""

from collections.abc import Iterator, Set
from pathlib import Path
from typing import BinaryIO

import duckdb
import numpy as np

from neurothek.catalog.progress import Progress
from neurothek.catalog.store.damage import damaged_warehouse
from neurothek.catalog.store.leases import read_beside

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


_BLOCKS_FROM = 3 * HEADER_BYTES
"""DuckDB reads its own header and both of the database whenever it opens a file."""

_READ_BYTES = 4 << 20
"""What is in memory at a time."""


def require_whole(connection: duckdb.DuckDBPyConnection, path: Path, *, progress: Progress) -> None:
    """Read all of the file, whose blocks are of the connection's database, and refuse one that is not what was written.

    A block that holds nothing any more may be anything: DuckDB never reads it again.
    """
    described = "select total_blocks, block_size from pragma_database_size() where database_name = current_database()"
    n_blocks, block_bytes = connection.execute(described).fetchall()[0]
    progress.start("reading blocks", n_blocks)
    wrong = set(_wrong_blocks(path, n_blocks, block_bytes, progress))
    progress.finish()
    if not wrong:
        return
    owners = _owners(connection, wrong)
    broken = sorted(wrong.intersection(owners))
    if broken:
        raise damaged_warehouse(path, _description(broken, n_blocks, _BLOCKS_FROM + broken[0] * block_bytes, owners))


def _wrong_blocks(path: Path, n_blocks: int, block_bytes: int, progress: Progress) -> Iterator[int]:
    """Numbers of the blocks that are not as their checksums say, or lie beyond the end of the file."""
    at_a_time = max(1, _READ_BYTES // block_bytes)
    with read_beside(path) as file:
        file.seek(_BLOCKS_FROM)
        for first in range(0, n_blocks, at_a_time):
            n_asked = min(at_a_time, n_blocks - first)
            content = file.read(n_asked * block_bytes)
            n_there = len(content) // block_bytes
            words = np.frombuffer(content[: n_there * block_bytes], np.uint64)
            blocks = words.reshape(n_there, block_bytes // words.itemsize)
            yield from (first + int(place) for place in np.flatnonzero(computed(blocks) != blocks[:, 0]))
            yield from range(first + n_there, first + n_asked)
            progress.advance(n_asked)


def _owners(connection: duckdb.DuckDBPyConnection, blocks: Set[int]) -> dict[int, set[str]]:
    """Those of the blocks that are in use -> the tables whose rows they hold; none where DuckDB keeps its own lists."""
    metadata = connection.execute("select block_id from pragma_metadata_info()").fetchall()
    owners: dict[int, set[str]] = {block: set() for (block,) in metadata if block in blocks}
    tables = "select schema_name, table_name from duckdb_tables() where database_name = current_database()"
    for schema, table in connection.execute(tables).fetchall():
        name = ".".join('"' + part.replace('"', '""') + '"' for part in (schema, table))
        query = "select block_id, additional_block_ids from pragma_storage_info($name)"
        for block, more in connection.execute(query, {"name": name}).fetchall():
            for one in {block, *(more or ())}.intersection(blocks):
                owners.setdefault(one, set()).add(table)
    return owners


def _description(broken: list[int], n_blocks: int, first_byte: int, owners: dict[int, set[str]]) -> str:
    tables = sorted(set[str]().union(*(owners[block] for block in broken)))
    held = f", with rows of {', '.join(tables)}," if tables else ""
    which = "is corrupt," if len(broken) == 1 else "are corrupt, the first"
    return f"{len(broken):,} of its {n_blocks:,} blocks{held} {which} at byte {first_byte:,}"
