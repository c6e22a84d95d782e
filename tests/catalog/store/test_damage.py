"""A file that is not what was written: what is found of it, by whom, and in which words."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.exchange.exports import export
from neurothek.catalog.exchange.merging import merge
from neurothek.catalog.problems import Damaged, LimitExceeded, Unreadable
from neurothek.catalog.store.connections import BLOCK_BYTES
from neurothek.catalog.store.damage import require_log_head
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.ask.one_query import run_query
from neurothek.queries.neuron.page_rows import Aside
from tests.support import damage
from tests.support.damage import flipped

WHAT_TO_DO = "restore a copy of it, import an export into a new file with `neurothek import FOLDER --warehouse FILE`"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole warehouse; who changes a byte changes it back."""
    path = tmp_path_factory.mktemp("blocks") / "w.duckdb"
    damage.create(path)
    return path


@pytest.fixture
def copy(path: Path, tmp_path: Path) -> Path:
    made = tmp_path / "copy.duckdb"
    made.write_bytes(path.read_bytes())
    return made


Ask = Callable[[duckdb.DuckDBPyConnection], object]
QUERY = "select top_scores from store.projections"


def aside(connection: duckdb.DuckDBPyConnection) -> None:
    with Aside(connection) as others:
        others.ask(lambda cursor: cursor.execute(QUERY).fetchall()).result()


ASKED: dict[str, Ask] = {
    "rows": lambda connection: connection.execute(QUERY).fetchall(),
    "a frame": lambda connection: connection.sql(QUERY).pl(),
    "batches": lambda connection: list(connection.sql(QUERY).to_arrow_reader(100)),
    "a thread": aside,
    "a person's query": lambda connection: run_query(connection, QUERY),
}


@pytest.mark.parametrize("asked", ASKED)
def test_damage_is_told_however_deep_in_a_lease_it_is_met(path: Path, asked: str) -> None:
    place = damage.a_block_of(path, "projections")
    with flipped(path, place):
        found = f"at byte {place - 100:,} is corrupt"
        with pytest.raises(Damaged, match=found), Warehouse(path).reader() as connection:
            ASKED[asked](connection)
        # Nobody is in the way of whoever asks next.
        with Warehouse(path).reader() as connection:
            assert connection.execute("select count(*) from store.models").fetchall() == [(5,)]


@pytest.mark.filterwarnings("ignore::neurothek.catalog.problems.NeurothekWarning")
def test_rows_that_arrow_fetches_late_are_told_too(tmp_path: Path) -> None:
    """DuckDB's reader of batches passes on complaints of later batches as an OSError, as of a disk."""
    warehouse = Warehouse(tmp_path / "late.duckdb")
    with warehouse.writer() as connection:
        connection.execute("create table store.long as select hash(range) as h from range(1_000_000)")
    damage.flip(warehouse.path, damage.a_block_of(warehouse.path, "long"))
    with pytest.raises(Damaged, match="is corrupt") as refused, warehouse.reader() as connection:
        list(connection.sql("select h from store.long").to_arrow_reader(10_000))
    assert isinstance(refused.value.__cause__, OSError)


@pytest.mark.parametrize("left", [12, 4096, 12_288, 20_000, 0.5, 0.9, -BLOCK_BYTES, -1])
def test_a_file_that_breaks_off_is_damaged_for_readers_writers_and_check(copy: Path, left: float) -> None:
    whole = copy.read_bytes()
    size = int(left * len(whole)) if 0 < left < 1 else int(left) % len(whole)
    copy.write_bytes(whole[:size])
    with pytest.raises(Damaged, match="is damaged: "):
        Warehouse(copy).require_whole()
    # Where what is left holds all that opening needs, only what reads the rest can tell.
    if left in (12, 4096, 12_288, 20_000):
        for lease in (Warehouse(copy).reader, Warehouse(copy).writer, Warehouse(copy).transaction):
            with pytest.raises(Damaged, match=f"it is truncated after {size:,} bytes; restore"), lease():
                pass
    assert copy.stat().st_size == size


def test_damage_that_a_transaction_meets_is_no_full_disk(copy: Path) -> None:
    damage.flip(copy, damage.a_block_of(copy, "projections"))
    before = copy.read_bytes()
    with pytest.raises(Damaged, match="is damaged: "), Warehouse(copy).transaction() as connection:
        connection.execute("create table store.more as from store.projections")
    assert copy.read_bytes() == before
    with pytest.raises(Unreadable, match="No space left"), Warehouse(copy).transaction() as connection:
        raise OSError(28, "No space left on device")


def test_of_two_files_the_damaged_one_is_named(path: Path, copy: Path, tmp_path: Path) -> None:
    whole, place = Warehouse(path), damage.a_block_of(path, "projections")
    damage.flip(copy, place)
    broken = Warehouse(copy)
    for inner, outer in ((whole, broken), (broken, whole)):
        with pytest.raises(Damaged, match="is damaged: ") as refused, outer.reader() as one, inner.reader() as other:
            one.execute(QUERY).fetchall()
            other.execute(QUERY).fetchall()
        assert str(refused.value).startswith(f"{copy} is damaged")
    target = Warehouse(tmp_path / "new.duckdb")
    for warehouse, taken in ((target, copy), (broken, path)):
        before = copy.read_bytes()
        with pytest.raises(Damaged, match="is damaged: ") as refused:
            merge(warehouse, taken)
        assert str(refused.value).startswith(f"{copy} is damaged")
        assert copy.read_bytes() == before
    assert not target.exists()


