"""A small warehouse as the product makes one, with room that is no longer used, and single bytes of files flipped."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from neurothek.catalog.publishing import summaries
from neurothek.catalog.store.connections import BLOCK_BYTES
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.views import install
from tests.support import tiny
from tests.support import warehouse as made
from tests.support.templates import copy_of

AT_ONCE = ("", "schema_versions", "installed_views", "models", "corpora", "runs", "tokenizers")
"""What is read before anything is asked: DuckDB's own lists, and small tables of what there is."""

HEADER_BYTES = 3 * 4096
"""DuckDB's own header and two of the database, of which the newer counts."""


def create(path: Path) -> None:
    """Put the warehouse at the path."""
    copy_of("of-blocks", _create, path)


def _create(path: Path) -> None:
    with Warehouse(path, views=install).writer() as connection:
        connection.execute("create table store.scratch as select range, hash(range) as h from range(50000)")
        connection.execute("checkpoint")
        for table, rows in made.hand_made().rows.items():
            made.insert(connection, table, rows)
        for model_id in range(len(tiny.MODELS)):
            summaries.refresh(connection, model_id)
        connection.execute("drop table store.scratch")


def places(path: Path, *, seed: int = 0) -> list[int]:
    """One place in each of the three headers, then one in each block, drawn from a seed."""
    draw = random.Random(seed)
    starts = [(start, 4096) for start in range(0, HEADER_BYTES, 4096)]
    starts += [(start, BLOCK_BYTES) for start in range(HEADER_BYTES, path.stat().st_size, BLOCK_BYTES)]
    return [start + draw.randrange(length) for start, length in starts]


def flip(path: Path, place: int, *, bit: int = 0) -> None:
    """Change one bit of the byte at a place; twice is not at all."""
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ (1 << bit)]))


@contextmanager
def flipped(path: Path, place: int, *, bit: int = 0) -> Iterator[None]:
    """The file with one bit changed, for as long as the context lasts."""
    flip(path, place, bit=bit)
    try:
        yield
    finally:
        flip(path, place, bit=bit)


def blocks_of(path: Path) -> dict[str, set[int]]:
    """Table of the store -> numbers of the blocks that hold rows of it; under no name those of DuckDB's own lists."""
    with duckdb.connect(str(path), read_only=True) as connection:
        metadata = connection.execute("select block_id from pragma_metadata_info()").fetchall()
        held = {"": {int(block) for (block,) in metadata}}
        tables = connection.execute("select table_name from duckdb_tables() where schema_name = 'store'").fetchall()
        for (name,) in tables:
            query = f"select block_id, additional_block_ids from pragma_storage_info('store.{name}')"
            blocks = [block for one, more in connection.execute(query).fetchall() for block in (one, *(more or ()))]
            held[name] = {int(block) for block in blocks if block is not None and block >= 0}
    return held


def a_block_of(path: Path, table: str) -> int:
    """A place in a block that holds rows of a table of the store, and of no other one."""
    held = blocks_of(path)
    own = held.pop(table).difference(*held.values())
    return HEADER_BYTES + max(own) * BLOCK_BYTES + 100


def is_in_use(path: Path) -> Callable[[int], bool]:
    """Tells of a place in the file whether a header or a block in use lies there."""
    used = set[int]().union(*blocks_of(path).values())
    return lambda place: place < HEADER_BYTES or (place - HEADER_BYTES) // BLOCK_BYTES in used


def hollow(path: Path, target: Path) -> Path:
    """A copy with a byte flipped in every block that holds measurements: it opens, and says which models it has."""
    target.write_bytes(path.read_bytes())
    held = blocks_of(path)
    first = set[int]().union(*(held[name] for name in AT_ONCE))
    for block in set[int]().union(*held.values()) - first:
        flip(target, HEADER_BYTES + block * BLOCK_BYTES + 100)
    return target
