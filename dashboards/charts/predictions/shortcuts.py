"""The charts of linear shortcuts: each a function from rows to a drawing, without state."""

from collections.abc import Mapping

import altair as alt
import polars as pl

from neurothek.dashboards.charts.axes import HEIGHT
from neurothek.dashboards.charts.models import Look

METHOD_COLOURS: Mapping[str, str] = {
    "mat": "#4a86c2",
    "id": "#c9a227",
    "mat_attn": "#009e73",
    "mat_ffn": "#cc79a7",
    "mat_ln1_ln2": "#d55e00",
}
"""Read on white and on black."""

PART_COLOURS: Mapping[str, str] = {
    "attention": "#009e73",
    "ffn": "#cc79a7",
    "norm_1": "#d55e00",
    "norm_2": "#e69f00",
}
"""A part has the colour of the method that replaces it."""

_BEST = {1: [1, 0], 5: [6, 3], 10: [2, 2]}


def by_model(quality: pl.DataFrame, number: str, look: Look) -> alt.LayerChart:
    """A number of the shortcuts against relative depth, a colour per model: mat in thick lines, id in thin ones.

    Args:
        quality: rows of `shortcut_quality` of the methods mat and id.
        number: precision_1, precision_5, precision_10 or surprisal.
        look: colours and dashes of the models.
    """
    base = alt.Chart(quality).encode(_depth(), look.colour(quality.get_column("model")), detail=alt.Detail("method:N"))
    width = alt.StrokeWidth("method:N", scale=alt.Scale(domain=["mat", "id"], range=[2.5, 1]), legend=None)
    lines = base.mark_line().encode(_height(number), width, strokeDash=look.dash())
    points = base.mark_point(size=36, filled=True, opacity=1).encode(_height(number), tooltip=_tooltip("model", number))
    size = alt.Size("method:N", scale=alt.Scale(domain=["mat", "id"], range=[36, 14]), legend=None)
    return _together([_band(base, number), lines, points.encode(size)])


def precision_of_model(quality: pl.DataFrame) -> alt.LayerChart:
    """Precision@1, @5 and @10 by state, a colour per method.

    Args:
        quality: rows of one model of `shortcut_quality`.
    """
    parts = [
        quality.select(
            "method",
            "state",
            "depth",
            "n",
            pl.lit(k).alias("k"),
            *(pl.col(f"precision_{k}{end}").alias(f"precision{end}") for end in ("", "_low", "_high")),
        )
        for k in _BEST
    ]
    base = alt.Chart(pl.concat(parts)).encode(_state(), _method(quality), detail=alt.Detail("k:N"))
    dash = alt.StrokeDash(
        "k:O",
        scale=alt.Scale(domain=list(_BEST), range=list(_BEST.values())),
        legend=alt.Legend(title="precision@", orient="top", symbolType="stroke", titleOrient="left"),
    )
    # The intervals of 5 and 10 would cover the others: they stand in the tips.
    is_first = "datum.k === 1"
    lines = base.mark_line().encode(
        _height("precision"), dash, strokeWidth=alt.condition(is_first, alt.value(2), alt.value(1.2))
    )
    points = base.mark_point(size=24, filled=True).encode(
        _height("precision"),
        opacity=alt.condition(is_first, alt.value(1), alt.value(0)),
        tooltip=[alt.Tooltip("k:O"), *_tooltip("method", "precision")],
    )
    return _together([_band(base.transform_filter(is_first), "precision"), lines, points])


def of_one_model(quality: pl.DataFrame, number: str) -> alt.LayerChart:
    """A number of the shortcuts of one model by state, a colour per method.

    Args:
        quality: rows of one model of `shortcut_quality`.
        number: precision_1, precision_5, precision_10 or surprisal.
    """
    base = alt.Chart(quality).encode(_state(), _method(quality))
    lines = base.mark_line(strokeWidth=2).encode(_height(number))
    points = base.mark_point(size=24, filled=True, opacity=1).encode(
        _height(number), tooltip=_tooltip("method", number)
    )
    return _together([_band(base, number), lines, points])


