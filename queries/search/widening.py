"""Words widened with their nearest tokens in each model's unembedding: other names of the same concept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from neurothek.catalog.spelling import readable
from neurothek.queries.ask.statements import ask_records
from neurothek.queries.names.models import KnownModel
from neurothek.queries.names.words import Term, Token, words_of


@dataclass(frozen=True)
class Neighbour:
    """A word near to one that was asked for.

    Attributes:
        word: the word.
        near: the word asked for.
        cosine: of their unembedding rows, the largest over their spellings.
        tokens: its spellings.
    """

    word: str
    near: str
    cosine: float
    tokens: tuple[Token, ...]


def neighbours_of(
    connection: duckdb.DuckDBPyConnection,
    models: Sequence[KnownModel],
    terms: Sequence[Term],
    *,
    limit: int,
    without: Sequence[str] = (),
) -> dict[int, list[Neighbour]]:
    """For each model up to `limit` words near to each term; a word near to several stands by its nearest."""
    asked = [
        (model.model_id, token.token_id, term.word)
        for model in models
        for term in terms
        if term.tokenizer_id == model.tokenizer_id and not term.is_split
        for token in term.parts[0]
    ]
    known = {part.strip().casefold() for term in terms for part in [term.word, *term.word.split(",")]}
    rows = ask_records(
        connection,
        "neighbour_words",
        {
            "model_ids": [row[0] for row in asked],
            "token_ids": [row[1] for row in asked],
            "words": [row[2] for row in asked],
            "known": sorted(known | {word.strip().casefold() for word in without}),
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
    said: dict[str, list[str]] = {}
    for model in models:
        words = ", ".join(f"{readable(one.word)} ({one.cosine:.2f})" for one in widened[model.model_id])
        said.setdefault(words or "nothing", []).append(model.name)
    return [f"widened in {', '.join(names)} with {words}" for words, names in said.items()]
