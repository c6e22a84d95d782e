"""Search beyond the stored lists: every neuron's exact score of a word, joined with what is known of the neurons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import duckdb
import polars as pl

from neurothek.catalog.tables.table import BIG, DOUBLE, FLOAT, INTEGER, SMALL, TEXT
from neurothek.queries.ask.answer import with_its_sql
from neurothek.queries.ask.statements import ask_records, frame_of, framed
from neurothek.queries.errors.unfit_options import not_measured
from neurothek.queries.errors.unknown_subjects import no_words, one_word_only
from neurothek.queries.names.models import KnownModel, which_corpora
from neurothek.queries.names.words import Term, find_class, find_terms
from neurothek.queries.search.condition import condition_notes, filtered_records, layers_of, models_asked
from neurothek.queries.search.poles import POLES, FoundNeurons, at_pole, listed_side, poles_shown, with_strongest
from neurothek.queries.search.question import Question
from neurothek.queries.views.on_corpus import on_corpus
from neurothek.queries.views.rows import with_facts

if TYPE_CHECKING:
    import numpy as np

_CHOSEN_NEURONS = """\
-- The neurons that a person's condition keeps.
select model, layer, neuron,
from neurons
where
    (/* the conditions on neurons */ true)
"""

_SCORE_MOMENTS = """\
-- Mean and standard deviation of the scores of each neuron of some layers of a model, in the order of the neurons.
select score_mean, score_sd,
from store.projections
where set_id = $model_id and layer between $first_layer and $last_layer
order by layer, neuron
"""

_IDS_OF_TOKENIZER = """\
-- The ids that a tokenizer has, rising.
select token_id,
from store.tokens
where tokenizer_id = $tokenizer_id
order by token_id
"""

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
    **POLES,
    "label": TEXT,
}

FACTS = ("address", "depth", "top_tokens", "bottom_tokens", "frequency", "activation_min", "activation_max", "label")
"""What is said of a neuron beside its score."""

HONOURED = (
    *(
        "words",
        "scripts",
        "patterns",
        "bytes",
        "side",
        "models",
        "layers",
        "depth",
        "exact",
        "where",
        "corpus",
        "limit",
    ),
    "variants",
)
"""Fields of a question that exact scores follow."""


class WordScores(Protocol):
    """What answers from one model's weights."""

    def scores(self, token_ids: Sequence[int], *, layers: tuple[int, int]) -> np.ndarray:
        """[n_tokens n_layers d_ffn] raw scores of tokens for every neuron of the layers, first to last."""

    def ranks(
        self, places: Sequence[tuple[int, int, int]], *, vocabulary: Sequence[int] | np.ndarray
    ) -> list[tuple[int, int]]:
        """Rank of a token in what a neuron promotes, and from the bottom, for each (token, layer, neuron)."""


@dataclass(frozen=True)
class AtHand:
    """The weights that may be read for an answer."""

    scores: Mapping[int, WordScores] = field(default_factory=dict)  # model_id -> what answers from its weights
    why_not: Mapping[str, str] = field(default_factory=dict)  # name of a model -> why its weights are not read


OpenWeights = Callable[[Sequence[KnownModel]], AtHand]
"""Finds the weights of models."""


@dataclass(frozen=True)
class Scoring:
    """What has to be computed from one model's weights."""

    model: KnownModel  # the model, and where its weights lay
    tokens: Mapping[int, str]  # id -> text of the tokens that stand for the word
    layers: tuple[int, int]  # first and last layer


@dataclass(frozen=True, repr=False, kw_only=True)
class ScoredResult(FoundNeurons):
    """Neurons by their exact score of a word, best first.

    Attributes:
        question: what was asked.
        neurons: one row per neuron, with the columns of `COLUMNS`: of the word's spellings the one it scores best. In a
            gated model every number is that of the neuron's `pole`.
        n_found: how many neurons were scored and meet the conditions.
    """

    question: Question

    @property
    def title(self) -> str:
        """One line over the table."""
        return by_score_title(self.question, self.neurons.height, self.n_found)

    def table(self) -> pl.DataFrame:
        """The columns that people read."""
        place = "rank_from_bottom" if self.question.side == "suppressed" else "rank"
        columns = ("address", *poles_shown(self.neurons), "token", "score", "z_score", place)
        return self.neurons.select(pl.col("place").alias("#"), *columns, pl.col("top_tokens").alias("promotes"))


