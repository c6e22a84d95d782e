"""Search by what neurons read: whose keys like the embedding of a token most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.spelling import quoted, quoted_list
from neurothek.catalog.tables.table import BIG, DOUBLE, INTEGER, SMALL, TEXT
from neurothek.queries.ask.answer import with_its_sql
from neurothek.queries.ask.one_query import how_many
from neurothek.queries.ask.statements import framed, records, statement
from neurothek.queries.errors.unfit_options import not_measured
from neurothek.queries.errors.unknown_subjects import no_words, unknown_word
from neurothek.queries.names.models import KnownModel, which_corpora
from neurothek.queries.names.words import Term, nearest_words
from neurothek.queries.search.by_score import terms_of
from neurothek.queries.search.condition import condition_notes, filtered_records, layers_of, models_asked
from neurothek.queries.search.poles import FoundNeurons, at_pole
from neurothek.queries.search.question import Question
from neurothek.queries.views.on_corpus import on_corpus
from neurothek.queries.views.rows import with_facts

_KEYS_MEASURED = """\
-- Which models the job keys ran on.
select model_id,
from store.runs
where job = 'keys'
"""

_LIST_LENGTH = """\
-- How many tokens the keys of a model list.
select len(top_token_ids) as n_listed,
from store.key_projections
where set_id = $model_id
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
    "matched": pl.List(TEXT),
    "matched_readers": pl.List(TEXT),
    "matched_poles": pl.List(TEXT),
    "matched_ranks": pl.List(INTEGER),
    "matched_scores": pl.List(DOUBLE),
    "matched_z_scores": pl.List(DOUBLE),
    "pole": TEXT,
    "label": TEXT,
    "top_tokens": pl.List(TEXT),
    "frequency": DOUBLE,
    "corpus": TEXT,
}
"""Columns of a result: `matched` and its companions hold one entry per word and reader that lists it, a word's best
first; `top_tokens` are what the neuron promotes, in a gated model at `pole`: that of its up projection where this lists
a word, else the one at which it is strongest."""

_FACTS = ("address", "depth", "top_tokens", "bottom_tokens", "frequency", "corpus", "pole", "label")

CAVEAT = (
    "reads are products of keys with embeddings: above the first layers the stream is no longer an embedding, see the"
    " view read_agreement"
)


@dataclass(frozen=True, repr=False, kw_only=True)
class ReadingResult(FoundNeurons):
    """The neurons that read what was asked, best first.

    Attributes:
        question: what was asked.
        neurons: one row per neuron, with the columns of `COLUMNS`; `z_sum` is the sum over words of the largest |z| of
            its readers.
        n_found: how many neurons there are, including those beyond the limit.
    """

    question: Question

    @property
    def title(self) -> str:
        """One line over the table."""
        reading = "neuron that reads" if self.n_found == 1 else "neurons that read"
        return f"{self.first}{self.n_found:,} {reading} {self.question.display(self.question.all_words)}"

    def table(self) -> pl.DataFrame:
        """The columns that people read, a line per reader."""
        names = {
            "matched_readers": "reader",
            "matched_poles": "up",
            "matched_ranks": "rank",
            "matched_scores": "score",
            "matched_z_scores": "z_score",
            "matched": "token",
        }
        lines = self.neurons.explode(*names)
        is_up = pl.col("matched_readers") == "up"
        lines = lines.with_columns(pl.when(is_up).then(pl.col("matched_poles")).alias("matched_poles"))
        columns = {name: new for name, new in names.items() if not lines.get_column(name).is_null().all()}
        return lines.select(
            pl.col("place").alias("#"),
            "address",
            *[pl.col(name).alias(new) for name, new in columns.items()],
            pl.col("top_tokens").alias("promotes"),
        )


@with_its_sql
def reading(connection: duckdb.DuckDBPyConnection, question: Question) -> ReadingResult:
    """Find the neurons whose key, gate or up projection lists one of the words (`match_all`: all of them).

    A word is any of its spellings, and must be a token: a key is compared with the embeddings of single tokens. Only
    stored lists are searched. Of up projections, whose sign is a convention, both ends are listed.
    """
    question.require_only(
        "neurons by what they read",
        "words",
        "reads",
        "models",
        "variants",
        "layers",
        "depth",
        "match_all",
        "exact",
        "where",
        "scripts",
        "patterns",
        "bytes",
        "corpus",
        "limit",
    )
    if not question.is_about_tokens:
        raise no_words()
    with on_corpus(connection, question.models, question.corpus) as prepared:
        return _reading(prepared, question, is_elsewhere=prepared is not connection)


