"""Search by trigger: which neurons fire on a token or a short phrase, by recall and share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.spelling import quoted, quoted_list, spoken_corpus
from neurothek.catalog.tables.poles import STRONG
from neurothek.catalog.tables.table import BIG, DOUBLE, INTEGER, SMALL, TEXT
from neurothek.queries.ask.answer import with_its_sql
from neurothek.queries.ask.statements import framed, records, statement
from neurothek.queries.errors.unfit_options import not_measured, phrases_left_out, too_long_phrase
from neurothek.queries.names.models import KnownModel, MeasuredCorpus, choose_corpora, which_corpora
from neurothek.queries.names.unmeasured import jobs_on_corpora
from neurothek.queries.names.words import Term, find_terms
from neurothek.queries.search.condition import condition_notes, filtered_records, layers_of, models_asked
from neurothek.queries.search.poles import FoundNeurons, at_pole, poles_shown
from neurothek.queries.search.question import Question
from neurothek.queries.views.on_corpus import on_corpus
from neurothek.queries.views.rows import Neuron, with_facts

LONGEST = 3
"""Length of the longest n-grams that are counted."""

COLUMNS: Mapping[str, pl.DataType] = {
    "place": BIG,
    "address": TEXT,
    "model": TEXT,
    "layer": SMALL,
    "neuron": INTEGER,
    "depth": DOUBLE,
    "n_words": BIG,
    "strength": DOUBLE,
    "matched": pl.List(TEXT),
    "recalls": pl.List(DOUBLE),
    "shares": pl.List(DOUBLE),
    "matched_active": pl.List(BIG),
    "matched_occurrences": pl.List(BIG),
    "top_tokens": pl.List(TEXT),
    "frequency": DOUBLE,
    "token_status": TEXT,
    "corpus": TEXT,
    "pole": TEXT,
    "label": TEXT,
}
"""Columns of a result: `recalls` and its companions hold one entry per word that triggers the neuron;
`top_tokens` are what it promotes, in a gated model at `pole`, at which it is strongest."""

FACTS = ("address", "depth", "top_tokens", "bottom_tokens", "frequency", "token_status", "corpus", "pole", "label")
"""What is said of a neuron beside how it fires on the words."""

_PHRASE = """\
-- An n-gram of several tokens of one model, if any is here.
select 1 as one
from store.triggers
where set_id = $model_id and corpus_id = $corpus_id and n > 1
limit 1
"""

_OCCURRENCES = """\
-- How often a corpus has any of some tokens, and how many of its tokens are counted at all.
select
    coalesce(sum(case when list_contains($token_ids::integer[], token_id) then n_occurrences end), 0) as n_occurrences,
    count(*) as n_counted,
