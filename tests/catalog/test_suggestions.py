"""What a person may have meant: the likeliest names first, each once, and never a stranger."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.suggestions import enumerated, hint, nearest

NAMES = st.text("abcXYZ_-é1", min_size=1, max_size=9)


def test_case_is_no_difference_and_a_name_stands_once() -> None:
    assert nearest("Modles", ["models", "Models", "runs"]) == ["models"]
    assert nearest("STRASSE", ["Straße"]) == ["Straße"]


def test_the_likeliest_comes_first() -> None:
    assert nearest("opt-125", ["opt-1250m", "opt-125m", "bert"]) == ["opt-125m", "opt-1250m"]
    assert nearest("opt-125", ["opt-1250m", "opt-125m"], limit=1) == ["opt-125m"]
    assert nearest("model", [f"model{number}" for number in range(9)]) == ["model8", "model7", "model6"]


@pytest.mark.parametrize(("name", "known"), [("zzz", ["abc"]), ("", ["a"]), ("a", []), ("abcd", ["axyz"])])
def test_a_stranger_is_not_suggested(name: str, known: list[str]) -> None:
    assert nearest(name, known) == []


@given(name=NAMES, known=st.lists(NAMES, max_size=8), limit=st.integers(1, 4))
def test_only_known_names_are_suggested(name: str, known: list[str], limit: int) -> None:
    near = nearest(name, known, limit=limit)
    assert {*near} <= {*known}
    assert len(near) == len({one.casefold() for one in near}) <= limit
    if name in known:
        assert near[0].casefold() == name.casefold()


def test_what_there_is_stands_where_nothing_is_near() -> None:
    assert hint("modles", ["runs", "models"]) == "nearest: models"
    assert hint("zzz", ["b", "a"]) == "there are: b, a"
    assert hint("zzz", []) == "there are none"
    assert hint("zzz", (name for name in "ab")) == "there are: a, b"


def test_names_are_cut_and_the_rest_is_counted(subtests: pytest.Subtests) -> None:
    for n_names, said in [(0, ""), (1, "0"), (3, "0, 1, 2"), (4, "0, 1, 2 and 1 more"), (14, "0, 1, 2 and 11 more")]:
        with subtests.test(n_names=n_names, said=said):
            assert enumerated(map(str, range(n_names)), limit=3) == said


def test_a_dozen_names_are_told_in_full() -> None:
    assert enumerated(map(str, range(12))).count(",") == 11
    assert enumerated(map(str, range(13))).endswith("11 and 1 more")
