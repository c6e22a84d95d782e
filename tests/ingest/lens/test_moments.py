"""Moments gathered in pieces against the definition in float64."""

import numpy as np
import pytest
import torch
from torch import Tensor

from neurothek.ingest.lens.moments import Moments, PowerSums

# Three roundings of each power, and a sum of at most 512 of them in float32, by cascade (at most some 30 roundings of
# what is summed so far): 2e-6 of the mean of |c|^p in the worst case. Entries here are within 5 standard deviations,
# their standardized moments of order 1 to 10.
TOLERANCE = 1e-5


def gathered(scores: Tensor, *, piece: int = 16) -> Moments:
    sums = PowerSums(piece_rows=piece, columns=scores.shape[1], device=scores.device)
    sums.start(scores.double().mean(0))
    for start in range(0, len(scores), piece):
        sums.add(scores[start : start + piece])
    return sums.result()


def check(moments: Moments, scores: Tensor) -> None:
    for column, values in enumerate(scores.double().numpy().T):
        mean = sum(values) / len(values)
        sd = float(np.sqrt(((values - mean) ** 2).mean()))
        standard = (values - mean) / sd
        assert float(moments.mean[column]) == pytest.approx(mean, abs=TOLERANCE * sd)
        assert float(moments.sd[column]) == pytest.approx(sd, rel=TOLERANCE)
        assert float(moments.skewness[column]) == pytest.approx((standard**3).mean(), abs=TOLERANCE * 10)
        assert float(moments.kurtosis[column]) == pytest.approx((standard**4).mean() - 3, abs=TOLERANCE * 50)
        assert float(moments.negative_share[column]) == (values < 0).sum() / len(values)


def skewed(rows: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    normal = torch.randn(rows, 4, generator=generator)
    return torch.stack([normal[:, 0], normal[:, 1].exp(), -(normal[:, 2] ** 2), 0.01 * normal[:, 3] + 3], dim=1)


@pytest.mark.parametrize("rows", [1003, 1024, 50_265])
@pytest.mark.parametrize("piece", [16, 512])
def test_moments_follow_their_definition(rows: int, piece: int) -> None:
    scores = skewed(rows)
    check(gathered(scores, piece=piece), scores)


def test_a_mean_that_float32_cannot_hold_is_corrected_for() -> None:
    """At 1000 float32 has steps of 6e-5: of the spread here that is a third."""
    steps = torch.randint(0, 4, (4000, 1), generator=torch.Generator().manual_seed(0))
    scores = 1000 + steps * 2.0**-14
    check(gathered(scores), scores)


def test_zero_is_not_negative() -> None:
    scores = torch.tensor([[0.0], [-0.0], [-1.0], [2.0]])
    assert float(gathered(scores).negative_share) == 0.25


@pytest.mark.parametrize("off", [0.0, 1e-9])
def test_equal_entries_have_no_shape(off: float) -> None:
    """Nor has what is left of a mean that their own rounding did not hit."""
    sums = PowerSums(piece_rows=100, columns=1, device=torch.device("cpu"))
    sums.start(torch.tensor([2.5 + off], dtype=torch.float64))
    sums.add(torch.full((100, 1), 2.5))
    moments = sums.result()
    assert float(moments.sd) == 0
    assert bool(moments.skewness.isnan())
    assert bool(moments.kurtosis.isnan())


def test_a_second_matrix_starts_from_nothing() -> None:
    first, second = skewed(2000), skewed(900)[:, :2].contiguous()
    sums = PowerSums(piece_rows=32, columns=4, device=torch.device("cpu"))
    for scores in (first, second):
        sums.start(scores.double().mean(0))
        for start in range(0, len(scores), 32):
            sums.add(scores[start : start + 32])
        check(sums.result(), scores)


def test_scaled_and_joined() -> None:
    scores = skewed(1000)
    moments = gathered(scores)
    joined = Moments.joined([moments, moments.scaled(torch.full((4,), 2.0, dtype=torch.float64))])
    check(joined, torch.cat([scores, 2 * scores], dim=1))


def test_an_excess_kurtosis_next_to_0_rounds_like_the_moment_that_3_is_taken_from() -> None:
    scores = torch.randn(300, 4000, generator=torch.Generator().manual_seed(1))
    turned = scores[torch.randperm(300, generator=torch.Generator().manual_seed(2))]
    one, other = gathered(scores, piece=300), gathered(turned, piece=300)
    moved = (one.kurtosis - other.kurtosis).abs()
    # Some are next to 0, where the same sum in another order moves them by more than 1e-4 of themselves,
    assert int((moved > 1e-4 * one.kurtosis.abs()).sum()) > 0
    # and none moves by more than `verify` allows.
    assert bool((moved <= 1e-5 * (one.kurtosis + 3)).all())
    assert bool(((one.skewness - other.skewness).abs() <= 1e-5 * (one.kurtosis + 3).sqrt()).all())
