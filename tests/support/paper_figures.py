"""The papers' figures taken apart: their panels, rows and captions."""

from collections.abc import Mapping
from typing import Any

import duckdb
import polars as pl

from neurothek.dashboards.papers.figure import Figure, draw_all
from neurothek.dashboards.papers.material import Material
from neurothek.dashboards.papers.voita import DRAWINGS
from neurothek.queries.ask.one_query import run_query
from neurothek.queries.compare.comparison import compare
from neurothek.queries.names.models import choose_models, sizes_of
from neurothek.queries.papers.exhibit import Paper, Picture, Sheet


def material(connection: duckdb.DuckDBPyConnection, *models: str) -> Material:
    """What the figures of the models are drawn from; of all, if none is named."""
    return Material.of(connection, compare(connection, models))


def sheets(connection: duckdb.DuckDBPyConnection, paper: Paper, *models: str) -> dict[Sheet, pl.DataFrame]:
    """The rows that the pictures of a paper are drawn from."""
    sizes = [model.name for model in sizes_of(choose_models(connection, models))]
    shown = [sheet for one in paper.exhibits if one.pictures for sheet in one.sheets]
    return {sheet: run_query(connection, sheet.sql, sheet.parameters(models, sizes)) for sheet in shown}


def sheet_of(paper: Paper, picture: Picture) -> Sheet:
    """The sheet that a picture is drawn from."""
    (sheet,) = (one.sheets[0] for one in paper.exhibits if picture in one.pictures)
    return sheet


def figures(of: Material) -> Mapping[int, Figure]:
    """The figures of Voita et al. 2023, by number."""
    return {figure.picture.number or 0: figure for figure in draw_all(DRAWINGS, of)}


def drawing(figure: Figure) -> dict[str, Any]:
    """The whole drawing of a figure that is drawn."""
    assert figure.chart is not None
    return dict(figure.chart.to_dict())


def panels(figure: Figure) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each panel with its rows."""
    whole = drawing(figure)
    parts = whole.get("hconcat", whole.get("concat", [whole]))
    return [
        (part, whole["datasets"][part["data"]["name"] if "data" in part else whole["data"]["name"]]) for part in parts
    ]


def caption(figure: Figure) -> str:
    """The lines under its title."""
    return " ".join(drawing(figure)["title"]["subtitle"])
