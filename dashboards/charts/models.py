"""How models look in every figure: colour by size, dashed where they may not be compared, or each in its panel."""

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
    """Colours and dashes of the models of a figure.

    Attributes:
        colours: model -> colour, smallest first.
        why_not: model -> why it may not be compared with the others; such models are dashed.
    """

    colours: Mapping[str, str]
    why_not: Mapping[str, str]

    def colour(self, models: Collection[str], orient: LegendPlace = "top") -> alt.Color:
        """The scale of colours with a legend of the models that are drawn."""
        shown = [model for model in self.colours if model in set(models)]
        n_columns = 3 if max(map(len, shown), default=0) <= _SHORT_NAME else 2
        return alt.Color(
            "model:N",
            scale=alt.Scale(domain=shown, range=[self.colours[model] for model in shown]),
            sort=shown,
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
        return [f"Dashed, not comparable: {told}."] if (told := self.told(models)) else []

    def told(self, models: Sequence[str]) -> str:
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
