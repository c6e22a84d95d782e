"""The charts of Voita et al. 2023 that no other page has: each a function from rows to a drawing, without state."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Literal

import altair as alt
import polars as pl

from dashboards.charts import count_axis, count_scale
from dashboards.colours import ACCENT, KINDS

WIDTH, HEIGHT = 230, 200
_MOST_COLUMNS = 4
"""Panels that stand in one row."""

KIND_COLOURS = KINDS["light"]
"""On paper."""

_STRENGTHS: Mapping[str, float] = {"strong": 1.0, "weak": 0.4}
_COVERAGE_COLOURS = (
    *("#440154", "#482475", "#414487", "#355f8d", "#2a788e", "#21918c"),
    *("#22a884", "#44bf70", "#7ad151", "#bddf26", "#fde725"),
)
_TOO_FEW = "#c8c8c8"
_NEW_COLOURS: Mapping[str, str] = {
    "nowhere below": ACCENT["light"],
    "below, but not in the layer just below": "#7fa6cc",
    "in the layer just below": "#d5dde6",
}
_LAYER_AXIS = alt.Axis(labelAngle=0, labelOverlap="greedy", labelSeparation=8)
_LARGEST_CIRCLE = 12.0
_MOST_IN_A_ROW = 12
"""Circles that stand beside each other over one layer."""

Panel = tuple[str, str]
"""A model and the line under its name."""


def coverage(bins: pl.DataFrame, panels: Sequence[Panel]) -> alt.ConcatChart:
    """The alive neurons of each layer by how many n-grams cover them, a panel a model.

    Args:
        bins: rows with model, layer, bin, bin_order, n_neurons, share.
        panels: the models and what stands under their names.
    """
    names = bins.select("bin", "bin_order").unique().sort("bin_order").get_column("bin").to_list()
    # The most specialised neurons stand at the foot; those that fire too rarely to tell, at the top.
    order = [*names[1:], names[0]]
    base = (
        alt.Chart()
        .mark_bar()
        .encode(
            alt.X("layer:O", axis=_LAYER_AXIS),
            alt.Y(
                "share:Q",
                title="alive neurons of the layer",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%", tickCount=5),
            ),
            alt.Color(
                "bin:N",
                scale=alt.Scale(domain=order, range=[*_COVERAGE_COLOURS, _TOO_FEW]),
                sort=order,
                legend=alt.Legend(title="covered by", orient="right", symbolType="square"),
            ),
            alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("layer:O"),
                alt.Tooltip("bin:N"),
                alt.Tooltip("n_neurons:Q", format=","),
                alt.Tooltip("share:Q", format=".2%"),
            ],
        )
    )
    place = pl.when(pl.col("bin_order") == 0).then(len(names)).otherwise(pl.col("bin_order"))
    return _panels(base, bins.with_columns(place.alias("place")), panels)


def new_ngrams(detected: pl.DataFrame, panels: Sequence[Panel]) -> alt.ConcatChart:
    """The n-grams that each layer's detectors know, split by whether layers below know them, a panel a model.

    Args:
        detected: rows with model, layer, n_detected, n_new, n_new_vs_previous.
        panels: the models and what stands under their names.
    """
    first, second, third = _NEW_COLOURS
    parts = detected.select(
        "model",
        "layer",
        pl.col("n_new").alias(first),
        (pl.col("n_new_vs_previous") - pl.col("n_new")).alias(second),
        (pl.col("n_detected") - pl.col("n_new_vs_previous")).alias(third),
    ).unpivot(index=["model", "layer"], variable_name="known", value_name="n_ngrams")
    counts = detected.get_column("n_detected")
    base = (
        alt.Chart()
        .mark_bar()
        .encode(
            alt.X("layer:O", axis=_LAYER_AXIS),
            alt.Y(
                "n_ngrams:Q",
                title="detected in the layer",
                axis=count_axis(counts),
                scale=count_scale(counts),
            ),
            alt.Color(
                "known:N",
                scale=alt.Scale(domain=list(_NEW_COLOURS), range=list(_NEW_COLOURS.values())),
                sort=list(_NEW_COLOURS),
                legend=alt.Legend(title="already detected", orient="top", symbolType="square", titleOrient="left"),
            ),
            alt.Order("place:Q"),
            tooltip=[alt.Tooltip("layer:O"), alt.Tooltip("known:N"), alt.Tooltip("n_ngrams:Q", format=",")],
        )
    )
    place = pl.col("known").replace_strict({name: number for number, name in enumerate(_NEW_COLOURS)})
    return _panels(base, parts.with_columns(place.alias("place")), panels)


def positional(neurons: pl.DataFrame, panels: Sequence[Panel], n_layers: Mapping[str, int]) -> alt.ConcatChart:
    """Every positional neuron as a circle over its layer, coloured by kind, pale where weak; a panel a model.

    Args:
        neurons: rows with model, layer, address, position_kind, position_strength, mutual_information_corrected.
        panels: the models and what stands under their names.
        n_layers: model -> number of its layers.
    """
    deepest = max(n_layers[model] for model, _ in panels)
    placed, n_columns, diameter = _stacked(neurons, deepest)
    base = (
        alt.Chart()
        .mark_circle(opacity=1, size=(0.85 * diameter) ** 2)
        .encode(
            alt.Y("row:Q", title="positional neurons", axis=None, scale=alt.Scale(domain=[-1, HEIGHT / diameter - 1])),
            alt.Color(
                "position_kind:N",
                scale=alt.Scale(domain=list(KIND_COLOURS), range=list(KIND_COLOURS.values())),
                sort=list(KIND_COLOURS),
                legend=alt.Legend(title=None, orient="top", symbolSize=90),
            ),
            alt.FillOpacity(
                "position_strength:N",
                scale=alt.Scale(domain=list(_STRENGTHS), range=list(_STRENGTHS.values())),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("address:N"),
                alt.Tooltip("position_kind:N"),
                alt.Tooltip("position_strength:N"),
                alt.Tooltip("mutual_information_corrected:Q", format=".3f", title="nats"),
            ],
        )
    )
    drawn = {
        model: base.encode(
            alt.X(
                "x:Q",
                title="layer",
                scale=alt.Scale(domain=[-0.5, n_layers[model] - 0.5], nice=False),
                axis=alt.Axis(values=_ticks(n_layers[model]), format="d", grid=False, tickSize=0, domainColor="#999"),
            )
        )
        for model, _ in panels
    }
    # Columns of a layer stand as close as rows do, also in models of fewer layers.
    steps = {model: diameter * n_layers[model] / WIDTH for model, _ in panels}
    step = pl.col("model").replace_strict(steps, return_dtype=pl.Float64)
    x = pl.col("layer") + (pl.col("column") - (n_columns - 1) / 2) * step
    return _panels(drawn, placed.with_columns(x.alias("x")), panels)


def ranges(neurons: pl.DataFrame, colours: Mapping[str, str] = KIND_COLOURS) -> alt.Chart:
    """The positions that each neuron of a team covers, those that come first at the top.

    Args:
        neurons: rows with address, n_sequences, first_position and counts at every position, position_kind.
        colours: kind -> colour.
    """
    runs = covered_ranges(neurons)
    order = runs.sort("start", "stop", "address").get_column("address").unique(maintain_order=True).to_list()
    last = max(row["first_position"] + len(row["counts"]) for row in neurons.to_dicts())
    chart: alt.Chart = (
        alt.Chart(runs)
        .mark_bar(height=alt.RelativeBandSize(0.7))
        .encode(
            alt.X(
                "start:Q",
                title="position in the sequence",
                scale=alt.Scale(domain=[0, last], nice=False),
                axis=alt.Axis(tickCount=10, format="d"),
            ),
            alt.X2("stop:Q"),
            alt.Y("address:N", sort=order, title=None, axis=alt.Axis(grid=False, domain=False, ticks=False)),
            alt.Color(
                "position_kind:N",
                scale=alt.Scale(domain=list(colours)[:2], range=list(colours.values())[:2]),
                legend=alt.Legend(title=None, orient="top", symbolType="square")
                if neurons.get_column("position_kind").n_unique() > 1
                else None,
            ),
            tooltip=[alt.Tooltip("address:N"), alt.Tooltip("start:Q"), alt.Tooltip("stop:Q")],
        )
        .properties(width=620, height=max(60, 18 * len(order)))
    )
    return chart


def covered_ranges(neurons: pl.DataFrame) -> pl.DataFrame:
    """Maximal runs of positions at which a neuron is active in more than half of the sequences.

    Args:
        neurons: rows as for `ranges`.

    Returns:
        address, position_kind, start and stop (the first position after the run), as in the view `position_teams`.
    """
    runs = []
    for row in neurons.to_dicts():
        covers = [2 * count > row["n_sequences"] for count in row["counts"]]
        place = row["first_position"]
        for is_covered, run in groupby(covers):
            length = len(list(run))
            if is_covered:
                runs.append((row["address"], row["position_kind"], place, place + length))
            place += length
    schema = {"address": pl.String, "position_kind": pl.String, "start": pl.Int64, "stop": pl.Int64}
    return pl.DataFrame(runs, schema=schema, orient="row")


def _stacked(neurons: pl.DataFrame, deepest: int) -> tuple[pl.DataFrame, int, float]:
    """A row and a column within its layer for each neuron, kinds on each other, strong ones first.

    Returns:
        The neurons with their places, the columns of a layer, and the diameter of a circle: the arrangement with the
        largest circles that fit between the layers of the deepest model.
    """
    kinds = {kind: number for number, kind in enumerate(KIND_COLOURS)}
    ordered = neurons.with_columns(pl.col("position_kind").replace_strict(kinds).alias("kind")).sort(
        "model", "layer", "kind", "position_strength", "neuron"
    )
    most = max(ordered.group_by("model", "layer").len().get_column("len"), default=1)

    def largest(n_columns: int) -> float:
        n_rows = -(-most // n_columns)
        return min(_LARGEST_CIRCLE, HEIGHT / (n_rows + 1), 0.9 * WIDTH / (deepest * n_columns))

    n_columns = max(range(1, _MOST_IN_A_ROW + 1), key=largest)
    number = pl.int_range(pl.len()).over("model", "layer")
    places = ((number % n_columns).alias("column"), (number // n_columns).alias("row"))
    return ordered.with_columns(places), n_columns, largest(n_columns)


def _ticks(n_layers: int) -> list[int]:
    step = max(1, -(-n_layers // 12))
    return list(range(0, n_layers, step))


def _panels(base: alt.Chart | Mapping[str, alt.Chart], rows: pl.DataFrame, panels: Sequence[Panel]) -> alt.ConcatChart:
    """One chart a model, with its name above, and scales that all share."""
    charts = []
    for model, under in panels:
        chart = (base if isinstance(base, alt.Chart) else base[model]).copy()
        chart.data = rows.filter(pl.col("model") == model)
        title = alt.TitleParams(model, subtitle=under, fontSize=12, subtitleFontSize=11, offset=6)
        charts.append(chart.properties(width=WIDTH, height=HEIGHT, title=title))
    shared: Literal["shared"] = "shared"
    n = len(charts)
    # Rows of about equal length: 5 and 6 models stand in threes.
    columns = n if n <= _MOST_COLUMNS else -(-n // -(-n // _MOST_COLUMNS))
    whole: alt.ConcatChart = alt.concat(*charts, columns=columns).resolve_scale(
        color=shared, fillOpacity=shared, y=shared
    )
    return whole