def by_score_title(question: Question, n_shown: int, n_found: int) -> str:
    """One line over neurons of which all were scored."""
    doing = {"promoted": "promote", "suppressed": "suppress", "both": "promote or suppress"}[question.side]
    return f"the {n_shown} of {n_found:,} neurons that {doing} {question.display(question.all_words[:1])} most"


def scorings(connection: duckdb.DuckDBPyConnection, question: Question) -> list[Scoring]:
    """For each model the tokens to score."""
    if not question.is_about_tokens:
        raise no_words()
    question.require_only("exact scores", *HONOURED)
    models = models_asked(connection, question).models
    tokenizer_ids = sorted({model.tokenizer_id for model in models})
    terms = terms_of(connection, question, tokenizer_ids)
    if not is_one(terms):
        raise one_word_only(question.all_words)
    return scorings_of(question, models, terms)


def terms_of(connection: duckdb.DuckDBPyConnection, question: Question, tokenizer_ids: Sequence[int]) -> list[Term]:
    """What the question's words and classes of tokens mean in each tokenizer."""
    words = find_terms(connection, question.words, tokenizer_ids, exact=question.exact)
    return words + [term for one in question.classes for term in find_class(connection, one, tokenizer_ids)]


def is_one(terms: Sequence[Term]) -> bool:
    """Whether they are one word that is a token, or is any of so few that all neurons can be scored with each."""
    is_short = all(len(term.parts[0]) <= _MOST_TOKENS for term in terms)
    return is_short and len({term.word for term in terms}) == 1 and not any(term.is_split for term in terms)


_MOST_TOKENS = 100
"""Spellings of one word whose scores by all neurons are held at once."""


def scorings_of(question: Question, models: Sequence[KnownModel], terms: Sequence[Term]) -> list[Scoring]:
    """For each model the tokens of one word, in the layers that are asked for."""
    layers = layers_of(question, models)
    return [
        Scoring(model, {token.token_id: token.text for token in term.parts[0]}, layers[model.model_id])
        for model in models
        for term in terms
        if term.tokenizer_id == model.tokenizer_id and model.model_id in layers
    ]


@with_its_sql
def scored(
    connection: duckdb.DuckDBPyConnection,
    question: Question,
    parts: Sequence[Scoring],
    weights: Mapping[int, WordScores],
) -> ScoredResult:
    """Score every neuron, and keep the best, with what is known of them."""
    with on_corpus(connection, question.models, question.corpus) as prepared:
        return _scored(prepared, question, parts, weights, is_elsewhere=prepared is not connection)


def _scored(
    connection: duckdb.DuckDBPyConnection,
    question: Question,
    parts: Sequence[Scoring],
    weights: Mapping[int, WordScores],
    *,
    is_elsewhere: bool,
) -> ScoredResult:
    rows, n_found = best_scored(connection, question, parts, weights)
    rows = with_facts(connection, _ranked(connection, rows, parts, weights), FACTS, is_elsewhere=is_elsewhere)
    names = [one.model.name for one in parts]
    return ScoredResult(
        question=question,
        neurons=framed([at_pole(row) for row in with_strongest(rows)], COLUMNS),
        n_found=n_found,
        notes=(
            *_notes(parts),
            *condition_notes(question.where, [one.model for one in parts]),
            *(which_corpora(connection, names) if question.hangs_on_text else ()),
        ),
        left_out=models_asked(connection, question).left_out,
    )


