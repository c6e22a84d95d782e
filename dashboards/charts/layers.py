"""Numbers of layers, a line or a bar per model."""

from collections.abc import Mapping
from typing import Literal

import altair as alt
import polars as pl

from neurothek.catalog.terminal.cells import SHARES
from neurothek.dashboards.charts.axes import FEW_TICKS, HEIGHT, count_axis, count_scale, count_tooltip
from neurothek.dashboards.charts.models import LegendPlace, Look

OfLayer = Literal[
    "dead_share",
    "mean_frequency",
    "median_effective_frequency",
    "negligible_share",
    "n_detectors",
    "n_detected",
    "n_cumulative",
    "n_new",
    "positional_share",
    "cumulative_share",
    "effective_share",
]

_OF_LAYERS: Mapping[OfLayer, tuple[str, tuple[str, ...]]] = {
    "dead_share": ("dead neurons of the layer", ("n_dead", "n_neurons", "n_tokens_seen")),
    "mean_frequency": ("mean frequency of those that fired", ("median_frequency", "n_alive", "n_tokens_seen")),
    "median_effective_frequency": ("effective frequency of the median neuron", ("n_neurons", "n_tokens_seen")),
    "negligible_share": ("negligible neurons of the layer", ("n_negligible", "n_neurons", "n_tokens_seen")),
    "n_detectors": ("detectors in the layer", ("n_neurons",)),
    "n_detected": ("detected in the layer", ("n_frequent",)),
    "n_cumulative": ("detected in it or below", ("n_frequent",)),
    "n_new": ("detected in it and not below", ("n_detected", "n_frequent")),
    "positional_share": ("positional neurons of the layer", ("n_positional", "n_strong", "n_neurons", "n_sequences")),
    "cumulative_share": ("examples settled in it or below", ("n_saturated", "n_cumulative", "n_by_ffn", "n_examples")),
    "effective_share": ("share of the layer's neurons", ("effective_neurons", "d_ffn", "n_examples")),
}


def by_depth(layers: pl.DataFrame, number: OfLayer, look: Look, *, orient: LegendPlace = "top") -> alt.Chart:
    """A number of each layer against relative depth, a line per model; dashed where models may not be compared.

    Args:
        layers: rows with model, layer, depth, the number and what its tooltip names.
        number: the column to draw.
        look: colours and dashes of the models.
        orient: where the legend stands.
    """
    title, more = _OF_LAYERS[number]
    is_share = number in SHARES
    counts = layers.get_column(number)
    axis = alt.Axis(format="~%", tickCount=FEW_TICKS) if is_share else count_axis(counts)
    # As many steps as ticks, so that the highest tick is the top.
    scale = alt.Scale(nice=FEW_TICKS, zero=True) if is_share else count_scale(counts)
    tooltip = [
        alt.Tooltip("model:N"),
        alt.Tooltip("layer:Q"),
        count_tooltip(number),
        *(count_tooltip(name) for name in more if name in layers.columns),
    ]
    chart: alt.Chart = (
        alt.Chart(layers.filter(pl.col(number).is_not_null()))
        .mark_line(point=alt.OverlayMarkDef(size=36), strokeWidth=2)
        .encode(
            alt.X(
                "depth:Q",
                title="relative depth",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format=".1f", tickCount=5),
            ),
            alt.Y(f"{number}:Q", title=title, axis=axis, scale=scale),
            look.colour(layers.get_column("model"), orient),
            strokeDash=look.dash(),
            tooltip=tooltip,
        )
        .properties(height=HEIGHT)
    )
    return chart


def bars_by_model(
    rows: pl.DataFrame, category: str, number: str, look: Look, *, title: str, order: str | None = None
) -> alt.Chart:
    """A number of each category as bars side by side, one per model.

    Args:
        rows: rows with model, the category and the number.
        category: the column whose values stand below the bars.
        number: the column to draw, a share or a count.
        look: colours of the models.
        title: what the number is.
        order: the column that orders the categories; their order in the rows, unless given.
    """
    ordered = rows if order is None else rows.sort(order)
    categories = ordered.get_column(category).unique(maintain_order=True).to_list()
    models = [model for model in look.colours if model in set(rows.get_column("model"))]
    axis = alt.Axis(format="~%", tickCount=FEW_TICKS) if number in SHARES else count_axis(rows.get_column(number))
    more = [name for name in ("n_neurons", "n_strong", "n_alive") if name in rows.columns and name != number]
    chart: alt.Chart = (
        alt.Chart(rows)
        .mark_bar()
        .encode(
            alt.X(
                f"{category}:N",
                sort=categories,
                title=None,
                axis=alt.Axis(labelAngle=0 if len(categories) <= FEW_TICKS else -40, ticks=False, labelOverlap=False),
            ),
            alt.Y(f"{number}:Q", title=title, axis=axis),
            look.colour(rows.get_column("model")),
            xOffset=alt.XOffset("model:N", sort=models),
            tooltip=[
                alt.Tooltip("model:N"),
                alt.Tooltip(f"{category}:N"),
                count_tooltip(number),
                *(count_tooltip(name) for name in more),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart
