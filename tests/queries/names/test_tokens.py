"""Tokens of a neuron's page: texts and counts as they are stored, and lists in their order."""

import math
from typing import Any

import duckdb
import pytest

from neurothek.queries.names.words import (
    context_ids,
    counts_of,
    first_texts,
    known_tokens,
    listed_tokens,
    spelled,
    texts_of,
    with_texts,
)
from tests.support.tiny import TEXTS
from tests.support.warehouse import hand_made

MADE = hand_made()


@pytest.mark.parametrize("tokenizer_id", [0, 1])
def test_texts_are_exact_and_of_those_that_there_are(full: duckdb.DuckDBPyConnection, tokenizer_id: int) -> None:
    texts = dict(enumerate(TEXTS[tokenizer_id]))
    assert texts_of(full, tokenizer_id, [*texts, *texts, -1, 999]) == texts
    assert texts_of(full, tokenizer_id, []) == {}
    assert texts_of(full, 9, texts) == {}


@pytest.mark.parametrize("corpus_id", [0, 1, 2])
def test_counts_are_summed_over_domains(full: duckdb.DuckDBPyConnection, corpus_id: int) -> None:
    expected: dict[int, int] = {}
    for row in MADE.rows["sequences"]:
        if row["corpus_id"] == corpus_id:
            # The first token is BOS in the tokenizer that has one, and is not counted.
            for token in row["tokens"][1:] if corpus_id < 2 else row["tokens"]:
                expected[token] = expected.get(token, 0) + 1
    assert counts_of(full, corpus_id, [*range(30), *range(30)]) == expected
    assert counts_of(full, corpus_id, []) == {}


def test_without_a_corpus_nothing_was_counted(full: duckdb.DuckDBPyConnection) -> None:
    assert counts_of(full, None, [1, 2]) is None
    assert counts_of(full, 99, [1, 2]) == {}


@pytest.mark.parametrize("corpus_id", [None, 0, 1, 99])
def test_both_in_one_question_are_what_each_says(full: duckdb.DuckDBPyConnection, corpus_id: int | None) -> None:
    ids = [*range(12), *range(12), 999]
    texts = texts_of(full, 0, ids)
    counts = counts_of(full, corpus_id, texts)
    known = known_tokens(full, 0, corpus_id, ids)
    assert (known.texts, known.counts) == (texts, counts)
    special = full.execute("select text from store.tokens where tokenizer_id = 0 and is_special").fetchall()
    assert set(known.special) == {text for (text,) in special} & set(texts.values()) != set()


LISTS: dict[str, Any] = {
    "top_token_ids": [7, 3],
    "top_scores": [2.0, 1.5],
    "bottom_token_ids": [4],
    "bottom_scores": [-1.0],
    "score_mean": 0.5,
    "score_sd": 0.25,
}


def test_listed_tokens_stand_by_side_and_rank() -> None:
    found = [tuple(row.values()) for row in listed_tokens([LISTS])]
    assert found == [("promoted", 1, 7, 2.0, 6.0), ("promoted", 2, 3, 1.5, 4.0), ("suppressed", 1, 4, -1.0, -6.0)]
    assert listed_tokens([]) == []
    assert listed_tokens([LISTS | {"top_token_ids": [], "top_scores": []}])[0]["side"] == "suppressed"


@pytest.mark.parametrize("sd", [0.0, -0.0, None])
def test_scores_that_do_not_vary_have_no_z_score(sd: float | None) -> None:
    assert {row["z_score"] for row in listed_tokens([LISTS | {"score_sd": sd}])} == {None}


def test_lists_of_two_lengths_are_no_lists() -> None:
    with pytest.raises(ValueError, match="shorter"):
        listed_tokens([LISTS | {"top_scores": [1.0]}])


def test_the_z_scores_of_the_warehouse_are_those_of_the_loop() -> None:
    for row in MADE.rows["projections"]:
        scores = MADE.scores[row["model_id"], row["layer"], row["neuron"]]
        mean = math.fsum(scores) / len(scores)
        sd = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / len(scores))
        for listed in listed_tokens([row]):
            expected = (scores[listed["token_id"]] - mean) / sd if sd else None
            assert listed["z_score"] == (expected if expected is None else pytest.approx(expected, rel=1e-9))


def test_tokens_get_their_texts_and_their_counts() -> None:
    rows = listed_tokens([LISTS])
    told = with_texts(rows, {7: " é", 4: ""}, {7: 9})
    assert [(row["token"], row["corpus_count"], row["rank"]) for row in told] == [(" é", 9, 1), ("", 0, 1)]
    assert [row["corpus_count"] for row in with_texts(rows, {7: "a", 4: "b"}, None)] == [None, None]


def test_the_first_ten_are_told_and_a_token_without_text_is_null() -> None:
    rows = [LISTS | {"top_token_ids": list(range(12))}]
    told = first_texts(rows, {number: str(number) for number in (0, 9, 10)})
    assert told == {"top_tokens": ["0", *[None] * 8, "9"], "bottom_tokens": [None]}
    assert first_texts([], {}) == {"top_tokens": None, "bottom_tokens": None}


def test_places_are_spelled_with_what_is_around_them() -> None:
    rows = [
        {"ids_before": [0, 1], "token_id": 2, "ids_after": [3], "rank": 1},
        {"ids_before": [], "token_id": 9, "ids_after": [], "rank": 2},
    ]
    texts = {0: "<s>", 1: " a", 2: "\n", 3: "ё"}
    assert context_ids(rows) == [0, 1, 2, 3, 9]
    assert [(row["before"], row["token"], row["after"]) for row in spelled(rows, texts)] == [
        ("<s> a", "\n", "ё"),
        ("", None, ""),
    ]
