"""Claims about several places at once, and outcomes that are no verdicts."""

from neurothek.queries.papers.exhibit import Claim
from neurothek.queries.papers.family import Family
from neurothek.queries.papers.findings import (
    OUTCOMES,
    Finding,
    NotApplicable,
    above_half,
    difference,
    in_all,
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


def test_every_outcome_is_counted() -> None:
    assert set(_PLURAL) == set(OUTCOMES)


def test_who_cannot_be_asked_says_why() -> None:
    def judge(_: Family) -> Finding:
        raise NotApplicable("there is no untrained model", "does not apply")

    claim = Claim("5.1", "text", "rule", judge)
    assert claim.on(family({}, ["a"])) == Finding("does not apply", "there is no untrained model")
    assert claim.on(family({}, [])).outcome == "does not apply"


def test_of_nothing_no_number_is_told() -> None:
    assert points(share(0, 0)) == "no share"
    assert difference(share_difference((0, 0), (1, 2))) == "no shares to compare"
    assert points(share(1, 2)).startswith("50.00% [")