def test_an_export_of_a_damaged_file_leaves_nothing(path: Path, tmp_path: Path) -> None:
    with flipped(path, damage.a_block_of(path, "postings")), pytest.raises(Damaged, match="is damaged"):
        export(Warehouse(path), tmp_path / "out" / "folder")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.fixture
def log(copy: Path) -> Path:
    """The log that a process left beside the copy, killed after it committed the family `folded`."""
    commit = """
import os, sys, duckdb
with duckdb.connect(sys.argv[1]) as connection:
    connection.execute("pragma disable_checkpoint_on_shutdown")
    connection.execute("update store.models set family = 'folded'")
    os._exit(0)
"""
    subprocess.run([sys.executable, "-c", commit, str(copy)], check=True)
    return copy.with_name("copy.duckdb.wal")


def family_of(path: Path) -> str:
    with Warehouse(path).reader() as connection:
        return str(connection.execute("select family from store.models").fetchall()[0][0])


def test_a_log_that_is_not_what_was_written_is_damage(copy: Path, log: Path) -> None:
    damage.flip(log, log.stat().st_size // 2)
    before = log.read_bytes()
    for lease in (Warehouse(copy).reader, Warehouse(copy).writer):
        with pytest.raises(Damaged, match=r"its log copy\.duckdb\.wal is corrupt"), lease():
            pass
    assert log.read_bytes() == before


def head_bytes(path: Path, log: bytes) -> int:
    """How long the head of a log is, which names its file by the sixteen bytes that end the file's own first header."""
    named = b"".join(bytes([byte]) if byte < 128 else bytes([byte, 1]) for byte in path.read_bytes()[124:140])
    assert log.startswith(b"d\0be\0\x02f\0\x10" + named)
    return log.index(b"\xff\xff", 9 + len(named)) + 2


def test_no_byte_of_a_logs_head_hides_what_was_committed(copy: Path, log: Path) -> None:
    whole = log.read_bytes()
    n_head = head_bytes(copy, whole)
    assert 30 <= n_head <= 55
    for place in range(n_head):
        for bit in (0x01, 0x80):
            changed = bytearray(whole)
            changed[place] ^= bit
            log.write_bytes(changed)
            with pytest.raises(Damaged, match=r"its log copy\.duckdb\.wal is corrupt"):
                family_of(copy)
    with pytest.raises(Damaged, match="is damaged: "), Warehouse(copy).writer():
        pass
    assert log.read_bytes() == changed
    log.write_bytes(whole)
    assert family_of(copy) == "folded"


def leb128(number: int) -> bytes:
    """Seven bits a byte, the lowest first; every byte but the last has the highest bit."""
    low, rest = number % 128, number // 128
    return bytes([low]) if rest == 0 else bytes([128 + low]) + leb128(rest)


@given(name=st.binary(min_size=16, max_size=16), n_written=st.integers(0, 2**64 - 1))
def test_the_head_of_any_files_log_is_passed(
    tmp_path_factory: pytest.TempPathFactory, name: bytes, n_written: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.duckdb"
    head = b"d\0be\0\x02f\0\x10" + b"".join(map(leb128, name)) + b"g\0" + leb128(n_written) + b"\xff\xff"
    path.with_name("any.duckdb.wal").write_bytes(head + bytes(40))
    require_log_head(path)
    path.with_name("any.duckdb.wal").write_bytes(head[:-1] + bytes(40))
    with pytest.raises(Damaged, match="is damaged: "):
        require_log_head(path)


def test_a_log_that_breaks_off_is_a_transaction_that_did_not_finish(path: Path, copy: Path, log: Path) -> None:
    """What damage hides so `check` cannot see, and its help says so: an entry's length, a log that is gone."""
    whole, family = log.read_bytes(), family_of(path)
    n_head = head_bytes(copy, whole)
    longer = bytearray(whole)
    longer[n_head + 7] ^= 0x01
    for content in (whole[:-1], whole[: n_head + 20], whole[:n_head], whole[: n_head - 1], whole[:5], b"", longer):
        log.write_bytes(content)
        assert family_of(copy) == family
    log.unlink()
    assert family_of(copy) == family


def test_words_of_a_query_are_no_damage(path: Path) -> None:
    for words in ("Corrupt database file", "Could not read from file", "Failure while replaying WAL file"):
        with pytest.raises(duckdb.BinderException), Warehouse(path).reader() as connection:
            connection.execute(f'select "{words}" from store.models')


def test_want_of_memory_is_not_told_as_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody restores a copy of a file with which nothing is wrong: neither while it is opened nor while it is read."""
    warehouse = Warehouse(tmp_path / "w.duckdb")
    with warehouse.writer():
        pass
    with pytest.raises(LimitExceeded, match=r"not enough memory \(Out of Memory Error"), warehouse.reader():
        raise duckdb.OutOfMemoryException("Out of Memory Error: Allocation failure")

    def refuse(*_: object, **__: object) -> None:
        raise duckdb.OutOfMemoryException("Out of Memory Error: Allocation failure")

    monkeypatch.setattr(duckdb, "connect", refuse)
    for lease in (warehouse.reader, warehouse.writer):
        with pytest.raises(LimitExceeded, match="not enough memory"), lease():
            pass
