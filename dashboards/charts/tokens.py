"""The tokens of a neuron as bars."""

import altair as alt
import polars as pl

from catalog.spelling import visible
from dashboards.charts.axes import count_tooltip

_MONOSPACED = "monospace"


_ROW_HEIGHT = 20


_GREY = "#8a8a8a"
"""Read on white and on black."""


def token_bars(tokens: pl.DataFrame, colour: str) -> alt.LayerChart:
    """The scores of a neuron's tokens as bars under each other, best first.

    Args:
        tokens: rows of one side with rank, token, score, z_score, corpus_count.
        colour: of the bars.
    """
    rows = tokens.with_columns(pl.col("token").map_elements(visible, return_dtype=pl.String))
    is_negative = float(rows.get_column("score").sum()) < 0
    # Room for the number behind the longest bar.
    edges = [0.0, *rows.get_column("score")]
    room = 0.18 * (max(edges) - min(edges)) or 1.0
    domain = [min(edges) - room, max(edges)] if is_negative else [min(edges), max(edges) + room]
    base = alt.Chart(rows).encode(
        alt.Y(
            "token:N",
            sort=alt.EncodingSortField("rank"),
            title=None,
            axis=alt.Axis(
                labelFont=_MONOSPACED,
                labelFontSize=12,
                labelLimit=190,
                labelOverlap=False,
                labelFlush=False,
                ticks=False,
                domain=False,
            ),
        ),
        # Both sides grow away from their tokens, so that the longest bar is the strongest on either.
        alt.X(
            "score:Q",
            title="score",
            axis=alt.Axis(tickCount=4),
            scale=alt.Scale(domain=domain, nice=False, reverse=is_negative),
        ),
        tooltip=[
            alt.Tooltip("rank:Q"),
            alt.Tooltip("token:N"),
            alt.Tooltip("score:Q", format=".3f"),
            alt.Tooltip("z_score:Q", format=".2f", title="z-score"),
            count_tooltip("corpus_count"),
        ],
    )
    numbers = base.mark_text(align="left", dx=4, fontSize=11, color=_GREY)
    layers = [base.mark_bar(color=colour, height=12), numbers.encode(alt.Text("score:Q", format=".2f"))]
    bars = alt.LayerChart(layer=layers)
    # On the chart and not in its configuration, so that it can stand beside others.
    bars.view = alt.ViewBackground(strokeWidth=0)
    bars.height = _ROW_HEIGHT * max(1, rows.height)
    return bars
