"""The figures of linear shortcuts as files: which are drawn of planted numbers, and why others are not."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from neurothek import main
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.papers.din import DRAWINGS, ShortcutRows
from neurothek.dashboards.papers.figure import Figure, Setting, draw_all
from tests.support import event_warehouse
from tests.support.tiny import MODELS

MEASURED = [MODELS[model_id].name for model_id, _ in event_warehouse.MEASURED]
LOOK = Look(dict(zip(MEASURED, ("#44bf70", "#440154", "#21918c"), strict=True)), {MEASURED[1]: "another text"})
OF_EXITS = ["exits-by-size", "exits-by-method"]
MORE_PARTS = {"parts-surprisal": "surprisal", "parts-5": "precision_5", "parts-10": "precision_10"}
SLUGS = ["fit-mat", "fit-id", "precision", "surprisal", "parts", *OF_EXITS, *MORE_PARTS]


@pytest.fixture
def rows(whole_path: Path) -> ShortcutRows:
    with Warehouse(whole_path).reader() as connection:
        return ShortcutRows.of(connection, [model.name for model in MODELS], Setting(LOOK))


def caption(figure: Figure) -> str:
    assert figure.chart is not None
    return " ".join(figure.chart.to_dict()["title"]["subtitle"])


def test_all_are_drawn_where_all_was_measured(rows: ShortcutRows) -> None:
    drawn_figures = draw_all(DRAWINGS, rows)
    assert [figure.picture.slug for figure in drawn_figures] == SLUGS
    for figure in drawn_figures:
        assert figure.why_not == ""
        assert f"{MEASURED[1]} (another text)" in caption(figure)
        assert "Din et al. 2023" in caption(figure)
        assert figure.chart is not None
        drawn = {row["model"] for data in figure.chart.to_dict()["datasets"].values() for row in data if "model" in row}
        assert drawn == set(MEASURED)


def test_each_draws_the_rows_of_its_methods(rows: ShortcutRows) -> None:
    fit, *_ = draw_all(DRAWINGS, rows)
    assert fit.chart is not None
    found = [row for data in fit.chart.to_dict()["datasets"].values() for row in data]
    assert {row["method"] for row in found} == {"mat"}
    assert len(found) == rows.fit.filter(method="mat").height


def test_parts_are_drawn_by_each_number(rows: ShortcutRows) -> None:
    charts = {figure.picture.slug: figure.chart for figure in draw_all(DRAWINGS, rows)}
    for slug, number in {"parts": "precision_1", **MORE_PARTS}.items():
        chart = charts[slug]
        assert chart is not None
        drawn = chart.to_json()
        assert f'"field": "{number}"' in drawn, slug
        assert '"mat_ffn"' in drawn, slug


def test_what_was_not_measured_is_not_drawn_and_says_so(rows: ShortcutRows) -> None:
    whole = rows.quality.filter(pl.col("method").is_in(["id", "mat"]))
    without_parts = replace(rows, quality=whole, exits=rows.exits[:0])
    missing = {one.picture.slug: one.why_not for one in draw_all(DRAWINGS, without_parts) if one.chart is None}
    assert missing == {
        **dict.fromkeys(["parts", *MORE_PARTS], "no parts were replaced by linear maps"),
        **dict.fromkeys(OF_EXITS, "early exits were not measured"),
    }
    nothing = replace(rows, fit=rows.fit[:0], quality=rows.quality[:0], exits=rows.exits[:0])
    assert all(one.chart is None for one in draw_all(DRAWINGS, nothing))


@pytest.mark.long
def test_the_command_writes_them_beside_the_others(whole_path: Path, tmp_path: Path) -> None:
    command = ["compare", "--figure", str(tmp_path / "out"), "--warehouse", str(whole_path)]
    result = CliRunner().invoke(main, command, catch_exceptions=False)
    assert result.exit_code == 0
    written = {file.name for file in (tmp_path / "out").iterdir() if file.name.startswith("shortcuts-")}
    assert written == {
        f"shortcuts-{number}-{slug}.{kind}" for number, slug in enumerate(SLUGS, 1) for kind in ("png", "svg")
    }
