"""Tables as pages draw them: shares in percent with as many digits in every row, small numbers as they are."""

import json
import re

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from neurothek.dashboards.widgets import tables


def test_shares_are_shown_in_percent_under_names_that_say_so() -> None:
    frame = pl.DataFrame({"model": ["a", "b"], "dead_share": [0.071, None], "n_dead": [3, None]})
    shown = tables.with_percents(frame)
    assert shown.columns == ["model", "dead_share_percent", "n_dead"]
    assert shown.get_column("dead_share_percent").to_list() == [pytest.approx(7.1, rel=1e-12), None]
    assert shown.drop("dead_share_percent").equals(frame.drop("dead_share"))


def test_a_column_that_says_nothing_in_any_row_is_left_out() -> None:
    rows = pl.DataFrame({"kind": ["", None], "label": ["", "a"], "frequency": [None, None], "n": [0, 0]})
    assert tables.readable_columns(rows).columns == ["label", "n"]
    assert tables.readable_columns(rows, keep=("kind",)).columns == ["kind", "label", "n"]


def test_lists_of_tokens_end_where_a_token_does() -> None:
    tokens = [" the", "a", "\n", "school"]
    assert tables.listed(tokens, None) == tables.listed(tokens, 15) == "·the a ↵ school"
    assert tables.listed(tokens, 14) == tables.listed(tokens, 8) == "·the a ↵ …"
    assert tables.listed(tokens, 7) == "·the a …"
    # The first stands there whatever it takes.
    assert tables.listed(tokens, 0) == "·the …"
    assert tables.listed([], 5) == ""
    rows = pl.DataFrame({"top_tokens": [["x" * 30, "y" * 30]]})
    assert tables.readable_columns(rows)["top_tokens"].to_list() == [f"{'x' * 30} …"]
    assert tables.readable_columns(rows, letters=None)["top_tokens"].to_list() == [f"{'x' * 30} {'y' * 30}"]


def test_a_share_that_reads_the_same_in_every_row_is_said_once() -> None:
    rows = pl.DataFrame({"frequency": [1.0, 0.99999], "share": [0.1, 0.2], "layer": [3, 3]})
    left, said = tables.without_equal_shares(rows, "gate open")
    assert left.columns == ["share", "layer"]
    assert said == ["Gate open: 100.00% in every row."]
    for other in (rows.head(1), rows.with_columns(frequency=pl.Series([1.0, 0.99])), rows.with_columns(frequency=None)):
        left, said = tables.without_equal_shares(other)
        assert (left.columns, said) == (rows.columns, [])


def test_what_is_true_or_not_is_a_word_and_what_is_unknown_stays_so() -> None:
    frame = pl.DataFrame({"is_dead": [True, False, None], "n_dead": [3, 0, None]})
    shown = tables.with_words(frame)
    assert shown.get_column("is_dead").to_list() == ["yes", "no", None]
    assert shown.drop("is_dead").equals(frame.drop("is_dead"))


def test_an_answer_shows_fractions_to_six_digits_and_counts_whole() -> None:
    frame = pl.DataFrame({"low": [4e-19, 0.25], "n": [1, 2], "token": ["a", "b"]})
    shown = tables.plain_numbers(frame)
    assert {name: column["type_config"]["format"] for name, column in shown.items()} == {"low": "%.6g"}


def test_short_tables_are_as_high_as_their_rows_and_long_ones_scroll() -> None:
    rows = pl.DataFrame({"n_dead": range(15)})
    assert tables.whole_height(rows) == 16 * 31 + 3
    assert tables.whole_height(rows.head(0)) == 31 + 3
    assert tables.whole_height(pl.concat([rows, rows.head(1)])) is None


@pytest.mark.parametrize("models", [("tiny",), ("tiny", "other")])
def test_addresses_of_one_model_are_shown_without_it(models: tuple[str, ...]) -> None:
    def script(addresses: list[str]) -> None:
        # It runs as a page of its own.
        import polars as pl  # noqa: PLC0415

        from neurothek.dashboards.widgets import tables  # noqa: PLC0415

        tables.link_to_neurons(pl.DataFrame({"address": addresses}), ["address"], key="neurons", height=100)

    addresses = [f"{model}/L{layer}N7" for model in models for layer in (1, 2)]
    (table,) = AppTest.from_function(script, args=(addresses,)).run().dataframe
    # What is copied or opened is the whole address.
    assert table.value["address"].to_list() == addresses
    pattern = json.loads(table.proto.columns)["address"]["type_config"].get("display_text")
    if len(models) > 1:
        assert pattern is None
    else:
        assert [found[1] for one in addresses if (found := re.search(pattern, one))] == ["L1N7", "L2N7"]
