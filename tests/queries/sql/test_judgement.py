"""What a query mentions, judged: names of the warehouse pass in any spelling, whatever leads out of it does not."""

import pytest

from queries.ask.definitions import Definition, Definitions
from queries.ask.parse_tree import mentions_of, views_of_duckdb
from queries.errors import FunctionRefused, MacroInTheWay, OutsideTheWarehouse, UnknownFunction, UnknownRelation
from queries.sql.judgement import Ground, judge_macros, judge_mentions, judge_relations

RELATIONS = ("models", "neurons", "store.models", "store.postings")


def ground(definitions: Definitions | None = None) -> Ground:
    return Ground(RELATIONS, "atlas", definitions or Definitions())


def judge(query: str, definitions: Definitions | None = None) -> None:
    judge_mentions(mentions_of(query), ground(definitions))


@pytest.mark.parametrize(
    "query",
    [
        "from models",
        "from MODELS, Neurons",
        "from main.models",
        "from atlas.models",
        "from atlas.main.models",
        "from store.postings",
        "from atlas.store.postings",
        "with t as (from models) from t",
        "with models as (select 1) from models",
        "from information_schema.columns",
        "select 1",
        "select * from (values (1)) as t(x)",
        "from range(3)",
        "select (select max(layer) from neurons) from models where exists (from store.models)",
    ],
)
def test_names_of_the_warehouse_pass(query: str) -> None:
    judge(query)


@pytest.mark.parametrize(
    ("query", "written"),
    [
        ("from 'a.csv'", "a.csv"),
        ("from other.main.models", "other.main.models"),
        ("from other.models", "other.models"),
        ("from atlas.atlas.models", "atlas.atlas.models"),
        ("from pg_catalog.pg_class", "pg_catalog.pg_class"),
        ('from "models; drop"', "models; drop"),
        ('from "store.postings"', "store.postings"),
        ('with "a.csv" as (select 1) from "a.csv"', "a.csv"),
        ("from neurons, (select * from models join 's3://x/y' on true)", "s3://x/y"),
    ],
)
def test_what_leads_out_of_the_warehouse_is_refused(query: str, written: str) -> None:
    with pytest.raises(OutsideTheWarehouse) as refused:
        judge_relations(mentions_of(query), ground())
    assert str(refused.value).startswith(f"{written!r} is not in this warehouse, and queries cannot reach files,")


@pytest.mark.parametrize(
    ("query", "name"),
    [("from modles", "modles"), ("from store.neurons", "store.neurons"), ("from postings", "postings")],
)
def test_a_relation_that_there_is_not_is_told_with_the_nearest(query: str, name: str) -> None:
    with pytest.raises(UnknownRelation, match=f"there is no view or table {name}; nearest: "):
        judge(query)


def test_a_table_expression_hides_no_view_in_which_duckdb_tells_of_itself() -> None:
    """It would be hidden in one part of the query alone, and read in another."""
    for name in views_of_duckdb():
        with pytest.raises(UnknownRelation):
            judge(f"with {name} as (select 1) select * from {name}")


@pytest.mark.parametrize(
    ("query", "error", "sentence"),
    [
        ("select getenv('HOME')", FunctionRefused, "the function getenv is refused because"),
        ("from read_csv('a')", FunctionRefused, "the function read_csv is refused"),
        ("select lenght(model) from models", UnknownFunction, "there is no function lenght; nearest: length"),
        ("select list_aggregate([1], model) from models", FunctionRefused, "the function list_aggregate is refused"),
        ("select list_aggregate([1], 'histogramm')", FunctionRefused, "the function histogramm is refused"),
        ("select (select getenv('a') from (select 1)) from models", FunctionRefused, "getenv"),
    ],
)
def test_calls_are_judged_wherever_they_stand(query: str, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        judge(query)


def defined(**queries: str) -> Definitions:
    """A file with the relations of the warehouse, and views of a stranger."""
    names = frozenset({"models", "neurons", "postings", *queries})
    return Definitions(names, {name: [Definition(f"the view {name}", query)] for name, query in queries.items()})


def test_what_a_view_of_the_file_calls_is_judged_too() -> None:
    sound = defined(neurons="select upper(model) from models", models="select 1 as model")
    judge("from neurons", sound)
    with pytest.raises(FunctionRefused, match="the function getenv, which the view models calls, is refused"):
        judge("from neurons", defined(neurons="from models", models="select getenv('a')"))
    # A view that the query does not reach may say what it likes.
    judge("from store.postings", defined(neurons="from models", models="select getenv('a')"))


@pytest.mark.parametrize("query", ["from 'a.csv'", "from elsewhere.secrets", "from models, secrets"])
def test_a_view_of_the_file_reads_the_file_alone(query: str) -> None:
    with pytest.raises(OutsideTheWarehouse):
        judge("from neurons", defined(neurons=query))


def test_views_that_read_each_other_are_judged_once() -> None:
    judge("from neurons", defined(neurons="from models", models="from neurons"))
    judge("from neurons", defined(neurons="with t as (select 1) from t"))


def test_a_macro_of_the_file_is_not_called_and_takes_no_name_of_duckdb() -> None:
    own = Definitions(macros=frozenset({"mine"}))
    judge("from models", own)
    with pytest.raises(FunctionRefused, match="the function mine is refused because"):
        judge("select mine(1)", own)
    with pytest.raises(MacroInTheWay, match="this file has a macro length, which replaces DuckDB's own length"):
        judge_macros(Definitions(macros=frozenset({"mine", "upper", "length"})))
    judge_macros(Definitions())
