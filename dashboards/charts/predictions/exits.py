"""The charts of leaving early: each a function from rows to a drawing, without state."""

from collections.abc import Mapping

import altair as alt
import polars as pl

from neurothek.dashboards.charts.axes import HEIGHT
from neurothek.dashboards.charts.models import LegendPlace, Look

TARGET_PRECISION = 0.95
"""The precision at which the layers saved are told."""

METHOD_COLOURS: Mapping[str, str] = {"mat": "#4a86c2", "id": "#c9a227"}
"""Read on white and on black."""

_GREY = "#8a8a8a"
"""Read on white and on black."""

_HOW = {"by confidence": [1, 0], "at one state": [2, 2]}


def tradeoff_by_model(rows: pl.DataFrame, look: Look, *, orient: LegendPlace = "top") -> alt.LayerChart:
    """Precision against the share of the layers that run, a line per model; dashed where models may not be compared.

    Args:
        rows: rows of one method of `exit_tradeoff`.
        look: colours and dashes of the models.
        orient: where the legend stands.
    """
    lines = (
        alt.Chart(rows)
        .mark_line(point=alt.OverlayMarkDef(size=24), strokeWidth=2)
        .encode(
            _run("run_share", "layers run (share)", share=True),
            _precision(),
            look.colour(rows.get_column("model"), orient),
            strokeDash=look.dash(),
            # Not by precision: where it falls, the line must not run back.
            order=alt.Order("run_share:Q"),
            tooltip=[alt.Tooltip("model:N"), *_tooltip()],
        )
    )
    return _over_target(lines)


def tradeoff_of_model(rows: pl.DataFrame) -> alt.LayerChart:
    """Precision against the layers that run, a line per shortcut, by its confidence and always at one state.

    Args:
        rows: rows of one model of `exit_tradeoff`.
    """
    named = rows.with_columns(
        pl.col("method").str.strip_prefix("fixed_").alias("shortcut"),
        pl.when(pl.col("method").str.starts_with("fixed_"))
        .then(pl.lit("at one state"))
        .otherwise(pl.lit("by confidence"))
        .alias("left"),
    )
    base = alt.Chart(named).encode(
        _run("layers_run", "layers run", share=False),
        _precision(),
        alt.Color(
            "shortcut:N",
            scale=alt.Scale(domain=list(METHOD_COLOURS), range=list(METHOD_COLOURS.values())),
            legend=alt.Legend(title=None, orient="top"),
        ),
        detail=alt.Detail("left:N"),
    )
    # Points drawn with their lines would take the dashes out of the legend.
    lines = base.mark_line(strokeWidth=2).encode(
        alt.StrokeDash(
            "left:N",
            scale=alt.Scale(domain=list(_HOW), range=list(_HOW.values())),
            legend=alt.Legend(title=None, orient="top", symbolType="stroke", symbolStrokeColor=_GREY),
        ),
        order=alt.Order("layers_run:Q"),
    )
    points = base.mark_point(size=24, filled=True, opacity=1).encode(
        tooltip=[alt.Tooltip("shortcut:N"), alt.Tooltip("left:N"), *_tooltip()]
    )
    return _over_target(lines, points)


def _run(column: str, title: str, *, share: bool) -> alt.X:
    axis = alt.Axis(format="~%" if share else "~g", tickCount=6)
    return alt.X(f"{column}:Q", title=title, axis=axis, scale=alt.Scale(zero=True, nice=not share))


def _precision() -> alt.Y:
    scale = alt.Scale(domain=[0, 1])
    return alt.Y("precision_1:Q", title="precision@1", axis=alt.Axis(format="~%", tickCount=5), scale=scale)


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("parameter:Q", format="~g", title="lambda or state"),
        alt.Tooltip("precision_1:Q", format=".1%", title="precision@1"),
        alt.Tooltip("precision_1_low:Q", format=".1%", title="95% from"),
        alt.Tooltip("precision_1_high:Q", format=".1%", title="to"),
        alt.Tooltip("layers_run:Q", format=".2f", title="layers run"),
        alt.Tooltip("layers_saved:Q", format=".2f", title="layers saved"),
        alt.Tooltip("n:Q", format=",", title="sentences"),
    ]


def _over_target(*layers: alt.Chart) -> alt.LayerChart:
    rule = alt.Chart(pl.DataFrame({"wanted": [TARGET_PRECISION]})).mark_rule(strokeDash=[2, 4], color=_GREY)
    whole = alt.LayerChart(layer=[rule.encode(alt.Y("wanted:Q")), *layers])
    whole.height = HEIGHT
    return whole
