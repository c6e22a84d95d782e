"""Arguments of calls: what is of a kind, and the sentence for what is not."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.arguments import fits, kind_in_words, parse_size, plain, require, unknown_argument
from neurothek.catalog.problems import Invalid

Side = Literal["up", "down"]


class Something:
    """A class of ours."""


def test_what_is_of_a_kind(subtests: pytest.Subtests) -> None:
    for value, kind in [
        ("", str),
        ("é", str | None),
        (None, str | None),
        (0, int),
        (-3, int | None),
        (0, float),
        (0.5, float),
        (np.int64(3), int),
        (np.float32(3), float | None),
        ((np.int32(1), 2), tuple[int, int]),
        (True, bool),
        (Something(), Something),
        (Something(), Any),
        ("up", Side),
        (None, Side | None),
        ("a/b", str | Path),
        (Path("a"), str | Path | None),
        ((), tuple[str, ...]),
        (["a", "b"], tuple[str, ...]),
        ({"a"}, Sequence[str]),
        ((1, 2), tuple[int, int]),
        ([1, 2], tuple[int, int] | None),
        ((0, 0.5), tuple[float, float]),
        ({"a": object()}, Mapping[str, Any]),
        ([{"a": 1}], Iterable[Mapping[str, Any]]),
        (iter([5]), Iterable[str]),
    ]:
        with subtests.test(value=value, kind=kind):
            assert fits(value, kind)
            require(kind, argument=value)


def test_what_is_of_another_kind_is_named(subtests: pytest.Subtests) -> None:
    for value, kind, sentence in [
        (5, str, "argument=5 is not valid; give UTF-8 text"),
        ("\udcff", str, r"argument='\udcff' is not valid; give UTF-8 text"),
        (b"a", str | None, "argument=b'a' is not valid; give UTF-8 text or None"),
        (True, int, "argument=True is not valid; give a whole number"),
        (2.0, int, "argument=2.0 is not valid; give a whole number"),
        (np.float32(1), int, "argument=np.float32(1.0) is not valid; give a whole number"),
        (np.bool_(True), int, "argument=np.True_ is not valid; give a whole number"),
        (2**1024, float | None, f"argument={str(2**1024)[:80]}… is not valid; give a number or None"),
        (False, float, "argument=False is not valid; give a number"),
        ("1", float | None, "argument='1' is not valid; give a number or None"),
        (1, bool, "argument=1 is not valid; give True or False"),
        ("left", Side, "argument='left' is not valid; give 'up' or 'down'"),
        (["up"], Side, "argument=['up'] is not valid; give 'up' or 'down'"),
        ("a\0b", str | Path, r"argument='a\x00b' is not valid; give a path"),
        (5, str | Path | None, "argument=5 is not valid; give a path or None"),
        ("ab", tuple[str, ...], "argument='ab' is not valid; give a list or tuple, such as [\"one\"]"),
        (["a", 5], Sequence[str], "argument=['a', 5] is not valid; give a list or tuple, such as [\"one\"]"),
        ((1, 2, 3), tuple[int, int], "argument=(1, 2, 3) is not valid; give a pair, such as (1, 1)"),
        ((1, "2"), tuple[int, int], "argument=(1, '2') is not valid; give a pair, such as (1, 1)"),
        ("12", tuple[int, int], "argument='12' is not valid; give a pair, such as (1, 1)"),
        ({1: 2}, Mapping[str, Any], "argument={1: 2} is not valid; give a dict of values by their names"),
        ([5], Iterable[Mapping[str, Any]], "argument=[5] is not valid; give a list or tuple, such as […]"),
        ("x", Something, "argument='x' is not valid; give a Something"),
        ("x", Something | None, "argument='x' is not valid; give a Something or None"),
    ]:
        with subtests.test(value=value, kind=kind, sentence=sentence):
            assert not fits(value, kind)
            with pytest.raises(Invalid) as caught:
                require(kind, argument=value)
            assert str(caught.value) == sentence


def test_the_first_wrong_one_of_several_is_named() -> None:
    with pytest.raises(Invalid, match=r"^second=3 "):
        require(str, first="a", second=3, third=4)


def test_long_values_are_cut_and_stay_on_one_line() -> None:
    with pytest.raises(Invalid) as caught:
        require(int, text="a\nb" * 10_000)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200
    with pytest.raises(Invalid) as caught:
        require(int, array=np.zeros((40, 40)))
    assert "\n" not in str(caught.value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_any_value_is_judged_against_any_kind(value: object) -> None:
    for kind in (str, int, float, bool, Path, Side, tuple[str, ...], tuple[int, int], Mapping[str, Any], Something):
        for one in (kind, kind | None):
            assert isinstance(fits(value, one), bool)
            assert kind_in_words(one)
        assert fits(value, kind | None) == (value is None or fits(value, kind))


def test_numbers_of_numpy_become_pythons_own() -> None:
    for value, own in ((np.int64(3), 3), (np.float32(0.5), 0.5), (True, True), ("a", "a"), (None, None)):
        assert plain(value) == own
        assert type(plain(value)) is type(own)
    assert plain((np.int64(1), (2, np.float64(0.5)))) == (1, (2, 0.5))
    assert [type(one) for one in plain((np.int64(1), 2))] == [int, int]  # type: ignore[attr-defined]  # a tuple


def test_an_unknown_argument_is_a_type_error_too() -> None:
    error = unknown_argument("search", "modle", ["model", "limit"])
    assert isinstance(error, TypeError)
    assert isinstance(error, Invalid)
    assert error.option == "modle"
    assert str(error) == "search() has no argument modle; nearest: model"
    assert str(unknown_argument("f", "zzz", ["a", "b"])) == "f() has no argument zzz; there are: a, b"


def test_sizes(subtests: pytest.Subtests) -> None:
    for text, size in [
        ("4GB", 4 * 10**9),
        ("4g", 4 * 10**9),
        (" 500 MB ", 500 * 10**6),
        ("500MB", 500 * 10**6),
        ("1.5kb", 1500),
        ("1073741824", 2**30),
        ("2TB", 2 * 10**12),
        ("0", None),
        ("-1GB", None),
        ("4XB", None),
        ("", None),
        ("gb", None),
        ("nan", None),
        ("inf", None),
        ("1e40", None),
    ]:
        with subtests.test(text=text, size=size):
            assert parse_size(text) == size
