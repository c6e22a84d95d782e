"""How large one neuron's activations are."""

import altair as alt
import polars as pl

from dashboards.charts.axes import count_tooltip

_HEIGHT = 150


def activation_histogram(bins: pl.DataFrame, colour: str, contrast: str) -> alt.Chart:
    """How many tokens have an activation of each size, as bars beside each other; activations of 0 are left out.

    Bins are half a power of two wide and bars are equally wide, so that the axis is logarithmic on either side of 0;
    the axis of counts is, too.

    Args:
        bins: rows with bin, low, high, n_tokens and n_tokens_counted.
        colour: of activations above 0.
        contrast: of those below.
    """
    shown = bins.filter(pl.col("bin") != 0).with_columns(
        (pl.col("n_tokens") / pl.col("n_tokens_counted")).alias("share"),
        pl.format("{} to {}", _edge("low"), _edge("high")).alias("activation"),
        pl.when(pl.col("bin") > 0).then(pl.lit("above 0")).otherwise(pl.lit("below 0")).alias("sign"),
        pl.lit(0.8).alias("least"),
    )
    chart: alt.Chart = (
        alt.Chart(shown)
        .mark_bar()
        .encode(
            alt.X(
                "activation:N",
                title="activation",
                sort=shown.sort("bin").get_column("activation").to_list(),
                axis=alt.Axis(labelExpr="split(datum.label, ' to ')[0]", labelOverlap=True, labelAngle=0, grid=False),
            ),
            # Bars of a logarithmic axis need a foot: a bin of one token is drawn, too.
            alt.Y(
                "n_tokens:Q",
                title="tokens",
                scale=alt.Scale(type="log", domainMin=0.8),
                axis=alt.Axis(tickCount=4, grid=False, format="~s"),
            ),
            alt.Y2("least:Q"),
            alt.Color("sign:N", scale=alt.Scale(domain=["above 0", "below 0"], range=[colour, contrast]), legend=None),
            tooltip=[alt.Tooltip("activation:N"), count_tooltip("n_tokens"), count_tooltip("share")],
        )
        .properties(height=_HEIGHT)
    )
    return chart


def _edge(column: str) -> pl.Expr:
    """An edge as people read it; the outermost bins have none."""
    return pl.col(column).map_elements(lambda edge: f"{edge:.3g}", return_dtype=pl.String).fill_null("∞")
