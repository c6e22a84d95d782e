"""Questions with a person's condition: one that goes on for too long is stopped, and the lease answers again."""

import duckdb
import pytest

from queries import filtered, predicates
from queries.errors import ConditionTooSlow
from queries.question import Question
from queries.search import search

SLOW = "list_sum(range(layer, 1000000)) > 0"
"""Some seconds for the neurons of the hand-made warehouse."""


@pytest.fixture(autouse=True)
def _ranges_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicates, "FUNCTIONS", predicates.FUNCTIONS | {"range"})


def test_a_condition_without_end_is_stopped(full: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filtered, "SECONDS", 0.05)
    with pytest.raises(ConditionTooSlow, match=r"took more than 0.05 s and was stopped; write a simpler condition"):
        search(full, Question(words=("school",), where=SLOW))
    monkeypatch.setattr(filtered, "SECONDS", 30)
    plain = search(full, Question(words=("school",)))
    assert plain.n_found > 0
    # The time of the question before does not stop this one.
    assert search(full, Question(words=("school",), where="layer >= 0")).n_found == plain.n_found


def test_one_that_ends_in_time_is_answered(full: duckdb.DuckDBPyConnection) -> None:
    slow, plain = (search(full, Question(words=("school",), where=where)) for where in (SLOW, None))
    assert slow.neurons.equals(plain.neurons)
