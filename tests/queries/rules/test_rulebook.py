"""All rules together: what is planted is found with its tokens, random lists get a concept as seldom as is said."""

import random

import pytest

from neurothek.catalog.tables.annotations import LEAST_MARKED
from neurothek.queries.rules.chance import LEVEL
from neurothek.queries.rules.rulebook import Rulebook
from tests.support.english import ids_of, mini_vocabulary


@pytest.fixture(scope="module")
def rulebook() -> Rulebook:
    """The minis' vocabulary, in which five nouns are near each other."""
    nouns = ids_of(mini_vocabulary(), " dog", " horse", " bird", " fish", " whale")
    return Rulebook(mini_vocabulary(), {one: [other for other in nouns if other != one] for one in nouns})


def plain_tokens(rulebook: Rulebook, n: int, *, seed: int) -> list[int]:
    """Random tokens in which no rule sees anything."""
    draw = random.Random(seed)
    while True:
        drawn = draw.sample([*rulebook.vocabulary.texts], n)
        if not rulebook.judge(drawn):
            return drawn


def planted(rulebook: Rulebook, tokens: list[int], *, seed: int) -> list[int]:
    others = plain_tokens(rulebook, 30, seed=seed)
    shown = tokens + [one for one in others if one not in tokens][: 30 - len(tokens)]
    random.Random(seed).shuffle(shown)
    return shown


@pytest.mark.parametrize("seed", range(5))
def test_six_stop_words_among_random_tokens_are_found(rulebook: Rulebook, seed: int) -> None:
    words = ids_of(rulebook.vocabulary, " the", " of", " and", " to", " with", " from")
    shown = planted(rulebook, words, seed=seed)
    (found,) = rulebook.judge(shown)
    assert (found.concept, found.concept_class) == ("stop words", "stopwords-punctuation")
    # And with them those that the lot added.
    assert set(words) <= set(found.token_ids) <= set(shown)
    assert list(found.token_ids) == [one for one in shown if one in found.token_ids]


def test_a_planted_neighbourhood_is_found(rulebook: Rulebook) -> None:
    nouns = ids_of(rulebook.vocabulary, " dog", " horse", " bird", " fish")
    (found,) = rulebook.judge(planted(rulebook, nouns, seed=0))
    assert (found.concept_class, set(found.token_ids)) == ("semantic", set(nouns))


def test_several_patterns_are_several_concepts(rulebook: Rulebook) -> None:
    names = ids_of(rulebook.vocabulary, " London", " England", " France", " Agnes", " Japan", " September")
    marks = ids_of(rulebook.vocabulary, "!", "?", ";", ".", ",", " (", ")", '"')
    found = rulebook.judge(planted(rulebook, names + marks, seed=1))
    assert [one.concept_class for one in found] == ["stopwords-punctuation", "names"]
    assert set(names) <= set(found[1].token_ids)


def test_inflected_words_are_named_once(rulebook: Rulebook) -> None:
    words = [one for one, bare in rulebook.vocabulary.first_parts.items() if bare.endswith("king")][:12]
    found = rulebook.judge(planted(rulebook, words, seed=2))
    assert found[0].concept == "-ing forms"
    for number, one in enumerate(found):
        before = {token for other in found[:number] for token in other.token_ids}
        assert len(set(one.token_ids) - before) >= LEAST_MARKED


@pytest.mark.parametrize("n_shown", [30, 12])
def test_random_lists_get_a_concept_as_seldom_as_is_said(rulebook: Rulebook, n_shown: int) -> None:
    draw = random.Random(11)
    n_lists = 500
    lists = [draw.sample([*rulebook.vocabulary.texts], n_shown) for _ in range(n_lists)]
    judged = [rulebook.judge(shown) for shown in lists]
    assert sum(map(bool, judged)) <= LEVEL * n_lists
    for shown, found in zip(lists, judged, strict=True):
        for one in found:
            assert LEAST_MARKED <= len(one.token_ids) == len(set(one.token_ids))
            assert set(one.token_ids) <= set(shown)


def test_the_same_list_is_judged_the_same(rulebook: Rulebook) -> None:
    shown = planted(rulebook, ids_of(rulebook.vocabulary, "!", "?", ";", ".", ",", " ("), seed=3)
    again = Rulebook(rulebook.vocabulary, {})
    assert rulebook.judge(shown) == again.judge(shown) != []


@pytest.mark.parametrize("shown", [[], [0], [10**6] * 3])
def test_short_lists_and_unknown_tokens_have_no_pattern(rulebook: Rulebook, shown: list[int]) -> None:
    assert rulebook.judge(shown) == []
