"""The beginning of a text: sequences of a domain, in order, until enough ids are read; a longer first one is cut."""

import numpy as np
import pytest

from neurothek.ingest.interventions.first_batches import BATCH_TOKENS, cuts, first_batches
from tests.support.coefficients import corpus

LENGTHS = [*(("code", n) for n in (30, 7, 30, 12)), *(("prose", n) for n in (5, 30, 30))]


@pytest.mark.parametrize("domain", [0, 1])
@pytest.mark.parametrize("n_tokens", [1, 4, 29, 30, 37, 38, 1_000])
def test_sequences_are_whole_and_just_enough_and_a_longer_first_one_is_cut(domain: int, n_tokens: int) -> None:
    text = corpus(LENGTHS)
    own = [text.sequence(i) for i in range(text.n_sequences) if text.domain_of[i] == domain]
    expected: list[list[int]] = []
    read = 0
    for ids in own:
        if read >= n_tokens:
            break
        expected.append(ids.tolist()[: max(2, n_tokens)] if not expected else ids.tolist())
        read += len(ids)
    found = [
        row[:length].tolist()
        for batch in first_batches(text, domain, n_tokens=n_tokens)
        for row, length in zip(batch.tokens.numpy(), batch.lengths, strict=True)
    ]
    assert found == expected


def test_a_run_states_a_cut_only_where_there_is_one() -> None:
    text = corpus(LENGTHS)
    assert [cuts(text, n) for n in (1, 5, 29, 30, 1_000)] == [True, True, True, False, False]
    assert not cuts(corpus([("code", 2)]), 1)


def test_a_batch_holds_no_more_than_it_may() -> None:
    text = corpus([("long", n) for n in (2_000, 100, 100, 1_500, 2_048, 3)])
    batches = list(first_batches(text, 0, n_tokens=10**6))
    assert sum(len(batch.lengths) for batch in batches) == 6
    for batch in batches:
        assert batch.tokens.numel() <= BATCH_TOKENS or len(batch.lengths) == 1
        assert np.array_equal(batch.tokens.shape, (len(batch.lengths), max(batch.lengths)))
