"""A warehouse of every earlier schema, with all the rows it could hold, read by this release."""

from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables import migrations
from neurothek.queries.views import install
from tests.support import event_warehouse, shortcut_rows
from tests.support import warehouse as made

MEASURED = ((0, 0), (0, 1), (1, 1))
SINCE = {"shortcuts": 8, "shortcut_predictions": 8, "sub_module_fits": 10}
"""Tables of shortcuts, and the schema that brought each."""

VIEWS = {"shortcut_fit": "shortcuts", "shortcut_quality": "shortcut_predictions"}


@pytest.fixture(scope="module")
def current(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What this release writes."""
    path = tmp_path_factory.mktemp("current") / "w.duckdb"
    made.create(path)
    with duckdb.connect(str(path)) as connection:
        made.insert(connection, "shortcuts", shortcut_rows.fits(MEASURED))
        made.insert(connection, "shortcut_predictions", shortcut_rows.predictions(MEASURED))
        made.insert(connection, "sub_module_fits", shortcut_rows.part_fits(MEASURED))
    return path


def older(current: Path, path: Path, version: int) -> None:
    """The same rows in an earlier schema, as far as it has their tables and columns."""
    with duckdb.connect(str(path)) as connection:
        for file in sorted(made.SCHEMA.glob("*.sql")):
            if int(file.name[:4]) <= version:
                connection.execute(file.read_text("utf-8"))
        connection.execute("insert into store.schema_versions values (?, timestamp '2026-01-01')", [version])
        connection.execute(f"attach '{current}' as whole (read_only)")
        # What is kept of views is computed anew by whoever brings the views.
        for table in tables(connection, "store") - {"schema_versions", "kept_views"}:
            names = ", ".join(columns(connection, table))
            connection.execute(f"insert into store.{table} by name select {names} from whole.store.{table}")
        connection.execute("detach whole")


def tables(connection: duckdb.DuckDBPyConnection, schema: str) -> set[str]:
    query = "select table_name from duckdb_tables() where schema_name = ? and database_name = current_database()"
    return {name for (name,) in connection.execute(query, [schema]).fetchall()}


def columns(connection: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    """Those that the table has in this file and in a current one, quoted."""
    query = """
        select column_name from duckdb_columns() where table_name = ? and schema_name = 'store'
        group by column_name having count(*) = 2
    """
    return [f'"{name}"' for (name,) in connection.execute(query, [table]).fetchall()]


def described(connection: duckdb.DuckDBPyConnection) -> set[tuple[object, ...]]:
    """Every column with its type and comment; columns that came later come last, so their places may differ."""
    query = """
        select table_name, column_name, data_type, is_nullable, comment from duckdb_columns()
        where schema_name = 'store' and database_name = current_database() and not starts_with(table_name, 'kept_')
    """
    return set(connection.execute(query).fetchall())


def rows(connection: duckdb.DuckDBPyConnection, relation: str) -> list[tuple[object, ...]]:
    return sorted(connection.execute(f"select * from {relation}").fetchall(), key=repr)


@pytest.mark.parametrize("version", [9, migrations.LATEST - 1])
def test_a_file_of_an_earlier_schema_answers_with_what_it_holds(version: int, current: Path, tmp_path: Path) -> None:
    older(current, tmp_path / "old.duckdb", version)
    with (
        Warehouse(tmp_path / "old.duckdb", views=install).current_reader() as upgraded,
        Warehouse(current, views=install).current_reader() as whole,
    ):
        assert migrations.version_of(upgraded) == migrations.LATEST
        assert tables(upgraded, "store") >= {name for name in tables(whole, "store") if not name.startswith("kept_")}
        assert described(upgraded) == described(whole)
        assert rows(upgraded, "store.postings") == rows(whole, "store.postings") != []
        for table, since in SINCE.items():
            expected = rows(whole, f"store.{table}") if version >= since else []
            assert bool(expected) == (version >= since)
            assert rows(upgraded, f"store.{table}") == expected
        for view, table in VIEWS.items():
            expected = rows(whole, view) if version >= SINCE[table] else []
            assert bool(expected) == (version >= SINCE[table])
            assert rows(upgraded, view) == expected


def test_pushes_of_an_older_file_are_counted_without_what_moves_no_token(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    event_warehouse.create(path)
    counted = "select model_id, layer, neuron, times_saturating from store.neuron_facts order by all"
    with duckdb.connect(str(path)) as connection:
        expected = connection.execute(counted).fetchall()
        connection.execute("update store.neuron_facts set times_saturating = 99 where times_dominant > 0")
        connection.execute(migrations.scripts()[24])
        assert connection.execute(counted).fetchall() == expected
    assert any(row[3] for row in expected)
