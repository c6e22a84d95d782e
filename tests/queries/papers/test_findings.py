"""Claims about several places at once, and outcomes that are no verdicts."""

from neurothek.queries.papers.exhibit import Claim
from neurothek.queries.papers.family import Family
from neurothek.queries.papers.findings import (
    OUTCOMES,
    Finding,
    NotApplicable,
    above_half,
    beside_half,
    difference,
    in_all,
    in_favour,
    of_half,
    points,
    signed,
)
from neurothek.queries.papers.intervals import Interval, share, share_difference
from neurothek.queries.papers.verdicts import _PLURAL
from tests.support.claims import family

FOR, OPEN, AGAINST = Interval(0.3, 0.1, 0.5, 10), Interval(0.05, -0.1, 0.2, 10), Interval(-0.3, -0.5, -0.1, 10)
FOR_WHOLE, AGAINST_WHOLE, OPEN_WHOLE = Interval(1, 0.9, 1.1, 9), Interval(-1, -1.1, -0.9, 9), Interval(0, -1, 1, 9)


def told(*parts: Interval, whole: Interval | None = None) -> Finding:
    return in_all(parts, "numbers", show=signed, whole=whole)


def test_several_places_hold_together() -> None:
    cases = {
        "holds": [(FOR, FOR), (FOR, FOR, OPEN), (FOR,) * 23 + (OPEN,)],
        "undecided": [(FOR, OPEN), (OPEN,) * 3, (FOR, OPEN, OPEN)],
        "does not hold": [(FOR, FOR, AGAINST), (AGAINST, OPEN), (FOR,) * 23 + (AGAINST,)],
    }
    wrong = [(expected, parts) for expected, all_parts in cases.items() for parts in all_parts]
    assert not [case for case in wrong if told(*case[1]).outcome != case[0]]


def test_the_whole_can_overrule_and_is_shown() -> None:
    assert told(FOR, FOR, whole=OPEN_WHOLE).outcome == "undecided"
    assert told(OPEN, OPEN, whole=AGAINST_WHOLE).outcome == "does not hold"
    assert told(OPEN, OPEN, whole=FOR_WHOLE).outcome == "undecided"
    found = told(FOR, FOR, OPEN, whole=FOR_WHOLE)
    assert found.numbers == "numbers; 2 of 3 in favour, none against, together +1.000 [+0.900, +1.100]"
    assert "0 of 2 in favour, 1 against" in told(AGAINST, OPEN).numbers
    assert told(FOR, OPEN).verdict == "undecided, n = 20"


def test_a_single_place_is_its_own_whole() -> None:
    assert told(FOR) == Finding("holds", "numbers")
    assert told() == Finding("undecided", "numbers", 0)


def test_above_half() -> None:
    found = above_half((30, 40))
    assert (found.value, found.low) == (0.25, share(30, 40).low - 0.5)


def test_a_share_that_is_held_against_one_half_is_written_as_such() -> None:
    # Wilson, of 3 of 13: 0.23077 lies between 0.08180 and 0.50262.
    assert of_half((3, 13)) == "3 of 13, 23.08% [8.18, 50.26], half is 50%"
    assert beside_half(above_half((3, 13))) == "23.08% [8.18, 50.26], half is 50%"
    # 0% less one half is no share below 0.
    assert of_half((0, 13)).startswith("0 of 13, 0.00% [0.00, ")
    assert of_half((0, 0)) == "0 of 0, no share, half is 50%"


def test_a_difference_that_is_turned_says_so() -> None:
    assert in_favour(Interval(0.073, 0.0611, 0.085, 9)) == "+7.30 points in favour [+6.11, +8.50]"
    assert in_favour(share_difference((0, 0), (1, 2))) == "no shares to compare"


def test_every_outcome_is_counted() -> None:
    assert set(_PLURAL) == set(OUTCOMES)


def test_who_cannot_be_asked_says_why() -> None:
    def judge(_: Family) -> Finding:
        raise NotApplicable("there is no untrained model", "does not apply")

    claim = Claim("5.1", "text", "rule", judge)
    assert claim.on(family({}, ["a"])) == Finding("does not apply", "there is no untrained model")
    assert claim.on(family({}, [])).outcome == "needs another model"


def test_of_nothing_no_number_is_told() -> None:
    assert points(share(0, 0)) == "no share"
    assert difference(share_difference((0, 0), (1, 2))) == "no shares to compare"
    assert points(share(1, 2)).startswith("50.00% [")
