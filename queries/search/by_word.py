"""Search by word: which neurons promote or suppress a token, ranked by z-score."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.spelling import quoted_list
from neurothek.catalog.tables.table import BIG, DOUBLE, FLAG, INTEGER, SMALL, TEXT
from neurothek.queries.ask.answer import with_its_sql
from neurothek.queries.ask.one_query import how_many
from neurothek.queries.ask.statements import framed, records, statement
from neurothek.queries.errors.unknown_subjects import no_words, split_not_listed, unknown_word
from neurothek.queries.names.models import KnownModel, MeasuredCorpus, choose_corpora, which_corpora
from neurothek.queries.names.words import Term, find_terms, nearest_words
from neurothek.queries.search.by_score import (
    HONOURED,
    AtHand,
    OpenWeights,
    by_score_title,
    is_one,
    scored_words,
    scorings_of,
    terms_of,
)
from neurothek.queries.search.by_trigger import STORED_TRIGGERS, read_for_triggers, triggered_neurons
from neurothek.queries.search.condition import condition_notes, filtered_records, layers_of, models_asked
from neurothek.queries.search.one_word import Neighbour, is_one_word, neighbours_of, one_word_rows, remarks, with_counts
from neurothek.queries.search.poles import POLES, FoundNeurons, listed_side, poles_shown, with_strongest
from neurothek.queries.search.question import NEURON_FLAGS, Question, Side
from neurothek.queries.views.neuron_facts import with_neuron_facts
from neurothek.queries.views.on_corpus import on_corpus
from neurothek.queries.views.rows import is_catalog, with_facts

_LIST_LENGTH = """\
-- How many tokens the neurons of a model list on a side.
select len(top_token_ids) as n_listed,
from store.projections
where set_id = $model_id and layer = 0 and neuron = 0
limit 1
"""

COLUMNS: Mapping[str, pl.DataType] = {
    "place": BIG,
    "address": TEXT,
    "model": TEXT,
    "layer": SMALL,
    "neuron": INTEGER,
    "depth": DOUBLE,
    "n_words": BIG,
    "z_sum": DOUBLE,
    "side": TEXT,
    "matched": pl.List(TEXT),
    "matched_sides": pl.List(TEXT),
    "matched_ranks": pl.List(INTEGER),
    "matched_scores": pl.List(DOUBLE),
    "matched_z_scores": pl.List(DOUBLE),
    "matched_counts": pl.List(BIG),
    "neighbours": pl.List(TEXT),
    "frequency": DOUBLE,
    "never_active": FLAG,
    "n_tokens_seen": BIG,
    "corpus": TEXT,
    **POLES,
    "label": TEXT,
}
"""Columns of a result: `matched` and its companions hold one entry per word, or per part of a word that was split."""

_OF_ONE, _OF_MANY = ("promotes", "suppresses", "fires on"), ("promote", "suppress", "fire on")


_LIST_LENGTH_OF_LINES = """\
-- The same of a catalog.
select n_listed,
from numbered.neuron_lines
where unit = $model_id::bigint * 65536 * 4294967296
"""


@dataclass(frozen=True, repr=False, kw_only=True)
class SearchResult(FoundNeurons):
    """The neurons found, best first.

    Attributes:
        question: what was asked.
        terms: what each word meant in each tokenizer.
        neurons: one row per neuron, with the columns of `COLUMNS`; a neuron's `z_sum` is the sum over words of its
            best z-score, the sign turned on the suppressed side.
        n_found: how many neurons there are, including those beyond the limit.
        near: words that a concept may be widened with in any of the models, nearest first, including those left out.
        is_scored: whether all neurons were scored, and not only those that list the words.
    """

    question: Question
    terms: tuple[Term, ...]
    near: tuple[str, ...] = ()
    is_scored: bool = False

    @property
    def title(self) -> str:
        """One line over the table."""
        if self.is_scored:
            return by_score_title(self.question, self.neurons.height, self.n_found)
        words = f"{'the concept ' if self.question.concept else ''}{self.question.display(self.question.all_words)}"
        is_one = self.n_found == 1
        promote, suppress, fire_on = _OF_ONE if is_one else _OF_MANY
        doing = {"promoted": promote, "suppressed": suppress, "both": f"{promote} or {suppress}"}[self.question.side]
        also = (
            f" and {suppress} {self.question.display(self.question.suppresses, all_of=True)}"
            if self.question.suppresses
            else ""
        )
        fire = (
            f" and {fire_on} {self.question.display(self.question.triggered_by)}" if self.question.triggered_by else ""
        )
        return f"{self.first}{self.n_found:,} neuron{'' if is_one else 's'} that {doing} {words}{also}{fire}"

    def table(self) -> pl.DataFrame:
        """The columns that people read; single values where one token was asked for."""
        place = pl.col("place").alias("#")
        two_sided = self.question.side == "both" or bool(self.question.suppresses)
        side = [pl.col("side" if self.question.side == "both" else "matched_sides")] if two_sided else []
        side = [*side, *map(pl.col, poles_shown(self.neurons))]
        if bool((self.neurons.get_column("matched").list.len() <= 1).all()):
            names = {
                "matched_ranks": "rank",
                "matched_scores": "score",
                "matched_z_scores": "z_score",
                "matched": "token",
            }
            single = [pl.col(name).list.first().alias(new) for name, new in names.items()]
            return self.neurons.select(place, "address", *side, *single, "neighbours")
        return self.neurons.select(
            place,
            "address",
            pl.col("n_words").alias("words"),
            pl.col("z_sum"),
            *side,
            pl.col("matched").alias("tokens"),
            pl.col("matched_z_scores").alias("z_score"),
            pl.col("matched_scores").alias("score"),
            pl.col("matched_ranks").alias("rank"),
            "neighbours",
        )


@with_its_sql
def search(
    connection: duckdb.DuckDBPyConnection, question: Question, weights: OpenWeights | None = None
) -> SearchResult:
    """Find the neurons that promote or suppress the words most.

    Of one word all neurons are scored where weights are at hand; everything else is answered from the stored lists of
    most promoted and suppressed tokens, and the notes say to which rank these go.

    Args:
        connection: a reader.
        question: what is asked.
        weights: finds the weights of models; None: stored lists only.
    """
    with on_corpus(connection, question.models, question.corpus) as prepared:
        return _search(prepared, question, weights, is_elsewhere=prepared is not connection)


def _search(
    connection: duckdb.DuckDBPyConnection, question: Question, weights: OpenWeights | None, *, is_elsewhere: bool
) -> SearchResult:
    if not question.is_about_tokens:
        raise no_words()
    asked_models = models_asked(connection, question)
    models = asked_models.models
    tokenizer_ids = sorted({model.tokenizer_id for model in models})
    terms = terms_of(connection, question, tokenizer_ids)
    opposite = find_terms(connection, question.suppresses, tokenizer_ids, exact=question.exact)
    banned = _banned(connection, question, tokenizer_ids)
    near = _near(connection, question, models, terms)
    widened = _without(near, question.left_out)
    may_score = is_one(terms) and not question.given(beside=(*HONOURED, *NEURON_FLAGS, "match_all"))
    tell = partial(_with_facts, connection, models=models, is_elsewhere=is_elsewhere)
    at_hand = weights(models) if may_score and weights is not None else AtHand()
    layers = layers_of(question, models)
    listed = [model for model in models if model.model_id in layers and model.model_id not in at_hand.scores]
    if not listed:
        rows = []
    elif is_one_word(question, terms):
        rows = one_word_rows(connection, question, listed, terms)
        rows = with_counts(connection, tell(rows))
    else:
        sided = [*_sided(terms, question.side), *_sided(opposite, "suppressed")]
        rows = _listed(connection, question, listed, _parameters(question, listed, sided, banned, widened))
        rows = tell(rows)
    n_found = rows[0]["n_found"] if rows else 0
    if at_hand.scores:
        asked_of = [one for one in scorings_of(question, models, terms) if one.model.model_id in at_hand.scores]
        scored_rows, n_scored = scored_words(connection, question, asked_of, at_hand.scores)
        rows = _together(question, rows, with_counts(connection, tell(scored_rows)))
        n_found += n_scored
    if not rows:
        _raise_if_split(connection, terms, tokenizer_ids)
    return SearchResult(
        question=question,
        terms=tuple(terms),
        neurons=framed([row | {"neighbours": _neighbours(row)} for row in rows], COLUMNS),
        n_found=n_found,
        notes=(
            *_notes(question, models, [*terms, *opposite]),
            *_added(question, models, widened),
            *_completeness(connection, listed, at_hand, may_score=may_score),
            *_read(connection, question, models),
        ),
        near=_words(near),
        left_out=asked_models.left_out,
        is_scored=bool(at_hand.scores),
    )


def _with_facts(
    connection: duckdb.DuckDBPyConnection,
    rows: Sequence[dict[str, Any]],
    *,
    models: Sequence[KnownModel],
    is_elsewhere: bool,
) -> list[dict[str, Any]]:
    """The rows with what is known of their neurons, and the first tokens of what these write at their pole."""
    complete = with_neuron_facts(connection, [{**row, "listed_side": listed_side(row)} for row in rows], models)
    columns = (*(_OF_TEXT if is_elsewhere else ()), "label")
    complete = with_facts(connection, complete, columns, is_elsewhere=is_elsewhere)
    if is_elsewhere:
        corpora = choose_corpora(connection, [model.name for model in models])
        complete = [{**row, "corpus_id": _corpus_id(corpora.get(row["model"]))} for row in complete]
    return with_strongest(complete)


_OF_TEXT = ("corpus", "frequency", "never_active", "n_tokens_seen", "activation_min", "activation_max")
"""Columns that another corpus changes."""


def _corpus_id(corpus: MeasuredCorpus | None) -> int | None:
    return None if corpus is None else corpus.corpus_id


def _together(question: Question, *parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first rows of several answers, in order."""
    rows = sorted(
        (row for part in parts for row in part),
        key=lambda row: (-row["z_sum"], row["model"], row["layer"], row["neuron"]),
    )
    return [{**row, "place": place} for place, row in enumerate(rows[: question.limit], start=1)]


