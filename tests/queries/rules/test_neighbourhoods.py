"""Groups of words near each other: planted in a vocabulary, counted over distinct words, seldom in random lists."""

import random

import duckdb
import pytest

from neurothek.queries.rules.chance import FAMILIES, LEVEL, Vocabulary
from neurothek.queries.rules.neighbourhoods import Neighbourhoods, read_near
from tests.support import warehouse as made

N_TOKENS = 2000


def letters_of(number: int) -> str:
    return "".join(chr(97 + number // 26**place % 26) for place in range(4))


VOCABULARY = Vocabulary({number: f" {letters_of(number)}" for number in range(N_TOKENS)})
CHAIN = {one: [other for other in (one - 1, one + 1) if 0 <= other < 6] for one in range(6)}
"""Six words, each near the next."""


def test_a_planted_group_is_found() -> None:
    neighbourhoods = Neighbourhoods(VOCABULARY, CHAIN)
    shown = [900, 3, 901, 1, 902, 2, 4, *range(1000, 1023)]
    (found,) = neighbourhoods.patterns(shown)
    assert found.token_ids == (3, 1, 2, 4)
    assert found.concept_class == "semantic"
    # The words in the middle have two links, those at the ends one.
    assert found.concept == f"words near {letters_of(3)!r} in the unembedding"


def test_a_chain_with_a_gap_is_two_groups() -> None:
    neighbourhoods = Neighbourhoods(VOCABULARY, CHAIN)
    assert sorted(neighbourhoods.groups([0, 1, 3, 4, 5, 500])) == [(0, 1), (3, 4, 5)]
    assert neighbourhoods.patterns([0, 1, 3, 4, 5, *range(500, 525)]) == []


def test_forms_of_a_word_are_one_word() -> None:
    texts = {0: " cat", 1: " Cat", 2: " CAT", 3: " dog", 4: " ox"} | {
        n: f" {letters_of(n)}" for n in range(5, N_TOKENS)
    }
    everything = {one: [other for other in range(4) if other != one] for one in range(4)}
    neighbourhoods = Neighbourhoods(Vocabulary(texts), everything)
    assert [*neighbourhoods.groups([0, 1, 2, 3, 4])] == [(0, 1, 2, 3)]
    assert neighbourhoods.patterns([0, 1, 2, 3, *range(100, 126)]) == []


def test_stop_words_and_pieces_are_in_no_group() -> None:
    vocabulary = Vocabulary(dict(VOCABULARY.texts) | {2: letters_of(2)})
    assert [*Neighbourhoods(vocabulary, CHAIN).groups([0, 1, 2, 3])] == [(0, 1)]
    assert [*Neighbourhoods(VOCABULARY, CHAIN, [1]).groups([0, 1, 2, 3])] == [(2, 3)]


@pytest.mark.parametrize("n_near", [0, 8, 20])
def test_the_least_size_is_what_random_lists_seldom_reach(n_near: int) -> None:
    # Rings in which each word is near those of the next places; the denser, the larger the groups of random lists.
    near = {one: [(one + step) % N_TOKENS for step in range(-n_near, n_near + 1) if step] for one in range(N_TOKENS)}
    neighbourhoods = Neighbourhoods(VOCABULARY, near)
    least = neighbourhoods.least_size(30)
    assert least == 4 if n_near == 0 else least >= 4
    draw = random.Random(9)
    n_lists = 1000
    n_found = sum(bool(neighbourhoods.patterns(draw.sample(range(N_TOKENS), 30))) for _ in range(n_lists))
    # Other lists than those it was read from: three standard errors above the level.
    level = LEVEL / len(FAMILIES)
    assert n_found / n_lists <= level + 3 * (level / n_lists) ** 0.5
    assert least <= 30


def test_links_go_both_ways() -> None:
    one_way = {(0, 1), (0, 2), (1, 0), (2, 1), (2, 3), (3, 2), (3, 0)}
    with duckdb.connect() as connection:
        made.create_schema(connection)
        rows = [
            {"model_id": model, "token_id": one, "rank": rank, "neighbour_id": other, "cosine": 0.5, "run_id": 0}
            for model, pairs in ((0, one_way), (1, {(1, 2), (2, 1)}))
            for rank, (one, other) in enumerate(sorted(pairs))
        ]
        made.insert(connection, "token_neighbours", rows)
        assert read_near(connection, 0) == {0: (1,), 1: (0,), 2: (3,), 3: (2,)}
        assert read_near(connection, 2) == {}
