"""What make mutants says, and when it fails."""

import pytest

from tests.mutants.tables import Change, Mutant, equivalents
from tests.mutants.verdict import Verdict

LISTED = [Mutant(change, 1, "") for change in equivalents()]
UNLISTED = Mutant(Change("queries/names/words.py", "return []", "return [1]"), 7, "")


def test_survivors_with_a_reason_are_allowed_up_to_a_tenth() -> None:
    known = LISTED[:3]
    assert (Verdict(30, known).status, Verdict(29, known).status) == (0, 1)
    assert "30 mutants: 27 killed (90.0%), 3 survived, 3 of them listed" in Verdict(30, known).told()
    assert "notice too little" not in Verdict(30, known).told()
    assert "notice too little: at least 90%" in Verdict(29, known).told()
    assert equivalents()[known[0].change] in Verdict(30, known).told()


def test_one_survivor_without_a_reason_is_too_many() -> None:
    verdict = Verdict(1000, [*LISTED[:1], UNLISTED])
    assert verdict.status == 1
    assert "queries/names/words.py:7: return []  ->  return [1]\n  NOT LISTED" in verdict.told()
    assert "tests/mutants/equivalent.toml" in verdict.told()


def test_where_all_are_killed_there_is_nothing_to_do() -> None:
    verdict = Verdict(200, [])
    assert verdict.status == 0
    assert verdict.told() == "200 mutants: 200 killed (100.0%), 0 survived, 0 of them listed as equivalent"
    assert verdict.rate == pytest.approx(1)
