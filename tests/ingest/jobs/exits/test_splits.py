"""Splits of examples: parts that do not meet, a tenth each to choose and to try on, and the same for everybody."""

import numpy as np
import pytest

from neurothek.ingest.jobs.exits.rules import LEAST_EXAMPLES, SEEDS, Split


@pytest.mark.parametrize("n", [10, 19, 20, 123, 5_000])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_example_is_in_one_part(n: int, seed: int) -> None:
    split = Split.of(n, seed=seed)
    parts = [split.fit.tolist(), split.validation.tolist(), split.test.tolist()]
    assert sorted(place for part in parts for place in part) == list(range(n))
    assert [len(part) for part in parts] == [n - 2 * (n // 10), n // 10, n // 10]
    assert sorted(split.train.tolist()) == sorted(parts[0] + parts[1])


def test_the_same_seed_splits_alike_and_another_does_not() -> None:
    one, again = Split.of(500, seed=38), Split.of(500, seed=38)
    assert np.array_equal(one.fit, again.fit)
    # Two random tenths of 500 have about five in common.
    tried = [set(Split.of(500, seed=seed).test.tolist()) for seed in SEEDS]
    assert len({frozenset(one) for one in tried}) == 5
    assert max(len(a & b) for a in tried for b in tried if a is not b) < 20


def test_splits_stay_what_they_were() -> None:
    # Exits in warehouses were measured on these: another stream of random numbers is another version of the job.
    assert Split.of(30, seed=38).test.tolist() == [26, 0, 21]


def test_the_fewest_examples_have_one_to_choose_and_one_to_try_on_and_fewer_have_none() -> None:
    split, fewer = Split.of(LEAST_EXAMPLES, seed=38), Split.of(LEAST_EXAMPLES - 1, seed=38)
    assert (len(split.validation), len(split.test)) == (1, 1)
    assert (len(fewer.validation), len(fewer.test)) == (0, 0)