def _completeness(
    connection: duckdb.DuckDBPyConnection, listed: Sequence[KnownModel], at_hand: AtHand, *, may_score: bool
) -> list[str]:
    """How far the answer goes: which models were scored whole, and to which rank the others' lists are complete."""
    names = ", ".join(model.name for model in listed)
    notes = ["every neuron was scored from the weights" + (f", but for {names}" if listed else "")]
    notes = notes if at_hand.scores else []
    lengths: set[int] = set()
    for model in {model.tokenizer_id: model for model in listed}.values():
        lengths |= _list_lengths(connection, model)
    if lengths:
        whose = f"the stored lists of {names}" if at_hand.scores else "the stored lists"
        beyond = "; --score looks at every neuron" if may_score else ""
        rank = " or ".join(map(str, sorted(lengths)))
        notes.append(f"{whose} are complete to rank {rank}: a neuron that ranks a word lower is not found{beyond}")
    return [*notes, *(f"the weights of {name} were not read: {why}" for name, why in at_hand.why_not.items())]


def _list_lengths(connection: duckdb.DuckDBPyConnection, model: KnownModel) -> set[int]:
    parameters = {"model_id": model.model_id}
    of_lines = records(connection, _LIST_LENGTH_OF_LINES, parameters) if is_catalog(connection) else []
    return {row["n_listed"] for row in of_lines or records(connection, _LIST_LENGTH, parameters)}


