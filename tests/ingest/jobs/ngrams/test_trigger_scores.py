"""Means and standard deviations of as many scores as a real vocabulary has, in float32, against float64."""

import numpy as np
import pytest

from ingest.jobs.ngrams.trigger_scores import ScoreMoments

VOCABULARY = 50_265


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (5.0, 0.1), (-300.0, 1.0), (1e-3, 1e-3), (0.01, 20.0)])
def test_moments_lose_millionths(mean: float, sd: float) -> None:
    moments = ScoreMoments.of(VOCABULARY)
    for seed in range(10):
        drawn = np.random.default_rng(seed).standard_t(4, VOCABULARY)
        scores = (drawn * sd + mean).astype(np.float32)
        found_mean, found_sd = moments.mean_and_sd(scores)
        exact = scores.astype(np.float64)
        # Each of a product's lanes adds up thousands of numbers, rounded to 2^-24: some 2^-24 sqrt(3,000) = 3e-6.
        assert abs(found_mean - exact.mean()) < 1e-5 * exact.std()
        assert found_sd == pytest.approx(exact.std(), rel=1e-5)
