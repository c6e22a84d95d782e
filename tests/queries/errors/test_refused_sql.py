"""Queries that were refused or stopped: every statement has its reason, and every name is shown as it is."""

import duckdb
import pytest

from neurothek.queries.errors.refused_sql import (
    empty_query,
    facts_of_shown_corpora,
    failed_query,
    not_a_question,
    outside_the_warehouse,
    refused_function,
    several_statements,
    stopped_halfway,
    stopped_query,
    unknown_function,
)
from tests.support.sentences import commands, sentence

NO_REASON = sentence(not_a_question("SOMETHING NEW")).partition(" is refused because ")[2]


def test_every_statement_of_duckdb_is_refused_for_a_reason() -> None:
    """A kind that a newer release adds is refused as well, for doing more than read."""
    asks = {"SELECT", "INVALID", "MULTI", "RELATION", "EXTENSION", "LOGICAL_PLAN"}
    kinds = {name for name in duckdb.StatementType.__members__ if name not in asks}
    assert len(kinds) > 15
    without = set()
    for kind in kinds:
        said = sentence(not_a_question(kind.replace("_", " ")))
        assert said.startswith(kind.replace("_", " "))
        if said.partition(" is refused because ")[2] == NO_REASON:
            without.add(kind)
    assert without <= {"VARIABLE_SET", "ANALYZE", "COPY_DATABASE", "MERGE_INTO"}


def test_an_empty_text_and_one_of_comments_are_told_apart() -> None:
    assert sentence(empty_query("")) == sentence(empty_query(" \n"))
    assert sentence(empty_query("-- why")) != sentence(empty_query(""))
    assert commands(empty_query("")) == [["views"]]
    assert "3 statements" in sentence(several_statements(3))


def test_a_function_is_told_with_the_reason() -> None:
    assert "getenv is refused because it is not safe" in sentence(refused_function("getenv", "it is not safe"))


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("lenght", ["length", "abs"], "nearest: length"),
        ("zzz", ["abs"], "duckdb_functions()"),
        ("a\x1bb", [], "a\\x1bb"),
    ],
)
def test_an_unknown_function_is_told_with_the_nearest(name: str, known: list[str], said: str) -> None:
    assert said in sentence(unknown_function(name, known))


def test_names_and_texts_are_quoted() -> None:
    assert repr("a\nb.csv") in sentence(outside_the_warehouse("a\nb.csv"))
    assert "long" in sentence(facts_of_shown_corpora("long"))


def test_an_error_on_the_way_keeps_its_sentence() -> None:
    first = failed_query("too late")
    assert first.why == "too late"
    halfway = sentence(stopped_halfway(first, 12_345))
    assert halfway.startswith(str(first))
    assert "12,345 rows" in halfway
    assert sentence(stopped_query("took more than 3 s", "--seconds")).endswith("--seconds")
