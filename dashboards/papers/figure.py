"""What the papers' figures share: a figure that is drawn, or why it is not."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import altair as alt
import polars as pl

from neurothek.catalog.advice import command_line
from neurothek.catalog.spelling import spoken_corpus
from neurothek.dashboards.charts.layers import OfLayer, by_depth
from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.charts.pictures import Drawing
from neurothek.queries.papers.exhibit import Exhibit, Picture, Sheet


@dataclass(frozen=True)
class Figure:
    """A picture of a paper, drawn of some models or not.

    Attributes:
        picture: which.
        chart: the drawing; None where there is nothing to draw.
        why_not: why there is none; empty where there is one.
    """

    picture: Picture
    chart: Drawing | None
    why_not: str = ""

    @property
    def name(self) -> str:
        """Name of its files, without the ending."""
        return self.picture.name


@dataclass(frozen=True)
class NotDrawn:
    """Why there is nothing to draw."""

    reason: str


Drawn = Drawing | NotDrawn
Rows = TypeVar("Rows")


def draw_all(drawings: Mapping[Picture, Callable[[Rows], Drawn]], rows: Rows) -> list[Figure]:
    """Each picture, drawn of the rows; those that cannot be drawn say why."""
    drawn = {picture: draw(rows) for picture, draw in drawings.items()}
    return [
        Figure(picture, None, one.reason) if isinstance(one, NotDrawn) else Figure(picture, one)
        for picture, one in drawn.items()
    ]


@dataclass(frozen=True)
class Setting:
    """The models of some figures, side by side."""

    look: Look  # their colours, and which of them may not be compared
    corpus: str | None = None  # the corpus that was asked for; None: each model's shown one
    on: tuple[str, ...] = ()  # the options of `ingest` that ask for it; none where no corpus was asked for

    @property
    def corpus_suffix(self) -> str:
        """The corpus that was asked for, as the end of a sentence; empty where none was."""
        return "" if self.corpus is None else f" on {spoken_corpus(self.corpus)}"

    def not_measured(self, what: str, job: str) -> str:
        """What is missing, with the command that measures it."""
        again = command_line("ingest", "MODEL", *self.on, "--job", job)
        return f"{what}{self.corpus_suffix}; measure them with `{again}`"


@dataclass(frozen=True)
class Sketch:
    """A picture of the rows of its exhibit's first sheet."""

    draw: Callable[[pl.DataFrame, Look], Drawing]  # draws them, with the models' look
    why_not: Callable[[Setting], str]  # says what is missing where there are none
    of: Callable[[pl.DataFrame], pl.DataFrame] = lambda rows: rows  # those of them that are drawn


def draw_sheets(
    exhibits: Sequence[Exhibit],
    sketches: Mapping[Picture, Sketch],
    sheets: Mapping[Sheet, pl.DataFrame],
    setting: Setting,
) -> list[Figure]:
    """The pictures of exhibits, drawn of the rows of their sheets; those that cannot be drawn say why."""
    figures = []
    for picture, sheet in ((picture, one.sheets[0]) for one in exhibits for picture in one.pictures):
        sketch = sketches[picture]
        rows = sketch.of(sheets[sheet])
        is_drawn = not rows.is_empty()
        chart = sketch.draw(rows, setting.look) if is_drawn else None
        figures.append(Figure(picture, chart, "" if is_drawn else sketch.why_not(setting)))
    return figures


def captioned(chart: Drawing, title: str, *lines: str) -> Drawing:
    """The drawing under its title and the lines of its caption that say something."""
    captioned: Drawing = chart.properties(title=alt.TitleParams(title, subtitle=[line for line in lines if line]))
    return captioned


def source(picture: Picture) -> str:
    """Which figure of the paper it is."""
    return f"Figure {picture.number} of Voita et al. 2023, for these models."


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
    reasons = look.not_comparable(models_in(rows))
    return [f"Not comparable: {reasons}."] if reasons else []


def models_in(rows: pl.DataFrame) -> list[str]:
    """The models of the rows, in their order."""
    models: list[str] = rows.get_column("model").unique(maintain_order=True).to_list()
    return models


def corpora_in(rows: pl.DataFrame) -> str:
    """The texts of the rows."""
    return ", ".join(map(spoken_corpus, rows.get_column("corpus").unique(maintain_order=True)))


def number_in(rows: pl.DataFrame, column: str) -> str:
    """One number where it is the same in all rows, else from which to which."""
    numbers = sorted(set(rows.get_column(column)))
    if not numbers:
        return "none"
    return f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}"
