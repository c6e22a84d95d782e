"""The tokens of one neuron's page: its rows hold ids, whose texts and counts are fetched once for all of them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from neurothek.queries.ask.statements import records

_TEXTS = """\
-- Texts of some tokens.
select tokens.token_id, tokens.text,
from (select unnest($token_ids::integer[]) as token_id) as asked
inner join store.tokens as tokens on tokens.token_id = asked.token_id
where tokens.tokenizer_id = $tokenizer_id
"""

_COUNTS = """\
-- How often some tokens occur in each domain of a corpus.
select counts.token_id, counts.n_occurrences,
from (select unnest($token_ids::integer[]) as token_id) as asked
inner join store.token_counts as counts on counts.token_id = asked.token_id
where counts.corpus_id = $corpus_id
"""

_COUNTED_TOKENS = """\
-- Texts of some tokens, whether they are special, and how often each occurs in a corpus: null where it does not, or
-- there is no corpus.
with asked as (
    select unnest($token_ids::integer[]) as token_id
),
counted as (
    select counts.token_id, sum(counts.n_occurrences)::bigint as n_occurrences
    from asked
    inner join store.token_counts as counts on counts.token_id = asked.token_id
    where counts.corpus_id = $corpus_id
    group by counts.token_id
)
select tokens.token_id, tokens.text, tokens.is_special, counted.n_occurrences,
from asked
inner join store.tokens as tokens on tokens.token_id = asked.token_id
left join counted on counted.token_id = asked.token_id
where tokens.tokenizer_id = $tokenizer_id
"""

Row = dict[str, Any]


def texts_of(connection: duckdb.DuckDBPyConnection, tokenizer_id: int, token_ids: Iterable[int]) -> dict[int, str]:
    """Token id -> exact text, of those that the tokenizer has."""
    parameters = {"tokenizer_id": tokenizer_id, "token_ids": sorted(set(token_ids))}
    return {row["token_id"]: row["text"] for row in records(connection, _TEXTS, parameters)}


@dataclass(frozen=True)
class KnownTokens:
    """What is known of some tokens."""

    texts: Mapping[int, str]  # token id -> exact text
    special: tuple[str, ...]  # texts of those that stand for no text, such as the beginning of a sequence
    # token id -> how often it occurs in a corpus, of those that do; None without a corpus
    counts: Mapping[int, int] | None


def known_tokens(
    connection: duckdb.DuckDBPyConnection, tokenizer_id: int, corpus_id: int | None, token_ids: Iterable[int]
) -> KnownTokens:
    """What `texts_of` and `counts_of` say of the same tokens, in one question."""
    parameters = {"tokenizer_id": tokenizer_id, "corpus_id": corpus_id, "token_ids": sorted(set(token_ids))}
    rows = records(connection, _COUNTED_TOKENS, parameters)
    texts = {row["token_id"]: row["text"] for row in rows}
    special = tuple(sorted({row["text"] for row in rows if row["is_special"]}))
    counts = {row["token_id"]: row["n_occurrences"] for row in rows if row["n_occurrences"] is not None}
    return KnownTokens(texts, special, None if corpus_id is None else counts)


def counts_of(
    connection: duckdb.DuckDBPyConnection, corpus_id: int | None, token_ids: Iterable[int]
) -> Mapping[int, int] | None:
    """Token id -> how often it occurs in a corpus, of those that do; None without a corpus."""
    if corpus_id is None:
        return None
    parameters = {"corpus_id": corpus_id, "token_ids": sorted(set(token_ids))}
    counts = Counter[int]()
    for row in records(connection, _COUNTS, parameters):
        counts[row["token_id"]] += row["n_occurrences"]
    return counts


def listed_tokens(rows: Sequence[Row]) -> list[Row]:
    """A row for each token that the neuron lists, promoted ones first: side, rank, token_id, score, z_score."""
    return [
        {"side": side, "rank": rank, "token_id": token_id, "score": score, "z_score": _z_score(row, score)}
        for row in rows
        for side, ids, scores in (
            ("promoted", row["top_token_ids"], row["top_scores"]),
            ("suppressed", row["bottom_token_ids"], row["bottom_scores"]),
        )
        for rank, (token_id, score) in enumerate(zip(ids, scores, strict=True), start=1)
    ]


def with_texts(rows: Sequence[Row], texts: Mapping[int, str], counts: Mapping[int, int] | None) -> list[Row]:
    """The listed tokens with their texts, and their counts in the shown corpus where there is one."""
    return [
        {
            **row,
            "token": texts[row["token_id"]],
            "corpus_count": None if counts is None else counts.get(row["token_id"], 0),
        }
        for row in rows
        if row["token_id"] in texts
    ]


def first_texts(rows: Sequence[Row], texts: Mapping[int, str]) -> dict[str, list[str | None] | None]:
    """`top_tokens` and `bottom_tokens`: texts of the first ten ids of each list, as the table neuron_facts has them."""
    return {
        name: [texts.get(token_id) for token_id in rows[0][ids][:10]] if rows else None
        for name, ids in (("top_tokens", "top_token_ids"), ("bottom_tokens", "bottom_token_ids"))
    }


def context_ids(rows: Sequence[Row]) -> list[int]:
    """Ids of all tokens around the neuron's strongest places."""
    return [one for row in rows for one in (*row["ids_before"], row["token_id"], *row["ids_after"])]


def spelled(rows: Sequence[Row], texts: Mapping[int, str]) -> list[Row]:
    """The strongest places with the text before and after the token."""
    return [
        {
            **row,
            "before": _joined(row["ids_before"], texts),
            "token": texts.get(row["token_id"]),
            "after": _joined(row["ids_after"], texts),
        }
        for row in rows
    ]


def _joined(token_ids: Iterable[int], texts: Mapping[int, str]) -> str:
    return "".join(texts.get(token_id, "") for token_id in token_ids)


def _z_score(row: Row, score: float) -> float | None:
    return (score - row["score_mean"]) / row["score_sd"] if row["score_sd"] else None
