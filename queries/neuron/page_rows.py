"""The rows that a neuron's page always reads, and the texts of their tokens, asked side by side."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

import duckdb

from neurothek.catalog.store.connections import close, interrupted_by_keyboard, undisturbed
from neurothek.queries.ask.statements import records, statement
from neurothek.queries.names.models import MeasuredCorpus, NeuronAddress, chosen_corpora, measured_corpora
from neurothek.queries.names.words import Row, context_ids, first_texts, known_tokens, listed_tokens
from neurothek.queries.neuron.reads import read_tokens
from neurothek.queries.views.labels import labelled
from neurothek.queries.views.on_corpus import of_facts

_NEURON_FACTS = """\
-- What one neuron's labels are made of, without its lists, whose ids are read elsewhere.
select * exclude (top_tokens, bottom_tokens) rename (set_id as model_id),
from store.neuron_facts
where set_id = $model_id and layer = $layer and neuron = $neuron
"""

_NEURON_READS = """\
-- What the key of one neuron reads, or its gate and its up projection, as ids.
select
    reader::varchar as reader,
    score_mean,
    score_sd,
    top_token_ids,
    top_scores,
    bottom_token_ids,
    bottom_scores,
from store.key_projections
where set_id = $model_id and layer = $layer and neuron = $neuron
order by reader
"""

_NEURON_TRIGGERS = """\
-- The n-grams that one neuron is active on most often, on one corpus, as ids.
select n, rank, token_ids, n_active, n_occurrences, score, z_score, rank_from_bottom,
from store.triggers
where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
"""

NEURON_POSITIONS = """\
-- How one neuron's frequency depends on the position, over all of a corpus and by domain.
select
    positions.domain, positions.n_sequences, positions.mutual_information, positions.mutual_information_corrected,
    positions.first_position, positions.counts_64, positions.counts,
    coalesce(runs.parameters like '%"activation_rule": "|m|%', false) as counts_strong,
from store.positions as positions
left join store.runs as runs on runs.run_id = positions.run_id
where
    positions.set_id = $model_id
    and positions.corpus_id = $corpus_id
    and positions.layer = $layer
    and positions.neuron = $neuron
"""

_NEURON_DOMAINS = """\
-- How one neuron fires on each domain of a corpus.
select
    domain,
    n_positions as n_tokens_seen,
    n_active,
    n_active::double / nullif(n_positions, 0) as frequency,
    activation_sum / nullif(n_positions, 0) as mean_activation,
    activation_min::double as activation_min,
    activation_max::double as activation_max,
    first_active,
from store.activity
where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
"""

_NEURON_POLES = """\
-- How often and how strongly one neuron's coefficient has which sign, and its gate and up projection which signs.
select
    pole::varchar as name,
    sum(n_active)::bigint as n_active,
    sum(n_strong)::bigint as n_strong,
    sum(abs_sum) as abs_sum,
    max(largest)::double as largest,
from store.pole_activity
where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
group by pole
union all
select gate_case::varchar as name, n_positions as n_active, null as n_strong, abs_sum, null as largest,
from store.gate_cases
where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
"""

_NEURON_STRENGTH = """\
-- How sparse one neuron is without a threshold, where strong begins, and which share of its FFN's output it has.
select
    sums.abs_sum * sums.abs_sum / nullif(sums.n_positions * sums.square_sum, 0) as effective_frequency,
    contributions.root_mean_square::double as root_mean_square,
    contributions.contribution_mean, contributions.contribution_max::double as contribution_max,
    contributions.contribution_max_later::double as contribution_max_later,
from (
    select
        sum(activation_abs_sum) as abs_sum, sum(activation_square_sum) as square_sum,
        sum(n_positions)::double as n_positions,
    from store.activity
    where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
) as sums
left join store.contributions as contributions
    on
        contributions.set_id = $model_id
        and contributions.corpus_id = $corpus_id
        and contributions.layer = $layer
        and contributions.neuron = $neuron
"""

_NEURON_POLE_CONTEXTS = """\
-- Where one neuron is strongest at each sign of its coefficient.
select
    pole::varchar as pole,
    rank,
    activation::double as activation,
    sequence_id,
    position,
    12 as n_before,
    6 as n_after,
from store.pole_contexts
where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
"""

_TEXT_WINDOWS = """\
-- Ids around some positions of a corpus, at most as many before and after each as are asked for.
select
    asked.sequence_id,
    asked.position,
    asked.n_before,
    asked.n_after,
    sequences.domain,
    sequences.tokens[greatest(asked.position - asked.n_before + 1, 1):asked.position] as ids_before,
    sequences.tokens[asked.position + 1] as token_id,
    sequences.tokens[asked.position + 2:asked.position + 1 + asked.n_after] as ids_after,
