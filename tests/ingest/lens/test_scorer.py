"""Scores against whole matrices of them: exact where numbers are integers, within rounding elsewhere."""

import numpy as np
import pytest
import torch
from torch import Tensor

from neurothek.ingest.lens.scorer import Scorer, ScorerOptions, _Tiling, workspace_bytes
from neurothek.ingest.lens.top_k import Extremes

K = 7
ALL = ScorerOptions(largest=K, smallest=K, moments=True)


def integers(*shape: int, span: int = 3, seed: int = 0) -> Tensor:
    """Small integers: their products and sums are exact in float32 in any order."""
    return torch.randint(-span, span + 1, shape, generator=torch.Generator().manual_seed(seed)).float()


def gaussian(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def check_rows(extremes: Extremes, scores: np.ndarray, *, sign: int) -> None:
    """`scores` [n_vectors vocab]: rows by score, ties by row."""
    rows = np.arange(scores.shape[1])
    expected = [np.lexsort((rows, sign * line))[:K] for line in scores]
    assert extremes.rows.tolist() == [line.tolist() for line in expected]
    assert np.array_equal(extremes.values.numpy(), np.take_along_axis(scores, np.array(expected), 1))


@pytest.mark.parametrize("vocab", [15, 700, 4099])
@pytest.mark.parametrize("n_vectors", [1, 40, 1100])
def test_integer_scores_are_exact(vocab: int, n_vectors: int) -> None:
    """More than a thousand vectors fill several blocks, the last of them partly; integers tie all the time."""
    unembedding, vectors = integers(vocab, 16), integers(n_vectors, 16, seed=1)
    largest, smallest, moments = Scorer(unembedding, keep=ALL).score(vectors).all
    scores = vectors.double().numpy() @ unembedding.double().numpy().T
    check_rows(largest, scores, sign=-1)
    check_rows(smallest, scores, sign=1)
    assert np.array_equal(moments.negative_share.numpy(), (scores < 0).mean(1))
    # Sums of float32 numbers around the mean: each is off by at most 2^-24 of a few standard deviations.
    assert bool((np.abs(moments.mean.numpy() - scores.mean(1)) <= 1e-6 * scores.std(1)).all())
    assert moments.sd.numpy() == pytest.approx(scores.std(1), rel=1e-6)


def test_real_scores_are_within_rounding() -> None:
    """A float32 sum of 32 products is within 32 * 2^-24 of sum |e v|; tokens may swap places only within that."""
    unembedding, vectors = gaussian(3000, 32), gaussian(20, 32, seed=1)
    largest, smallest, _ = Scorer(unembedding, keep=ALL).score(vectors).all
    scores = vectors.double() @ unembedding.double().T
    error = 32 * 2**-24 * (vectors.abs().double() @ unembedding.abs().double().T).amax()
    for extremes, sign in ((largest, 1), (smallest, -1)):
        assert bool(((scores.gather(1, extremes.rows) - extremes.values).abs() <= error).all())
        best = (sign * scores).topk(K).values
        assert bool(((sign * extremes.values - best).abs() <= error).all())


@pytest.mark.parametrize("exponent", [-110, -60, 60])
def test_scaling_a_vector_by_a_power_of_two_scales_its_results(exponent: int) -> None:
    """Also where fourth powers of the scores are far below the smallest float32, or above the largest."""
    unembedding, vectors = gaussian(900, 16), gaussian(10, 16, seed=1)
    scorer = Scorer(unembedding, keep=ALL)
    factor = 2.0**exponent
    largest, _, moments = scorer.score(vectors).all
    scaled_largest, _, scaled_moments = scorer.score(vectors * factor).all
    assert torch.equal(scaled_largest.rows, largest.rows)
    assert torch.equal(scaled_largest.values, largest.values * factor)
    assert torch.equal(scaled_moments.kurtosis, moments.kurtosis)
    assert torch.equal(scaled_moments.sd, moments.sd * factor)


def test_a_zero_vector_scores_zero() -> None:
    largest, smallest, moments = Scorer(gaussian(900, 16), keep=ALL).score(torch.zeros(1, 16)).all
    assert largest.values.tolist() == smallest.values.tolist() == [[0.0] * K]
    assert largest.rows.tolist() == smallest.rows.tolist() == [list(range(K))]
    assert float(moments.mean) == float(moments.sd) == float(moments.negative_share) == 0


def test_a_zero_unembedding_is_no_problem() -> None:
    _, _, moments = Scorer(torch.zeros(100, 4), keep=ALL).score(gaussian(3, 4)).all
    assert moments.sd.tolist() == [0, 0, 0]


def test_only_what_is_asked_for_is_kept() -> None:
    scored = Scorer(gaussian(100, 4), keep=ScorerOptions(largest=2)).score(gaussian(3, 4))
    assert scored.largest is not None
    assert scored.smallest is None
    assert scored.moments is None


def test_the_number_of_threads_changes_no_bit() -> None:
    unembedding, vectors = gaussian(3000, 64), gaussian(1300, 64, seed=1)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(Scorer(unembedding, keep=ALL).score(vectors).all)
    finally:
        torch.set_num_threads(before)
    for largest, smallest, moments in results[1:]:
        assert torch.equal(largest.values, results[0][0].values)
        assert torch.equal(smallest.rows, results[0][1].rows)
        assert torch.equal(moments.kurtosis, results[0][2].kurtosis)


def test_a_scorer_may_be_used_again() -> None:
    unembedding, vectors = gaussian(700, 8), gaussian(600, 8, seed=1)
    scorer = Scorer(unembedding, keep=ALL)
    scorer.score(gaussian(1000, 8, seed=2))
    again, fresh = scorer.score(vectors).all, Scorer(unembedding, keep=ALL).score(vectors).all
    assert torch.equal(again[0].rows, fresh[0].rows)
    assert torch.equal(again[2].skewness, fresh[2].skewness)


@pytest.mark.parametrize("exponent", [-60, 40])
def test_scaling_the_unembedding_by_a_power_of_two_scales_the_results(exponent: int) -> None:
    """Where fourth powers of the scores would vanish, or overflow, for the table's sake."""
    unembedding, vectors = gaussian(900, 16), gaussian(10, 16, seed=1)
    factor = 2.0**exponent
    largest, _, moments = Scorer(unembedding, keep=ALL).score(vectors).all
    scaled_largest, _, scaled_moments = Scorer(unembedding * factor, keep=ALL).score(vectors).all
    assert torch.equal(scaled_largest.values, largest.values * factor)
    assert torch.equal(scaled_moments.kurtosis, moments.kurtosis)
    assert torch.equal(scaled_moments.sd, moments.sd * factor)


def test_buffers_take_half_as_much_again_as_the_scores(subtests: pytest.Subtests) -> None:
    for rows, columns in [(1, 512), (1_000, 512), (262_144, 512), (262_145, 511), (400_000, 335), (10_000_000, 32)]:
        with subtests.test(rows=rows, columns=columns):
            before = torch.get_num_threads()
            try:
                torch.set_num_threads(1)
                assert workspace_bytes(rows) == rows * columns * 6
                torch.set_num_threads(3)
                # A gigabyte of scores is shared by as many threads as it is enough for, but one has to work.
                threads = next(n for n in (3, 2, 1) if n * rows * columns * 4 <= 2**30 or n == 1)
                assert workspace_bytes(rows) == threads * rows * columns * 6
            finally:
                torch.set_num_threads(before)


@pytest.mark.parametrize(
    "keep",
    [
        ScorerOptions(largest=K),
        ScorerOptions(smallest=K),
        ScorerOptions(moments=True),
        ScorerOptions(largest=K, smallest=K, moments=True, histogram=True),
    ],
)
def test_a_part_holds_what_is_kept_of_its_vectors_and_nothing_else(keep: ScorerOptions) -> None:
    whole = Scorer(integers(300, 16), keep=keep).score(integers(40, 16, seed=1))
    part = whole.part(7, 31)
    for side in ("largest", "smallest"):
        found, expected = getattr(part, side), getattr(whole, side)
        assert (found is None) == (expected is None) == (side not in keep.sides)
        if found is not None:
            assert torch.equal(found.rows, expected.rows[7:31])
            assert torch.equal(found.values, expected.values[7:31])
    assert (part.moments is None) == (whole.moments is None) == (not keep.moments)
    if part.moments is not None:
        assert whole.moments is not None
        assert torch.equal(part.moments.mean, whole.moments.mean[7:31])
        assert torch.equal(part.moments.sd, whole.moments.sd[7:31])
    assert (part.histogram is None) == (whole.histogram is None) == (not keep.histogram)
    if part.histogram is not None:
        assert whole.histogram is not None
        assert torch.equal(part.histogram, whole.histogram[7:31])


@pytest.mark.parametrize("most", [1, 2, 7, 512])
def test_blocks_are_as_few_as_can_be_and_even_in_number(most: int) -> None:
    tiling = _Tiling(columns=most, product_rows=1, piece_rows=1, histogram_rows=1)
    assert tiling.columns_of(0) == tiling.columns_of(1) == 1
    for n_vectors in (2, 3, 8, 13, 511, 512, 1024, 1025, 5000):
        columns = tiling.columns_of(n_vectors)
        fewest = next(n for n in range(2, n_vectors + 2, 2) if n * most >= n_vectors)
        # The smallest that this many blocks of have room for all of them.
        assert columns == next(size for size in range(1, most + 1) if size * fewest >= n_vectors)
