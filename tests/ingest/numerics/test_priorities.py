"""Priorities are SplitMix64's words, and their highest a sample that is exact, uniform and mergeable."""

import numpy as np
import torch

from neurothek.ingest.jobs.contexts.draws import priorities

MASK = (1 << 64) - 1


def mixed(word: int) -> int:
    """The output function of SplitMix64, in Python's whole numbers."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & MASK
    return word ^ (word >> 31)


def priority(seed: int, row: int, column: int) -> int:
    """By the definition, one pair at a time."""
    of_column = mixed(((column + 1) * 0x9E3779B97F4A7C15 + seed) & MASK)
    return mixed(mixed((row + 1) * 0x9E3779B97F4A7C15 & MASK) ^ of_column) >> 1


def test_splitmix64_gives_its_published_words() -> None:
    """The first three words from the seed 1234567, as other implementations list them."""
    state, words = 1234567, []
    for _ in range(3):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        words.append(mixed(state))
    assert words == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_priorities_are_those_of_whole_numbers() -> None:
    rows, columns = torch.tensor([0, 1, 77, 10**9]), torch.tensor([0, 3, 50_000])
    for seed in (0, 5, 10**12):
        expected = [[priority(seed, row, column) for column in columns.tolist()] for row in rows.tolist()]
        assert priorities(seed, rows, columns).tolist() == expected


def test_every_row_is_among_the_highest_as_often() -> None:
    """3 of 20 rows for each of 20,000 columns: 3,000 times each, sd 50.5; five of these away once in 10^5 seeds."""
    drawn = priorities(1, torch.arange(20), torch.arange(20_000)).topk(3, dim=0).indices
    counts = np.bincount(drawn.flatten().numpy(), minlength=20)
    assert abs(counts - 3_000).max() < 5 * 50.5


def test_pairs_of_rows_come_as_often_as_chance_has_it() -> None:
    """2 of 6 rows, 15 pairs: 2,000 of 30,000 columns each, sd 43.2."""
    drawn = priorities(2, torch.arange(6), torch.arange(30_000)).topk(2, dim=0).indices.sort(dim=0).values
    counts = np.bincount((drawn[0] * 6 + drawn[1]).numpy(), minlength=36)
    assert sorted(counts[counts > 0] - 2_000)[-1] < 5 * 43.2
    assert (counts > 0).sum() == 15


def test_the_highest_of_the_whole_are_the_highest_of_the_highest_of_parts() -> None:
    whole = priorities(3, torch.arange(100), torch.arange(50))
    parts = torch.cat([part.topk(8, dim=0).values for part in torch.split(whole, [9, 61, 30])])
    assert torch.equal(parts.topk(8, dim=0).values, whole.topk(8, dim=0).values)


def test_another_seed_draws_others() -> None:
    one, other = (priorities(seed, torch.arange(9), torch.arange(9)) for seed in (0, 1))
    assert not (one == other).any()
