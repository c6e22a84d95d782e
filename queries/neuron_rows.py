"""The rows that a neuron's page always reads, and the texts of their tokens, asked side by side."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

import duckdb

from queries.addresses import NeuronAddress
from queries.aside import Aside
from queries.corpora import MeasuredCorpus, choose_corpora
from queries.neuron_tokens import Row, context_ids, counts_of, first_texts, listed, texts_of
from queries.rows import facts_of
from queries.statement import ask_records

_OF_TEXT = ("contexts", "triggers", "positions", "detection", "domains")
"""What a page asks of a corpus: first what holds tokens, whose texts are asked for next."""

_Asked = Future[list[Row]]


@dataclass(frozen=True)
class NeuronRows:
    """What a neuron's page is made of.

    Attributes:
        measured: the corpus that it is about; None before any text was measured.
        is_shown: whether that is the shown one of its model.
        facts: the neuron's row of the view `neurons`, which is about the model's shown corpus.
        tokens: a row for each token that it lists; see `listed`.
        of: its rows of the statements `neuron_NAME`, by NAME and in no order; none of a text without a corpus.
        texts: texts of the tokens in all these rows.
        counts: how often the listed tokens occur in the shown corpus; None without one.
    """

    measured: MeasuredCorpus | None
    is_shown: bool
    facts: Mapping[str, Any]
    tokens: Sequence[Row]
    of: Mapping[str, Sequence[Row]]
    texts: Mapping[int, str]
    counts: Mapping[int, int] | None


def neuron_rows(connection: duckdb.DuckDBPyConnection, neuron: NeuronAddress, corpus: str | None) -> NeuronRows:
    """The rows of one neuron, on its model's shown corpus or on the one called `corpus`.

    Raises:
        UnknownCorpus: its model was not measured on such a corpus.
    """
    place = {"model_id": neuron.model_id, "layer": neuron.layer, "neuron": neuron.neuron}
    with Aside(connection) as aside:
        # What takes longest comes first.
        facts = aside.ask(partial(facts_of, neuron=(neuron.model_id, neuron.layer, neuron.neuron)))
        asked = {"lists": _ask(aside, "lists", place)}
        shown = choose_corpora(connection, [neuron.model]).get(neuron.model)
        measured = shown if corpus is None else choose_corpora(connection, [neuron.model], corpus).get(neuron.model)
        if measured is not None:
            asked |= {name: _ask(aside, name, {**place, "corpus_id": measured.corpus_id}) for name in _OF_TEXT}
        asked["has"] = _ask(aside, "has", place)
        lists = asked["lists"].result()
        tokens = listed(lists)
        counts = counts_of(connection, None if shown is None else shown.corpus_id, (row["token_id"] for row in tokens))
        texts = texts_of(connection, neuron.tokenizer_id, _token_ids(tokens, asked))
        of: dict[str, list[Row]] = {name: [] for name in _OF_TEXT}
        of |= {name: one.result() for name, one in asked.items()}
        flat = facts.result() | first_texts(lists, texts)
        return NeuronRows(measured, measured == shown, flat, tokens, of, texts, counts)


def _ask(aside: Aside, name: str, parameters: Mapping[str, Any]) -> _Asked:
    return aside.ask(partial(ask_records, name=f"neuron_{name}", parameters=parameters))


def _token_ids(tokens: Sequence[Row], asked: Mapping[str, _Asked]) -> list[int]:
    """Ids of the tokens that are shown anywhere on the page."""
    contexts, triggers = (asked[name].result() if name in asked else [] for name in ("contexts", "triggers"))
    in_triggers = [token_id for row in triggers for token_id in row["token_ids"]]
    return [*(row["token_id"] for row in tokens), *context_ids(contexts), *in_triggers]
