"""What the axes and tooltips of all charts share."""

import altair as alt
import polars as pl

from neurothek.catalog.terminal.cells import SHARES

HEIGHT = 300

FEW_TICKS = 5
"""Up to so many, every number has its tick."""

LOG_TICKS = 6
"""Log axes would draw a line at every digit of every power: they go without lines, with a few ticks."""


def count_tooltip(name: str) -> alt.Tooltip:
    """A number in a tooltip, under its name as people say it: a share in percent, a count with its thousands apart."""
    return alt.Tooltip(f"{name}:Q", format=".2%" if name in SHARES else ",", title=spoken(name))


def count_axis(counts: pl.Series) -> alt.Axis:
    """An axis of whole numbers: ticks between 1 and 2 would say nothing."""
    most = max((int(count) for count in counts.drop_nulls()), default=0)
    return (
        alt.Axis(values=list(range(max(1, most) + 1)), format="d")
        if most <= FEW_TICKS
        else alt.Axis(tickCount=FEW_TICKS)
    )


def count_scale(counts: pl.Series) -> alt.Scale:
    """A scale of whole numbers from 0, which has a height even where all are 0."""
    return alt.Scale(domain=[0, max((int(count) for count in counts.drop_nulls()), default=0) or 1], nice=FEW_TICKS)


_MOST_LAYERS = 12
"""Up to so many layers, each has its tick."""


def layer_axis(layers: pl.Series) -> alt.Axis:
    """An axis of layers with ticks at whole ones, no more than there is room for."""
    n_layers = 1 + max((int(layer) for layer in layers), default=0)
    step = -(-n_layers // _MOST_LAYERS)
    return alt.Axis(values=list(range(0, n_layers, step)), format="d", grid=False)


_SPOKEN = {"contribution_max": "largest contribution"}
"""Columns whose names are not said word by word."""


def spoken(column: str) -> str:
    """A column's name as people say it: n_tokens_seen is "tokens seen"."""
    return _SPOKEN.get(column, column.removeprefix("n_").replace("_", " "))
