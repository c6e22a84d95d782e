"""What figures of several papers share: a panel per model, and what captions say of the rows that are drawn."""

from collections.abc import Callable, Sequence

import altair as alt
import polars as pl

from neurothek.dashboards.charts.layers import OfLayer, by_depth
from neurothek.dashboards.charts.models import Look

PANEL_WIDTH, PANEL_HEIGHT = 260, 240
MOST_COLUMNS = 3
"""Panels that stand in one row."""

_DEPTH_WIDTH, _DEPTH_HEIGHT = 300, 240


def model_panels(
    rows: pl.DataFrame,
    draw: Callable[[pl.DataFrame], alt.Chart | alt.LayerChart],
    *,
    width: int = PANEL_WIDTH,
    height: int = PANEL_HEIGHT,
) -> alt.ConcatChart:
    """One chart per model, with its name above."""
    charts = [
        draw(rows.filter(pl.col("model") == model)).properties(
            width=width, height=height, title=alt.TitleParams(model, fontSize=12)
        )
        for model in models_in(rows)
    ]
    whole: alt.ConcatChart = alt.concat(*charts, columns=min(len(charts), MOST_COLUMNS))
    return whole


def depth_panels(rows: pl.DataFrame, numbers: Sequence[tuple[OfLayer, str]], look: Look) -> alt.HConcatChart:
    """A panel per number of the layers with its title, the models' lines against relative depth in each."""
    panels = [
        by_depth(rows, number, look, orient="right").properties(
            width=_DEPTH_WIDTH, height=_DEPTH_HEIGHT, title=alt.TitleParams(title, fontSize=12)
        )
        for number, title in numbers
    ]
    whole: alt.HConcatChart = alt.hconcat(*panels).resolve_scale(color="shared")
    return whole


def not_comparable(rows: pl.DataFrame, look: Look) -> list[str]:
    """Which of the models may not be compared, and why; nothing where all may be."""
    told = look.told(models_in(rows))
    return [f"Not comparable: {told}."] if told else []


def models_in(rows: pl.DataFrame) -> list[str]:
    """The models of the rows, in their order."""
    models: list[str] = rows.get_column("model").unique(maintain_order=True).to_list()
    return models


def corpora_in(rows: pl.DataFrame) -> str:
    """The texts of the rows."""
    return ", ".join(rows.get_column("corpus").unique(maintain_order=True))


def number_in(rows: pl.DataFrame, column: str) -> str:
    """One number where it is the same in all rows, else from which to which."""
    known = sorted(set(rows.get_column(column)))
    if not known:
        return "none"
    return f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"
