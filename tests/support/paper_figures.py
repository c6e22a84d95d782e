"""The papers' figures taken apart: their panels, rows and captions."""

from collections.abc import Mapping
from typing import Any

import duckdb

from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.colours import model_colours
from neurothek.dashboards.papers.figure import Figure
from neurothek.dashboards.papers.material import Material
from neurothek.dashboards.papers.voita import paper_figures
from neurothek.dashboards.papers.voita_ngrams import minima_of
from neurothek.queries.compare.comparison import compare
from neurothek.queries.compare.kinds import positional_neurons


def material(connection: duckdb.DuckDBPyConnection, *models: str) -> Material:
    """What the figures of the models are drawn from; of all, if none is named."""
    comparison = compare(connection, models)
    look = Look(model_colours(comparison.models["model"].to_list()), comparison.why_not())
    positional = positional_neurons(connection, comparison.typology.models())
    by_minimum = minima_of(connection, comparison.models["model"].to_list())
    return Material(comparison, positional, by_minimum, look)


def figures(of: Material) -> Mapping[int, Figure]:
    """The figures of Voita et al. 2023, by number."""
    return {figure.number: figure for figure in paper_figures(of)}


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
