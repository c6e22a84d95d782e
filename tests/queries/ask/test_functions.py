"""DuckDB's functions are classified: what is not is refused, what is admitted reads no file and runs no SQL."""

import itertools
import tomllib
from collections import Counter
from dataclasses import replace
from importlib import resources
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.problems import Failed, NotFound, Refused
from neurothek.queries.ask import parse_tree
from neurothek.queries.ask.parse_tree import classified
from neurothek.queries.sql import policy
from neurothek.queries.sql.admission import check_query

RELATIONS = ["models"]

BEYOND_THE_CATALOG = {"syntax", "elsewhere"}


def of_duckdb(connection: duckdb.DuckDBPyConnection) -> set[tuple[str, str]]:
    """(kind, name) of every function of this release."""
    return set(connection.sql("select distinct function_type, lower(function_name) from duckdb_functions()").fetchall())


def groups() -> list[dict[str, str | list[str]]]:
    text = (resources.files("neurothek.queries.ask") / "functions.toml").read_text("utf-8")
    found: list[dict[str, str | list[str]]] = tomllib.loads(text)["group"]
    return found


def test_every_function_of_duckdb_is_classified_once() -> None:
    functions = classified()
    assert not functions.admitted.keys() & functions.refused.keys()
    in_file = Counter((group["kind"], name) for group in groups() for name in group["names"])
    assert [key for key, times in in_file.items() if times > 1] == []
    in_catalog = {key for key in (*functions.admitted, *functions.refused) if key[0] not in BEYOND_THE_CATALOG}
    with duckdb.connect() as connection:
        assert in_catalog == of_duckdb(connection)


def test_every_group_says_why() -> None:
    for group in groups():
        assert len({"admitted", "because"} & group.keys()) == 1, group["kind"]
        assert group.get("admitted") or group.get("because")
        assert group["names"]


@pytest.mark.parametrize(
    ("kind", "name", "query"),
    [
        ("scalar", "abs", "select abs(1)"),
        ("scalar", "abs", "explain select abs(1)"),
        ("scalar", "||", "select 'a' || 'b'"),
        ("scalar", "regexp_full_match", "select model similar to 'a' from models"),
        ("aggregate", "kurtosis", "select kurtosis(1)"),
        ("aggregate", "kurtosis", "select kurtosis(1) over ()"),
        ("aggregate", "kurtosis", "select list_aggregate([1], 'kurtosis')"),
        ("window", "ntile", "select ntile(2) over () from models"),
        ("macro", "split_part", "select split_part('a', '/', 1)"),
        ("table", "range", "from range(3)"),
        ("table", "json_each", "select * from models, lateral json_each('[1]')"),
    ],
)
def test_a_function_of_a_newer_duckdb_is_refused_until_it_is_classified(
    monkeypatch: pytest.MonkeyPatch, kind: str, name: str, query: str
) -> None:
    check_query(query, RELATIONS)
    functions = classified()
    without = {key: about for key, about in functions.admitted.items() if key != (kind, name)}
    monkeypatch.setattr(policy, "classified", lambda: replace(functions, admitted=without))
    with pytest.raises(Refused, match=r"it has not been reviewed yet|it cannot be called there|only known aggregates"):
        check_query(query, RELATIONS)


def test_a_kind_of_expression_of_a_newer_duckdb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    query = "select case when true then 1 end"
    check_query(query, RELATIONS)
    monkeypatch.setattr(parse_tree, "_EXPRESSIONS", parse_tree._EXPRESSIONS - {"CASE"})
    with pytest.raises(Failed, match="has not been reviewed"):
        check_query(query, RELATIONS)


@pytest.mark.parametrize("relation", ["from models", "from models a, models b", "from (values (1)) as t(x)"])
def test_a_kind_of_relation_of_a_newer_duckdb_is_refused(monkeypatch: pytest.MonkeyPatch, relation: str) -> None:
    query = f"select 1 {relation}"
    check_query(query, RELATIONS)
    known = parse_tree._RELATIONS - {"BASE_TABLE", "JOIN", "EXPRESSION_LIST"}
    monkeypatch.setattr(parse_tree, "_RELATIONS", known)
    with pytest.raises(Failed, match="has not been reviewed"):
        check_query(query, RELATIONS)


