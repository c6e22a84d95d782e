"""What can be drawn of any query's answer: which of its columns go where, and the drawing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import altair as alt
import polars as pl

from neurothek.catalog.spelling import visible
from neurothek.catalog.terminal.cells import TOKENS
from neurothek.dashboards.charts.axes import HEIGHT, spoken
from neurothek.dashboards.charts.spread import MOST_POINTS
from neurothek.dashboards.colours import DOMAINS

Mark = Literal["line", "bar", "point"]

# Columns along which other numbers are looked at, and never numbers to look at.
_ALONG = ("layer", "depth", "state", "source_state", "n_tokens", "position", "layers_run", "run_share", "size")
_KEYS = (*_ALONG, "rank", "neuron", "token_id", "cluster_id", "example_id", "sequence_id", "model_id", "corpus_id")

# What other counts are of: drawn only where a person asks.
_WHOLES = ("n_layers", "n_neurons", "n_tokens_seen", "n_examples", "n_sequences", "n")

MOST_BARS = 40
"""Nobody reads a longer list of names."""

MOST_LINES = 12
"""The eye cannot tell more models apart."""

_TICKS = 8
_BAR = 20
"""Pixels of a bar with its name."""


@dataclass(frozen=True)
class Fit:
    """Which columns of an answer are drawn, and how."""

    mark: Mark  # lines along a number, bars of named things, or points of two numbers
    across: str  # the column across, or down the side for bars
    numbers: tuple[str, ...]  # columns that can be drawn up, the likeliest first
    colour: str | None  # the column that tells lines, bars or points apart, if one does


def fitting(answer: pl.DataFrame) -> Fit | None:
    """How an answer can be drawn; None where no drawing says more than its table."""
    if not 1 < answer.height <= MOST_POINTS:
        return None
    columns = [name for name in answer.columns if name not in _KEYS and _is_measure(answer, name)]
    measures = tuple(sorted(columns, key=_WHOLES.__contains__))
    colours = [None, *(name for name in answer.columns if _tells_apart(answer, name))]
    for along in (name for name in _ALONG if name in answer.columns and _is_measure(answer, name)):
        for colour in colours:
            if measures and _is_key(answer, along, colour):
                return Fit("line", along, measures, colour)
    names = [name for name in answer.columns if answer.schema[name] == pl.String]
    if measures and answer.height <= MOST_BARS:
        for name in names:
            for colour in (colour for colour in colours if colour != name):
                if _is_key(answer, name, colour):
                    return Fit("bar", name, measures, colour)
    if len(measures) > 1:
        return Fit("point", measures[0], measures[1:], colours[1] if len(colours) > 1 else None)
    return None


def answer_chart(answer: pl.DataFrame, fit: Fit, number: str, *, accent: str, models: Mapping[str, str]) -> alt.Chart:
    """A drawing of an answer.

    Args:
        answer: the rows of any query.
        fit: which columns are drawn; see `fitting`.
        number: the one of its numbers to draw.
        accent: the colour where nothing is told apart.
        models: model -> colour, for answers about models.
    """
    columns = list(dict.fromkeys(name for name in (fit.across, number, fit.colour) if name is not None))
    # A column's name may hold what Vega reads as a path, or as a type.
    called = {name: f"c{place}" for place, name in enumerate(columns)}
    rows = answer.select(_drawable(answer, name).alias(called[name]) for name in columns).drop_nulls(called[number])
    across, up = _places(answer, fit, number, called)
    drawing = _marked(alt.Chart(rows), fit, accent).encode(
        across, up, tooltip=[_tip(answer, name, called[name]) for name in columns]
    )
    if fit.colour is not None:
        drawing = drawing.encode(_colour(answer, fit.colour, called, models))
        if fit.mark == "bar":
            drawing = drawing.encode(alt.YOffset(f"{called[fit.colour]}:N"))
    chart: alt.Chart = drawing.properties(height=max(60, _BAR * answer.height) if fit.mark == "bar" else HEIGHT)
    return chart


def _marked(chart: alt.Chart, fit: Fit, accent: str) -> alt.Chart:
    marked: alt.Chart
    if fit.mark == "line":
        marked = chart.mark_line(point=alt.OverlayMarkDef(size=36, color=accent), strokeWidth=2, color=accent)
    elif fit.mark == "bar":
        marked = chart.mark_bar(color=accent)
    else:
        marked = chart.mark_circle(size=30, opacity=0.7, color=accent)
    return marked


def _places(answer: pl.DataFrame, fit: Fit, number: str, called: Mapping[str, str]) -> tuple[alt.X, alt.Y]:
    value = f"{called[number]}:Q"
    if fit.mark == "bar":
        font = "monospace" if fit.across in TOKENS else "sans-serif"
        axis = alt.Axis(labelLimit=220, labelOverlap=False, labelFlush=False, labelFont=font, ticks=False)
        return alt.X(value, title=spoken(number)), alt.Y(f"{called[fit.across]}:N", sort=None, title=None, axis=axis)
    scale = alt.Scale(zero=False)
    axis = alt.Axis(grid=False, tickCount=_TICKS)
    if answer.schema[fit.across].is_integer():
        # There is nothing between two layers.
        axis = alt.Axis(grid=False, tickCount=_TICKS, tickMinStep=1, format="~s")
    across = alt.X(f"{called[fit.across]}:Q", title=spoken(fit.across), scale=scale, axis=axis)
    return across, alt.Y(value, title=spoken(number), scale=scale)


def _colour(answer: pl.DataFrame, name: str, called: Mapping[str, str], models: Mapping[str, str]) -> alt.Color:
    values: list[str] = answer.get_column(name).drop_nulls().unique(maintain_order=True).to_list()
    colours = list(DOMAINS[: len(values)])
    if set(values) <= set(models):
        # One scale of model colours everywhere, and the models in its order.
        values = [model for model in models if model in set(values)]
        colours = [models[model] for model in values]
    legend = alt.Legend(title=None, orient="top", columns=3, labelLimit=180, symbolOpacity=1)
    return alt.Color(f"{called[name]}:N", scale=alt.Scale(domain=values, range=colours), sort=values, legend=legend)


def _tip(answer: pl.DataFrame, name: str, called: str) -> alt.Tooltip:
    if answer.schema[name].is_float():
        return alt.Tooltip(f"{called}:Q", title=spoken(name), format=".4~g")
    return alt.Tooltip(f"{called}:N", title=spoken(name))


def _drawable(answer: pl.DataFrame, name: str) -> pl.Expr:
    if answer.schema[name] != pl.String:
        return pl.col(name).cast(pl.Float64) if answer.schema[name].is_decimal() else pl.col(name)
    return pl.col(name).map_elements(visible, return_dtype=pl.String) if name in TOKENS else pl.col(name)


def _is_measure(answer: pl.DataFrame, name: str) -> bool:
    return answer.schema[name].is_numeric() and answer.get_column(name).null_count() < answer.height


def _tells_apart(answer: pl.DataFrame, name: str) -> bool:
    most = MOST_LINES if name in ("model", "other_model") else len(DOMAINS)
    return answer.schema[name] == pl.String and 1 < answer.get_column(name).n_unique() <= most


def _is_key(answer: pl.DataFrame, *names: str | None) -> bool:
    """Whether the columns tell all rows apart."""
    key = [name for name in names if name is not None]
    return answer.select(key).n_unique() == answer.height and not answer.select(key[0]).null_count().item()
