"""What people may ask, judged by the text alone; and what the lock holds when nobody judges."""

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.problems import Failed, Invalid, NeurothekError, NotFound, Refused
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.ask.one_query import run_query
from neurothek.queries.ask.parse_tree import known_relations
from neurothek.queries.sql.admission import check_query
from tests.support import hostile
from tests.support.analytical import QUERIES
from tests.support.calls import PLACES
from tests.support.warehouse import create

SECRET = "what-nobody-may-read"


class Outside:
    """A folder that no query may touch, with a file that no query may read."""

    def __init__(self, folder: Path, warehouse: Path) -> None:
        self.folder = folder
        self.foreign = folder / "foreign.csv"
        self.foreign.write_text(f"a\n{SECRET}\n")
        self.warehouse = warehouse
        self.before = self.state()

    def filled(self, query: str) -> str:
        return query.replace("FOREIGN", str(self.foreign)).replace("OUTSIDE", str(self.folder))

    def state(self) -> list[tuple[str, str]]:
        files = sorted(path for path in (*self.folder.rglob("*"), self.warehouse) if path.is_file())
        return [(str(path), hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Outside:
    path = tmp_path_factory.mktemp("warehouse") / "atlas.duckdb"
    create(path)
    return Outside(tmp_path_factory.mktemp("outside"), path)


@pytest.fixture(scope="module")
def unlocked(outside: Outside, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    # A copy: one process opens a file with one configuration.
    path = tmp_path_factory.mktemp("unlocked") / "atlas.duckdb"
    path.write_bytes(outside.warehouse.read_bytes())
    with duckdb.connect(str(path), read_only=True) as connection:
        yield connection


def test_a_show_of_nothing_says_what_is_missing() -> None:
    for query in ("show", "SHOW;"):
        with pytest.raises(Failed, match="SHOW needs TABLES, or the name"):
            check_query(query, ["models"])


def test_a_function_that_is_described_is_told_where_it_cannot_be_read() -> None:
    with pytest.raises(Failed, match=r'syntax error at or near "\("'):
        check_query("describe query('select 1')", ["pushers"])


def test_the_inputs_are_many_and_differ() -> None:
    assert len({*hostile.BY_TEXT, *hostile.GREEDY}) == len(hostile.BY_TEXT) + len(hostile.GREEDY) >= 150
    assert len(set(QUERIES)) == len(QUERIES) >= 100


def test_without_gate_and_lock_the_file_would_be_read(outside: Outside, unlocked: duckdb.DuckDBPyConnection) -> None:
    assert unlocked.execute(f"from '{outside.foreign}'").fetchall() == [(SECRET,)]


def test_the_gate_alone_refuses(
    outside: Outside, unlocked: duckdb.DuckDBPyConnection, subtests: pytest.Subtests
) -> None:
    """Whatever passed would run on a connection that is not locked."""
    for query in hostile.BY_TEXT:
        with subtests.test(query):
            text = outside.filled(query)
            with pytest.raises(NeurothekError) as caught:
                check_query(text, known_relations(), catalog="atlas")
                unlocked.execute(text)
            assert "\n" not in str(caught.value)
            assert len(str(caught.value)) < 1000


def test_the_lock_alone_holds(outside: Outside) -> None:
    """The same texts on a locked reader, unjudged: some run, and none reads, writes or changes anything."""
    warehouse = Warehouse(outside.warehouse, reader_settings=(("max_execution_time", "1000"),))
    home = os.environ.get("HOME", "/root")
    # One lease around all keeps the file open; each text has a cursor of its own.
    with warehouse.reader():
        for query in (*hostile.STATEMENTS, *hostile.STACKED, *hostile.TRICKS, *hostile.FILES, *hostile.NETWORK):
            with warehouse.reader() as connection:
                try:
                    result = connection.execute(outside.filled(query))
                    rows = str(result.fetchall() if result else "")
                except (duckdb.Error, RuntimeError, ValueError):
                    continue
            assert SECRET not in rows
            assert f"'{home}'" not in rows
    assert outside.state() == outside.before


UNSTABLE = re.compile(r"\b(uuid|sample|tablesample|approx|limit|distinct|rank|list\(address)\b|show|explain")
"""In queries that may say another thing when they are asked again."""


def test_good_queries_pass_unchanged(unlocked: duckdb.DuckDBPyConnection, subtests: pytest.Subtests) -> None:
    plain = (int, float, str, bool)
    for query in QUERIES:
        with subtests.test(query):
            check_query(query, known_relations(), catalog="atlas")
            frame = run_query(unlocked, query)
            rows = unlocked.execute(query).fetchall()
            assert frame.height == len(rows)
            if not rows or UNSTABLE.search(query.lower()):
                continue
            for name, before in zip(frame.columns, zip(*rows, strict=True), strict=True):
                after = frame.get_column(name).to_list()
                if all(isinstance(value, plain) for value in before):
                    assert sorted(map(str, after)) == pytest.approx(sorted(map(str, before)))


def test_refusals_give_the_reason(unlocked: duckdb.DuckDBPyConnection, subtests: pytest.Subtests) -> None:
    for query, error, sentence in [
        ("copy models to 'x'", Refused, "COPY is refused because it writes files; use SELECT"),
        ("attach 'x'", Refused, "ATTACH is refused because it leaves this warehouse for another database"),
        ("install x", Refused, "INSTALL is refused because it runs other code"),
        ("set x = 1", Refused, "SET is refused because it changes settings"),
        ("delete from store.models", Refused, "DELETE is refused because it changes rows"),
        ("explain analyze select 1", Refused, "only a plain EXPLAIN of a query is safe to run"),
        ("select 1; select 2", Invalid, "has 2 statements; run one at a time"),
        (
            "from 'a.csv'",
            Refused,
            "'a.csv' is not in this warehouse, and queries cannot reach files, addresses",
        ),
        ("from a.csv", Refused, "'a.csv' is not in this warehouse"),
        ("from read_csv('a')", Refused, "the function read_csv is refused because it reads more than"),
        (
            "select getenv('a')",
            Refused,
            "the function getenv is refused because it tells of the machine",
        ),
        ("from query('select 1')", Refused, "it runs a text as SQL"),
        ("selec 1", Failed, 'syntax error at or near "selec"'),
        ("select from where", Failed, "syntax error"),
        ("from neuronz", NotFound, "no view or table neuronz; nearest: neurons"),
        ("from store.model", NotFound, "nearest: store.models"),
        ("select 1 from models, positions_by_layers", NotFound, "nearest: positions_by_layer"),
    ]:
        with subtests.test(query), pytest.raises(error, match=re.escape(sentence)):
            check_query(query, known_relations(), catalog="atlas")


def test_a_call_is_seen_wherever_it_stands(subtests: pytest.Subtests) -> None:
    for query in PLACES:
        with subtests.test(query):
            check_query(query.replace("CALL", "upper('a')"), ["models"])
            with pytest.raises(Refused, match="current_setting is refused"):
                check_query(query.replace("CALL", "current_setting('temp_directory')"), ["models"])
