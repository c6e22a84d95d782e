"""What the editor completes is what a query may name: every view and column, admitted functions, words of SQL."""

from collections import defaultdict

import duckdb

from neurothek.dashboards.console.editor import KEYWORDS, TYPES, completions
from neurothek.queries.ask.parse_tree import classified
from neurothek.queries.views.install import all_views


def captions(meta: str) -> dict[str, str]:
    """Names of a kind, and what is inserted for them."""
    return {one["caption"]: one["value"] for one in completions() if one["meta"] == meta}


def before(shorter: str, longer: str) -> bool:
    score = {one["caption"]: one["score"] for one in completions()}
    return bool(score[shorter] > score[longer])


def test_every_view_is_there_with_what_a_row_is() -> None:
    views = {one["caption"]: one for one in completions() if one["meta"] == "view"}
    assert set(views) == set(all_views())
    for name, one in views.items():
        assert (one["value"], one["docText"]) == (name, all_views()[name].grain)


def test_every_column_is_there_once_with_its_views_and_what_it_means() -> None:
    holding = defaultdict(list)
    for name in sorted(all_views()):
        for column in all_views()[name].columns:
            holding[column].append(name)
    for column, where in holding.items():
        found = [one for one in completions() if one["caption"] == column]
        if column in all_views():
            continue
        (one,) = [one for one in found if one["meta"].split(" +")[0] in all_views()]
        more = f" +{len(where) - 1}" if len(where) > 1 else ""
        assert one["meta"] == f"{where[0]}{more}"
        assert one["docText"] == all_views()[where[0]].columns[column] != ""


def test_functions_are_those_that_a_query_may_call_by_name() -> None:
    functions = captions("function")
    assert {"avg", "list_transform", "row_number", "unnest", "quantile_cont", "lower"} <= set(functions)
    assert set(functions) <= classified().names()
    assert all(value == f"{name}(" for name, value in functions.items())
    for refused in ("read_csv", "getenv", "+", "read_text"):
        assert refused not in functions


def test_of_names_that_match_alike_the_shorter_comes_first_and_a_view_before_its_column() -> None:
    assert before("neurons", "neuron")
    assert before("neurons", "neurons_by_model")
    assert before("kurtosis", "kurtosis_pop")


def test_words_are_those_of_duckdb() -> None:
    with duckdb.connect() as connection:
        known = {word for (word,) in connection.execute("select keyword_name from duckdb_keywords()").fetchall()}
        # Of a type it says whether there is one.
        for name in TYPES:
            of = {"list": "integer[]", "map": "map(integer, integer)", "struct": "struct(a integer)"}.get(name, name)
            assert connection.execute(f"select cast(null as {of})").fetchall() == [(None,)]
    assert set(KEYWORDS) <= known
    assert len(set(KEYWORDS)) == len(KEYWORDS)
    assert set(captions("keyword")) == set(KEYWORDS)
    for statement in ("insert", "update", "delete", "create", "drop"):
        assert statement not in captions("keyword")
