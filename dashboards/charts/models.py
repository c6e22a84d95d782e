"""How models look in every figure: colour, dashes where they may not be compared, numbers against their size."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import altair as alt
import polars as pl

LegendPlace = Literal["top", "right"]

PANEL_WIDTH, PANEL_HEIGHT = 230, 200

Panel = tuple[str, str]
"""A model and the line under its name."""

_MOST_COLUMNS = 4
"""Panels that stand in one row."""

DASHED = (5, 3)
_SHORT_NAME = 14
"""Three names of so many letters stand side by side in half a narrow window."""


@dataclass(frozen=True)
class Look:
    """Colours and dashes of the models of a figure."""

    colours: Mapping[str, str]  # model -> colour, smallest first
    why_not: Mapping[str, str]  # model -> why it may not be compared with the others; such models are dashed

    def colour(self, models: Collection[str], orient: LegendPlace = "top") -> alt.Color:
        """The scale of colours with a legend of the models that are drawn."""
        domain = [model for model in self.colours if model in set(models)]
        n_columns = 3 if max(map(len, domain), default=0) <= _SHORT_NAME else 2
        return alt.Color(
            "model:N",
            scale=alt.Scale(domain=domain, range=[self.colours[model] for model in domain]),
            sort=domain,
            legend=alt.Legend(
                title=None,
                orient=orient,
                columns=n_columns if orient == "top" else 1,
                labelLimit=180,
                offset=6,
                padding=0,
                # A band would make the spots of the legend as pale as it is.
                symbolOpacity=1,
            ),
        )

    def dash(self) -> alt.StrokeDashValue:
        """Dashes for the lines of models that may not be compared."""
        is_other = {"field": "model", "oneOf": sorted(self.why_not)}
        return alt.StrokeDashValue([1, 0], condition={"test": is_other, "value": list(DASHED)})

    def caption(self, models: Sequence[str]) -> list[str]:
        """Which of the models are dashed, and why; nothing where all may be compared."""
        return [f"Dashed, not comparable: {reasons}."] if (reasons := self.not_comparable(models)) else []

    def not_comparable(self, models: Sequence[str]) -> str:
        """Those of the models that may not be compared, each with the reason; empty where all may be."""
        return ", ".join(f"{model} ({self.why_not[model]})" for model in models if model in self.why_not)


def panels_of(
    base: alt.Chart | Mapping[str, alt.Chart], rows: pl.DataFrame, panels: Sequence[Panel]
) -> alt.ConcatChart:
    """One chart per model, with its name above, and scales that all share."""
    charts = []
    for model, under in panels:
        chart = (base if isinstance(base, alt.Chart) else base[model]).copy()
        chart.data = rows.filter(pl.col("model") == model)
        title = alt.TitleParams(model, subtitle=under, fontSize=12, subtitleFontSize=11, offset=6)
        charts.append(chart.properties(width=PANEL_WIDTH, height=PANEL_HEIGHT, title=title))
    shared: Literal["shared"] = "shared"
    n = len(charts)
    # Rows of about equal length: 5 and 6 models stand in threes.
    columns = n if n <= _MOST_COLUMNS else -(-n // -(-n // _MOST_COLUMNS))
    whole: alt.ConcatChart = alt.concat(*charts, columns=columns).resolve_scale(
        color=shared, fillOpacity=shared, y=shared
    )
    return whole


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
    domain = [model for model in look.colours if model in set(rows.get_column("model"))]
    colour = alt.Color(
        "model:N",
        scale=alt.Scale(domain=domain, range=[look.colours[model] for model in domain]),
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
    has_room = pl.col("is_size") & pl.col("model").is_in(plain.get_column("model").to_list())
    return rows.with_columns(pl.when(has_room).then("value_label").otherwise(pl.lit("")).alias("value_label"))
