"""Queries that were refused or stopped: every statement has its reason, and every name is shown as it is."""

import duckdb
import pytest

from neurothek.queries.errors.refused_sql import (
    ConditionTooSlow,
    EmptyQuery,
    FactsOfShownCorpora,
    FunctionRefused,
    NotAQuery,
    NotOneQuery,
    OutsideTheWarehouse,
    OverLimit,
    QueryFailed,
    StoppedHalfway,
    UnknownFunction,
)
from tests.support.sentences import commands, sentence

NO_REASON = sentence(NotAQuery("SOMETHING NEW")).partition(" is refused because ")[2]


def test_every_statement_of_duckdb_is_refused_for_a_reason() -> None:
    """A kind that a newer release adds is refused as well, for doing more than read."""
    asks = {"SELECT", "INVALID", "MULTI", "RELATION", "EXTENSION", "LOGICAL_PLAN"}
    kinds = {name for name in duckdb.StatementType.__members__ if name not in asks}
    assert len(kinds) > 15
    without = set()
    for kind in kinds:
        said = sentence(NotAQuery(kind.replace("_", " ")))
        assert said.startswith(kind.replace("_", " "))
        if said.partition(" is refused because ")[2] == NO_REASON:
            without.add(kind)
    assert without <= {"VARIABLE_SET", "ANALYZE", "COPY_DATABASE", "MERGE_INTO"}


def test_an_empty_text_and_one_of_comments_are_told_apart() -> None:
    assert sentence(EmptyQuery("")) == sentence(EmptyQuery(" \n"))
    assert sentence(EmptyQuery("-- why")) != sentence(EmptyQuery(""))
    assert commands(EmptyQuery("")) == [["views"]]
    assert "3 statements" in sentence(NotOneQuery(3))


def test_a_function_is_told_with_the_reason() -> None:
    assert "getenv is refused because it is not safe" in sentence(FunctionRefused("getenv", "it is not safe"))


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("lenght", ["length", "abs"], "nearest: length"),
        ("zzz", ["abs"], "duckdb_functions()"),
        ("a\x1bb", [], "a\\x1bb"),
    ],
)
def test_an_unknown_function_is_told_with_the_nearest(name: str, known: list[str], said: str) -> None:
    assert said in sentence(UnknownFunction(name, known))


def test_names_and_texts_are_quoted() -> None:
    assert repr("a\nb.csv") in sentence(OutsideTheWarehouse("a\nb.csv"))
    assert repr("x > 'a'") in sentence(ConditionTooSlow("x > 'a'", 30))
    assert "long" in sentence(FactsOfShownCorpora("long"))


@pytest.mark.parametrize(("seconds", "said"), [(30.0, "30 s"), (0.5, "0.5 s")])
def test_seconds_have_no_zeros_behind_them(seconds: float, said: str) -> None:
    assert said in sentence(ConditionTooSlow("x", seconds))


def test_an_error_on_the_way_keeps_its_sentence() -> None:
    first = QueryFailed("too late")
    assert first.problem == "too late"
    halfway = sentence(StoppedHalfway(first, 12_345))
    assert halfway.startswith(str(first))
    assert "12,345 rows" in halfway
    assert sentence(OverLimit("took more than 3 s", "--seconds")).endswith("--seconds")
