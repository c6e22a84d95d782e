"""A file that a stranger made: what its views, macros and computed columns do is judged before anything is read."""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from catalog.errors import NeurothekError
from catalog.store.warehouse import Warehouse
from queries import errors
from queries.sql.run import ask_people, judge
from tests.support.warehouse import create

TOLD = "current_setting('temp_directory')"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plain") / "atlas.duckdb"
    create(path)
    return path


def strangers(plain: Path, folder: Path, *statements: str) -> Warehouse:
    """A copy of the warehouse in which somebody ran statements with DuckDB."""
    path = folder / "atlas.duckdb"
    path.write_bytes(plain.read_bytes())
    with duckdb.connect(str(path)) as connection:
        for text in statements:
            connection.execute(text)
    return Warehouse(path)


def unjudged(warehouse: Warehouse, query: str) -> str:
    with duckdb.connect(str(warehouse.path), read_only=True) as connection:
        return str(connection.execute(query).fetchall())


@pytest.mark.parametrize(
    ("statements", "query", "sentence"),
    [
        ([f"create view told as select {TOLD} as a"], "from told", "current_setting, which the view told calls, is"),
        ([f"create or replace view models as select {TOLD} as a"], "from models", "which the view models calls"),
        (
            [f"create view below as select {TOLD} as a", "create view above as select * from below"],
            "select (select a from above)",
            "which the view below calls",
        ),
        (
            [f'create view "odd ""( as" ("a) as (") as select {TOLD}', 'create view v as from "odd ""( as"'],
            "from v",
            "odd",
        ),
        ([f"create view told as select {TOLD} as a"], "describe told", "which the view told calls"),
        ([f"create view told as select {TOLD} as a"], "explain from told", "which the view told calls"),
        (
            ["create view told as from query('select 41 + 1')"],
            "from told",
            "query, which the view told calls, is refused",
        ),
        (["create view told as select path as a from duckdb_databases"], "from told", "queries cannot reach"),
        (["create view told as select json_serialize_plan('select 1')"], "from told", "json_serialize_plan"),
        (
            [
                f"create table store.more (a int, b varchar generated always as ({TOLD}))",
                "insert into store.more values (1)",
            ],
            "from store.more",
            "which a column of more calls",
        ),
        ([f"create macro told() as {TOLD}"], "select told()", "told is refused because it is a macro of this file"),
        (
            [f"create macro told() as table select {TOLD}"],
            "from told()",
            "told is refused because it is a macro of this file",
        ),
        (
            [f"create macro told() as {TOLD}", "create view v as select told() as a"],
            "from v",
            "told, which the view v calls, is refused because it is a macro of this file",
        ),
        (
            [f"create macro abs(x) as {TOLD}"],
            "select abs(-1)",
            "a macro abs, which replaces DuckDB's",
        ),
        ([f"create macro range(x) as table select {TOLD}"], "from range(1)", "a macro range"),
        ([f'create macro "||"(x, y) as {TOLD}'], "select 'a' || 'b'", r"a macro \|\|"),
        ([f"create macro user() as {TOLD}"], "select user", "a macro user"),
        (["create schema s", f"create macro s.lower(x) as {TOLD}"], "select s.lower('A')", "a macro lower"),
    ],
)
def test_what_a_stranger_put_into_the_file_is_judged(
    plain: Path, tmp_path: Path, statements: Sequence[str], query: str, sentence: str
) -> None:
    warehouse = strangers(plain, tmp_path, *statements)
    assert unjudged(warehouse, query)
    with pytest.raises(NeurothekError, match=sentence) as caught:
        judge(warehouse, query, updates=False)
    assert "\n" not in str(caught.value)
    with pytest.raises(type(caught.value)):
        ask_people(warehouse, query, updates=False)


def test_a_view_of_a_strangers_that_reads_a_file_is_refused(plain: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.csv"
    foreign.write_text("a\n1\n")
    for number, source in enumerate((f"'{foreign}'", f"read_csv('{foreign}')", f'main."{foreign}"')):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            warehouse = strangers(plain, folder, f"create view told as select * from {source}")
        except duckdb.Error:
            continue
        with pytest.raises((errors.OutsideTheWarehouse, errors.FunctionRefused)):
            judge(warehouse, "from told", updates=False)


def test_views_of_ones_own_that_only_compute_are_asked_like_any(plain: Path, tmp_path: Path) -> None:
    warehouse = strangers(
        plain,
        tmp_path,
        "create view sizes as with w as (select model, upper(model) as name from models) select * from w",
        "create view named as select name, count(*) as n from sizes group by name",
        "create table store.doubled (a int, b int generated always as (2 * a))",
        "insert into store.doubled values (21)",
    )
    frame = ask_people(warehouse, "from named order by name", updates=False).frame
    models = ask_people(warehouse, "select upper(model) as name from models order by name", updates=False).frame
    assert frame["name"].to_list() == models["name"].to_list()
    assert ask_people(warehouse, "select b from store.doubled", updates=False).frame.item() == 42


def test_a_macro_with_a_name_of_its_own_is_in_nobodys_way(plain: Path, tmp_path: Path) -> None:
    warehouse = strangers(plain, tmp_path, "create macro twice(x) as 2 * x")
    assert ask_people(warehouse, "select abs(-1) as a", updates=False).frame.item() == 1
