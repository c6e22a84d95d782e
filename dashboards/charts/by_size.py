"""A number of whole models against their size: a point per model, with the number beside it."""

import altair as alt
import polars as pl

from neurothek.dashboards.charts.models import Look

HEIGHT = 132

_MOST_NUMBERS = 4
"""So many points of a small chart have room for their number; of more the ends and the extremes have theirs."""

_MOST_TICKS = 4
_ROOM = 1.35
"""How far the scale goes beyond the highest point, whose number stands above it."""

_LINE = "#8a8a8a"
"""Between the points; read on white and on black."""


def against_size(rows: pl.DataFrame, look: Look, ink: str) -> alt.LayerChart:
    """Points on a logarithmic axis of sizes, a line per family through its plain sizes.

    Args:
        rows: rows with model, family, size, size_label, value, value_label, is_size; see `labelled`.
        look: colours of the models.
        ink: colour of the numbers.
    """
    sizes = rows.unique("size").sort("size")
    ticks = sizes if sizes.height <= _MOST_TICKS else sizes.gather([0, sizes.height // 2, sizes.height - 1])
    names = {str(size): label for size, label in ticks.select("size", "size_label").iter_rows()}
    highest = max(rows.get_column("value").to_list(), default=0) or 1
    base = alt.Chart(rows).encode(
        alt.X(
            "size:Q",
            title="parameters without embeddings",
            scale=alt.Scale(type="log", nice=False, padding=26),
            axis=alt.Axis(
                values=ticks.get_column("size").to_list(),
                labelExpr=f"{names}[datum.value]",
                grid=False,
                labelOverlap="greedy",
                titleFontSize=10,
            ),
        ),
        alt.Y(
            "value:Q",
            title=None,
            scale=alt.Scale(domain=[0, highest * _ROOM], nice=False),
            axis=alt.Axis(labels=False, ticks=False, domain=False, grid=False),
        ),
    )
    shown = [model for model in look.colours if model in set(rows.get_column("model"))]
    colour = alt.Color(
        "model:N",
        scale=alt.Scale(domain=shown, range=[look.colours[model] for model in shown]),
        legend=None,
    )
    line = base.transform_filter("datum.is_size").mark_line(color=_LINE, strokeWidth=1.5, opacity=0.6)
    points = base.mark_point(size=70, opacity=1, strokeWidth=2).encode(
        colour,
        fill=alt.condition("datum.is_size", colour, alt.value("transparent")),
        tooltip=[
            alt.Tooltip("model:N"),
            alt.Tooltip("value:Q", format=".3%"),
            alt.Tooltip("size:Q", format=",", title="parameters without embeddings"),
        ],
    )
    numbers = base.mark_text(dy=-13, fontSize=12, color=ink).encode(alt.Text("value_label:N"))
    whole = alt.LayerChart(layer=[line.encode(detail="family:N"), points, numbers])
    whole.view = alt.ViewBackground(strokeWidth=0)
    whole.height = HEIGHT
    return whole


def labelled(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the numbers that there is room for: of many points those of the ends, the least and the largest.

    Args:
        rows: rows with size, value, value_label and is_size; variants, which share sizes with others, go without.
    """
    plain = rows.filter("is_size").sort("size")
    if plain.height > _MOST_NUMBERS:
        values = plain.get_column("value")
        places = {0, plain.height - 1, values.arg_min(), values.arg_max()}
        plain = plain[sorted(place for place in places if place is not None)]
    kept = pl.col("is_size") & pl.col("model").is_in(plain.get_column("model").to_list())
    return rows.with_columns(pl.when(kept).then("value_label").otherwise(pl.lit("")).alias("value_label"))
