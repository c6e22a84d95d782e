"""DuckDB alone, without anything of ours: a published folder by its script of views, a warehouse's file as it is."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from neurothek import Neurothek
from neurothek.queries.sql.cookbook import questions
from neurothek.queries.views.install import all_views
from tests.catalog.hub.test_catalogs import OF_PATHS, is_same_row, rows_in

pytestmark = pytest.mark.long

ALONE = """
import json, sys
import duckdb
place, script, queries = json.load(sys.stdin)
connection = duckdb.connect(*([] if script else [place]), **({} if script else {"read_only": True}))
if script:
    connection.execute("set variable catalog = '" + place + "'")
    connection.execute(open(place + "/views.sql", encoding="utf-8").read())
answers = [connection.execute(query).fetchall() for query in queries]
assert not any(name.partition(".")[0] == "neurothek" for name in sys.modules)
print(json.dumps(answers))
"""


def alone(place: Path, queries: list[str], *, is_folder: bool) -> list[list[list[Any]]]:
    """Rows that a process answers which has DuckDB and nothing of ours, in a folder of its own."""
    told = subprocess.run(
        [sys.executable, "-I", "-c", ALONE],
        input=json.dumps([str(place), is_folder, queries]),
        cwd=place.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    answers: list[list[list[Any]]] = json.loads(told.stdout)
    return answers


def of_models(local: Neurothek) -> list[str]:
    """The cookbook's questions, about models that are there."""
    names = local.sql("select model from models where variant is null order by size")["model"].to_list()
    return [one.about(names) for one in questions()]


@pytest.mark.parametrize("place", ["folder", "file"])
def test_the_cookbook_is_answered_by_duckdb_alone(place: str, local: Neurothek, whole: Path, bare: Path) -> None:
    queries = of_models(local)
    expected = [[list(row) for row in local.sql(query).rows()] for query in queries]
    if place == "file":
        answers = [alone(local.path, queries, is_folder=False)]
        first = len(queries)
    else:
        # Without texts there are no contexts, which some of the later questions ask for.
        answers = [alone(whole, queries, is_folder=True), alone(bare, queries[:10], is_folder=True)]
        first = 10
    assert sum(bool(rows) for rows in expected[:10]) >= 8
    for rows in answers:
        for number, (ours, theirs) in enumerate(zip(expected, rows, strict=False), start=1):
            assert len(ours) == len(theirs), number
            assert all(map(is_same_row, map(tuple, ours), map(tuple, theirs))), number
    assert all(len(rows) >= first for rows in answers)


def test_every_view_of_the_script_has_the_rows_of_the_warehouse(local: Neurothek, whole: Path) -> None:
    differing = []
    with duckdb.connect() as connection:
        connection.execute(f"set variable catalog = '{whole}'")
        connection.execute((whole / "views.sql").read_text("utf-8"))
        for name, view in all_views().items():
            left_out = [column for table, column in OF_PATHS if table == name]
            chosen = f"* exclude ({', '.join(left_out)})" if left_out else "*"
            rows = connection.execute(f"select {chosen} from {name} order by {', '.join(view.key)}").fetchall()
            expected = rows_in(local, name)
            if len(rows) != len(expected) or not all(map(is_same_row, rows, expected)):
                differing.append(name)
    assert differing == []


def test_the_script_is_read_where_it_lies(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(whole)
    with duckdb.connect() as connection:
        connection.execute(Path("views.sql").read_text("utf-8"))
        assert connection.execute("select count(*) from neurons").fetchall() != [(0,)]


def test_no_view_calls_a_function_of_ours(local: Neurothek) -> None:
    with duckdb.connect(str(local.path), read_only=True) as connection:
        own = connection.execute(
            "select function_name from duckdb_functions() where not internal and database_name = current_database()"
        ).fetchall()
        assert own == []
        for name in all_views():
            connection.execute(f"select * from {name} limit 1").fetchall()
