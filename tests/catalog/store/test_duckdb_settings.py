"""How DuckDB is set: new files have the format and the blocks that were chosen, and readers reach nothing else."""

from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.store.connections import BLOCK_BYTES, STORAGE_VERSION, beside, lock_down, settings_of


def written(path: Path) -> Path:
    with duckdb.connect(str(path), config=settings_of(read_only=False)) as connection:
        connection.execute("create table numbers as select 7 as n")
    return path


def test_a_new_file_has_the_format_and_the_blocks_that_were_chosen(tmp_path: Path) -> None:
    path = written(tmp_path / "w.duckdb")
    with duckdb.connect(str(path), read_only=True) as connection:
        ((block_bytes,),) = connection.execute("select block_size from pragma_database_size()").fetchall()
        tags = connection.execute("select tags from duckdb_databases() where path is not null").fetchall()[0][0]
    assert block_bytes == BLOCK_BYTES
    assert tags["storage_version"].startswith(STORAGE_VERSION)


@pytest.mark.parametrize("read_only", [True, False])
def test_nothing_is_installed_or_taken_from_python_by_itself(tmp_path: Path, read_only: bool) -> None:
    path = written(tmp_path / "w.duckdb")
    local_frame = [1, 2, 3]
    with duckdb.connect(str(path), read_only=read_only, config=settings_of(read_only=read_only)) as connection:
        for name in ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions"):
            assert connection.execute(f"select current_setting('{name}')").fetchall() == [(False,)]
        with pytest.raises(duckdb.CatalogException):
            connection.execute("from local_frame")
    assert local_frame


@pytest.mark.parametrize("read_only", [True, False])
def test_a_locked_connection_reads_its_file_and_nothing_else(tmp_path: Path, read_only: bool) -> None:
    path, outside = written(tmp_path / "w.duckdb"), tmp_path / "outside.csv"
    outside.write_text("a\n1\n")
    with duckdb.connect(str(path)) as connection:
        assert connection.execute(f"from '{outside}'").fetchall() == [(1,)], "the control"
    with duckdb.connect(str(path), read_only=read_only, config=settings_of(read_only=read_only)) as connection:
        with pytest.raises(duckdb.PermissionException):
            connection.execute(f"from '{outside}'")
        lock_down(connection, [("threads", "1"), ("memory_limit", "100MB")])
        assert connection.execute("from numbers").fetchall() == [(7,)]
        assert connection.execute("select current_setting('threads')").fetchall() == [(1,)]
        for statement in (
            f"from '{outside}'",
            f"copy numbers to '{tmp_path / 'out.csv'}'",
            f"attach '{tmp_path / 'other.duckdb'}'",
            "set threads = 2",
            "set enable_external_access = true",
            "set lock_configuration = false",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)
    assert {file.name for file in tmp_path.iterdir()} == {"w.duckdb", "outside.csv"}


def test_a_connection_beside_a_folder_reaches_its_files_alone(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "outside.csv"
    inside.mkdir()
    outside.write_text("a\n1\n")
    (inside / "own.csv").write_text("a\n2\n")
    (inside / "link.csv").symlink_to(outside)
    with beside(inside) as connection:
        assert connection.execute(f"from '{inside / 'own.csv'}'").fetchall() == [(2,)]
        for path in (outside, inside / "link.csv", inside / ".." / "outside.csv"):
            with pytest.raises(duckdb.Error, match="disabled by configuration"):
                connection.execute(f"from '{path}'")
        with pytest.raises(duckdb.Error, match="has been locked"):
            connection.execute("set threads = 1")


def test_a_connection_that_is_locked_already_keeps_its_settings(tmp_path: Path) -> None:
    path = written(tmp_path / "w.duckdb")
    with duckdb.connect(str(path), read_only=True, config=settings_of(read_only=True)) as connection:
        lock_down(connection, [("threads", "1")])
        lock_down(connection, [("threads", "2")])
        assert connection.execute("select current_setting('threads')").fetchall() == [(1,)]
