"""Tables as pages draw them: shares in percent with as many digits in every row, small numbers as they are."""

import polars as pl
import pytest

from dashboards.colours import KINDS
from dashboards.widgets import tables
from dashboards.widgets.columns import columns, in_percent, shares
from tests.dashboards.charts.test_layers import luminance

BACKGROUNDS = {"light": 1.0, "dark": luminance("#171714")}


def test_shares_are_shown_in_percent_under_names_that_say_so() -> None:
    frame = pl.DataFrame({"model": ["a", "b"], "dead_share": [0.071, None], "n_dead": [3, None]})
    shown = tables.with_percents(frame)
    assert shown.columns == ["model", "dead_share_percent", "n_dead"]
    assert shown.get_column("dead_share_percent").to_list() == [pytest.approx(7.1, rel=1e-12), None]
    assert shown.drop("dead_share_percent").equals(frame.drop("dead_share"))


def test_every_share_has_two_digits_in_every_row() -> None:
    known = columns()
    assert {"dead_share", "frequency", "saturated_share", "agreement", "exited_share"} <= shares()
    assert all(known[in_percent(name)]["type_config"]["format"] == "%.2f%%" for name in shares())
    # A share under its own name would be drawn as a hundredth of what its unit says.
    assert not shares() & set(known)
    assert not any(column["type_config"].get("format") == "percent" for column in known.values())


def test_an_answer_shows_fractions_to_six_digits_and_counts_whole() -> None:
    frame = pl.DataFrame({"low": [4e-19, 0.25], "n": [1, 2], "token": ["a", "b"]})
    shown = tables.plain_numbers(frame)
    assert {name: column["type_config"]["format"] for name, column in shown.items()} == {"low": "%.6g"}


@pytest.mark.parametrize("theme", KINDS)
def test_kinds_are_seen_on_their_background(theme: str) -> None:
    assert list(KINDS[theme]) == list(KINDS["light"])
    for colour in KINDS[theme].values():
        low, high = sorted((luminance(colour), BACKGROUNDS[theme]))
        # Pale where weak, so that full ones need more than the 3 of WCAG 2.1 on black; yellow on white is what it is.
        assert (high + 0.05) / (low + 0.05) > (5 if theme == "dark" else 2)


def test_short_tables_are_as_high_as_their_rows_and_long_ones_scroll() -> None:
    rows = pl.DataFrame({"n_dead": range(15)})
    assert tables.whole_height(rows) == 16 * 31 + 3
    assert tables.whole_height(rows.head(0)) == 31 + 3
    assert tables.whole_height(pl.concat([rows, rows.head(1)])) is None
