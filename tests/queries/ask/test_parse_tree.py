"""What DuckDB's parser sees of a text: relations, table expressions and calls, each where it stands."""

from collections import Counter

import pytest

from neurothek.catalog.problems import Failed, Refused
from neurothek.queries.ask.parse_tree import (
    EXPLAIN,
    LAMBDA,
    MARK,
    Call,
    called_functions,
    functions_of_duckdb,
    mentions_of,
    nodes_in,
    statements_of,
    syntax_error,
    views_of_duckdb,
)
from neurothek.queries.sql.admission import check_query


def test_every_relation_is_seen(subtests: pytest.Subtests) -> None:
    for query, tables in [
        ("select 1", []),
        ("from Models", [("", "", "models")]),
        ("from store.models as m", [("", "store", "models")]),
        ("from atlas.store.models", [("atlas", "store", "models")]),
        ("select * from a, b join c using (x)", [("", "", name) for name in "abc"]),
        ("select (select 1 from a) from (from b) where x in (select 1 from c)", [("", "", name) for name in "abc"]),
        ("from a union all from b", [("", "", name) for name in "ab"]),
        ("with t as (from a) from t", [("", "", "a"), ("", "", "t")]),
        ("from 'a.csv'", [("", "", "a.csv")]),
        ("describe a", [("", "", "a")]),
        ("describe select 1 from a", [("", "", "a")]),
        ("summarize store.a", [("", "store", "a")]),
        ("show tables", []),
    ]:
        with subtests.test(query=query, tables=tables):
            assert sorted(mentions_of(query).tables) == tables
            assert sorted(mentions_of(f"{MARK}{query};").tables) == tables


def test_every_table_expression_is_seen(subtests: pytest.Subtests) -> None:
    for query, names in [
        ("select 1", set()),
        ("with A as (select 1), b as (from a) from b", {"a", "b"}),
        ("with recursive t as (select 1 as x union all select x from t) from t", {"t"}),
        ("select (with t as (select 1) from t)", {"t"}),
        ("with t as materialized (select 1) from t", {"t"}),
    ]:
        with subtests.test(query=query, names=names):
            assert mentions_of(query).ctes == names


def test_every_call_is_seen_where_it_stands(subtests: pytest.Subtests) -> None:
    for query, calls in [
        ("select LENGTH(model)", [Call("length", "expression")]),
        ("from range(length('a'))", [Call("length", "expression"), Call("range", "table")]),
        ("select ntile(2) over (order by abs(x))", [Call("abs", "expression"), Call("ntile", "window")]),
        ("select 1 where exists (select sum(x))", [Call("sum", "expression")]),
        ("select x[1], x.y, x between 1 and 2, cast(x as int)", []),
    ]:
        with subtests.test(query=query, calls=calls):
            assert sorted(mentions_of(query).calls, key=lambda call: call.name) == calls


def test_an_aggregate_that_a_text_names_is_seen_or_unknown(subtests: pytest.Subtests) -> None:
    for call, named in [
        ("list_aggregate(x, 'Sum')", ["sum"]),
        ("list_aggr(x, 'max')", ["max"]),
        ("list_aggregate(x, y)", [None]),
        ("list_aggregate(x, 'a' || 'b')", [None]),
        ("list_aggregate(x, 1)", [None]),
        ("list_aggregate(x)", [None]),
        ("list_sum(x)", []),
    ]:
        with subtests.test(call=call, named=named):
            assert mentions_of(f"select {call}").aggregates == named


def test_what_is_no_question_is_a_sentence(subtests: pytest.Subtests) -> None:
    for query, error, sentence in [
        ("selec 1", Failed, 'syntax error at or near "selec"'),
        ("select 'a", Failed, "unterminated string"),
        ("pivot models on family using count(*)", Failed, "write ON column IN"),
        ("create table t (x int)", Refused, "CREATE is refused because it changes tables or views"),
        ("copy models to 'x'", Refused, "COPY is refused because it writes files"),
        ("pragma version", Refused, "PRAGMA is refused"),
    ]:
        with subtests.test(query=query, error=error, sentence=sentence):
            with pytest.raises(error, match=sentence) as refused:
                mentions_of(query)
            assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "query", ["update extensions", "UPDATE EXTENSIONS (httpfs)", "set local x = 1", "Set Local a=2"]
)
def test_statements_that_duckdb_only_parses_are_no_questions(query: str) -> None:
    """Its client has no name for the first, and refuses the second as not implemented: neither is a traceback."""
    with pytest.raises(Refused, match=f"^{query.split(maxsplit=1)[0].upper()}"):
        statements_of(query)
    with pytest.raises((Refused, Failed)):
        check_query(query, [])


def test_a_tree_is_walked_however_deep_it_is() -> None:
    deep: dict[str, object] = {"depth": 0}
    for depth in range(1, 50_000):
        deep = {"depth": depth, "below": [deep]}
    depths = [node["depth"] for node in nodes_in({"a": deep, "b": "text", "c": [1, None]}) if "depth" in node]
    assert depths == list(range(49_999, -1, -1))
    assert list(nodes_in("text")) == list(nodes_in([])) == []


@pytest.mark.parametrize("query", ["select " + "(" * 5000 + "1" + ")" * 5000, "select " + "[" * 3000 + "]" * 3000])
def test_a_text_that_is_nested_without_end_is_told(query: str) -> None:
    with pytest.raises(Failed) as refused:
        mentions_of(query)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("condition", "called"),
    [
        ("layer = 3", {}),
        ("abs(layer) + ABS(neuron) > 1", {"abs": 2}),
        ("layer + 1 > 2 and not layer in (1, 2)", {}),
        ("len(list_filter(top_tokens, lambda t: t = 'a')) > 1 -- why", {"len": 1, "list_filter": 1, LAMBDA: 1}),
    ],
)
def test_functions_of_a_condition_are_counted(condition: str, called: dict[str, int]) -> None:
    found = called_functions(condition)
    assert Counter({name: n for name, n in found.items() if name in {*called, "abs"}}) == Counter(called)
    assert found[LAMBDA] == called.get(LAMBDA, 0)


def test_what_is_no_condition_is_told(subtests: pytest.Subtests) -> None:
    for condition in ["layer = ", "layer neuron", "1; select 2", "layer = 'a", "("]:
        with subtests.test(condition=condition), pytest.raises(Failed):
            called_functions(condition)


def test_the_parsers_own_complaint_is_one_line_without_its_kind() -> None:
    assert syntax_error("select 1") == syntax_error("from nowhere") == ""
    said = syntax_error("select 1 frm x y")
    assert said.startswith("syntax error at or near")
    assert "\n" not in said


def test_a_text_that_asks_for_a_plan_begins_so(subtests: pytest.Subtests) -> None:
    for text, asks in [
        ("explain select 1", True),
        ("  -- why\n/* explain */ EXPLAIN\nselect 1", True),
        ("explained", False),
        ("select 1 -- explain", False),
        ("", False),
    ]:
        with subtests.test(text=text, asks=asks):
            assert bool(EXPLAIN.match(text)) == asks


def test_what_duckdb_brings_along_is_known_in_lower_case() -> None:
    assert {"abs", "read_csv", "list_filter", "ntile"} <= functions_of_duckdb()
    assert {"duckdb_tables", "sqlite_master", "pg_class"} <= views_of_duckdb()
    assert all(name == name.lower() for name in functions_of_duckdb() | views_of_duckdb())
