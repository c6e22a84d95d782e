"""How early models can be left, as people read it: means with their spread, a column a method."""

from typing import Any

import duckdb
import polars as pl
import pytest

from neurothek.queries.compare.exits import (
    EARLY_EXIT_COLUMNS,
    TRADEOFF_COLUMNS,
    WORDS,
    early_exits,
    exit_sections,
    exit_tradeoff,
)
from tests.support.exit_rows import RULES, SHORTCUTS


def rules(*rows: dict[str, Any]) -> pl.DataFrame:
    usual = dict.fromkeys(EARLY_EXIT_COLUMNS) | {"model": "m", "method": "mat"}
    return pl.DataFrame([usual | row for row in rows], schema=dict(EARLY_EXIT_COLUMNS))


def tradeoff(*rows: dict[str, Any]) -> pl.DataFrame:
    usual = dict.fromkeys(TRADEOFF_COLUMNS) | {"model": "m", "n_layers": 4, "n": 200}
    return pl.DataFrame([usual | row for row in rows], schema=dict(TRADEOFF_COLUMNS))


def test_what_was_not_measured_has_no_section() -> None:
    assert exit_sections(rules(), tradeoff()) == []
    assert len(exit_sections(rules({"accuracy": 0.5}), tradeoff())) == 1
    assert len(exit_sections(rules(), tradeoff({"method": "mat"}))) == 1
    assert len(exit_sections(rules({"accuracy": 0.5}), tradeoff({"method": "mat"}))) == 2


@pytest.mark.parametrize(
    ("mean", "sd", "accuracy", "saved"),
    [
        (0.94567, 0.00449, "0.946 +- 0.004", "0.95 +- 0.0"),
        (0.5, None, "0.5", "0.5"),
        (1.0, 0.0, "1.0 +- 0.0", "1.0 +- 0.0"),
        (None, None, None, None),
    ],
)
def test_a_mean_has_its_spread_where_there_are_several_seeds(
    mean: float | None, sd: float | None, accuracy: str | None, saved: str | None
) -> None:
    row = {"accuracy": mean, "accuracy_sd": sd, "layers_saved": mean, "layers_saved_sd": sd}
    (section,) = exit_sections(rules({"method": "cluster_sets", **row}), tradeoff())
    (shown,) = section.frame.to_dicts()
    assert (shown["accuracy"], shown["saved"]) == (accuracy, saved)
    assert shown["method"] == WORDS["cluster_sets"]


def test_every_method_has_a_word_and_no_two_the_same() -> None:
    assert {*RULES, *SHORTCUTS} == {*WORDS}
    assert len({*WORDS.values()}) == len(WORDS)
    with pytest.raises(pl.exceptions.InvalidOperationError):
        exit_sections(rules({"method": "unheard of"}), tradeoff())


def test_what_shortcuts_save_is_a_row_a_model_and_a_column_a_method() -> None:
    curves = tradeoff(
        {"model": "b", "method": "fixed_id", "layers_saved_at_95": None},
        {"model": "b", "method": "mat", "layers_saved_at_95": 1.5},
        {"model": "b", "method": "mat", "layers_saved_at_95": 1.5},
        {"model": "a", "method": "mat", "layers_saved_at_95": 0.5, "n_layers": 2, "n": 9},
    )
    (section,) = exit_sections(rules(), curves)
    assert section.frame.columns == ["model", "layers", WORDS["mat"], WORDS["fixed_id"], "sentences"]
    assert section.frame.rows() == [("b", 4, 1.5, None, 200), ("a", 2, 0.5, None, 9)]


def test_models_without_exits_have_no_rows_but_the_columns(full: duckdb.DuckDBPyConnection) -> None:
    for frame, columns in (
        (early_exits(full, ["tiny-1m", "nobody"]), EARLY_EXIT_COLUMNS),
        (exit_tradeoff(full, []), TRADEOFF_COLUMNS),
    ):
        assert frame.is_empty()
        assert dict(frame.schema) == dict(columns)