from (
    select
        unnest($sequence_ids::integer[]) as sequence_id,
        unnest($positions::integer[]) as position,
        unnest($n_before::integer[]) as n_before,
        unnest($n_after::integer[]) as n_after,
) as asked
inner join store.sequences as sequences on sequences.sequence_id = asked.sequence_id
where sequences.corpus_id = $corpus_id
"""

T = TypeVar("T")

_MOST_THREADS = 3
"""Beside the caller's own; more wait for the same disk and for Python."""

_RETRY_SECONDS = 0.05

_INTERRUPTING_SECONDS = 5.0
"""Far more than it takes."""


class Aside:
    """Asks questions of a connection while its owner asks others: a context, at whose end none is left open.

    A question is given a connection of its own to ask with. Leaving the context waits for those that were asked; an
    error that leaves it, Ctrl-C as well, ends them first.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self._threads = ThreadPoolExecutor(_MOST_THREADS)
        self._questions: list[tuple[Future[Any], duckdb.DuckDBPyConnection]] = []
        self._hearing = ExitStack()

    def __enter__(self) -> Self:
        """Nothing was asked yet."""
        # Ctrl-C may strike as __exit__ begins, and then nothing of it runs: another thread ends the questions.
        self._hearing.enter_context(interrupted_by_keyboard(self))
        return self

    def interrupt(self) -> None:
        """End every question, those that wait for a thread too; from any thread."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        until = time.monotonic() + _INTERRUPTING_SECONDS
        while (running := self._running()) and time.monotonic() < until:
            # A query that is only about to begin is not interrupted: it is told again.
            for _, cursor in running:
                cursor.interrupt()
            wait([future for future, _ in running], timeout=_RETRY_SECONDS)

    def ask(self, question: Callable[[duckdb.DuckDBPyConnection], T]) -> "Future[T]":
        """Ask in a thread; those asked first begin first. The answer's `result()` raises what the question raises."""
        # A connection may not be used by two threads at once, and its cursors may: they are made here.
        cursor = self.connection.cursor()
        future = self._threads.submit(copy_context().run, question, cursor)
        self._questions.append((future, cursor))
        return future

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for every question, and close their connections."""
        try:
            if kind is None:
                wait([future for future, _ in self._questions])
        finally:
            with undisturbed():
                self._close()

    def _close(self) -> None:
        """End what is still asked: nobody waits for answers once there is an error, and threads hear of no signal."""
        self._hearing.close()
        self.interrupt()
        for _, cursor in self._questions:
            close(cursor)

    def _running(self) -> list[tuple[Future[Any], duckdb.DuckDBPyConnection]]:
        return [(future, cursor) for future, cursor in list(self._questions) if not future.done()]


_OF_TEXT = ("contexts", "windows", "triggers", "positions", "ngrams", "domains", "poles", "pole_contexts", "strength")
"""What a page says about a corpus."""

_Answer = Future[list[Row]]


@dataclass(frozen=True)
class NeuronRows:
    """What a neuron's page is made of."""

    measured: MeasuredCorpus | None  # the corpus that it is about; None before any text was measured
    is_shown: bool  # whether that is the shown one of its model
    facts: Mapping[str, Any]  # the neuron's row of the view `neurons` on that corpus
    tokens: Sequence[Row]  # a row for each token that it lists; see `listed`
    # its rows by the part of the page that they are for, in no order; none of a text without a corpus. Those of
    # contexts and windows hold the ids around the places.
    of: Mapping[str, Sequence[Row]]
    texts: Mapping[int, str]  # texts of the tokens in all these rows
    counts: Mapping[int, int] | None  # how often these tokens occur in that corpus; None without one
    special: Sequence[str] = ()  # texts of those tokens that stand for no text


def neuron_rows(
    connection: duckdb.DuckDBPyConnection,
    neuron: NeuronAddress,
    corpus: str | None,
    prepared: duckdb.DuckDBPyConnection,
    corpora: Sequence[MeasuredCorpus] | None = None,
) -> NeuronRows:
    """The rows of one neuron, on its model's shown corpus or on the one called `corpus`.

    Args:
        connection: a reader.
        neuron: which one.
        corpus: name of a corpus; None: the shown one.
        prepared: a connection on which views tell of that corpus: the reader itself, or one that `on_corpus` leased.
        corpora: those that its model was measured on, where somebody asked for them before.
    """
    place = {"model_id": neuron.model_id, "layer": neuron.layer, "neuron": neuron.neuron}
    with Aside(connection) as aside:
        answers = {"lists": _ask(aside, statement("neuron_lists"), place), "reads": _ask(aside, _NEURON_READS, place)}
        answers |= {"facts": _ask_views(aside, prepared, _NEURON_FACTS, place)}
        corpora = measured_corpora(connection, [neuron.model]) if corpora is None else corpora
        usual = chosen_corpora(corpora).get(neuron.model)
        measured = usual if corpus is None else chosen_corpora(corpora, corpus).get(neuron.model)
        if measured is not None:
            answers |= _ask_of_text(
                aside,
                prepared,
                place,
                measured.corpus_id,
                has_poles=neuron.of.is_signed or not neuron.of.has_exact_zeros,
            )
        answers["has"] = _ask_views(aside, prepared, statement("neuron_has"), place)
        lists = answers["lists"].result()
        tokens = listed_tokens(lists)
        corpus_id = None if measured is None else measured.corpus_id
        token_ids = _token_ids([*tokens, *read_tokens(answers["reads"].result())], answers)
        texts_and_counts = known_tokens(connection, neuron.of.tokenizer_id, corpus_id, token_ids)
        of = {name: answers[name].result() if name in answers else [] for name in (*answers, *_OF_TEXT)}
        of |= _parted(of["contexts"])
    (flat,) = of["facts"]
    names = {one.corpus_id: one.corpus for one in corpora}
    facts = labelled(flat | first_texts(lists, texts_and_counts.texts), neuron.of, names.get(flat["corpus_id"]))
    return NeuronRows(
        measured,
        measured == usual,
        facts,
        tokens,
        of,
        texts_and_counts.texts,
        texts_and_counts.counts,
        texts_and_counts.special,
    )


