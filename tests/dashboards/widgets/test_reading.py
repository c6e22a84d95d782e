"""What a page reads: nothing is leased before it is asked, and nothing is left open."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.problems import NotFound
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.widgets.reading import Reading


@pytest.fixture(scope="module")
def reader(full_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(full_path).reader() as connection:
        yield connection


def corpora(connection: duckdb.DuckDBPyConnection, model: str) -> set[str | None]:
    query = "select distinct corpus from neurons where model = ?"
    return {corpus for (corpus,) in connection.execute(query, [model]).fetchall()}


def test_another_corpus_is_told_of_until_the_page_is_done(reader: duckdb.DuckDBPyConnection) -> None:
    with Reading(reader, ["tiny-1m"], "long") as reading:
        asked = reading.connection()
        assert asked is reading.connection(), "it is leased once"
        assert corpora(asked, "tiny-1m") == {"long"}
        assert corpora(reading.shown_connection, "tiny-1m") == {"builtin"}
    with pytest.raises(duckdb.ConnectionException):
        asked.execute("select 1")
    assert corpora(reader, "tiny-1m") == {"builtin"}


def test_without_a_corpus_the_page_reads_as_it_is(reader: duckdb.DuckDBPyConnection) -> None:
    with Reading(reader, ["tiny-1m"], None) as reading:
        assert reading.connection() is reader
    assert corpora(reader, "tiny-1m") == {"builtin"}


def test_a_corpus_that_there_is_not_is_told_when_it_is_asked(reader: duckdb.DuckDBPyConnection) -> None:
    with Reading(reader, ["tiny-1m"], "lang") as reading, pytest.raises(NotFound):
        reading.connection()


def test_answers_are_told_apart_by_corpus_and_models(reader: duckdb.DuckDBPyConnection) -> None:
    keys = {
        Reading(reader, models, corpus).key
        for models, corpus in (
            (["a"], "one"),
            (["a"], "two"),
            (["a", "b"], "one"),
            (["b", "a"], "one"),
            (["a"], None),
            (["b"], None),
        )
    }
    # Of the shown corpora a statement says itself which models it is about.
    assert len(keys) == 5
    assert () in keys
