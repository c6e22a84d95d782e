"""Every block is read and judged: a flip is found where a block is in use, and told with its place and its table."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.problems import Damaged, Unreadable
from neurothek.catalog.progress import Silent
from neurothek.catalog.store.blocks import require_whole
from neurothek.catalog.store.connections import BLOCK_BYTES
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.upkeep.checks import check
from tests.support import damage
from tests.support.damage import HEADER_BYTES, flipped

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


def is_found(path: Path) -> bool:
    try:
        Warehouse(path).require_whole()
    except Unreadable:
        return True
    return False


def rows(path: Path) -> dict[str, object]:
    """Rows of every table, read by DuckDB alone."""
    with duckdb.connect(str(path), read_only=True) as connection:
        tables = connection.execute("select schema_name, table_name from duckdb_tables()").fetchall()
        return {
            table: connection.execute(f"from store.{table}").fetchall() for schema, table in tables if schema == "store"
        }


def used_blocks(path: Path) -> int:
    with duckdb.connect(str(path), read_only=True) as connection:
        return int(connection.execute("select used_blocks from pragma_database_size()").fetchall()[0][0])


def test_a_flip_in_any_block_in_use_is_found_and_in_no_other(path: Path, copy: Path) -> None:
    assert not is_found(path)
    unfound = []
    for number, place in enumerate(damage.places(path)):
        with flipped(path, place, bit=number % 8):
            if not is_found(path):
                unfound.append(place)
    # Against DuckDB's own count: headers aside, as many blocks are found as are in use.
    n_blocks = (path.stat().st_size - HEADER_BYTES) // BLOCK_BYTES
    assert min(unfound) > HEADER_BYTES
    assert len(unfound) == n_blocks - used_blocks(path) > 5
    # Against DuckDB's own reading: with all that went unfound at once, every row is as it was.
    before = rows(copy)
    for place in unfound:
        damage.flip(copy, place)
    assert rows(copy) == before
    assert not is_found(copy)


def test_a_block_is_named_with_its_place_and_its_table(path: Path) -> None:
    place = damage.a_block_of(path, "projections")
    n_blocks, first = (path.stat().st_size - HEADER_BYTES) // BLOCK_BYTES, place - 100
    with flipped(path, place), pytest.raises(Damaged, match="is damaged: ") as refused:
        check(Warehouse(path))
    assert str(refused.value) == (
        f"{path} is damaged: 1 of its {n_blocks} blocks, with rows of projections, is corrupt, at byte"
        f" {first:,}; {WHAT_TO_DO}, or measure again into a new file"
    )


def test_check_reads_the_blocks_in_pieces_and_says_how_far_it_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Watcher:
        def __init__(self) -> None:
            self.tasks: dict[str, list[int]] = {}

        def start(self, label: str, total: int) -> None:
            self.now = self.tasks.setdefault(label, [total])

        def advance(self, amount: int = 1, note: str = "") -> None:
            self.now.append(amount)

        def finish(self) -> None:
            pass

    # A block is read whole, however large it is.
    for n_bytes, at_a_time in ((5 * BLOCK_BYTES, 5), (BLOCK_BYTES - 1, 1)):
        monkeypatch.setattr("neurothek.catalog.store.blocks._READ_BYTES", n_bytes)
        watcher = Watcher()
        Warehouse(path).require_whole(progress=watcher)
        total, *steps = watcher.tasks["reading blocks"]
        assert sum(steps) == total == (path.stat().st_size - HEADER_BYTES) // BLOCK_BYTES
        assert set(steps[:-1]) == {at_a_time}


def test_pieces_beyond_the_end_are_missing(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neurothek.catalog.store.blocks._READ_BYTES", BLOCK_BYTES)
    copy.write_bytes(copy.read_bytes()[: -2 * BLOCK_BYTES])
    with pytest.raises(Damaged, match="is damaged: "):
        Warehouse(copy).require_whole()


def judged(path: Path) -> str:
    """What is found of a file, whose blocks are told by the connection and read from the file."""
    with duckdb.connect(str(path), read_only=True) as connection:
        try:
            require_whole(connection, path, progress=Silent())
        except Damaged as error:
            return str(error)
    return ""


@pytest.mark.parametrize("n_rows", [0, 1, 100_000])
def test_a_file_that_duckdb_wrote_is_whole(tmp_path: Path, n_rows: int) -> None:
    path = tmp_path / "w.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"create table numbers as select hash(x) as h from range({n_rows}) as t(x)")
    assert judged(path) == ""


def test_several_blocks_are_counted_and_the_first_is_placed(copy: Path) -> None:
    held = damage.blocks_of(copy)
    only = {name: blocks.difference(*(held[other] for other in held if other != name)) for name, blocks in held.items()}
    broken = [min(only["projections"]), min(only["postings"])]
    with duckdb.connect(str(copy), read_only=True) as connection:
        for block in broken:
            damage.flip(copy, HEADER_BYTES + block * BLOCK_BYTES + 8)
        with pytest.raises(Damaged, match="is damaged: ") as refused:
            require_whole(connection, copy, progress=Silent())
    n_blocks = (copy.stat().st_size - HEADER_BYTES) // BLOCK_BYTES
    assert (
        f"2 of its {n_blocks} blocks, with rows of postings, projections, are corrupt, the first at byte"
        f" {HEADER_BYTES + min(broken) * BLOCK_BYTES:,};" in str(refused.value)
    )


def test_looking_at_the_file_beside_a_lease_does_not_let_writers_in(path: Path) -> None:
    """A process that closes a file loses every lock it has on it, also that of another thread's reader."""
    write = "import duckdb, sys; duckdb.connect(sys.argv[1])"

    def others_may_write() -> bool:
        return (
            subprocess.run([sys.executable, "-c", write, str(path)], capture_output=True, check=False).returncode == 0
        )

    with Warehouse(path).reader():
        with Warehouse(path).reader():
            Warehouse(path).require_whole()
        assert not others_may_write()
    assert others_may_write()
