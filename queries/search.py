"""Search by word: which neurons promote or suppress a token, ranked by z-score."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from catalog.tables import BIG, DOUBLE, FLAG, INTEGER, SMALL, TEXT
from catalog.visible import visible_list
from queries.errors import BadPredicate, NoSuchLayer, NoSuchWord, NothingAsked, SplitNotFound
from queries.models import KnownModel, choose_models
from queries.notebook import html_page, text_page
from queries.predicates import insert_predicate
from queries.question import Question
from queries.sandbox import translated
from queries.sections import Section
from queries.statement import framed, records, statement
from queries.views import view
from queries.words import Term, find_terms, nearest_words

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
    "matched_ranks": pl.List(SMALL),
    "matched_scores": pl.List(DOUBLE),
    "matched_z_scores": pl.List(DOUBLE),
    "matched_counts": pl.List(BIG),
    "neighbours": pl.List(TEXT),
    "frequency": DOUBLE,
    "never_active": FLAG,
    "n_tokens_seen": BIG,
    "corpus": TEXT,
}
"""Columns of a result: `matched` and its companions hold one entry per word, or per part of a word that was split."""


@dataclass(frozen=True, repr=False)
class SearchResult:
    """The neurons found, best first.

    Attributes:
        question: what was asked.
        terms: what each word meant in each tokenizer.
        neurons: one row a neuron, with the columns of `COLUMNS`; a neuron's `z_sum` is the sum over words of its
            best z-score, the sign turned on the suppressed side.
        n_found: how many neurons there are beyond the limit too.
        notes: remarks for the person who asked, a sentence each.
    """

    question: Question
    terms: tuple[Term, ...]
    neurons: pl.DataFrame
    n_found: int
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """One line over the table."""
        words = ", ".join(self.question.words)
        doing = {"promoted": "promote", "suppressed": "suppress", "both": "promote or suppress"}[self.question.side]
        first = f"the first {self.neurons.height} of " if self.neurons.height < self.n_found else ""
        return f"{first}{self.n_found:,} neurons that {doing} {words}"

    def table(self) -> pl.DataFrame:
        """The columns that people read; single values where one token was asked for."""
        place = pl.col("place").alias("#")
        side = [pl.col("side")] if self.question.side == "both" else []
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

    def sections(self) -> list[Section]:
        """The table with its title."""
        return [Section(self.title, self.table())]

    def __repr__(self) -> str:
        """The table as text."""
        return text_page(self.sections(), self.notes)

    def _repr_html_(self) -> str:
        return html_page(self.sections(), self.notes)


def search(connection: duckdb.DuckDBPyConnection, question: Question) -> SearchResult:
    """Find the neurons whose lists of most promoted or suppressed tokens hold the words.

    Raises:
        NothingAsked, NoModels, UnknownModel, NoSuchLayer, BlankWord, NoSuchWord, NoSuchToken, SplitNotFound,
        BadPredicate, UnknownColumn: the question cannot be answered; the error says why.
    """
    if not question.words:
        raise NothingAsked
    models = choose_models(connection, question.models)
    _check_layers(question, models)
    tokenizer_ids = sorted({model.tokenizer_id for model in models})
    terms = find_terms(connection, question.words, tokenizer_ids, exact=question.exact)
    banned = _banned(connection, question, tokenizer_ids)
    rows = _run(connection, question, _parameters(question, models, terms, banned))
    if not rows:
        _raise_if_split(connection, terms, tokenizer_ids)
    return SearchResult(
        question=question,
        terms=tuple(terms),
        neurons=framed(rows, COLUMNS),
        n_found=rows[0]["n_found"] if rows else 0,
        notes=tuple(_notes(question, models, terms)),
    )


def _run(
    connection: duckdb.DuckDBPyConnection, question: Question, parameters: Mapping[str, object]
) -> list[dict[str, Any]]:
    text = insert_predicate(statement("search"), question.where, list(view("neurons").columns))
    try:
        return records(connection, text, parameters)
    except duckdb.Error as error:
        if question.where is None:
            raise
        raise BadPredicate(question.where, f"cannot be evaluated ({translated(connection, error)})") from error


def _banned(connection: duckdb.DuckDBPyConnection, question: Question, tokenizer_ids: Sequence[int]) -> list[Term]:
    """The words of `without`, which must be tokens: a list of single tokens cannot hold a word of several."""
    terms = find_terms(connection, question.without, tokenizer_ids, exact=question.exact)
    tokens = [term for term in terms if not term.is_split]
    for term in terms:
        if term.word not in {token.word for token in tokens}:
            raise NoSuchWord(term.word, nearest_words(connection, term.word, tokenizer_ids))
    return tokens


def _check_layers(question: Question, models: Sequence[KnownModel]) -> None:
    deepest = max(model.n_layers for model in models) - 1
    if question.layers is not None and question.layers[0] > deepest:
        raise NoSuchLayer(question.layers[0], deepest)


def _parameters(
    question: Question, models: Sequence[KnownModel], terms: Sequence[Term], banned: Sequence[Term]
) -> dict[str, object]:
    words = list(dict.fromkeys(term.word for term in terms))
    asked = [
        (model.model_id, words.index(term.word), part_number, token.token_id)
        for model in models
        for term in terms
        if term.tokenizer_id == model.tokenizer_id
        for part_number, part in enumerate(term.parts)
        for token in part
    ]
    unwanted = [
        (model.model_id, token.token_id)
        for model in models
        for term in banned
        if term.tokenizer_id == model.tokenizer_id
        for token in term.parts[0]
    ]
    first_layer, last_layer = question.layers or (0, 2**15 - 1)
    return {
        "model_ids": [row[0] for row in asked],
        "word_numbers": [row[1] for row in asked],
        "part_numbers": [row[2] for row in asked],
        "token_ids": [row[3] for row in asked],
        "banned_model_ids": [row[0] for row in unwanted],
        "banned_token_ids": [row[1] for row in unwanted],
        "sides": ["promoted", "suppressed"] if question.side == "both" else [question.side],
        "first_layer": first_layer,
        "last_layer": last_layer,
        "match_all": question.match_all,
        "n_words": len(words),
        "min_count": question.min_count,
        "alive": question.alive,
        "limit": question.limit,
    }


def _raise_if_split(connection: duckdb.DuckDBPyConnection, terms: Iterable[Term], tokenizer_ids: Sequence[int]) -> None:
    for term in terms:
        if term.is_split:
            raise SplitNotFound(term.word, term.tokens, nearest_words(connection, term.word, tokenizer_ids))


def _notes(question: Question, models: Sequence[KnownModel], terms: Sequence[Term]) -> list[str]:
    notes = []
    for word in dict.fromkeys(term.word for term in terms):
        for meaning in dict.fromkeys(_meaning(term) for term in terms if term.word == word):
            notes.append(f"{word!r} {meaning}")
    silent = [model.name for model in models if not model.is_measured_on_text]
    if silent and (question.alive or question.min_count):
        notes.append(f"not measured on text, so left out: {', '.join(silent)}")
    return notes


def _meaning(term: Term) -> str:
    if term.is_split:
        return f"is no token: split into {visible_list(term.tokens)}, which must all be listed"
    return f"stands for {visible_list(term.tokens)}"
