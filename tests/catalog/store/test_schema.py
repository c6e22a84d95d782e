"""The schema of a file: made whole, or brought from an earlier version to this one without losing a row."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.problems import Unreadable
from neurothek.catalog.store import schema
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables import registry, versions
from neurothek.catalog.tables.registry import ALL
from neurothek.catalog.tables.table import DOUBLE, INTEGER, MODEL, RUN, TEXT, Column, Table
from neurothek.queries.views import install
from tests.support import sign_rows, tiny
from tests.support import warehouse as made

NEXT = versions.VERSION + 1


def declared(connection: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    """The SQL that DuckDB writes for each table, and every comment."""
    tables = connection.execute("select table_name, sql, comment from duckdb_tables() order by all").fetchall()
    columns = "select table_name, column_name, comment from duckdb_columns() where schema_name = 'store' order by all"
    return tables + connection.execute(columns).fetchall()


@pytest.fixture
def next_release(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another table, and a table with three more columns, one of each sort that a file with rows can be given."""
    later = {
        "note": Column(TEXT, "A note.", nullable=True, since=NEXT),
        "n_notes": Column(INTEGER, "How many.", default="0", since=NEXT),
        "share": Column(DOUBLE, "A share.", nullable=True, default="0.5", since=NEXT),
    }
    new = Table(
        "notes", "One row per note.", {"model_id": MODEL, "x": Column(DOUBLE, "It's x."), "run_id": RUN}, ("x",)
    )
    tables = [replace(table, columns={**table.columns, **later}) if table.name == "models" else table for table in ALL]
    monkeypatch.setattr(registry, "ALL", (*tables, replace(new, since=NEXT)))
    monkeypatch.setattr(versions, "VERSION", NEXT)
    schema.statements.cache_clear()
    yield
    schema.statements.cache_clear()


@pytest.mark.usefixtures("next_release")
def test_a_file_that_was_brought_up_to_date_is_one_that_was_made_so() -> None:
    with duckdb.connect() as fresh, duckdb.connect() as upgraded:
        schema.create(fresh)
        schema.create(upgraded, versions.FIRST)
        assert declared(upgraded) != declared(fresh)
        schema.bring_up_to_date(upgraded)
        assert declared(upgraded) == declared(fresh)
        assert schema.version_of(upgraded) == schema.version_of(fresh) == NEXT
        assert upgraded.execute("select version from store.schema_versions order by 1").fetchall() == [
            (version,) for version in range(versions.FIRST, NEXT + 1)
        ]


def test_rows_stay_and_have_what_later_columns_are_without_a_value(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    path = tmp_path / "w.duckdb"
    made.create(path)
    with duckdb.connect(str(path)) as connection:
        before = connection.execute("from store.models order by model_id").fetchall()
    request.getfixturevalue("next_release")
    with Warehouse(path, views=install).writer() as connection:
        assert connection.execute("from store.models order by model_id").fetchall() == [
            (*row, None, 0, 0.5) for row in before
        ]
        assert connection.execute("from store.notes").fetchall() == []


def test_the_models_of_an_earlier_file_have_their_neurons_as_units(tmp_path: Path) -> None:
    """Version 29 brought sets of units."""
    path = tmp_path / "w.duckdb"
    with duckdb.connect(str(path)) as connection:
        schema.create(connection, versions.FIRST)
        made.insert(connection, "models", made.hand_made().rows["models"])
        schema.bring_up_to_date(connection)
        rules = "select set_id, model_id, kind, rule, has_exact_zeros, is_signed from store.unit_sets order by 1"
        assert connection.execute(rules).fetchall() == [
            (number, number, "ffn", "m != 0" if plan.is_relu else "m > 0", plan.is_relu, False)
            for number, plan in enumerate(tiny.MODELS)
        ]
        assert connection.execute("from store.unit_layers order by set_id, layer").fetchall() == [
            (number, layer, plan.d_ffn, layer * plan.d_ffn)
            for number, plan in enumerate(tiny.MODELS)
            for layer in range(plan.n_layers)
        ]


def test_the_flat_rows_of_an_earlier_file_say_how_sparse_neurons_are(tmp_path: Path) -> None:
    """Version 32 brought two columns that follow from other tables."""
    path = tmp_path / "w.duckdb"
    made.create(path)
    numbers = "round(effective_frequency, 12), contribution_max"
    rows = f"select set_id, layer, neuron, {numbers} from store.neuron_facts order by all"
    with duckdb.connect(str(path)) as connection:
        sign_rows.insert(connection)
        before = connection.execute(rows).fetchall()
        for name in ("effective_frequency", "contribution_max"):
            assert connection.execute(f"select count({name}) from store.neuron_facts").fetchone() != (0,)
            connection.execute(f"alter table store.neuron_facts drop column {name}")
        facts = next(table for table in ALL if table.name == "neuron_facts")
        for name in (name for name, column in facts.columns.items() if column.since > 32):
            connection.execute(f"alter table store.neuron_facts drop column {name}")
        for later in (table.name for table in ALL if table.since > 32):
            connection.execute(f"drop table store.{later}")
        connection.execute("update store.schema_versions set version = 31")
        schema.bring_up_to_date(connection)
        assert connection.execute(rows).fetchall() == before


def test_what_a_later_version_brings_stands_last() -> None:
    """Else a file that was brought up to date would not be one that was made so."""
    for table in ALL:
        since = [max(table.since, column.since) for column in table.columns.values()]
        assert since == sorted(since), table.name
        assert versions.FIRST <= table.since <= versions.VERSION
        assert since[-1] <= versions.VERSION, table.name
        for name, column in table.columns.items():
            assert column.since <= table.since or column.nullable or column.default is not None, (table.name, name)


@pytest.mark.parametrize("version", [1, versions.FIRST - 1])
def test_what_this_release_cannot_read_is_told_with_the_way_out(version: int, tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    with duckdb.connect(str(path)) as connection:
        schema.create(connection, versions.FIRST)
        connection.execute("drop table store.postings")
        connection.execute("update store.schema_versions set version = ?", [version])
    before = path.read_bytes()
    for lease in (Warehouse(path, views=install).current_reader, Warehouse(path, views=install).writer):
        with (
            pytest.raises(
                Unreadable, match=rf"it was written by an earlier neurothek \(schema version {version};"
            ) as told,
            lease(),
        ):
            pass
        assert "neurothek import FOLDER --warehouse FILE" in told.value.hint
    assert path.read_bytes() == before
