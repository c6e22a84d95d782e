"""Every kind of answer carries the statements that were run for it: each runs again, and yields what is shown."""

from collections.abc import Callable

import duckdb
import pytest

from neurothek.queries.ask.answer import TabularAnswer
from neurothek.queries.ask.one_query import run_query
from neurothek.queries.ask.statements import ExecutedStatement, ask_records, filled, recorded
from neurothek.queries.compare.comparison import compare
from neurothek.queries.neuron.page import neuron_page
from neurothek.queries.search.by_likeness import alike
from neurothek.queries.search.by_word import search
from neurothek.queries.search.question import Question
from tests.support import tiny

ADDRESS = tiny.address((0, 0, 0))

ANSWERS: dict[str, Callable[[duckdb.DuckDBPyConnection], TabularAnswer]] = {
    "one word": lambda connection: search(connection, Question(words=("school",))),
    "words with a condition": lambda connection: search(
        connection, Question(words=("school", "the"), where="layer >= 0", suppresses=())
    ),
    "like a neuron": lambda connection: alike(connection, ADDRESS),
    "a neuron": lambda connection: neuron_page(connection, ADDRESS),
    "a neuron on another corpus": lambda connection: neuron_page(connection, ADDRESS, corpus="long"),
    "models": compare,
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_the_sql_of_an_answer_runs_as_it_stands(kind: str, full: duckdb.DuckDBPyConnection) -> None:
    answer = ANSWERS[kind](full)
    assert answer.statements
    assert answer.sql.count(";\n\n") == len(answer.statements) - 1
    for one in answer.statements:
        # Of another corpus than the shown one temporary rows are read, which are gone with the lease.
        if "asked_neuron_facts" not in one.sql:
            run_query(full, one.sql)


def test_the_neurons_of_a_search_are_those_of_its_sql(full: duckdb.DuckDBPyConnection) -> None:
    answer = search(full, Question(words=("school", "the"), where="layer >= 0", match_all=False))
    shown = answer.neurons.select("layer", "neuron").rows()
    yielded = [
        [(row["layer"], row["neuron"]) for row in frame.to_dicts()]
        for one in answer.statements
        if {"layer", "neuron", "z_sum"} <= set((frame := run_query(full, one.sql)).columns)
    ]
    assert shown
    assert shown in yielded


def test_what_is_asked_outside_is_not_recorded(full: duckdb.DuckDBPyConnection) -> None:
    ask_records(full, "models")
    with recorded() as outer:
        ask_records(full, "models")
        with recorded() as inner:
            ask_records(full, "models")
        ask_records(full, "models")
    ask_records(full, "models")
    assert (len(outer), len(inner)) == (2, 1)


def test_values_are_written_as_sql_reads_them(full: duckdb.DuckDBPyConnection) -> None:
    values = {"text": "it's $none", "none": None, "list": ["a", "b'"], "number": -1.5, "flag": True, "empty": []}
    query = "select $text as t, $none as n, $list as l, $number as f, $flag as b, $empty as e"
    (row,) = run_query(full, filled(query, values)).rows()
    assert row[:1] + row[2:] == ("it's $none", ["a", "b'"], -1.5, True, [])
    assert ExecutedStatement("select $n", {"n": 1}).sql == "select 1"
