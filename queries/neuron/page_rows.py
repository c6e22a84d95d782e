"""The rows that a neuron's page always reads, and the texts of their tokens, asked side by side."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

import duckdb

from neurothek.queries.ask.statements import ask_records, records, statement
from neurothek.queries.ask.threads import Aside
from neurothek.queries.names.corpora import MeasuredCorpus, chosen_corpora, measured_corpora
from neurothek.queries.names.neurons import NeuronAddress
from neurothek.queries.names.tokens import Row, context_ids, first_texts, known_tokens, listed_tokens
from neurothek.queries.views.labels import labelled
from neurothek.queries.views.on_corpus import of_facts

_OF_TEXT = ("contexts", "windows", "triggers", "positions", "ngrams", "domains")
"""What a page says about a corpus."""

_Asked = Future[list[Row]]


@dataclass(frozen=True)
class NeuronRows:
    """What a neuron's page is made of.

    Attributes:
        measured: the corpus that it is about; None before any text was measured.
        is_shown: whether that is the shown one of its model.
        facts: the neuron's row of the view `neurons` on that corpus.
        tokens: a row for each token that it lists; see `listed`.
        of: its rows of the statements `neuron_NAME`, by NAME and in no order; none of a text without a corpus. Those of
            contexts hold the ids around the places; those among them that have a band are `windows`.
        texts: texts of the tokens in all these rows.
        counts: how often these tokens occur in that corpus; None without one.
        special: texts of those tokens that stand for no text.
    """

    measured: MeasuredCorpus | None
    is_shown: bool
    facts: Mapping[str, Any]
    tokens: Sequence[Row]
    of: Mapping[str, Sequence[Row]]
    texts: Mapping[int, str]
    counts: Mapping[int, int] | None
    special: Sequence[str] = ()


def neuron_rows(
    connection: duckdb.DuckDBPyConnection,
    neuron: NeuronAddress,
    corpus: str | None,
    shown: duckdb.DuckDBPyConnection,
    corpora: Sequence[MeasuredCorpus] | None = None,
) -> NeuronRows:
    """The rows of one neuron, on its model's shown corpus or on the one called `corpus`.

    Args:
        connection: a reader.
        neuron: which one.
        corpus: name of a corpus; None: the shown one.
        shown: a connection on which views tell of that corpus: the reader itself, or one that `on_corpus` leased.
        corpora: those that its model was measured on, where somebody asked for them before.
    """
    place = {"model_id": neuron.model_id, "layer": neuron.layer, "neuron": neuron.neuron}
    with Aside(connection) as aside:
        asked = {"lists": _ask(aside, "lists", place), "facts": _ask_views(aside, shown, "neuron_facts", place)}
        corpora = measured_corpora(connection, [neuron.model]) if corpora is None else corpora
        usual = chosen_corpora(corpora).get(neuron.model)
        measured = usual if corpus is None else chosen_corpora(corpora, corpus).get(neuron.model)
        if measured is not None:
            asked |= _ask_of_text(aside, shown, place, measured.corpus_id)
        asked["has"] = _ask_views(aside, shown, "neuron_has", place)
        lists = asked["lists"].result()
        tokens = listed_tokens(lists)
        corpus_id = None if measured is None else measured.corpus_id
        token_ids = _token_ids(tokens, asked)
        known = known_tokens(connection, neuron.of.tokenizer_id, corpus_id, token_ids)
        of = {name: asked[name].result() if name in asked else [] for name in (*asked, *_OF_TEXT)}
        of |= {"contexts": _with_band(of["contexts"], has=False), "windows": _with_band(of["contexts"], has=True)}
    (flat,) = of["facts"]
    names = {one.corpus_id: one.corpus for one in corpora}
    facts = labelled(flat | first_texts(lists, known.texts), neuron.of, names.get(flat["corpus_id"]))
    return NeuronRows(measured, measured == usual, facts, tokens, of, known.texts, known.counts, known.special)


def _ask_of_text(
    aside: Aside, shown: duckdb.DuckDBPyConnection, place: Mapping[str, Any], corpus_id: int
) -> dict[str, _Asked]:
    """First what takes longest: it holds tokens, whose texts are asked for next."""
    parameters = {**place, "corpus_id": corpus_id}
    return {
        "contexts": aside.ask(partial(_contexts, parameters=parameters)),
        **{name: _ask(aside, name, parameters) for name in ("triggers", "positions", "domains")},
        "ngrams": _ask_views(aside, shown, "neuron_ngrams", parameters),
    }


def _ask(aside: Aside, name: str, parameters: Mapping[str, Any]) -> _Asked:
    return aside.ask(partial(ask_records, name=f"neuron_{name}", parameters=parameters))


def _ask_views(aside: Aside, shown: duckdb.DuckDBPyConnection, name: str, parameters: Mapping[str, Any]) -> _Asked:
    """Ask what depends on the shown corpus; only a connection that `on_corpus` leased knows another one."""
    if shown is aside.connection:
        return aside.ask(partial(ask_records, name=name, parameters=parameters))
    answered = _Asked()
    answered.set_result(records(shown, of_facts(statement(name)), parameters))
    return answered


def _contexts(connection: duckdb.DuckDBPyConnection, parameters: Mapping[str, Any]) -> list[Row]:
    """Places and windows with what is around them, in two questions: DuckDB plans one of both for longer."""
    rows = ask_records(connection, "neuron_contexts", parameters)
    places = {
        "corpus_id": parameters["corpus_id"],
        "sequence_ids": [row["sequence_id"] for row in rows],
        "positions": [row["position"] for row in rows],
        "n_before": [row["n_before"] for row in rows],
        "n_after": [row["n_after"] for row in rows],
    }
    texts = {_place(row): row for row in ask_records(connection, "text_windows", places)}
    with_texts = ((row, texts.get(_place(row))) for row in rows)
    return [row | text for row, text in with_texts if text is not None]


def _place(row: Row) -> tuple[int, int, int, int]:
    return row["sequence_id"], row["position"], row["n_before"], row["n_after"]


def _with_band(rows: Sequence[Row], *, has: bool) -> list[Row]:
    return [row for row in rows if (row["band"] is not None) == has]


def _token_ids(tokens: Sequence[Row], asked: Mapping[str, _Asked]) -> list[int]:
    """Ids of the tokens that are shown anywhere on the page."""
    contexts, triggers = (asked[name].result() if name in asked else [] for name in ("contexts", "triggers"))
    in_triggers = [token_id for row in triggers for token_id in row["token_ids"]]
    return [*(row["token_id"] for row in tokens), *context_ids(contexts), *in_triggers]
