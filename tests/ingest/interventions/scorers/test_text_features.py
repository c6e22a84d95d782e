"""Features of short texts against plain counts."""

import math
from collections import Counter

import numpy as np
import pytest

from neurothek.ingest.interventions.scorers.domains import (
    LEAST_TEXTS,
    LONGEST_RUN,
    MOST_WORDS,
    N_BUCKETS,
    TextFeatures,
    words_of,
)

TEXTS = ["the cat and the dog", "The DOG, the bird", "the_cat 12 dog!", "a dog", "a bird"]


def test_words_are_whole_and_numbers_are_none(subtests: pytest.Subtests) -> None:
    for text, words in [
        ("def __init__(self, x1=12):", ["def", "__init__", "self", "x1"]),
        ("What IS 3*4?", ["what", "is"]),
        ("caf\u00e9 na\u00efve", ["caf\u00e9", "na\u00efve"]),
        ("12 + 3\n", []),
        ("", []),
    ]:
        with subtests.test(text=text, words=words):
            assert words_of(text) == words


def test_the_words_that_most_texts_have_are_known() -> None:
    texts = [*TEXTS, *TEXTS, "dog dog dog dog", *["rare"] * (LEAST_TEXTS - 1)]
    # Nine texts have "dog"; "rare" is in one too few of them, and "the" comes often, but in four.
    assert TextFeatures.of([*texts, "my dog"]).words == ("dog",)
    assert TextFeatures.of([*texts, "my dog", "rare dog", "rare"]).words == ("dog", "rare")
    many = [" ".join(f"w{a}x{n}" for n in range(700)) for a in "abcd"] * LEAST_TEXTS
    assert len(TextFeatures.of(many).words) == MOST_WORDS


def test_either_part_is_counts_of_length_one() -> None:
    features = TextFeatures(("the", "dog", "zebra"))
    text = "The dog the 99"
    row = features.matrix([text]).toarray()[0]
    raw = np.array([math.log1p(2), math.log1p(1), 0])
    np.testing.assert_allclose(row[:3], raw / np.linalg.norm(raw), rtol=1e-12)
    # Equal runs share a bucket, whatever it is, and in this text no others do: the counts are those of a plain count.
    written = "\n" + text.lower().replace("9", "0") + "\n"
    runs = Counter(
        written[start : start + length]
        for length in range(1, LONGEST_RUN + 1)
        for start in range(len(written) - length + 1)
    )
    values = row[3:][row[3:] > 0]
    counts = np.expm1(np.sort(values) / values.min() * math.log(2))
    assert len(values) == len(runs)
    np.testing.assert_allclose(counts, sorted(runs.values()), rtol=1e-9)
    assert np.linalg.norm(row[3:]) == pytest.approx(1)


def test_a_text_has_its_row_whatever_stands_beside_it() -> None:
    features = TextFeatures.of(TEXTS * 4)
    together = features.matrix([*TEXTS, "", "\ud800"]).toarray()
    assert together.shape == (7, len(features.words) + N_BUCKETS)
    for text, row in zip([*TEXTS, "", "\ud800"], together, strict=True):
        assert np.array_equal(features.matrix([text]).toarray()[0], row)
    assert features.matrix([]).shape == (0, len(features.words) + N_BUCKETS)


def test_case_and_values_of_digits_are_not_looked_at() -> None:
    features = TextFeatures.of(TEXTS * 4)
    one, other = features.matrix(["The Dog is 12", "the dog IS 98"]).toarray()
    assert np.array_equal(one, other)
    # The control: a letter makes a difference.
    assert not np.array_equal(one, features.matrix(["the dot is 12"]).toarray()[0])


def test_runs_spread_over_the_buckets() -> None:
    texts = [f"{chr(a)}{chr(b)}" for a in range(97, 123) for b in range(97, 123)]
    used = np.unique(TextFeatures(()).matrix(texts).indices)
    # Letters, pairs, and these with an end of line beside them fall on the buckets like balls that are thrown at
    # random: a share of exp(-balls / buckets) stays empty, give or take four standard deviations.
    runs = {run for text in texts for length in (1, 2, 3) for run in _runs(f"\n{text}\n", length)}
    empty = math.exp(-len(runs) / N_BUCKETS)
    assert abs(1 - len(used) / N_BUCKETS - empty) < 4 * math.sqrt(empty * (1 - empty) / N_BUCKETS)


def _runs(text: str, length: int) -> list[str]:
    return [text[start : start + length] for start in range(len(text) - length + 1)]