def _reading(connection: duckdb.DuckDBPyConnection, question: Question, *, is_elsewhere: bool) -> ReadingResult:
    scope = models_asked(connection, question)
    measured = {row["model_id"] for row in records(connection, _KEYS_MEASURED)}
    models = [model for model in scope.models if model.model_id in measured]
    if not models:
        only = scope.models[0].name if len(scope.models) == 1 else None
        raise not_measured("reads", "keys", model=only)
    terms = _tokens(connection, question, models)
    rows = _rows(connection, question, models, terms)
    facts = with_facts(connection, rows, _FACTS, is_elsewhere=is_elsewhere)
    missing = [model.name for model in scope.models if model not in models]
    lengths = {
        row["n_listed"] for model in models for row in records(connection, _LIST_LENGTH, {"model_id": model.model_id})
    }
    ranks = " or ".join(map(str, sorted(lengths)))
    return ReadingResult(
        question=question,
        neurons=framed([at_pole(_at_pole_of_up(row)) for row in facts], COLUMNS),
        n_found=rows[0]["n_found"] if rows else 0,
        notes=(
            *dict.fromkeys(f"{quoted(term.word)} stands for {quoted_list(term.tokens)}" for term in terms),
            f"the stored lists are complete to rank {ranks}: a key that ranks a word lower is not found",
            CAVEAT,
            *([f"the job keys was not run, so left out: {', '.join(missing)}"] if missing else []),
            *condition_notes(question.where, models),
            *(which_corpora(connection, [model.name for model in models]) if question.hangs_on_text else ()),
        ),
        left_out=scope.left_out,
    )


def _tokens(connection: duckdb.DuckDBPyConnection, question: Question, models: Sequence[KnownModel]) -> list[Term]:
    """What the words mean where they are tokens; one that is none in any model is refused."""
    tokenizer_ids = sorted({model.tokenizer_id for model in models})
    terms = terms_of(connection, question, tokenizer_ids)
    tokens = [term for term in terms if not term.is_split]
    for word in dict.fromkeys(term.word for term in terms):
        if word not in {token.word for token in tokens}:
            raise unknown_word(word, nearest_words(connection, word, tokenizer_ids))
    return tokens


def _rows(
    connection: duckdb.DuckDBPyConnection, question: Question, models: Sequence[KnownModel], terms: Sequence[Term]
) -> list[dict[str, Any]]:
    layers = layers_of(question, models)
    words = list(dict.fromkeys(term.word for term in terms))
    lookups = [
        (model.model_id, words.index(term.word), token, layers[model.model_id])
        for model in models
        if model.model_id in layers
        for term in terms
        if term.tokenizer_id == model.tokenizer_id
        for token in term.parts[0]
    ]
    token_ids = sorted({token.token_id for _, _, token, _ in lookups})
    parameters = {
        "model_ids": [model_id for model_id, *_ in lookups],
        "word_numbers": [number for _, number, *_ in lookups],
        "token_ids": [token.token_id for _, _, token, _ in lookups],
        "texts": [token.text for _, _, token, _ in lookups],
        "first_layers": [first for *_, (first, _) in lookups],
        "last_layers": [last for *_, (_, last) in lookups],
        "all_token_ids": token_ids,
        "match_all": question.match_all,
        "n_words": len(words),
        "limit": question.limit,
    }
    return filtered_records(
        connection,
        statement("reading"),
        question,
        parameters,
        each={"token_id": token_ids},
        holding=(how_many(token_ids),),
    )


def _at_pole_of_up(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with the pole at which its up projection reads a word best, where it does."""
    of_up = (pole for reader, pole in zip(row["matched_readers"], row["matched_poles"], strict=True) if reader == "up")
    return {**row, "pole": next(of_up, row["pole"])}
