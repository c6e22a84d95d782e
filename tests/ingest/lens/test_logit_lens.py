"""The rows of the largest logits, against a sort of all of them."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from neurothek.ingest.lens.logit_lens import top_rows

LOGITS = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 1.0, 2.0, math.inf, math.nan])


@given(st.lists(LOGITS, min_size=1, max_size=30), st.integers(1, 40))
def test_the_top_rows_are_the_first_of_a_stable_sort(logits: list[float], k: int) -> None:
    one = torch.tensor([logits])
    expected = one.sort(dim=1, descending=True, stable=True).indices[:, :k]
    assert torch.equal(top_rows(one, k), expected)
    assert torch.equal(top_rows(torch.cat([one, one]), k), torch.cat([expected, expected]))


@pytest.mark.parametrize("k", [1, 5, 50])
def test_those_of_a_vocabulary_are_in_order(k: int) -> None:
    logits = torch.randn(1, 5000, generator=torch.Generator().manual_seed(0)).round(decimals=1)
    order = sorted(range(5000), key=lambda row: (-float(logits[0, row]), row))
    assert top_rows(logits, k)[0].tolist() == order[:k]
