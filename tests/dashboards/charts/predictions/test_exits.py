"""The charts and the page's section on leaving early: what they draw of planted curves, and what they say of none."""

from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.charts.predictions import exits
from neurothek.dashboards.widgets.figures import without_legend
from neurothek.queries.compare.exits import exit_tradeoff
from tests.support import event_warehouse as made
from tests.support import exit_rows
from tests.support.tiny import MODELS

MEASURED = [MODELS[model_id].name for model_id, _ in made.MEASURED]
LOOK = Look(dict(zip(MEASURED, ("#44bf70", "#440154", "#21918c"), strict=True)), {})


@pytest.fixture(scope="module")
def curves(whole_path: Path) -> pl.DataFrame:
    with Warehouse(whole_path).reader() as connection:
        return exit_tradeoff(connection, MEASURED)


def drawn(chart: alt.LayerChart) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The layer of lines, and its rows."""
    whole = chart.to_dict()
    lines = next(layer for layer in whole["layer"] if layer["mark"]["type"] == "line")
    return lines, whole["datasets"][lines["data"]["name"]]


def test_models_are_lines_along_the_layers_that_run(curves: pl.DataFrame) -> None:
    lines, rows = drawn(exits.tradeoff_by_model(curves.filter(method="mat"), LOOK))
    assert {row["model"] for row in rows} == set(MEASURED)
    assert len(rows) == len(MEASURED) * len(exit_rows.CURVES["mat"])
    assert lines["encoding"]["order"]["field"] == lines["encoding"]["x"]["field"] == "run_share"
    tips = {tip["field"] for tip in lines["encoding"]["tooltip"]}
    assert {"n", "precision_1_low", "precision_1_high", "parameter"} <= tips


def test_shortcuts_of_a_model_are_told_apart(curves: pl.DataFrame) -> None:
    _, rows = drawn(exits.tradeoff_of_model(curves.filter(model=MEASURED[0])))
    found = {(row["shortcut"], row["left"]): row["method"] for row in rows}
    assert found == {
        ("mat", "by confidence"): "mat",
        ("id", "by confidence"): "id",
        ("mat", "at one state"): "fixed_mat",
        ("id", "at one state"): "fixed_id",
    }


def test_a_page_with_one_legend_takes_it_out_of_every_layer(curves: pl.DataFrame) -> None:
    chart = exits.tradeoff_by_model(curves.filter(method="mat"), LOOK)
    lines, _ = drawn(without_legend(chart))  # type: ignore[arg-type]
    assert lines["encoding"]["color"]["legend"] is None
    assert drawn(chart)[0]["encoding"]["color"]["legend"] is not None
