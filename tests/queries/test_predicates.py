"""Conditions on neurons: one expression over known columns, and nothing else."""

import duckdb
import pytest

from queries.errors import BadPredicate, UnknownColumn
from queries.predicates import FUNCTIONS, PLACE, check_predicate, insert_predicate
from queries.statement import statement
from queries.views import view

COLUMNS = list(view("neurons").columns)

GOOD = (
    "frequency < 0.01",
    "frequency between 0.1 and 0.9 and layer in (1, 2)",
    "not is_dead or is_dead is null",
    "neurons.kurtosis > 3",
    "abs(skewness) > 1 and address like 'tiny-1m/%'",
    "list_contains(top_tokens, ' school')",
    "top_tokens[1] = ' school'",
    "len(list_filter(top_tokens, lambda t: starts_with(t, ' '))) > 3",
    "case when is_dead then false else frequency > 0.5 end",
    "true -- everything",
    "FREQUENCY > .5",
    "coalesce(frequency, 0)::varchar like '0.1%' and nullif(layer, 2) is not null",
    "address || model || 'x' <> lower(address)",
    "model = any(['tiny-1m', 'tiny-2m']) and ' school' in top_tokens",
)
GREEDY = {
    "len(repeat(address, 100000000)) > 1": "repeat",
    "len(range(400000000)) > 1": "range",
    "len([i for i in range(3) if i > 1]) > 1": "range",
    "Format('{:>1000000000}', address) = 'a'": "format",
    "lpad(address, 1000000000, ' ') = 'a'": "lpad",
    "replace(replace(address, '', 'aaaa'), 'a', 'aaaa') = 'a'": "replace",
    "list_reduce(top_tokens, lambda a, b: a || a || b) = 'a'": "list_reduce",
    "len(list_transform(list_transform(top_tokens, lambda a: a || a), lambda a: a || a)) > 1": "several lambdas",
    "len(list_filter(top_tokens, lambda a: list_contains(list_transform(top_tokens, lambda b: b), a))) > 1": "several",
}

BAD = (
    "",
    "frequency <",
    "1 = 1; drop view neurons",
    "1 = 1) or (select 1",
    "layer in (select 1)",
    "exists (select 1 from store.models)",
    "select 1",
    "drop table x",
    "insert into x values (1)",
    "frequency > ?",
    "frequency > $1",
    "true order by layer",
    "pragma version",
)


@pytest.mark.parametrize("predicate", GOOD)
def test_good(predicate: str) -> None:
    check_predicate(predicate, COLUMNS)


@pytest.mark.parametrize("predicate", BAD)
def test_bad(predicate: str) -> None:
    with pytest.raises(BadPredicate):
        check_predicate(predicate, COLUMNS)


@pytest.mark.parametrize(
    ("predicate", "nearest"),
    [("frequenzy < 1", "frequency"), ("promotions.score > 1", "score_sd"), ("layr = 1 and depth > 0", "layer")],
)
def test_unknown_columns_come_with_the_nearest(predicate: str, nearest: str) -> None:
    with pytest.raises(UnknownColumn, match=nearest):
        check_predicate(predicate, COLUMNS)


def test_the_condition_takes_its_place() -> None:
    text = statement("search")
    assert text.count(PLACE) == 1
    assert insert_predicate(text, None, COLUMNS) == text
    assert "(layer = 1 -- one\n)" in insert_predicate(text, "layer = 1 -- one", COLUMNS)


@pytest.mark.parametrize("condition", GREEDY)
def test_what_may_take_any_amount_of_memory_is_left_to_sql(condition: str) -> None:
    with pytest.raises(BadPredicate, match=f"calls .*{GREEDY[condition]}.*, which only `neurothek sql` may"):
        check_predicate(condition, [*COLUMNS, "i", "a", "b"])


def test_functions_that_are_allowed_exist() -> None:
    """DuckDB knows all of them: a name that it does not know would allow what it is one day given to."""
    with duckdb.connect() as connection:
        known = {name for (name,) in connection.execute("select function_name from duckdb_functions()").fetchall()}
    # Parsed as what they stand for.
    assert FUNCTIONS - known <= {"ifnull", "nullif", "position", "isnull"}
