"""Conditions on neurons: one expression over known columns, and nothing else."""

import duckdb
import pytest

from queries.errors import BadPredicate, UnknownColumn
from queries.predicates import FUNCTIONS, MOST_CHARACTERS, PLACE, check_predicate, insert_predicate
from queries.repeats import PartUnknown
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
    "len(repeat(address, 100000000)) > 1": "calls repeat",
    "len(range(400000000)) > 1": "calls range",
    "Format('{:>1000000000}', address) = 'a'": "calls format",
    "lpad(address, 1000000000, ' ') = 'a'": "calls lpad",
    "replace(replace(address, '', 'aaaa'), 'a', 'aaaa') = 'a'": "calls replace",
    "list_reduce(top_tokens, lambda a, b: a || a || b) = 'a'": "calls list_reduce, row",
    "len(list_transform(list_transform(top_tokens, lambda a: a || a), lambda a: a || a)) > 1": "has several lambdas",
    "len(list_filter(top_tokens, lambda a: len(list_filter(top_tokens, lambda b: b > a)) > 1)) > 1": "has several",
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
    with pytest.raises(BadPredicate, match=f"{GREEDY[condition]}.*, which only the command `sql` may"):
        check_predicate(condition, [*COLUMNS, "a", "b"])


def test_a_comprehension_is_no_lambda() -> None:
    with pytest.raises(BadPredicate, match="holds a list comprehension, in whose place list_filter takes a lambda"):
        check_predicate("len([t for t in top_tokens if t > 'a']) > 3", COLUMNS)


def test_a_condition_has_an_end() -> None:
    longest = "layer" + " " * (MOST_CHARACTERS - 9) + " > 1"
    check_predicate(longest, COLUMNS)
    with pytest.raises(BadPredicate, match=r"condition 'layer +\.\.\.' has 1,001 characters, of which at most 1,000"):
        check_predicate(f"{longest}0", COLUMNS)


def test_functions_that_are_allowed_exist() -> None:
    """DuckDB knows all of them: a name that it does not know would allow what it is one day given to."""
    with duckdb.connect() as connection:
        known = {name for (name,) in connection.execute("select function_name from duckdb_functions()").fetchall()}
    # Parsed as what they stand for.
    assert FUNCTIONS - known <= {"ifnull", "nullif", "position", "isnull"}


def test_a_statement_without_a_place_for_it_is_refused() -> None:
    with pytest.raises(PartUnknown, match="the condition of --where"):
        insert_predicate("from neurons", "layer = 1", COLUMNS)
