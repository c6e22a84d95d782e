"""Search beyond the stored lists: every neuron's exact score of a word, joined with what is known of the neurons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import polars as pl

from catalog.tables.table import BIG, DOUBLE, FLOAT, INTEGER, SMALL, TEXT
from queries.ask.answer import with_its_sql
from queries.ask.statements import framed
from queries.errors import NothingAsked, OneWordOnly
from queries.names.corpora import which_corpora
from queries.names.models import KnownModel
from queries.names.words import Term, find_terms
from queries.search.condition import filtered_records
from queries.search.found import FoundNeurons
from queries.search.question import Question
from queries.search.scope import layers_of, models_asked
from queries.views.rows import with_facts

COLUMNS: Mapping[str, pl.DataType] = {
    "place": BIG,
    "address": TEXT,
    "model": TEXT,
    "layer": SMALL,
    "neuron": INTEGER,
    "depth": DOUBLE,
    "token": TEXT,
    "score": FLOAT,
    "z_score": DOUBLE,
    "rank": INTEGER,
    "rank_from_bottom": INTEGER,
    "top_tokens": pl.List(TEXT),
    "frequency": DOUBLE,
}

FACTS = ("address", "depth", "top_tokens", "frequency")
"""What is said of a neuron beside its score."""


@dataclass(frozen=True)
class Wanted:
    """What has to be computed from one model's weights.

    Attributes:
        model: the model, and where its weights lay.
        tokens: id -> text of the tokens that stand for the word.
        layers: first and last layer.
    """

    model: KnownModel
    tokens: Mapping[int, str]
    layers: tuple[int, int]


@dataclass(frozen=True, repr=False, kw_only=True)
class ScoredResult(FoundNeurons):
    """Neurons by their exact score of a word, best first.

    Attributes:
        question: what was asked.
        neurons: one row per neuron, with the columns of `COLUMNS`: of the word's spellings the one it scores best.
        n_found: how many neurons were scored and meet the conditions.
    """

    question: Question

    @property
    def title(self) -> str:
        """One line over the table."""
        doing = {"promoted": "promote", "suppressed": "suppress", "both": "promote or suppress"}[self.question.side]
        word = self.question.shown(self.question.words[:1])
        return f"the {self.neurons.height} of {self.n_found:,} neurons that {doing} {word} most"

    def table(self) -> pl.DataFrame:
        """The columns that people read."""
        place = "rank_from_bottom" if self.question.side == "suppressed" else "rank"
        shown = ("address", "token", "score", "z_score", place)
        return self.neurons.select(pl.col("place").alias("#"), *shown, pl.col("top_tokens").alias("promotes"))


def wanted(connection: duckdb.DuckDBPyConnection, question: Question) -> list[Wanted]:
    """For each model the tokens to score.

    Raises:
        NothingAsked, OneWordOnly: there is not exactly one word, or it is not a token.
        NotAskedHere: there are conditions on the stored lists.
        NoModels, UnknownModel, NoSuchLayer, NoLayersLeft, BlankWord, NoSuchWord, NoSuchToken: see `search`.
    """
    if not question.words:
        raise NothingAsked
    question.require_only(
        "exact scores", "words", "side", "models", "layers", "depth", "exact", "where", "limit", "variants"
    )
    models = models_asked(connection, question).models
    tokenizer_ids = sorted({model.tokenizer_id for model in models})
    terms = find_terms(connection, question.words, tokenizer_ids, exact=question.exact)
    if len(question.words) > 1 or any(term.is_split for term in terms):
        raise OneWordOnly(question.words)
    layers = layers_of(question, models)
    return [
        Wanted(model, _texts(term), layers[model.model_id])
        for model in models
        for term in terms
        if term.tokenizer_id == model.tokenizer_id and model.model_id in layers
    ]


@with_its_sql
def scored(
    connection: duckdb.DuckDBPyConnection, question: Question, scores: Sequence[tuple[Wanted, pl.DataFrame]]
) -> ScoredResult:
    """Join the scores (rows of `catalog.tables.traces.TOKEN_SCORES`) with the neurons, and keep the best.

    Raises:
        BadPredicate, UnknownColumn: the question's condition cannot be evaluated.
    """
    strength = {"promoted": pl.col("z_score"), "suppressed": -pl.col("z_score"), "both": pl.col("z_score").abs()}
    parts = [
        frame.with_columns(
            pl.lit(one.model.name).alias("model"),
            pl.lit(one.model.model_id).alias("model_id"),
            pl.col("token_id").replace_strict(dict(one.tokens), return_dtype=pl.String).alias("token"),
            strength[question.side].alias("strength"),
        )
        for one, frame in scores
    ]
    everything = pl.concat(parts).sort(
        ["strength", "model", "layer", "neuron", "token_id"], descending=[True, False, False, False, False]
    )
    best = everything.unique(["model", "layer", "neuron"], keep="first", maintain_order=True)
    if question.is_filtered:
        kept = filtered_records(connection, "chosen_neurons", question, {})
        frame = pl.DataFrame(kept, schema={"model": TEXT, "layer": SMALL, "neuron": INTEGER})
        best = best.join(frame, on=["model", "layer", "neuron"], how="semi", maintain_order="left")
    rows = best.head(question.limit).with_row_index("place", 1).to_dicts()
    return ScoredResult(
        question=question,
        neurons=framed(with_facts(connection, rows, FACTS), COLUMNS),
        n_found=best.height,
        notes=(
            *_notes([one for one, _ in scores]),
            *_read(connection, question, [one.model.name for one, _ in scores]),
        ),
        left_out=models_asked(connection, question).left_out,
    )


def _read(connection: duckdb.DuckDBPyConnection, question: Question, models: Sequence[str]) -> list[str]:
    return which_corpora(connection, models) if question.hangs_on_text else []


def _notes(wanted: Sequence[Wanted]) -> tuple[str, ...]:
    """Which tokens were scored in which models: models that have the same are named together."""
    models: dict[str, list[str]] = {}
    for one in wanted:
        models.setdefault(", ".join(map(repr, one.tokens.values())), []).append(one.model.name)
    return tuple(f"scored {tokens} in {', '.join(names)}" for tokens, names in models.items())


def _texts(term: Term) -> dict[int, str]:
    return {token.token_id: token.text for token in term.parts[0]}