from store.token_counts
where corpus_id = $corpus_id
"""

STORED_TRIGGERS = (
    "only a neuron's first 10 tokens, 5 bigrams and 5 trigrams are kept, or 64 of each where so few cover it: a"
    " neuron that fires on a word, but more often on that many others, is not listed"
)
"""What an answer leaves out."""


@dataclass(frozen=True, repr=False, kw_only=True)
class TriggeredResult(FoundNeurons):
    """The neurons that fire on what was asked, best first.

    Attributes:
        question: what was asked.
        neurons: one row per neuron, with the columns of `COLUMNS`; `strength` is the sum over words of the harmonic
            mean of recall (of the word's occurrences, those that activate the neuron) and share (of the neuron's
            activations, those on the word): 1 for a neuron that fires on the word always, and on nothing else (ours).
        n_found: how many neurons there are, including those beyond the limit.
        absent: the notes about words that the texts do not have, where no neuron was found.
    """

    question: Question
    absent: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """One line over the table."""
        firing = "neuron that fires on" if self.n_found == 1 else "neurons that fire on"
        return f"{self.first}{self.n_found:,} {firing} {self.question.display(self.question.triggered_by)}"

    def table(self) -> pl.DataFrame:
        """The columns that people read; single values where one word was asked for."""
        place = pl.col("place").alias("#")
        names = {"matched": "token", "recalls": "recall", "shares": "share", "matched_active": "active"}
        if len(self.question.triggered_by) > 1:
            columns = [pl.col(name).alias(new) for name, new in names.items()]
        else:
            names = {name: new for name, new in names.items() if name != "matched"}
            columns = [pl.col("matched"), *[pl.col(name).list.first().alias(new) for name, new in names.items()]]
        return self.neurons.select(
            place,
            "address",
            pl.col("strength"),
            *columns,
            *poles_shown(self.neurons),
            pl.col("top_tokens").alias("promotes"),
        )


@with_its_sql
def triggered(connection: duckdb.DuckDBPyConnection, question: Question) -> TriggeredResult:
    """Find the neurons that list one of the words (`match_all`: all of them) among their triggers.

    A word is any of its spellings; a word that is not a token is looked up as the n-gram of its pieces, as they stand
    inside a sentence. Only triggers that are stored can be found: see the table store.triggers.
    """
    question.require_only(
        "neurons by what they fire on alone",
        "triggered_by",
        "models",
        "layers",
        "depth",
        "match_all",
        "exact",
        "where",
        "corpus",
        "limit",
        "variants",
    )
    with on_corpus(connection, question.models, question.corpus) as prepared:
        return _triggered(prepared, question, is_elsewhere=prepared is not connection)


def _triggered(connection: duckdb.DuckDBPyConnection, question: Question, *, is_elsewhere: bool) -> TriggeredResult:
    scope = models_asked(connection, question)
    rows, terms = _rows(connection, question, scope.models, limit=question.limit)
    facts = with_facts(connection, rows, FACTS, is_elsewhere=is_elsewhere)
    absent = () if rows else tuple(_absent(connection, scope.models, terms))
    return TriggeredResult(
        question=question,
        absent=absent,
        neurons=framed([at_pole(row) for row in facts], COLUMNS),
        n_found=rows[0]["n_found"] if rows else 0,
        notes=(
            *_notes(terms),
            *absent,
            STORED_TRIGGERS,
            *condition_notes(question.where, scope.models),
            *read_for_triggers(connection, scope.models),
        ),
        left_out=scope.left_out,
    )


def triggered_neurons(
    connection: duckdb.DuckDBPyConnection, question: Question, models: Sequence[KnownModel]
) -> list[Neuron]:
    """(model_id, layer, neuron) of every neuron that fires on what `question.triggered_by` says."""
    rows, _ = _rows(connection, question, models, limit=2**31 - 1)
    return [(row["model_id"], row["layer"], row["neuron"]) for row in rows]


def read_for_triggers(connection: duckdb.DuckDBPyConnection, models: Sequence[KnownModel]) -> list[str]:
    """What to say about the texts behind an answer about triggers: on which corpora, and whose were not counted."""
    corpora = _counted_corpora(connection, models)
    missing = [model.name for model in models if model.name not in corpora]
    left_out = [f"no n-grams counted on the shown corpus, so left out: {', '.join(missing)}"] if missing else []
    return [*_counted_strong(connection, corpora), *which_corpora(connection, list(corpora)), *left_out]


def _counted_strong(connection: duckdb.DuckDBPyConnection, corpora: Mapping[str, MeasuredCorpus]) -> list[str]:
    """In which models a neuron fires on a word where it is strong there, and not wherever it is active: a sentence."""
    runs = jobs_on_corpora(connection, corpora)
    strong = {
        run["model"] for run in runs if run["counts_strong"] and run["corpus_id"] == corpora[run["model"]].corpus_id
    }
    names = ", ".join(model for model in corpora if model in strong)
    return (
        [f"in {names} firing is a strong activation, |m| above {STRONG:g} root mean squares, at one pole"]
        if names
        else []
    )


def _counted_corpora(connection: duckdb.DuckDBPyConnection, models: Sequence[KnownModel]) -> dict[str, MeasuredCorpus]:
    """Model -> its shown corpus, where n-grams were counted there."""
    names = [model.name for model in models]
    runs = jobs_on_corpora(connection, names)
    # Not by the corpus's name, which two corpora may have.
    counted = {(run["model"], run["corpus_id"]) for run in runs if run["job"] == "ngrams"}
    chosen = choose_corpora(connection, names)
    return {model: one for model, one in chosen.items() if (model, one.corpus_id) in counted}


def _have_phrases(
    connection: duckdb.DuckDBPyConnection, models: Sequence[KnownModel], corpora: Mapping[str, MeasuredCorpus]
) -> bool:
    """Whether n-grams of several tokens are here of any model: a catalog may be published without what is of a text."""
    return any(
        records(connection, _PHRASE, {"model_id": model.model_id, "corpus_id": corpora[model.name].corpus_id})
        for model in models
        if model.name in corpora
    )


def _rows(
    connection: duckdb.DuckDBPyConnection, question: Question, models: Sequence[KnownModel], *, limit: int
) -> tuple[list[dict[str, Any]], list[Term]]:
    tokenizer_ids = sorted({model.tokenizer_id for model in models})
    terms = find_terms(connection, question.triggered_by, tokenizer_ids, exact=question.exact)
    for term in terms:
        if len(term.parts) > LONGEST:
            raise too_long_phrase(term.word, term.tokens, LONGEST)
    corpora = _counted_corpora(connection, models)
    if not corpora:
        raise not_measured("triggers", "ngrams")
    split = next((term for term in terms if term.is_split), None)
    if split is not None and not _have_phrases(connection, models, corpora):
        raise phrases_left_out(split.word, split.tokens)
    layers = layers_of(question, models)
    words = list(dict.fromkeys(term.word for term in terms))
    lookups = [
        (model, corpora[model.name].corpus_id, words.index(term.word), ngram, layers[model.model_id])
        for model in models
        if model.name in corpora and model.model_id in layers
        for term in terms
        if term.tokenizer_id == model.tokenizer_id
        for ngram in product(*term.parts)
    ]
    parameters = {
        "model_ids": [model.model_id for model, *_ in lookups],
        "corpus_ids": [corpus_id for _, corpus_id, *_ in lookups],
        "word_numbers": [number for _, _, number, *_ in lookups],
        "ngrams": [[token.token_id for token in ngram] for *_, ngram, _ in lookups],
        "first_ids": sorted({ngram[0].token_id for *_, ngram, _ in lookups}),
        "texts": ["".join(token.text for token in ngram) for *_, ngram, _ in lookups],
        "first_layers": [first for *_, (first, _) in lookups],
        "last_layers": [last for *_, (_, last) in lookups],
        "match_all": question.match_all,
        "n_words": len(words),
        "limit": limit,
    }
    return filtered_records(connection, statement("triggered"), question, parameters), terms


def _absent(connection: duckdb.DuckDBPyConnection, models: Sequence[KnownModel], terms: Sequence[Term]) -> list[str]:
    """Which of the words the texts that were read do not have: nothing can have fired on these."""
    absent: dict[tuple[str, str], list[str]] = {}
    corpora = _counted_corpora(connection, models)
    for model in (model for model in models if model.name in corpora):
        corpus = corpora[model.name]
        for term in (term for term in terms if term.tokenizer_id == model.tokenizer_id and not term.is_split):
            token_ids = [token.token_id for token in term.parts[0]]
            (counts,) = records(connection, _OCCURRENCES, {"corpus_id": corpus.corpus_id, "token_ids": token_ids})
            # Counts that were not published are no counts of 0.
            if counts["n_counted"] and not counts["n_occurrences"]:
                place = f"the {corpus.n_tokens:,} tokens of {spoken_corpus(corpus.corpus)}"
                absent.setdefault((term.word, place), []).append(model.name)
    return [f"{quoted(word)} is not in {place} seen by {', '.join(names)}" for (word, place), names in absent.items()]


def _notes(terms: Sequence[Term]) -> list[str]:
    meanings = []
    for term in terms:
        what = "is the n-gram" if term.is_split else "stands for"
        meanings.append(f"{quoted(term.word)} {what} {quoted_list(term.tokens)}")
    return list(dict.fromkeys(meanings))
