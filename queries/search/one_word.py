"""A search of one word, without the joins that others need, and the nearest tokens that a search adds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from neurothek.catalog.spelling import one_line
from neurothek.queries.ask.one_query import how_many, repeated, with_parts
from neurothek.queries.ask.statements import ask_records, records, statement
from neurothek.queries.names.models import KnownModel
from neurothek.queries.names.words import Term, Token, counts_of, words_of
from neurothek.queries.search.question import Question, Side
from neurothek.queries.views.rows import Neuron

_FOLLOWED = ("words", "side", "models", "variants", "match_all", "exact", "corpus", "limit")
"""Fields of a question that the rows follow, beside those that its terms and models follow from."""


def is_one_word(question: Question, terms: Sequence[Term]) -> bool:
    """Whether the question asks for the tokens of one word in all layers, and for nothing else."""
    alone = len({term.word for term in terms}) == 1 and not any(term.is_split for term in terms)
    return alone and not question.given(beside=_FOLLOWED)


def one_word_rows(
    connection: duckdb.DuckDBPyConnection, question: Question, models: Sequence[KnownModel], terms: Sequence[Term]
) -> list[dict[str, Any]]:
    """The best neurons, a row each as the statement `search` has it, but without `matched_counts`; see `with_counts`.

    Args:
        connection: a reader.
        question: one of which `is_one_word` holds.
        models: those that it is about.
        terms: the word in each tokenizer.
    """
    rows = []
    for term in terms:
        by_id = {model.model_id: model for model in models if model.tokenizer_id == term.tokenizer_id}
        rows += [
            _row(hit, by_id[hit["model_id"]], term, question.side) for hit in _best(connection, question, by_id, term)
        ]
    # The models of one tokenizer come in order; those of several are put in order together.
    rows.sort(key=lambda row: (-row["z_sum"], row["model"], row["layer"], row["neuron"]))
    n_found = sum({row["tokenizer_id"]: row["n_found"] for row in rows}.values())
    first = rows[: question.limit]
    return [{**row, "place": place, "n_found": n_found} for place, row in enumerate(first, start=1)]


def with_counts(connection: duckdb.DuckDBPyConnection, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with how often their token occurs in the corpus `corpus_id`; null without one."""
    counts = {
        corpus_id: counts_of(connection, corpus_id, [row["token_id"] for row in rows if row["corpus_id"] == corpus_id])
        for corpus_id in {row["corpus_id"] for row in rows}
    }
    return [{**row, "matched_counts": [_count(counts[row["corpus_id"]], row["token_id"])]} for row in rows]


def _best(
    connection: duckdb.DuckDBPyConnection, question: Question, models: Mapping[int, KnownModel], term: Term
) -> list[dict[str, Any]]:
    """The best places of the first neurons, one each."""
    token_ids = [token.token_id for token in term.parts[0]]
    signed = [model_id for model_id, model in models.items() if model.is_signed]
    sides = ["promoted", "suppressed"] if question.side == "both" or signed else [question.side]
    most = len(token_ids) * len(sides)
    often = "neurons are listed once" if most == 1 else "neurons are listed more than once"
    holding = (often, how_many(token_ids), *(["one side is asked"] if question.side != "both" else []))
    text, values = repeated(with_parts(statement("one_word"), holding), {"token_id": token_ids})
    parameters = {
        **(values or {"all_token_ids": token_ids}),
        **({"side": question.side, "signed_models": signed} if question.side != "both" else {}),
        "first_model": min(models),
        "last_model": max(models),
        "models_by_name": sorted(models, key=lambda model_id: models[model_id].name),
        # Enough for the neurons asked for, were each of them listed under every token on every side.
        "n_rows": question.limit * most,
    }
    best: dict[Neuron, dict[str, Any]] = {}
    for hit in records(connection, text, parameters):
        best.setdefault((hit["model_id"], hit["layer"], hit["neuron"]), hit)
    return list(best.values())[: question.limit]


def _row(hit: Mapping[str, Any], model: KnownModel, term: Term, side_asked: Side) -> dict[str, Any]:
    text = next(token.text for token in term.parts[0] if token.token_id == hit["token_id"])
    if model.is_signed:
        side = "suppressed" if side_asked == "suppressed" else "promoted"
        is_positive = hit["side"] == side
        sign = 1 if is_positive else -1
        pole = "positive" if is_positive else "negative"
        hit = {**hit, "side": side, "score": sign * hit["score"], "z_score": sign * hit["z_score"], "pole": pole}
    return {
        "pole": None,
        **hit,
        "tokenizer_id": model.tokenizer_id,
        "model": model.name,
        "n_words": 1,
        "z_sum": hit["strength"],
        "matched": [text],
        "matched_sides": [hit["side"]],
        "matched_ranks": [hit["rank"]],
        "matched_scores": [hit["score"]],
        "matched_z_scores": [hit["z_score"]],
    }


def _count(counts: Mapping[int, int] | None, token_id: int) -> int | None:
    return None if counts is None else counts.get(token_id, 0)


@dataclass(frozen=True)
class Neighbour:
    """A word near to one that was asked for."""

    word: str  # the word
    near: str  # the word asked for
    cosine: float  # of their unembedding rows, the largest over their spellings
    tokens: tuple[Token, ...]  # its spellings


def neighbours_of(
    connection: duckdb.DuckDBPyConnection,
    models: Sequence[KnownModel],
    terms: Sequence[Term],
    *,
    limit: int,
    without: Sequence[str] = (),
) -> dict[int, list[Neighbour]]:
    """For each model up to `limit` words near to each term; a word near to several stands by its nearest."""
    lookups = [
        (model.model_id, token.token_id, term.word)
        for model in models
        for term in terms
        if term.tokenizer_id == model.tokenizer_id and not term.is_split
        for token in term.parts[0]
    ]
    casefolded = {part.strip().casefold() for term in terms for part in [term.word, *term.word.split(",")]}
    rows = ask_records(
        connection,
        "neighbour_words",
        {
            "model_ids": [row[0] for row in lookups],
            "token_ids": [row[1] for row in lookups],
            "words": [row[2] for row in lookups],
            "known": sorted(casefolded | {word.strip().casefold() for word in without}),
            "limit": limit,
        },
    )
    tokenizers = {model.model_id: model.tokenizer_id for model in models}
    spellings = words_of(connection, sorted({row["word"] for row in rows}), sorted(set(tokenizers.values())))
    neighbours: dict[int, dict[str, Neighbour]] = {model.model_id: {} for model in models}
    for row in sorted(rows, key=lambda row: (-row["cosine"], row["word"])):
        tokens = spellings[row["word"], tokenizers[row["model_id"]]]
        one = Neighbour(row["word"], row["asked_word"], row["cosine"], tokens)
        neighbours[row["model_id"]].setdefault(one.word, one)
    return {model_id: list(words.values()) for model_id, words in neighbours.items()}


def remarks(models: Sequence[KnownModel], widened: Mapping[int, Sequence[Neighbour]], limit: int) -> list[str]:
    """What was added, a sentence per model; models that added the same share one."""
    if not any(widened.values()):
        return ["no nearest tokens are stored for these models" if limit else "no near words were added, as asked for"]
    models_by_words: dict[str, list[str]] = {}
    for model in models:
        words = ", ".join(f"{one_line(one.word)} ({one.cosine:.2f})" for one in widened[model.model_id])
        models_by_words.setdefault(words or "nothing", []).append(model.name)
    return [f"widened in {', '.join(names)} with {words}" for words, names in models_by_words.items()]
