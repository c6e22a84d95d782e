"""What the editor completes is what a query may name: every view and column, admitted functions, words of SQL."""

import duckdb

from dashboards.console.words import KEYWORDS, TYPES, words
from queries.ask.functions import classified
from queries.views.install import all_views


def test_every_view_is_there_with_its_columns_and_what_they_mean() -> None:
    found = words()["views"]
    assert set(found) == set(all_views())
    for name, view in all_views().items():
        assert found[name] == {"grain": view.grain, "columns": dict(view.columns)}
        assert all(found[name]["columns"].values())


def test_functions_are_those_that_a_query_may_call_by_name() -> None:
    functions = dict(words()["functions"])
    assert {"avg", "list_transform", "row_number", "unnest", "quantile_cont", "lower"} <= set(functions)
    assert set(functions) <= classified().names()
    for refused in ("read_csv", "getenv", "+", "read_text"):
        assert refused not in functions


def test_words_are_those_of_duckdb() -> None:
    with duckdb.connect() as connection:
        known = {word for (word,) in connection.execute("select keyword_name from duckdb_keywords()").fetchall()}
        # Of a type it says whether there is one.
        for name in TYPES:
            of = {"list": "integer[]", "map": "map(integer, integer)", "struct": "struct(a integer)"}.get(name, name)
            assert connection.execute(f"select cast(null as {of})").fetchall() == [(None,)]
    assert set(KEYWORDS) <= known
    assert len(set(KEYWORDS)) == len(KEYWORDS)
