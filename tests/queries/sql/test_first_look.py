"""Names that a query spells wrongly, told before a process is started; what may be right is left to DuckDB."""

import subprocess
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.problems import Invalid, NeurothekError, NotFound
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.ask.one_query import run_query
from neurothek.queries.ask.parse_tree import known_relations
from neurothek.queries.sql import cookbook, processes
from neurothek.queries.sql.policy import QueryScope, look
from neurothek.queries.sql.run import ask_people
from tests.support.analytical import QUERIES

MISSPELT_TABLES = ["from neurns", "select 1 from models join neurns using (model)", "explain from store.modls"]

MISSPELT_COLUMNS = [
    "select frequenzy from neurons",
    "select n.frequenzy from neurons as n",
    "select neurons.frequenzy from neurons",
    "select max(frequenzy) as most from neurons group by model having most > 0",
    "from neurons where frequenzy > .1 order by layer",
    "from neurons order by frequenzy",
    "explain select frequenzy from neurons",
    "with few as (select layer from neurons) select frequenzy from few, models",
]

MADE_IN_THE_TEXT = [
    "select frequenzy from (select frequency as frequenzy from neurons)",
    "select frequency as frequenzy, frequenzy + 1 as more from neurons",
    "with t(frequenzy) as (select layer from neurons) select frequenzy from t",
    "select frequenzy from neurons as t(frequenzy)",
    "select FREQUENCY from neurons",
    "select frequenzy from (select unnest({'frequenzy': layer}) from neurons)",
    "select * from (values (1)) as t(frequenzy), neurons where frequenzy = 1",
    "select frequenzy from neurons, range(3) as t(frequenzy)",
    "select list_transform([layer], lambda laier: laier + 1) from neurons",
    "select [laier + 1 for laier in [layer]] from neurons",
    "select frequenzy from (select * rename (frequency as frequenzy) from neurons)",
    "select current_date, rowid from store.models",
    "select neurons from neurons limit 1",
    "select x.laier from (select {'laier': layer} as x from neurons)",
    "pivot (select layer, frequency from neurons) on layer in (0, 1) using count(*)",
    "select column_name from information_schema.columns",
    "describe select layer from neurons",
    "from neurons group by all order by all",
]


@pytest.fixture(scope="module")
def scope() -> QueryScope:
    return QueryScope(known_relations(), "atlas")


@pytest.fixture
def _no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def started() -> subprocess.Popen[bytes]:
        raise AssertionError("a process was started")

    monkeypatch.setattr(processes, "_started", started)


@pytest.mark.usefixtures("_no_process")
@pytest.mark.parametrize("query", MISSPELT_TABLES)
def test_a_misspelt_table_starts_no_process(query: str, full_path: Path) -> None:
    with pytest.raises(NotFound, match="nearest: "):
        ask_people(Warehouse(full_path), query)


@pytest.mark.usefixtures("_no_process")
@pytest.mark.parametrize("query", MISSPELT_COLUMNS)
def test_a_misspelt_column_starts_no_process(query: str, full_path: Path, full: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(NotFound, match="there is no column frequenzy; nearest: frequency"):
        ask_people(Warehouse(full_path), query)
    # DuckDB finds the same.
    with pytest.raises(NotFound, match="there is no column frequenzy"):
        run_query(full, query)


@pytest.mark.usefixtures("_no_process")
@pytest.mark.parametrize("query", ["selct 1", "", "select 1; select 2", "drop table x", "from read_csv('x')"])
def test_what_is_refused_starts_no_process(query: str, full_path: Path) -> None:
    with pytest.raises(NeurothekError):
        ask_people(Warehouse(full_path), query)


def test_a_name_that_may_be_right_passes(
    full: duckdb.DuckDBPyConnection, scope: QueryScope, subtests: pytest.Subtests
) -> None:
    """That they are answered is asserted of the good queries by test_admission, of the cookbook by its own tests."""
    for query in (*MADE_IN_THE_TEXT, *QUERIES, *(one.query for one in cookbook.questions())):
        with subtests.test(query):
            if query in MADE_IN_THE_TEXT:
                run_query(full, query)
            # SHOW is none of what DuckDB's parser hands out as a question.
            assert look(full, query, scope) or query.casefold().startswith(("show", "explain show"))


def test_a_text_of_two_statements_is_told_to_be_that(full_path: Path) -> None:
    with pytest.raises(Invalid):
        ask_people(Warehouse(full_path), "select 1; from neurns")
