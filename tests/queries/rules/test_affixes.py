"""Beginnings and endings: counted over the vocabulary, and named where a list has more of one than chance gives."""

import random

from neurothek.queries.rules.chance import FAMILIES, LEVEL, Vocabulary
from neurothek.queries.rules.rulebook import Affixes
from tests.support.english import ids_of, mini_vocabulary


def test_counts_by_loops() -> None:
    vocabulary = mini_vocabulary()
    affixes = Affixes(vocabulary)
    bare = {number: text.strip() for number, text in vocabulary.texts.items() if text.strip().isalpha()}
    draw = random.Random(1)
    for is_beginning, letters in draw.sample(sorted(affixes.counts), 40):
        if is_beginning:
            n = sum(bare[one].lower().startswith(letters) for one in bare if vocabulary.texts[one][0].isspace())
        else:
            n = sum(text.lower().endswith(letters) for text in bare.values())
        assert affixes.counts[is_beginning, letters] == n >= 4


def test_only_what_starts_a_word_has_a_beginning() -> None:
    affixes = Affixes(Vocabulary({0: " inter", 1: "inter", 2: " in", 3: "12"}))
    assert set(affixes.of(0)) - set(affixes.of(1)) == {(True, letters) for letters in ("int", "inte", "inter")}
    assert set(affixes.of(1)) == {(False, letters) for letters in ("ter", "nter", "inter")}
    assert [*affixes.of(2), *affixes.of(3)] == []


def test_a_planted_ending_is_named_with_its_tokens() -> None:
    vocabulary = mini_vocabulary()
    affixes = Affixes(vocabulary)
    draw = random.Random(2)
    ending = [one for one, bare in vocabulary.letters.items() if bare.endswith("ness")]
    others = [one for one, bare in vocabulary.letters.items() if len(bare) < 4]
    shown = draw.sample(ending, 6) + draw.sample(others, 24)
    draw.shuffle(shown)
    best, *_ = affixes.patterns(shown)
    assert best.concept == "words and pieces that end in -ness"
    assert set(best.token_ids) == {one for one in shown if one in ending}
    assert list(best.token_ids) == [one for one in shown if one in ending]


def test_the_longest_affix_of_the_same_tokens_comes_first() -> None:
    vocabulary = Vocabulary(
        {n: f" inter{letter}" for n, letter in enumerate("abcd")} | dict.fromkeys(range(4, 9000), " x")
    )
    best, *_ = Affixes(vocabulary).patterns(range(30))
    assert best.concept == "words that begin with inter-"


def test_a_common_ending_is_no_pattern() -> None:
    vocabulary = mini_vocabulary()
    shown = [*ids_of(vocabulary, " going", " being", " having", " doing"), *range(1000, 1026)]
    ing = sum(bare.lower().endswith("ing") for bare in vocabulary.letters.values())
    assert ing > 200
    assert "words and pieces that end in -ing" not in {one.concept for one in Affixes(vocabulary).patterns(shown)}


def test_random_lists_seldom_share_an_affix() -> None:
    vocabulary = mini_vocabulary()
    affixes, draw = Affixes(vocabulary), random.Random(4)
    n_lists = 600
    n_found = sum(bool(affixes.patterns(draw.sample([*vocabulary.texts], 30))) for _ in range(n_lists))
    assert n_found <= LEVEL / len(FAMILIES) * n_lists