def best_scored(
    connection: duckdb.DuckDBPyConnection,
    question: Question,
    parts: Sequence[Scoring],
    weights: Mapping[int, WordScores],
) -> tuple[list[dict[str, Any]], int]:
    """The question's first neurons by the word's z-score, best first, and how many there are.

    Of the word's spellings a neuron has the one that it scores best. A neuron of a gated model has the pole at which it
    does to the word what is asked, and the numbers of that pole: those of its value vector, or of the negated one.
    """
    remaining = _remaining(connection, question) if question.is_filtered else None
    rows: list[dict[str, Any]] = []
    n_found = 0
    for one in parts:
        best, n_scored = _best_of(connection, question, one, weights[one.model.model_id], remaining)
        rows += best
        n_found += n_scored
    rows.sort(key=lambda row: (-row["strength"], row["model"], row["layer"], row["neuron"]))
    return [{**row, "place": place} for place, row in enumerate(rows[: question.limit], start=1)], n_found


def scored_words(
    connection: duckdb.DuckDBPyConnection,
    question: Question,
    parts: Sequence[Scoring],
    weights: Mapping[int, WordScores],
) -> tuple[list[dict[str, Any]], int]:
    """The same neurons as a search by word has them; what their lists hold is told as it is stored."""
    rows, n_found = best_scored(connection, question, parts, weights)
    models = [one.model for one in parts]
    stored = {model.model_id: _listed(connection, model, rows) for model in models}
    listed = [stored[row["model_id"]].get((row["token_id"], row["layer"], row["neuron"])) for row in rows]
    beyond = [row for row, hit in zip(rows, listed, strict=True) if hit is None]
    ranks = iter(word_ranks(connection, beyond, models, weights))
    words = []
    for row, hit in zip(rows, listed, strict=True):
        sign = -1 if row["pole"] == "negative" else 1
        if hit is None:
            rank, from_bottom = next(ranks)
            rank = rank if row["side"] == "promoted" else from_bottom
            score, z_score = row["score"], row["z_score"]
        else:
            rank, score, z_score = hit["rank"], sign * hit["score"], sign * hit["z_score"]
        words.append(
            {
                **row,
                "n_words": 1,
                "z_sum": z_score if row["side"] == "promoted" else -z_score,
                "matched": [row["token"]],
                "matched_sides": [row["side"]],
                "matched_ranks": [rank],
                "matched_scores": [score],
                "matched_z_scores": [z_score],
            }
        )
    return words, n_found


def _listed(
    connection: duckdb.DuckDBPyConnection, model: KnownModel, rows: Sequence[Mapping[str, Any]]
) -> dict[tuple[int, int, int], dict[str, Any]]:
    """(token, layer, neuron) -> the stored place of the token, of those rows of the model whose list has it."""
    of_model = [row for row in rows if row["model_id"] == model.model_id]
    parameters = {
        "model_id": model.model_id,
        "token_ids": [row["token_id"] for row in of_model],
        "distinct_token_ids": sorted({row["token_id"] for row in of_model}),
        "sides": [listed_side(row) for row in of_model],
        "layers": [row["layer"] for row in of_model],
        "neurons": [row["neuron"] for row in of_model],
    }
    hits = ask_records(connection, "postings_of_neurons", parameters) if of_model else []
    return {(hit["token_id"], hit["layer"], hit["neuron"]): hit for hit in hits}


def _remaining(connection: duckdb.DuckDBPyConnection, question: Question) -> dict[str, list[tuple[int, int]]]:
    """Model -> the neurons that the question's conditions keep."""
    neurons: dict[str, list[tuple[int, int]]] = {}
    for row in filtered_records(connection, _CHOSEN_NEURONS, question, {}):
        neurons.setdefault(row["model"], []).append((row["layer"], row["neuron"]))
    return neurons