def part_fits(fits: pl.DataFrame) -> alt.Chart:
    """How well a linear map stands for each part of a layer, a line per part.

    Args:
        fits: rows of one model with layer, sub_module, r2, n_fit, n_validation.
    """
    domain = [part for part in PART_COLOURS if part in set(fits.get_column("sub_module"))]
    chart: alt.Chart = (
        alt.Chart(fits)
        .mark_line(point=alt.OverlayMarkDef(size=24), strokeWidth=2)
        .encode(
            alt.X("layer:Q", axis=alt.Axis(tickMinStep=1, format="d", grid=False)),
            alt.Y("r2:Q", title="r²", axis=alt.Axis(tickCount=5)),
            alt.Color(
                "sub_module:N",
                scale=alt.Scale(domain=domain, range=[PART_COLOURS[part] for part in domain]),
                legend=alt.Legend(
                    title=None,
                    orient="top",
                    columns=2,
                    symbolType="circle",
                    symbolOpacity=1,
                    labelExpr="replace(datum.label, '_', ' ')",
                ),
            ),
            tooltip=[
                alt.Tooltip("layer:Q"),
                alt.Tooltip("sub_module:N", title="part"),
                alt.Tooltip("r2:Q", format=".4f", title="r²"),
                alt.Tooltip("n_fit:Q", format=",", title="sentences fitted"),
                alt.Tooltip("n_validation:Q", format=",", title="sentences judged"),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart


def _depth() -> alt.X:
    scale = alt.Scale(domain=[0, 1])
    return alt.X("depth:Q", title="relative depth", scale=scale, axis=alt.Axis(format=".1f", tickCount=5))


def _state() -> alt.X:
    return alt.X("state:Q", title="from state", axis=alt.Axis(tickMinStep=1, format="d", grid=False))


def _height(number: str, end: str = "") -> alt.Y:
    """The number, or an end of its interval under the same title."""
    if number == "surprisal":
        return alt.Y(f"{number}{end}:Q", title="surprisal (nats)", axis=alt.Axis(tickCount=5))
    scale = alt.Scale(domain=[0, 1])
    return alt.Y(f"{number}{end}:Q", title=_spoken(number), axis=alt.Axis(format="~%", tickCount=5), scale=scale)


def _spoken(number: str) -> str:
    return number.replace("precision_", "precision@")


def _method(quality: pl.DataFrame) -> alt.Color:
    domain = [method for method in METHOD_COLOURS if method in set(quality.get_column("method"))]
    return alt.Color(
        "method:N",
        scale=alt.Scale(domain=domain, range=[METHOD_COLOURS[method] for method in domain]),
        # The bands would make the spots of the legend as pale as they are.
        legend=alt.Legend(title=None, orient="top", columns=2, symbolType="circle", symbolOpacity=1),
    )


def _band(base: alt.Chart, number: str) -> alt.Chart:
    """The 95% intervals behind the lines."""
    band: alt.Chart = base.mark_area(opacity=0.18).encode(_height(number, "_low"), alt.Y2(f"{number}_high:Q"))
    return band


def _tooltip(first: str, number: str) -> list[alt.Tooltip]:
    shape = ".3f" if number == "surprisal" else ".1%"
    names = [first] if first == "method" else [first, "method"]
    return [
        *(alt.Tooltip(f"{name}:N") for name in names),
        alt.Tooltip("state:Q"),
        alt.Tooltip(f"{number}:Q", format=shape, title=_spoken(number)),
        alt.Tooltip(f"{number}_low:Q", format=shape, title="95% from"),
        alt.Tooltip(f"{number}_high:Q", format=shape, title="to"),
        alt.Tooltip("n:Q", format=",", title="sentences"),
    ]


def _together(layers: list[alt.Chart]) -> alt.LayerChart:
    whole = alt.LayerChart(layer=layers)
    whole.height = HEIGHT
    return whole


RAMPS: Mapping[str, tuple[str, str]] = {"light": ("#eef3f8", "#123f6d"), "dark": ("#18232f", "#9cc9f2")}
"""Colours of an r^2 of 0 and of 1 by theme, further from the background the better the prediction."""

MOST_NUMBERS = 12
"""Up to so many layers, each cell has room for its number."""

_INK: Mapping[str, tuple[str, str]] = {"light": ("#333333", "#ffffff"), "dark": ("#d5d5d5", "#10202f")}
"""Colours of the numbers on pale cells and on full ones, by theme."""

_FULL = 0.45
"""From here on a number is read better in the ink of full cells."""


def heat_map(fits: pl.DataFrame, theme: str) -> alt.LayerChart:
    """How well each state predicts each one above it: a cell per pair, numbers in it where there is room.

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
            alt.Tooltip("r2:Q", format=".4f", title="r²"),
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
            legend=alt.Legend(title="r²", orient="right", gradientLength=120, tickCount=3),
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
