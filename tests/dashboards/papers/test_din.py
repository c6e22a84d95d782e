"""The figures of linear shortcuts as files: which are drawn of planted numbers, and why others are not."""

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from neurothek import main
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.papers.din import draw_shortcuts
from neurothek.dashboards.papers.figure import Figure, Setting
from neurothek.queries.papers import din as paper
from neurothek.queries.papers.exhibit import Sheet
from tests.support import event_warehouse
from tests.support.paper_figures import sheet_of, sheets
from tests.support.tiny import MODELS

MEASURED = [MODELS[model_id].name for model_id, _ in event_warehouse.MEASURED]
LOOK = Look(dict(zip(MEASURED, ("#44bf70", "#440154", "#21918c"), strict=True)), {MEASURED[1]: "another text"})
Rows = dict[Sheet, pl.DataFrame]
OF_EXITS = ["exits-by-size", "exits-by-method"]
MORE_PARTS = {"parts-surprisal": "surprisal", "parts-5": "precision_5", "parts-10": "precision_10"}
SLUGS = ["fit-mat", "fit-id", "precision", "surprisal", "parts", *OF_EXITS, *MORE_PARTS]


@pytest.fixture
def rows(whole_path: Path) -> Rows:
    with Warehouse(whole_path).reader() as connection:
        return sheets(connection, paper.DIN, *(model.name for model in MODELS))


def caption(figure: Figure) -> str:
    assert figure.chart is not None
    return " ".join(figure.chart.to_dict()["title"]["subtitle"])


@pytest.mark.long
def test_all_are_drawn_where_all_was_measured(rows: Rows) -> None:
    drawn_figures = draw_shortcuts(rows, Setting(LOOK))
    assert [figure.picture.slug for figure in drawn_figures] == SLUGS
    for figure in drawn_figures:
        assert figure.why_not == ""
        assert f"{MEASURED[1]} (another text)" in caption(figure)
        assert "Din et al. 2023" in caption(figure)
        assert figure.chart is not None
        drawn = {row["model"] for data in figure.chart.to_dict()["datasets"].values() for row in data if "model" in row}
        assert drawn == set(MEASURED)


def test_each_draws_the_rows_of_its_methods(rows: Rows) -> None:
    fit, *_ = draw_shortcuts(rows, Setting(LOOK))
    assert fit.chart is not None
    found = [row for data in fit.chart.to_dict()["datasets"].values() for row in data]
    assert {row["method"] for row in found} == {"mat"}
    assert len(found) == rows[sheet_of(paper.DIN, paper.FIT_MAT)].height


def test_parts_are_drawn_by_each_number(rows: Rows) -> None:
    charts = {figure.picture.slug: figure.chart for figure in draw_shortcuts(rows, Setting(LOOK))}
    for slug, number in {"parts": "precision_1", **MORE_PARTS}.items():
        chart = charts[slug]
        assert chart is not None
        drawn = chart.to_json()
        assert f'"field": "{number}"' in drawn, slug
        assert '"mat_ffn"' in drawn, slug


def test_what_was_not_measured_is_not_drawn_and_says_so(rows: Rows) -> None:
    parts = sheet_of(paper.DIN, paper.PARTS)
    exits = {sheet: frame[:0] for sheet, frame in rows.items() if sheet.view == "exit_tradeoff"}
    without = {**rows, **exits, parts: rows[parts].filter(method="mat")}
    missing = {one.picture.slug: one.why_not for one in draw_shortcuts(without, Setting(LOOK)) if one.chart is None}
    assert missing == {
        **dict.fromkeys(["parts", *MORE_PARTS], "no parts were replaced by linear maps"),
        **dict.fromkeys(OF_EXITS, "early exits were not measured"),
    }
    nothing = draw_shortcuts({sheet: frame[:0] for sheet, frame in rows.items()}, Setting(LOOK))
    assert all(one.chart is None for one in nothing)
    (said,) = {one.why_not for one in nothing}
    assert said == "none were fitted; fit them with `neurothek ingest MODEL --job shortcuts --job exits`"


@pytest.mark.long
def test_the_command_writes_them_beside_the_others(whole_path: Path, tmp_path: Path) -> None:
    command = ["compare", "--figure", str(tmp_path / "out"), "--warehouse", str(whole_path)]
    result = CliRunner().invoke(main, command, catch_exceptions=False)
    assert result.exit_code == 0
    written = {file.name for file in (tmp_path / "out").iterdir() if file.name.startswith("shortcuts-")}
    assert written == {
        f"shortcuts-{number}-{slug}.{kind}" for number, slug in enumerate(SLUGS, 1) for kind in ("png", "svg")
    }
