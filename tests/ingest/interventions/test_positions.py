"""Positions as a person writes them."""

import pytest

from neurothek.ingest.interventions.positions import parse_positions


def test_positions_are_one_some_or_all_from_one_on(subtests: pytest.Subtests) -> None:
    for text, positions in [
        ("3", range(3, 4)),
        ("0-7", range(8)),
        (" 5- ", range(5, 2**31 + 1)),
        ("4-4", range(4, 5)),
        ("0", range(1)),
    ]:
        with subtests.test(text=text, positions=positions):
            assert parse_positions(text) == positions


def test_other_words_are_no_positions(subtests: pytest.Subtests) -> None:
    for text in ["", "-", "-3", "7-3", "a", "1,2", "1-2-3", "1.5", "9" * 12, "\u0663"]:
        with subtests.test(text=text):
            assert parse_positions(text) is None
