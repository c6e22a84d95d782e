"""What the papers' figures share: a figure that is drawn, or why it is not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import altair as alt
import polars as pl

from neurothek.dashboards.charts.layers import OfLayer, by_depth
from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.charts.pictures import Drawing


@dataclass(frozen=True)
class Figure:
    """One figure, drawn or not.

    Attributes:
        number: its number in the paper.
        slug: what it shows, for the name of its file.
        chart: the drawing; None where there is nothing to draw.
        why_not: why there is none; empty where there is one.
    """

    number: int
    slug: str
    chart: Drawing | None
    why_not: str = ""

    @property
    def name(self) -> str:
        """Name of its file, without the ending."""
        return f"figure-{self.number:02d}-{self.slug}"

    @property
    def title(self) -> str:
        """What it is called where it is missing."""
        return f"figure {self.number}"

    @property
    def series(self) -> str:
        """Itself: each of these figures lacks something of its own."""
        return self.title


class SeriesFigure(Figure):
    """One of a series that is counted by itself, whose name begins the names of its files."""

    prefix: ClassVar[str]
    alike: ClassVar[str]
    """What figures of the series are: those that lack the same are named together."""

    @property
    def name(self) -> str:
        """Name of its file, without the ending."""
        return f"{self.prefix}-{self.number}-{self.slug}"

    @property
    def title(self) -> str:
        """What it is called where it is missing."""
        return f"{self.prefix} {self.number} ({self.slug})"

    @property
    def series(self) -> str:
        """What it is one of."""
        return self.alike


@dataclass(frozen=True)
class NotDrawn:
    """Why there is nothing to draw."""

    reason: str


Drawn = Drawing | NotDrawn


def captioned(chart: Drawing, title: str, *lines: str) -> Drawing:
    """The drawing under its title and the lines of its caption that say something."""
    captioned: Drawing = chart.properties(title=alt.TitleParams(title, subtitle=[line for line in lines if line]))
    return captioned


def source(number: str) -> str:
    """Which figure of the paper it is."""
    return f"Figure {number} of Voita et al. 2023, for these models."


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
