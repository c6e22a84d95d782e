"""What the papers' figures share: a figure that is drawn, or why it is not."""

from dataclasses import dataclass
from typing import ClassVar

import altair as alt

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
