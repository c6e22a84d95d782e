"""How many continuations have an attribute, by how they came about."""

from collections.abc import Mapping

import altair as alt
import polars as pl

STEERED_COLOURS: Mapping[str, str] = {
    "untouched": "#8a8a8a",
    "changed": "#4a86c2",
    "random": "#c9a227",
    "word_filter": "#009e73",
    "self_debiasing": "#cc79a7",
}
"""Read on white and on black, and told apart with any colour vision."""

_ROW, _FRAME = 18, 110
"""Pixels of a dot's row, and of axis and legend."""


def attribute_shares(rows: pl.DataFrame) -> alt.LayerChart:
    """The share of continuations that have each attribute: a dot a method, with its interval.

    The interval is Wilson's; of random sets it reaches from the least share of a set to the largest.

    Args:
        rows: rows of one intervention of `attribute_shares`.
    """
    is_random = pl.col("method") == "random"
    drawn = rows.with_columns(
        pl.format("{} ({})", "attribute", "scorer").alias("scored"),
        *(
            pl.when(is_random).then(pl.col(f"share_{of_sets}")).otherwise(pl.col(f"share_{end}")).alias(end)
            for end, of_sets in (("low", "least"), ("high", "most"))
        ),
    )
    methods = [method for method in STEERED_COLOURS if method in set(rows.get_column("method"))]
    n_attributes = drawn.get_column("scored").n_unique()
    base = alt.Chart(drawn).encode(
        alt.Y("scored:N", axis=alt.Axis(title=None, ticks=False, labelLimit=200)),
        alt.Color(
            "method:N",
            scale=alt.Scale(domain=methods, range=[STEERED_COLOURS[method] for method in methods]),
            legend=alt.Legend(
                title=None,
                orient="top",
                columns=3,
                symbolType="circle",
                symbolOpacity=1,
                labelExpr="replace(datum.label, '_', ' ')",
            ),
        ),
        yOffset=alt.YOffset("method:N", sort=methods),
        tooltip=[
            alt.Tooltip("scored:N", title="attribute"),
            alt.Tooltip("method:N"),
            alt.Tooltip("share:Q", format=".1%"),
            alt.Tooltip("low:Q", format=".1%", title="from"),
            alt.Tooltip("high:Q", format=".1%", title="to"),
            alt.Tooltip("percentile:Q", format=".0f"),
            alt.Tooltip("n_continuations:Q", format=",", title="continuations"),
            alt.Tooltip("n_sets:Q", title="sets"),
        ],
    )
    scale = alt.Scale(domain=[0, 1])
    axis = alt.Axis(format="~%", tickCount=5)
    ranges = base.mark_rule(strokeWidth=2, opacity=0.7).encode(alt.X("low:Q"), alt.X2("high:Q"))
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        alt.X("share:Q", title="continuations that have it", scale=scale, axis=axis)
    )
    whole = alt.LayerChart(layer=[ranges, points])
    whole.height = _FRAME + _ROW * len(methods) * n_attributes
    return whole
