"""The rows of a neuron's page: of the corpus that was asked for, with a text for every token that is shown."""

import duckdb
import pytest

from neurothek.catalog.problems import NotFound
from neurothek.queries.names.models import find_neuron
from neurothek.queries.neuron.page_rows import NeuronRows, neuron_rows
from neurothek.queries.views.on_corpus import on_corpus
from tests.support.tiny import MODELS, TEXTS, Neuron, address, neurons_of
from tests.support.warehouse import hand_made

MADE = hand_made()


def rows_of(connection: duckdb.DuckDBPyConnection, neuron: Neuron, corpus: str | None = None) -> NeuronRows:
    with on_corpus(connection, [MODELS[neuron[0]].name], corpus) as shown:
        return neuron_rows(connection, find_neuron(connection, address(neuron)), corpus, shown)


def occurrences(corpus_id: int) -> dict[int, int]:
    counts: dict[int, int] = {}
    for row in MADE.rows["token_counts"]:
        if row["corpus_id"] == corpus_id:
            counts[row["token_id"]] = counts.get(row["token_id"], 0) + row["n_occurrences"]
    return counts


@pytest.mark.parametrize(
    ("neuron", "corpus", "corpus_id", "is_shown"),
    [
        ((0, 0, 0), None, 0, True),
        ((0, 0, 0), "builtin", 0, True),
        ((0, 1, 2), "long", 1, False),
        ((1, 2, 3), None, 1, True),
        ((1, 2, 3), "builtin", 0, False),
        ((3, 1, 1), None, 2, True),
    ],
)
def test_rows_are_of_the_corpus_that_was_asked_for(
    full: duckdb.DuckDBPyConnection, neuron: Neuron, corpus: str | None, corpus_id: int, is_shown: bool
) -> None:
    rows = rows_of(full, neuron, corpus)
    assert rows.measured is not None
    assert (rows.measured.corpus_id, rows.is_shown) == (corpus_id, is_shown)
    assert rows.facts["address"] == address(neuron)
    assert rows.facts["corpus"] == rows.measured.corpus
    mine = {"model_id": neuron[0], "layer": neuron[1], "neuron": neuron[2], "corpus_id": corpus_id}
    for name, table in (("contexts", "contexts"), ("domains", "activity"), ("positions", "positions")):
        stored = [row for row in MADE.rows[table] if mine.items() <= row.items()]
        assert len(rows.of[name]) == len(stored), name
    assert rows.counts == {
        token: n for token, n in occurrences(corpus_id).items() if token in {row["token_id"] for row in rows.tokens}
    }


def test_contexts_hold_what_stands_around_their_places(full: duckdb.DuckDBPyConnection) -> None:
    sequences = {
        row["sequence_id"]: row["tokens"] for row in MADE.rows["sequences"] if row["corpus_id"] == MADE.shown[0]
    }
    n_seen = 0
    for neuron in neurons_of(0):
        for row in rows_of(full, neuron).of["contexts"]:
            tokens, position = sequences[row["sequence_id"]], row["position"]
            assert row["token_id"] == tokens[position]
            assert row["ids_before"] == tokens[max(0, position - len(row["ids_before"])) : position]
            assert row["ids_after"] == tokens[position + 1 : position + 1 + len(row["ids_after"])]
            n_seen += 1
    assert n_seen > 20


@pytest.mark.parametrize("neuron", [(0, 0, 3), (3, 1, 1), (4, 0, 3)])
def test_every_token_that_is_shown_has_its_text(full: duckdb.DuckDBPyConnection, neuron: Neuron) -> None:
    rows = rows_of(full, neuron)
    texts = TEXTS[MODELS[neuron[0]].tokenizer_id]
    around = [one for row in rows.of["contexts"] for one in (*row["ids_before"], row["token_id"], *row["ids_after"])]
    shown = {*around, *(row["token_id"] for row in rows.tokens)}
    assert rows.texts == {token: texts[token] for token in shown}


def test_before_any_text_there_is_no_corpus_and_nothing_of_one(full: duckdb.DuckDBPyConnection) -> None:
    rows = rows_of(full, (4, 0, 0))
    assert (rows.measured, rows.counts, rows.facts["corpus"]) == (None, None, None)
    assert not any(rows.of[name] for name in ("contexts", "positions", "domains", "triggers", "ngrams"))
    assert rows.tokens


def test_a_corpus_that_the_model_did_not_read_is_told(full: duckdb.DuckDBPyConnection) -> None:
    neuron = find_neuron(full, "gelu-1m/L0N0")
    with pytest.raises(NotFound, match="there are: builtin"):
        neuron_rows(full, neuron, "long", full)
