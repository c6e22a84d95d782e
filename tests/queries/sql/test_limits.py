"""Limits of a query: what bounds nothing is refused, and what comes back says of how many it is."""

import math
from typing import Any

import polars as pl
import pytest

from neurothek.catalog.problems import Invalid
from neurothek.queries.sql.processes import Answer, Limits


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("seconds", 0.1, 10**6),
        ("memory_bytes", 20_000_000, 10**18),
        ("rows", 1, 10**9),
        ("threads", 1, 10**4),
    ],
)
def test_a_limit_lies_in_its_range(name: str, least: float, most: float) -> None:
    within: list[Any] = [least, most]
    for value in within:
        assert getattr(Limits(**{name: value}), name) == value
    beyond: list[Any] = [0, -1, least / 2, most * 2, math.nan, math.inf, -math.inf, True, "5", [5]]
    for value in beyond:
        with pytest.raises(Invalid) as refused:
            Limits(**{name: value})
        in_range = f"give a number from {least:,} to {most:,}"
        assert str(refused.value).endswith((in_range, "give a number", "give a whole number", "whole number or None"))


def test_all_rows_are_asked_with_none_and_nothing_else_is_without_bound() -> None:
    assert Limits().rows is None
    for name in ("seconds", "memory_bytes", "threads"):
        with pytest.raises(Invalid, match=f"^{name}=None is not valid"):
            Limits(**{name: None})  # type: ignore[arg-type]  # as it is asked for rows


def test_a_query_does_not_take_all_of_a_large_machine() -> None:
    assert 1 <= Limits().threads <= 4


@pytest.mark.parametrize(
    ("n_here", "is_truncated", "n_rows", "said"),
    [
        (0, False, 0, "0 rows"),
        (1, False, 1, "1 row"),
        (1234, False, 1234, "1,234 rows"),
        (1, True, 2, "the first 1 of 2 rows"),
        (1000, True, 1_234_567, "the first 1,000 of 1,234,567 rows"),
        (1000, True, None, "the first 1,000 of more rows"),
    ],
)
def test_an_answer_says_of_how_many_its_rows_are(
    n_here: int, is_truncated: bool, n_rows: int | None, said: str
) -> None:
    assert Answer(pl.DataFrame({"x": range(n_here)}), is_truncated, n_rows).extent == said