def _ask_of_text(
    aside: Aside,
    prepared: duckdb.DuckDBPyConnection,
    place: Mapping[str, Any],
    corpus_id: int,
    *,
    has_poles: bool,
) -> dict[str, _Answer]:
    """First what takes longest: it holds tokens, whose texts are asked for next."""
    parameters = {**place, "corpus_id": corpus_id}
    of_poles = {}
    if has_poles:
        of_poles = {
            "pole_contexts": aside.ask(partial(_contexts, query=_NEURON_POLE_CONTEXTS, parameters=parameters)),
            "poles": _ask(aside, _NEURON_POLES, parameters),
            "strength": _ask(aside, _NEURON_STRENGTH, parameters),
        }
    return {
        "contexts": aside.ask(partial(_contexts, query=statement("neuron_contexts"), parameters=parameters)),
        **of_poles,
        "triggers": _ask(aside, _NEURON_TRIGGERS, parameters),
        "positions": _ask(aside, NEURON_POSITIONS, parameters),
        "domains": _ask(aside, _NEURON_DOMAINS, parameters),
        "ngrams": _ask_views(aside, prepared, statement("neuron_ngrams"), parameters),
    }


def _ask(aside: Aside, query: str, parameters: Mapping[str, Any]) -> _Answer:
    return aside.ask(partial(records, text=query, parameters=parameters))


def _ask_views(aside: Aside, prepared: duckdb.DuckDBPyConnection, query: str, parameters: Mapping[str, Any]) -> _Answer:
    """Ask what depends on the shown corpus; only a connection that `on_corpus` leased knows another one."""
    if prepared is aside.connection:
        return _ask(aside, query, parameters)
    answered = _Answer()
    answered.set_result(records(prepared, of_facts(query), parameters))
    return answered


def _contexts(connection: duckdb.DuckDBPyConnection, query: str, parameters: Mapping[str, Any]) -> list[Row]:
    """Places and windows with what is around them, in two questions: DuckDB plans one of both for longer.

    A row without a place comes as it is.
    """
    answered = records(connection, query, parameters)
    rows = [row for row in answered if row["position"] is not None]
    places = {
        "corpus_id": parameters["corpus_id"],
        "sequence_ids": [row["sequence_id"] for row in rows],
        "positions": [row["position"] for row in rows],
        "n_before": [row["n_before"] for row in rows],
        "n_after": [row["n_after"] for row in rows],
    }
    texts = {_place(row): row for row in records(connection, _TEXT_WINDOWS, places)}
    with_texts = ((row, texts.get(_place(row))) for row in rows)
    with_ids = [row | text for row, text in with_texts if text is not None]
    return [*with_ids, *(row for row in answered if row["position"] is None)]


def _place(row: Row) -> tuple[int, int, int, int]:
    return row["sequence_id"], row["position"], row["n_before"], row["n_after"]


def _parted(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of one statement by their parts: the histogram has no place, and a window has a band."""
    parts: dict[str, list[Row]] = {"contexts": [], "windows": [], "histogram": []}
    for row in rows:
        parts["histogram" if row["position"] is None else "windows" if row["band"] else "contexts"].append(row)
    return parts


def _token_ids(tokens: Sequence[Row], answers: Mapping[str, _Answer]) -> list[int]:
    """Ids of the tokens that are shown anywhere on the page."""
    names = ("contexts", "pole_contexts", "triggers")
    contexts, of_poles, triggers = (answers[name].result() if name in answers else [] for name in names)
    contexts = [row for row in contexts if row["position"] is not None]
    in_triggers = [token_id for row in triggers for token_id in row["token_ids"]]
    return [*(row["token_id"] for row in tokens), *context_ids(contexts), *context_ids(of_poles), *in_triggers]
