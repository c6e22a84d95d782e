"""Runs of releases that measured less: told by their rows, also in a warehouse that lacks the table."""

from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.tables.weights import LOGIT_HISTOGRAMS, PROJECTIONS
from neurothek.ingest.runs.identity import is_incomplete, lacks_rows
from tests.support import warehouse
from tests.support.tiny import WITHOUT_HISTOGRAMS


@pytest.fixture
def connection(tmp_path: Path) -> duckdb.DuckDBPyConnection:
    warehouse.create(tmp_path / "w.duckdb")
    return duckdb.connect(str(tmp_path / "w.duckdb"))


def runs(connection: duckdb.DuckDBPyConnection) -> dict[int, int]:
    rows = connection.execute("select model_id, run_id from store.runs where job = 'projections'").fetchall()
    return dict(rows)


def test_a_run_without_rows_of_a_later_table_is_incomplete(connection: duckdb.DuckDBPyConnection) -> None:
    found = {model: is_incomplete(connection.execute, "projections", run) for model, run in runs(connection).items()}
    assert found == {model: model == WITHOUT_HISTOGRAMS for model in found}
    assert len(found) > 2
    assert not any(lacks_rows(connection.execute, PROJECTIONS, run) for run in (*runs(connection).values(), 999))


def test_a_warehouse_without_the_table_lacks_its_rows(connection: duckdb.DuckDBPyConnection) -> None:
    (run, *_) = runs(connection).values()
    assert not lacks_rows(connection.execute, LOGIT_HISTOGRAMS, run)
    connection.execute("drop table store.logit_histograms cascade")
    assert lacks_rows(connection.execute, LOGIT_HISTOGRAMS, run)


def test_jobs_without_later_tables_are_whole(connection: duckdb.DuckDBPyConnection) -> None:
    assert not is_incomplete(connection.execute, "activity", 999)
