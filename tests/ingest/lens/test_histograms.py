"""Histograms of columns of scores against a loop over their entries."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from neurothek.ingest.lens.moments import CENTRE, N_BINS, bin_counts
from neurothek.ingest.lens.scorer import Scorer, ScorerOptions

# z is taken in float32, by one product and one sum of numbers below 66: it is off by at most 66 * 2^-23 quarters of a
# standard deviation, and what float32 makes of mean and sd.
EDGE = 1e-4


def moments(scores: Tensor) -> tuple[Tensor, Tensor]:
    return scores.double().mean(0), scores.double().std(0, unbiased=False)


def place(z: float) -> int:
    """The definition: bins of a quarter from -8 to 8, and an open one at either end."""
    if z < -8:
        return 0
    return 65 if z >= 8 else 1 + math.floor((z + 8) / 0.25)


def check(counts: list[int], values: np.ndarray) -> None:
    """Entry by entry; one that lies within `EDGE` of an edge may be on either side of it."""
    mean, sd = sum(values) / len(values), float(np.std(values))
    surely, perhaps = [0] * 66, [0] * 66
    for value in values.tolist():
        z = (value - mean) / sd
        lower, upper = place(z - EDGE), place(z + EDGE)
        surely[lower] += lower == upper
        for one in {lower, upper}:
            perhaps[one] += 1
    assert len(counts) == N_BINS == 66
    assert sum(counts) == len(values)
    assert all(least <= count <= most for least, count, most in zip(surely, counts, perhaps, strict=True))
    # Nearly all entries are far from edges, so that the bounds say something.
    assert sum(perhaps) - sum(surely) < 0.01 * len(values) + 4


@pytest.mark.parametrize("piece_rows", [7, 256, 5000])
def test_every_entry_is_in_its_bin(piece_rows: int) -> None:
    normal = torch.randn(3001, 3, generator=torch.Generator().manual_seed(0))
    heavy = normal[:, 1].sign() * normal[:, 1].abs() ** 4
    scores = torch.stack([normal[:, 0], heavy, 40 + 0.01 * normal[:, 2]], dim=1)
    mean, sd = moments(scores)
    counts = bin_counts(scores, mean=mean, sd=sd, piece_rows=piece_rows)
    for column, values in enumerate(scores.double().numpy().T):
        check(counts[column].tolist(), values)
    # A normal distribution has nothing out there; fourth powers have much.
    assert int(counts[0, 0] + counts[0, -1]) == 0
    assert int(counts[1, 0] + counts[1, -1]) > 2


def test_edges_belong_to_the_bin_above() -> None:
    """Mean 0 and sd 1 exactly: z is the entry, and quarters are exact in float32."""
    entries = [-9.0, -8.0, -7.75, -0.25, 0.0, 0.25, 7.75, 8.0, 9.0]
    scores = torch.tensor(entries)[:, None]
    zero, one = torch.zeros(1, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    counts = bin_counts(scores, mean=zero, sd=one, piece_rows=4)[0].tolist()
    assert [number for number, count in enumerate(counts) if count] == [0, 1, 2, 32, 33, 34, 64, 65]
    assert counts[65] == 2
    assert CENTRE == 33


def test_equal_entries_are_in_the_central_bin() -> None:
    scores = torch.full((50, 1), 3.5)
    mean, sd = moments(scores)
    counts = bin_counts(scores, mean=mean, sd=sd, piece_rows=16)[0].tolist()
    assert (counts[CENTRE], sum(counts)) == (50, 50)


def test_a_scorer_counts_every_vector_whatever_its_block_and_length() -> None:
    """More vectors than a block holds; one of them a millionth as long, whose histogram is the same."""
    generator = torch.Generator().manual_seed(0)
    unembedding, vectors = torch.randn(700, 8, generator=generator), torch.randn(1030, 8, generator=generator)
    vectors[1029] = vectors[0] * 2.0**-20
    scored = Scorer(unembedding, keep=ScorerOptions(moments=True, histogram=True)).score(vectors)
    assert scored.histogram is not None
    assert scored.histogram.shape == (1030, N_BINS)
    for vector in (0, 511, 512, 1028):
        check(scored.histogram[vector].tolist(), (unembedding.double() @ vectors[vector].double()).numpy())
    assert torch.equal(scored.histogram[0], scored.histogram[1029])
    assert Scorer(unembedding, keep=ScorerOptions(moments=True)).score(vectors[:3]).histogram is None