def _best_of(
    connection: duckdb.DuckDBPyConnection,
    question: Question,
    one: Scoring,
    weights: WordScores,
    remaining: Mapping[str, Sequence[tuple[int, int]]] | None,
) -> tuple[list[dict[str, Any]], int]:
    """One model's first neurons, best first, and how many there are."""
    import numpy as np  # noqa: PLC0415  (takes a tenth of a second to import, which stored answers do without)

    ids = sorted(one.tokens)
    first, last = one.layers
    scores = weights.scores(ids, layers=one.layers)
    mean, sd = (part.reshape(scores.shape[1:]) for part in _moments(connection, one))
    z = np.divide(scores - mean, sd, out=np.zeros(scores.shape), where=sd > 0)
    towards = -1.0 if question.side == "suppressed" else 1.0
    is_either = question.side == "both" or one.model.is_signed
    strengths = np.abs(z) if is_either else towards * z
    best = strengths.argmax(axis=0)[None]
    strength, z, score = (np.take_along_axis(part, best, 0)[0].ravel() for part in (strengths, z, scores))
    numbers = np.arange(strength.size)
    if remaining is not None:
        width = scores.shape[2]
        numbers = np.asarray(
            sorted(
                (layer - first) * width + neuron
                for layer, neuron in remaining.get(one.model.name, ())
                if first <= layer <= last
            ),
            dtype=np.int64,
        )
    order = numbers[np.argsort(-strength[numbers], kind="stable")][: question.limit]
    rows = []
    for number in order.tolist():
        token_id = ids[int(best.ravel()[number])]
        sign = (1.0 if z[number] * towards >= 0 else -1.0) if one.model.is_signed else 1.0
        effect = towards if one.model.is_signed or question.side != "both" else z[number]
        rows.append(
            {
                "model_id": one.model.model_id,
                "model": one.model.name,
                "layer": first + number // scores.shape[2],
                "neuron": number % scores.shape[2],
                "token_id": token_id,
                "token": one.tokens[token_id],
                "score": sign * float(score[number]),
                "z_score": sign * float(z[number]),
                "strength": float(strength[number]),
                "side": "promoted" if effect >= 0 else "suppressed",
                "pole": ("positive" if sign > 0 else "negative") if one.model.is_signed else None,
            }
        )
    return rows, len(numbers)


def _moments(connection: duckdb.DuckDBPyConnection, one: Scoring) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the scores of every neuron of the layers, in order."""
    first, last = one.layers
    moments = frame_of(
        connection, _SCORE_MOMENTS, {"model_id": one.model.model_id, "first_layer": first, "last_layer": last}
    )
    if moments.height != (last - first + 1) * one.model.d_ffn:
        raise not_measured("projections", "projections", model=one.model.name)
    return moments["score_mean"].to_numpy(), moments["score_sd"].to_numpy()


def word_ranks(
    connection: duckdb.DuckDBPyConnection,
    rows: Sequence[Mapping[str, Any]],
    models: Iterable[KnownModel],
    weights: Mapping[int, WordScores],
) -> list[tuple[int, int]]:
    """Rank and rank from the bottom of each row's token in what the neuron writes at the row's pole."""
    result: list[tuple[int, int]] = [(0, 0)] * len(rows)
    for model in models:
        numbers = [number for number, row in enumerate(rows) if row["model_id"] == model.model_id]
        if not numbers:
            continue
        ids = frame_of(connection, _IDS_OF_TOKENIZER, {"tokenizer_id": model.tokenizer_id})["token_id"].to_numpy()
        places = [(rows[number]["token_id"], rows[number]["layer"], rows[number]["neuron"]) for number in numbers]
        for number, both in zip(numbers, weights[model.model_id].ranks(places, vocabulary=ids), strict=True):
            result[number] = both[::-1] if rows[number]["pole"] == "negative" else both
    return result


def _ranked(
    connection: duckdb.DuckDBPyConnection,
    rows: Sequence[dict[str, Any]],
    parts: Sequence[Scoring],
    weights: Mapping[int, WordScores],
) -> list[dict[str, Any]]:
    ranks = word_ranks(connection, rows, [one.model for one in parts], weights)
    return [{**row, "rank": rank, "rank_from_bottom": low} for row, (rank, low) in zip(rows, ranks, strict=True)]


def _notes(parts: Sequence[Scoring]) -> tuple[str, ...]:
    """Which tokens were scored in which models: models that have the same are named together."""
    models: dict[str, list[str]] = {}
    for one in parts:
        models.setdefault(", ".join(map(repr, one.tokens.values())), []).append(one.model.name)
    return tuple(f"scored {tokens} in {', '.join(names)}" for tokens, names in models.items())
