"""What stands at a path is looked at before it is opened: nothing but a DuckDB file is touched."""

import os
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.problems import Unreadable
from neurothek.catalog.store.damage import followed, refuse_file
from neurothek.catalog.store.leases import sole_writer
from neurothek.catalog.store.warehouse import Warehouse
from tests.support import publications as made


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    made_here = Warehouse(tmp_path / "w.duckdb", wait_seconds=20)
    made.publish_projections(made_here)
    return made_here


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe.duckdb"
    os.mkfifo(path)
    with pytest.raises(Unreadable, match="it is not a DuckDB file"), Warehouse(path).reader():
        pass


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    path.write_text("notes" * 5000)
    for lease in (Warehouse(path).reader, Warehouse(path).writer):
        with pytest.raises(Unreadable, match="it is not a DuckDB file"), lease():
            pass
    assert path.read_text() == "notes" * 5000


def test_a_file_called_store_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "store.duckdb", tmp_path):
        with pytest.raises(Unreadable, match="cannot be used as a warehouse"), Warehouse(path).writer():
            pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["Store.duckdb", "STORE.db"])
def test_a_file_called_store_is_refused_in_any_case(tmp_path: Path, name: str) -> None:
    with pytest.raises(Unreadable, match="schema store"), Warehouse(tmp_path / name).writer():
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_link_and_its_file_share_lock_and_staging(warehouse: Warehouse) -> None:
    link = warehouse.path.with_name("link.duckdb")
    link.symlink_to(warehouse.path)
    assert Warehouse(link).path == warehouse.path
    with Warehouse(link).transaction() as connection:
        connection.execute("insert into store.pins values (0, 0)")
    assert link.is_symlink()
    assert not warehouse.path.with_name("link.duckdb.lock").exists()


def test_a_path_leads_to_its_file_and_may_lead_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "to-folder").symlink_to("folder")
    (tmp_path / "folder" / "link.duckdb").symlink_to("../nowhere.duckdb")
    assert followed(tmp_path / "to-folder" / "link.duckdb") == tmp_path.resolve() / "nowhere.duckdb"
    assert followed(tmp_path / "folder" / ".." / "w.duckdb") == tmp_path.resolve() / "w.duckdb"


@pytest.mark.parametrize("asked", ["one.duckdb", "other.duckdb", "itself.duckdb", "to-one.duckdb"])
def test_a_circle_of_links_is_said(tmp_path: Path, asked: str) -> None:
    for link, target in (("one", "other"), ("other", "one"), ("itself", "itself"), ("to-one", "one")):
        (tmp_path / f"{link}.duckdb").symlink_to(f"{target}.duckdb")
    for look in (followed, Warehouse):
        with pytest.raises(Unreadable, match="cannot be used as a warehouse") as refused:
            look(tmp_path / asked)
        assert str(refused.value) == (
            f"{tmp_path / asked} cannot be used as a warehouse: it is a link that leads back to itself; name another"
            " file with --warehouse"
        )


def folder(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def nothing_in_it(path: Path) -> None:
    path.write_bytes(b"")


def almost(path: Path) -> None:
    path.write_bytes(bytes(8) + b"DUC")


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (folder, "it is a folder"),
        (pipe, "it is not a DuckDB file"),
        (nothing_in_it, "it is not a DuckDB file"),
        (almost, "it is not a DuckDB file"),
    ],
)
def test_what_is_no_database_is_refused_unopened(tmp_path: Path, make: Callable[[Path], None], found: str) -> None:
    path = tmp_path / "w.duckdb"
    make(path)
    with pytest.raises(Unreadable, match="cannot be used as a warehouse") as refused:
        refuse_file(path)
    assert str(refused.value) == f"{path} cannot be used as a warehouse: {found}; name another file with --warehouse"


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.duckdb"))
    with pytest.raises(Unreadable, match="its name is not UTF-8, which DuckDB requires"):
        refuse_file(path)


@pytest.mark.parametrize("name", ["stores.duckdb", "my store.duckdb", "store.old.duckdb", "store.duckdb.bak", "é.db"])
def test_a_name_that_only_holds_the_word_store_is_free(tmp_path: Path, name: str) -> None:
    refuse_file(tmp_path / name)


def test_a_file_that_duckdb_wrote_and_no_file_pass(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    refuse_file(path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("select 1")
    refuse_file(path)
    assert [one.name for one in tmp_path.iterdir()] == ["w.duckdb"]


def test_a_file_that_this_process_has_open_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    path.write_bytes(b"")
    with sole_writer(path):
        refuse_file(path)
    with pytest.raises(Unreadable, match="cannot be used as a warehouse"):
        refuse_file(path)


@pytest.mark.parametrize("place", ["x?y.duckdb", "a?b/w.duckdb"])
def test_a_question_mark_in_a_path_is_no_damage(tmp_path: Path, warehouse: Warehouse, place: str) -> None:
    path = tmp_path / place
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(warehouse.path.read_bytes())
    for lease in (Warehouse(path).reader, Warehouse(path).writer):
        with pytest.raises(Unreadable, match="question mark"), lease():
            pass
    path.unlink()
    with pytest.raises(Unreadable, match="question mark"):
        Warehouse(path).require_writable()