SYNTAX = (
    *(
        "a[1]",
        "a[1:2]",
        "a[1:3:2]",
        "s.x",
        "j -> '$.a'",
        "j ->> 'a'",
        "a || b",
        "-a",
        "~a",
        "@a",
        "a!",
        "a ^ 2",
        "a ** 2",
    ),
    *(
        "not a",
        "a between 1 and 2",
        "a in (1, 2)",
        "a not in (1)",
        "a is null",
        "a is not distinct from 1",
        "a = any([1])",
    ),
    *(
        "a like 'b'",
        "a not ilike 'b'",
        "a like 'b' escape 'c'",
        "a similar to 'b'",
        "a glob 'b'",
        "a ~ 'b'",
        "a ^@ 'b'",
    ),
    *("cast(a as int)", "try_cast(a as int)", "a::json", "a::struct(x int)[]", "date '2026-01-01'", "interval 3 day"),
    *("case a when 1 then 2 else 3 end", "coalesce(a, 1)", "ifnull(a, 1)", "nullif(a, 1)", "if(a, 1, 2)", "try(a)"),
    *("[1, 2]", "{'x': 1}", "map {1: 2}", "row(1, 2)", "(1, 2)", "array(select 1)", "exists (select 1)", "(select 1)"),
    *("[x for x in a if x > 1]", "list_transform(a, lambda x: x + 1)", "a.upper().lower()", "unnest(a)"),
    *("count(*)", "count(distinct a)", "sum(a) filter (where a > 1)", "list(a order by a desc)", "columns('a')"),
    *("sum(a) over (partition by a order by a rows between 1 preceding and current row exclude ties)",),
    *(
        "first_value(a ignore nulls) over ()",
        "percentile_cont(0.5) within group (order by a)",
        "mode() within group (order by a)",
    ),
    *("extract(year from a)", "a at time zone 'utc'", "a collate de", "trim(both 'x' from a)", "position('x' in a)"),
    *("substring(a from 1 for 2)", "overlay(a placing 'b' from 1)", "grouping(a)", "current_date", "current_timestamp"),
    *("user", "$1", "?", "#1", "a collate nocase.noaccent", "* exclude (a)", "* replace (1 as a)", "columns(*)"),
)


def test_what_the_parser_makes_of_syntax_is_admitted(subtests: pytest.Subtests) -> None:
    for expression in SYNTAX:
        with subtests.test(expression=expression):
            mentions = parse_tree.mentions_of(f"select {expression} from models")
            for call in mentions.calls:
                assert classified().admits(call.name, call.place), call
            assert None not in mentions.aggregates


def test_a_misspelt_function_is_told_with_the_nearest() -> None:
    with pytest.raises(NotFound, match="there is no function lenght; nearest: length"):
        check_query("select lenght(model) from models", RELATIONS)


def test_a_pragma_is_no_question() -> None:
    with duckdb.connect() as connection:
        pragmas = [name for kind, name in of_duckdb(connection) if kind == "pragma"]
    assert len(pragmas) > 30
    for name in pragmas:
        assert ("pragma", name) in classified().refused
        for query in (f"pragma {name}", f"pragma {name}('models')", f"call {name}()"):
            # Some are complained about before.
            with pytest.raises((Refused, Failed)):
                check_query(query, RELATIONS)


TRACE = "40002"
"""What one of the texts comes to if it is run as SQL, and stands in the file that another names."""


@pytest.mark.long
def test_what_is_admitted_reads_no_file_and_runs_no_text(tmp_path: Path) -> None:
    """Every admitted function that takes texts alone, on a connection that may do anything."""
    path = tmp_path / "secret.csv"
    path.write_text(f"a\n{TRACE}\n")
    texts = [str(path), "select 40000 + 2", "from query('select 40000 + 2')", "40000 + 2", "$.a"]
    functions = classified()
    with duckdb.connect() as connection:
        assert connection.sql(f"from read_text('{path}')").fetchall()[0][1].endswith(f"{TRACE}\n")
        reached = 0
        for kind, name in sorted(functions.admitted):
            if kind == "syntax" or not name.isidentifier():
                continue
            for arguments in (*itertools.product(texts, repeat=1), *itertools.product(texts[:3], texts)):
                given = ", ".join("'" + text.replace("'", "''") + "'" for text in arguments)
                query = f"from {name}({given})" if kind == "table" else f"select {name}({given})"
                try:
                    rows = connection.execute(query).fetchmany(1000)
                except (duckdb.Error, RuntimeError, UnicodeDecodeError):
                    continue
                reached += 1
                assert TRACE not in str(rows), query
    assert reached > 1000
