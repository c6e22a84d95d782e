"""How often random tokens follow a pattern: against every draw counted one by one, and against draws."""

import random
from itertools import combinations

import pytest

from neurothek.queries.rules.chance import FAMILIES, LEVEL, least_found, tail


@pytest.mark.parametrize(("n_tokens", "n_members", "n_shown"), [(9, 4, 5), (8, 8, 3), (10, 0, 4), (7, 2, 6)])
def test_the_tail_is_a_share_of_all_draws(n_tokens: int, n_members: int, n_shown: int) -> None:
    draws = [sum(one < n_members for one in drawn) for drawn in combinations(range(n_tokens), n_shown)]
    for n in range(n_shown + 2):
        expected = sum(found >= n for found in draws) / len(draws)
        assert tail(n, n_shown, n_members, n_tokens) == pytest.approx(expected)


def test_the_fewest_keep_to_the_level_and_one_less_does_not(subtests: pytest.Subtests) -> None:
    for n_members in [1, 20, 200, 800, 4000]:
        with subtests.test(n_members=n_members):
            allowed = LEVEL / len(FAMILIES) / 5
            least = least_found(30, n_members, 8000, n_properties=5)
            assert least >= 4
            assert least == 31 or tail(least, 30, n_members, 8000) <= allowed
            assert least == 4 or tail(least - 1, 30, n_members, 8000) > allowed


def test_what_half_of_the_vocabulary_has_needs_nearly_the_whole_list() -> None:
    # Of 30 draws 15 have it by chance; a rare property needs its four.
    assert least_found(30, 4000, 8000, n_properties=1) > 20
    assert least_found(30, 8000, 8000, n_properties=1) == 31
    assert least_found(30, 20, 8000, n_properties=1) == 4


def test_more_properties_ask_for_more() -> None:
    found = [least_found(30, 300, 8000, n_properties=n) for n in (1, 10, 1000, 10**9)]
    assert found == sorted(found)
    assert found[0] < found[-1]


def test_draws_find_as_many_as_the_tail_says() -> None:
    draw = random.Random(3)
    n_draws = 4000
    found = sum(sum(one < 400 for one in draw.sample(range(8000), 30)) >= 4 for _ in range(n_draws))
    share = tail(4, 30, 400, 8000)
    # Four standard errors of a share of 4,000 draws.
    assert abs(found / n_draws - share) < 4 * (share * (1 - share) / n_draws) ** 0.5
