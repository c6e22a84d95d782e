"""The policy for queries: names of the warehouse pass in any spelling, whatever leads out of it does not."""

import pytest

from neurothek.catalog.problems import NotFound, Refused
from neurothek.queries.ask.parse_tree import mentions_of, views_of_duckdb
from neurothek.queries.sql.policy import QueryScope, check_mentions, check_relations

RELATIONS = ("models", "neurons", "store.models", "store.postings")


def scope() -> QueryScope:
    return QueryScope(RELATIONS, "atlas")


def judge(query: str) -> None:
    check_mentions(mentions_of(query), scope())


def test_names_of_the_warehouse_pass(subtests: pytest.Subtests) -> None:
    for query in [
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
    ]:
        with subtests.test(query=query):
            judge(query)


def test_what_leads_out_of_the_warehouse_is_refused(subtests: pytest.Subtests) -> None:
    for query, written in [
        ("from 'a.csv'", "a.csv"),
        ("from other.main.models", "other.main.models"),
        ("from other.models", "other.models"),
        ("from atlas.atlas.models", "atlas.atlas.models"),
        ("from pg_catalog.pg_class", "pg_catalog.pg_class"),
        ('from "models; drop"', "models; drop"),
        ('from "store.postings"', "store.postings"),
        ('with "a.csv" as (select 1) from "a.csv"', "a.csv"),
        ("from neurons, (select * from models join 's3://x/y' on true)", "s3://x/y"),
    ]:
        with subtests.test(query=query, written=written):
            with pytest.raises(Refused) as refused:
                check_relations(mentions_of(query), scope())
            assert str(refused.value).startswith(
                f"{written!r} is not in this warehouse, and queries cannot reach files,"
            )


@pytest.mark.parametrize(
    ("query", "name"),
    [("from modles", "modles"), ("from store.neurons", "store.neurons"), ("from postings", "postings")],
)
def test_a_relation_that_there_is_not_is_told_with_the_nearest(query: str, name: str) -> None:
    with pytest.raises(NotFound, match=f"there is no view or table {name}; nearest: "):
        judge(query)


def test_a_table_expression_hides_no_view_in_which_duckdb_tells_of_itself() -> None:
    """It would be hidden in one part of the query alone, and read in another."""
    for name in views_of_duckdb():
        with pytest.raises(NotFound):
            judge(f"with {name} as (select 1) select * from {name}")


def test_calls_are_judged_wherever_they_stand(subtests: pytest.Subtests) -> None:
    for query, error, sentence in [
        ("select getenv('HOME')", Refused, "the function getenv is refused because"),
        ("from read_csv('a')", Refused, "the function read_csv is refused"),
        ("select lenght(model) from models", NotFound, "there is no function lenght; nearest: length"),
        ("select list_aggregate([1], model) from models", Refused, "the function list_aggregate is refused"),
        ("select list_aggregate([1], 'histogramm')", Refused, "the function histogramm is refused"),
        ("select (select getenv('a') from (select 1)) from models", Refused, "getenv"),
    ]:
        with subtests.test(query=query, error=error, sentence=sentence), pytest.raises(error, match=sentence):
            judge(query)
