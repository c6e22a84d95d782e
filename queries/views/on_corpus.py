"""A reader whose views tell of the corpus that was asked for, as though it were the shown one of every model."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb

from neurothek.catalog.publishing.summaries import facts_elsewhere
from neurothek.catalog.store.connections import close, keyboard_interrupts, undisturbed
from neurothek.queries.errors.refused_sql import facts_of_shown_corpora
from neurothek.queries.names.models import choose_corpora, choose_models
from neurothek.queries.views.install import define_also, views_that_read

FACTS = "store.neuron_facts"
_CORPORA = "measured_corpora"
_OWN_FACTS = "asked_neuron_facts"
_OWN_CORPORA = "asked_measured_corpora"
_READS_FACTS = re.compile(r'"schema_name":"store","table_name":"neuron_facts"', re.IGNORECASE)
_NONE = -1
"""No corpus has this number."""


@contextmanager
def on_corpus(
    connection: duckdb.DuckDBPyConnection, models: Sequence[str], corpus: str | None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Lease a connection to the same file on which views tell of models on the corpus called `corpus`.

    Temporary views with the same text hide those of the file. A model that was not measured on the corpus has no rows
    that depend on it, nor do other models. Tables of the store stay what they are.

    Args:
        connection: a reader, which stays as it is.
        models: names of the models; none: all.
        corpus: None for the shown corpora; where it is the shown one of all the models, it is the reader itself.
    """
    if corpus is None:
        yield connection
        return
    chosen_models = choose_models(connection, models)
    chosen = choose_corpora(connection, [model.name for model in chosen_models], corpus)
    if all(
        chosen[model.name].is_shown if model.name in chosen else not model.is_measured_on_text
        for model in chosen_models
    ):
        yield connection
        return
    places = {
        model.model_id: chosen[model.name].corpus_id if model.name in chosen else _NONE for model in chosen_models
    }
    # Temporary relations are one connection's own, and gone with it.
    cursor = connection.cursor()
    try:
        with keyboard_interrupts(cursor):
            define_also(cursor, connection)
            _show(cursor, places)
            yield cursor
    finally:
        with undisturbed():
            close(cursor)


def of_facts(text: str) -> str:
    """A statement that reads the table of flat rows, for a connection that `on_corpus` leased."""
    return text.replace(FACTS, _OWN_FACTS)


def refuse_facts(connection: duckdb.DuckDBPyConnection, query: str, corpus: str) -> None:
    """Refuse a query of a corpus that reads the table of flat rows by its name: it holds the shown corpora alone."""
    # The query is only parsed here: nobody has admitted it yet, and binding would run what it calls.
    ((tree,),) = connection.execute("select json_serialize_sql($query::varchar)::varchar", {"query": query}).fetchall()
    if _READS_FACTS.search(tree):
        raise facts_of_shown_corpora(corpus)


def _show(connection: duckdb.DuckDBPyConnection, places: dict[int, int]) -> None:
    """Put temporary relations before the file's views."""
    is_shown = "coalesce(map_extract_value(map($models::integer[], $corpora::integer[]), model_id) = corpus_id, false)"
    connection.execute(
        f"create temp table {_OWN_CORPORA} as select * replace ({is_shown} as is_shown) from {_CORPORA}",
        {"models": list(places.keys()), "corpora": list(places.values())},
    )
    # The reader's own views may be temporary ones already.
    connection.execute(f"create or replace temp view {_CORPORA} as from {_OWN_CORPORA}")
    facts_elsewhere(connection, _OWN_FACTS, places)
    for view in views_that_read(_CORPORA, FACTS):
        connection.execute(f"create or replace temp view {view.name} as\n{of_facts(view.query)}")
