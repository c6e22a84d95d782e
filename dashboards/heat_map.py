"""The heat map of linear shortcuts: how well each state of a model predicts each one above it."""

from collections.abc import Mapping

import altair as alt
import polars as pl

from dashboards.charts import HEIGHT

RAMPS: Mapping[str, tuple[str, str]] = {"light": ("#eef3f8", "#123f6d"), "dark": ("#18232f", "#9cc9f2")}
"""Colours of an r^2 of 0 and of 1 by theme, further from the background the better the prediction."""

MOST_NUMBERS = 12
"""Up to so many layers, each cell has room for its number."""

_INK: Mapping[str, tuple[str, str]] = {"light": ("#333333", "#ffffff"), "dark": ("#d5d5d5", "#10202f")}
"""Colours of the numbers on pale cells and on full ones, by theme."""

_FULL = 0.45
"""From here on a number is read better in the ink of full cells."""


def heat_map(fits: pl.DataFrame, theme: str) -> alt.LayerChart:
    """How well each state predicts each one above it: a cell a pair, numbers in it where there is room.

    Args:
        fits: rows of one model and method of `shortcut_fit`.
        theme: light or dark.
    """
    sources = sorted(set(fits.get_column("source_state")))
    targets = sorted(set(fits.get_column("target_state")), reverse=True)
    axis = alt.Axis(labelAngle=0, labelOverlap=True, ticks=False, domain=False, grid=False)
    base = alt.Chart(fits).encode(
        alt.X("source_state:O", title="from state", scale=alt.Scale(domain=sources), axis=axis),
        alt.Y("target_state:O", title="to state", scale=alt.Scale(domain=targets), axis=axis),
        tooltip=[
            alt.Tooltip("source_state:O", title="from state"),
            alt.Tooltip("target_state:O", title="to state"),
            alt.Tooltip("r2:Q", format=".4f", title="r^2"),
            alt.Tooltip("condition:Q", format=".3~g"),
            alt.Tooltip("rank:Q", format=",", title="rank"),
            alt.Tooltip("n_fit:Q", format=",", title="sentences fitted"),
            alt.Tooltip("n_validation:Q", format=",", title="sentences judged"),
        ],
    )
    cells = base.mark_rect().encode(
        alt.Color(
            "r2:Q",
            # Worse than the mean is as pale as the mean: how much worse stands in the cell.
            scale=alt.Scale(domain=[0, 1], range=list(RAMPS[theme]), clamp=True),
            legend=alt.Legend(title="r^2", orient="right", gradientLength=120, tickCount=3),
        )
    )
    layers = [cells]
    if len(sources) <= MOST_NUMBERS:
        pale, full = _INK[theme]
        ink = alt.condition(f"datum.r2 > {_FULL}", alt.value(full), alt.value(pale))
        layers.append(base.mark_text(fontSize=11).encode(alt.Text("r2:Q", format=".2f"), color=ink))
    whole = alt.LayerChart(layer=layers)
    whole.view = alt.ViewBackground(strokeWidth=0)
    whole.height = HEIGHT
    return whole
