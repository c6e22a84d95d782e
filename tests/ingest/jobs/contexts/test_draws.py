"""What is drawn before a text is read: counted positions and whole sequences, the same for every layer and chunk."""

from collections import Counter

import numpy as np
import pytest

from neurothek.ingest.jobs.contexts import draws
from neurothek.ingest.jobs.contexts.draws import Draws
from tests.support.coefficients import corpus

LENGTHS = [("a", 5), ("b", 2), ("a", 9)]


@pytest.mark.parametrize("has_bos", [True, False])
def test_every_counted_position_is_drawn_as_often_and_none_twice(*, has_bos: bool) -> None:
    """3 of 13 or 16 positions with 4,000 seeds: n p each, and five standard deviations of a binomial beside it."""
    text, first = corpus(LENGTHS, has_bos=has_bos), int(has_bos)
    counts = Counter[tuple[int, int]]()
    for seed in range(4_000):
        places = Draws.of(text, n_places=3, seed=seed).places
        assert len(set(places)) == 3
        counts.update(places)
    assert set(counts) == {(row, at) for row, (_, length) in enumerate(LENGTHS) for at in range(first, length)}
    p = 3 / len(counts)
    assert max(abs(n - 4_000 * p) for n in counts.values()) < 5 * np.sqrt(4_000 * p * (1 - p))


def test_a_text_of_fewer_positions_is_drawn_whole() -> None:
    assert sorted(Draws.of(corpus([("a", 3)]), n_places=4, seed=0).places) == [(0, 1), (0, 2)]


def test_histograms_count_a_small_text_whole_and_of_a_large_one_sequences_until_they_are_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = corpus([("a", 11)] * 50)
    assert Draws.of(text, n_places=1, seed=0).is_in_histogram.all()
    monkeypatch.setattr(draws, "HISTOGRAM_POSITIONS", 95)
    some = [Draws.of(text, n_places=1, seed=seed).is_in_histogram for seed in (0, 0, 1)]
    # Ten positions are counted of each sequence.
    assert [int(one.sum()) for one in some] == [10, 10, 10]
    assert some[0].tolist() == some[1].tolist() != some[2].tolist()