def _neighbours(row: Mapping[str, Any]) -> list[str]:
    return [token for token in row["first_tokens"] if token not in row["matched"]]


def _listed(
    connection: duckdb.DuckDBPyConnection,
    question: Question,
    models: Sequence[KnownModel],
    parameters: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """The best neurons of any question."""
    token_ids = sorted({*parameters["token_ids"], *parameters["banned_token_ids"]})
    return filtered_records(
        connection,
        statement("search"),
        question,
        {**parameters, **_eligible(connection, question, models), "all_token_ids": token_ids},
        each={"token_id": token_ids},
        holding=(how_many(token_ids),),
    )


def _banned(connection: duckdb.DuckDBPyConnection, question: Question, tokenizer_ids: Sequence[int]) -> list[Term]:
    """The words of `without`, which must be tokens: a list of single tokens cannot hold a word of several."""
    terms = find_terms(connection, question.without, tokenizer_ids, exact=question.exact)
    tokens = [term for term in terms if not term.is_split]
    for term in terms:
        if term.word not in {token.word for token in tokens}:
            raise unknown_word(term.word, nearest_words(connection, term.word, tokenizer_ids))
    return tokens


def _near(
    connection: duckdb.DuckDBPyConnection, question: Question, models: Sequence[KnownModel], terms: Sequence[Term]
) -> dict[int, list[Neighbour]]:
    if not question.concept:
        return {}
    return neighbours_of(connection, models, terms, limit=question.neighbours, without=question.without)


def _without(near: Mapping[int, Sequence[Neighbour]], left_out: Sequence[str]) -> dict[int, list[Neighbour]]:
    """What is left of the near words; no others come in place of those left out."""
    folded = {word.strip().casefold() for word in left_out}
    return {model_id: [one for one in near_words if one.word not in folded] for model_id, near_words in near.items()}


def _words(near: Mapping[int, Sequence[Neighbour]]) -> tuple[str, ...]:
    together = sorted(
        (one for near_words in near.values() for one in near_words), key=lambda one: (-one.cosine, one.word)
    )
    return tuple(dict.fromkeys(one.word for one in together))


def _eligible(
    connection: duckdb.DuckDBPyConnection, question: Question, models: Sequence[KnownModel]
) -> dict[str, object]:
    """The neurons to choose among, where only those that fire on a word are asked for."""
    triggers = question.without_conditions()
    neurons = triggered_neurons(connection, triggers, models) if question.triggered_by else []
    return {
        "is_restricted": bool(question.triggered_by),
        "eligible_model_ids": [model_id for model_id, _, _ in neurons],
        "eligible_layers": [layer for _, layer, _ in neurons],
        "eligible_neurons": [neuron for _, _, neuron in neurons],
    }


def _sided(terms: Sequence[Term], side: Side) -> list[tuple[Term, Side]]:
    return [(term, side) for term in terms]


def _parameters(
    question: Question,
    models: Sequence[KnownModel],
    terms: Sequence[tuple[Term, Side]],
    banned: Sequence[Term],
    widened: Mapping[int, Sequence[Neighbour]],
) -> dict[str, Any]:
    layers = layers_of(question, models)
    words = list(dict.fromkeys((term.word, side) for term, side in terms))
    suppressed = [number for number, (_, side) in enumerate(words) if question.suppresses and side == "suppressed"]
    added = list(dict.fromkeys(one.word for near_words in widened.values() for one in near_words))
    lookups = [
        (model.model_id, words.index((term.word, side)), part_number, token.token_id, side)
        for model in models
        for term, side in terms
        if term.tokenizer_id == model.tokenizer_id
        # A piece that a word is split into twice is listed once.
        for part_number, part in enumerate(dict.fromkeys(term.parts))
        for token in part
    ]
    lookups += [
        (model_id, len(words) + added.index(one.word), 0, token.token_id, question.side)
        for model_id, near_words in widened.items()
        for one in near_words
        for token in one.tokens
    ]
    lookups = [row for row in lookups if row[0] in layers]
    unwanted = [
        (model.model_id, token.token_id)
        for model in models
        for term in banned
        if term.tokenizer_id == model.tokenizer_id
        for token in term.parts[0]
    ]
    return {
        "model_ids": [row[0] for row in lookups],
        "word_numbers": [row[1] for row in lookups],
        "part_numbers": [row[2] for row in lookups],
        "token_ids": [row[3] for row in lookups],
        "first_model": min((model.model_id for model in models), default=0),
        "last_model": max((model.model_id for model in models), default=0),
        "word_sides": [row[4] for row in lookups],
        "first_layers": [layers[row[0]][0] for row in lookups],
        "last_layers": [layers[row[0]][1] for row in lookups],
        "banned_model_ids": [row[0] for row in unwanted],
        "banned_token_ids": [row[1] for row in unwanted],
        "sides": ["promoted", "suppressed"] if question.side == "both" else [question.side],
        "signed_models": [model.model_id for model in models if model.is_signed],
        "needed_words": list(range(len(words))) if question.match_all else suppressed,
        "is_another_needed": bool(suppressed) and not question.match_all,
        "min_count": question.min_count,
        "limit": question.limit,
    }


def _raise_if_split(connection: duckdb.DuckDBPyConnection, terms: Iterable[Term], tokenizer_ids: Sequence[int]) -> None:
    for term in terms:
        if term.is_split:
            raise split_not_listed(term.word, term.tokens, nearest_words(connection, term.word, tokenizer_ids))


def _notes(question: Question, models: Sequence[KnownModel], terms: Sequence[Term]) -> list[str]:
    notes = []
    for word in dict.fromkeys(term.word for term in terms):
        for meaning in dict.fromkeys(_meaning(term) for term in terms if term.word == word):
            notes.append(f"“{word}” {meaning}")
    silent = [model.name for model in models if not model.is_measured_on_text]
    if silent and (question.alive or question.min_count):
        notes.append(f"not measured on text, so left out: {', '.join(silent)}")
    if question.triggered_by:
        notes.append(STORED_TRIGGERS)
    return [*notes, *condition_notes(question.where, models)]


def _read(connection: duckdb.DuckDBPyConnection, question: Question, models: Sequence[KnownModel]) -> list[str]:
    """Which texts the answer depends on, if any."""
    if question.triggered_by:
        return read_for_triggers(connection, models)
    return which_corpora(connection, [model.name for model in models]) if question.hangs_on_text else []


def _added(question: Question, models: Sequence[KnownModel], widened: Mapping[int, Sequence[Neighbour]]) -> list[str]:
    return remarks(models, widened, question.neighbours) if question.concept else []


def _meaning(term: Term) -> str:
    if term.is_split:
        return f"is not a token: split into {quoted_list(term.tokens)}, which must all be listed"
    n_more = len(term.tokens) - _MOST_NAMED
    more = f" and {n_more:,} more tokens" if n_more > 0 else ""
    return f"stands for {quoted_list(term.tokens[:_MOST_NAMED])}{more}"


_MOST_NAMED = 20
"""Of the tokens that a word or a class stands for."""
