"""Numbers of layers and their sub-updates, a line or a bar per model, or beside random ones."""

from collections.abc import Mapping
from typing import Literal

import altair as alt
import polars as pl

from catalog.terminal.kinds import SHARES
from dashboards.charts.axes import FEW_TICKS, HEIGHT, count_axis, count_scale, count_tooltip, layer_axis
from dashboards.charts.models import LegendPlace, Look

OfLayer = Literal[
    "dead_share",
    "mean_frequency",
    "n_detectors",
    "n_detected",
    "n_cumulative",
    "n_new",
    "positional_share",
    "saturated_share",
    "dominant_share",
]

_OF_LAYERS: Mapping[OfLayer, tuple[str, tuple[str, ...]]] = {
    "dead_share": ("dead neurons of the layer", ("n_dead", "n_neurons", "n_tokens_seen")),
    "mean_frequency": ("mean frequency of those that fired", ("median_frequency", "n_alive", "n_tokens_seen")),
    "n_detectors": ("detectors in the layer", ("n_neurons",)),
    "n_detected": ("detected in the layer", ("n_frequent",)),
    "n_cumulative": ("detected in it or below", ("n_frequent",)),
    "n_new": ("detected in it and not below", ("n_detected", "n_frequent")),
    "positional_share": ("positional neurons of the layer", ("n_positional", "n_strong", "n_neurons", "n_sequences")),
    "saturated_share": ("examples that settle in the layer", ("n_saturated", "n_by_ffn", "n_examples")),
    "dominant_share": ("share of the update", ("n_examples",)),
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


_KINDS_OF_UPDATE = {"dominant": "#4a86c2", "random_active": "#c9a227", "random": "#8a8a8a"}
"""Colours of sub-updates, read on white and on black."""


def candidate_scores(rows: pl.DataFrame) -> alt.Chart:
    """Largest, mean and smallest score of ten sub-updates for the candidate, by layer; a colour per kind.

    Args:
        rows: rows with layer, kind, mean_max, mean_mean, mean_min, n_examples.
    """
    names = {"mean_max": "largest", "mean_mean": "mean", "mean_min": "smallest"}
    long = rows.rename(names).unpivot(
        on=list(names.values()), index=["layer", "kind", "n_examples"], variable_name="of_ten", value_name="score"
    )
    kinds = ["dominant", "random_active", "random"]
    chart: alt.Chart = (
        alt.Chart(long)
        .mark_line(point=alt.OverlayMarkDef(size=24), strokeWidth=2)
        .encode(
            alt.X("layer:Q", axis=layer_axis(rows.get_column("layer"))),
            alt.Y("score:Q", title="score"),
            alt.Color(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=[_KINDS_OF_UPDATE[kind] for kind in kinds]),
                legend=alt.Legend(title=None, orient="top", labelExpr="replace(datum.label, '_', ', ')"),
            ),
            alt.StrokeDash(
                "of_ten:N",
                scale=alt.Scale(domain=list(names.values()), range=[[1, 0], [6, 3], [2, 2]]),
                legend=None,  # the caption says it: symbols of points show no dashes
            ),
            tooltip=[
                alt.Tooltip("layer:Q"),
                alt.Tooltip("kind:N"),
                alt.Tooltip("of_ten:N"),
                alt.Tooltip("score:Q", format=".3f"),
                alt.Tooltip("n_examples:Q", format=",", title="examples"),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart


_COLOURS: Mapping[str, str] = {**_KINDS_OF_UPDATE, "value": _KINDS_OF_UPDATE["dominant"]}

_NAMES: Mapping[str, Mapping[str, str]] = {
    "value": {"value": "value vectors", "random": "random vectors"},
    "dominant": {"dominant": "ten dominant neurons", "random": "ten random others"},
}
"""What is compared, and what it is compared with."""

_SHARES: Mapping[str, str] = {
    "extreme_share": "of the extreme updates",
    "value_vector_share": "of all value vectors",
}
"""What is compared of each kind of cluster."""


def against_random(rows: pl.DataFrame, number: str, *, title: str) -> alt.Chart:
    """A share of each layer of one model, beside that of random vectors or neurons.

    Args:
        rows: rows with layer, kind (value or dominant, and random), the number, n.
        number: the column to draw, a part of 1.
        title: what it is.
    """
    names = _NAMES["value" if "value" in set(rows.get_column("kind")) else "dominant"]
    named = rows.with_columns(pl.col("kind").replace_strict(names).alias("of"))
    chart: alt.Chart = (
        alt.Chart(named)
        .mark_line(point=alt.OverlayMarkDef(size=36), strokeWidth=2)
        .encode(
            alt.X("layer:Q", axis=layer_axis(rows.get_column("layer"))),
            alt.Y(
                f"{number}:Q",
                title=title,
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="~%", tickCount=5),
            ),
            alt.Color(
                "of:N",
                scale=alt.Scale(domain=list(names.values()), range=[_COLOURS[kind] for kind in names]),
                sort=list(names.values()),
                legend=alt.Legend(title=None, orient="top"),
            ),
            tooltip=[
                alt.Tooltip("of:N"),
                alt.Tooltip("layer:Q"),
                alt.Tooltip(f"{number}:Q", format=".1%", title=title),
                alt.Tooltip("n:Q", format=","),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart


def shares_of_dominant(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of `dominant_share` as `against_random` reads them: one for the dominant neurons, one for random ones."""
    parts = [
        rows.select("model", "layer", pl.lit(kind).alias("kind"), pl.col(share).alias("share"), pl.col(n).alias("n"))
        for kind, share, n in (
            ("dominant", "dominant_share", "n_examples"),
            ("random", "random_share", "n_random_examples"),
        )
    ]
    return pl.concat(parts).filter(pl.col("share").is_not_null())


def extreme_kinds(rows: pl.DataFrame) -> alt.Chart:
    """How many of one model's extreme updates come from each kind of cluster, beside the value vectors in it.

    Args:
        rows: rows of `extreme_updates` of one model.
    """
    kinds = sorted(set(rows.get_column("kind")))
    told = ("n_clusters", "n_extreme", "n_value_vectors", "mean_layers_spanned", "early_share")
    index = ["kind", *told, "mean_target_probability"]
    long = rows.unpivot(on=list(_SHARES), index=index, variable_name="of", value_name="share").with_columns(
        pl.col("of").replace_strict(_SHARES)
    )
    shares = list(_SHARES.values())
    chart: alt.Chart = (
        alt.Chart(long)
        .mark_bar()
        .encode(
            alt.Y("kind:N", sort=kinds, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=180)),
            alt.X(
                "share:Q",
                title="share",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="~%", tickCount=5),
            ),
            alt.Color(
                "of:N",
                scale=alt.Scale(domain=shares, range=[_COLOURS["dominant"], _COLOURS["random"]]),
                sort=shares,
                legend=alt.Legend(title=None, orient="top", columns=1),
            ),
            yOffset=alt.YOffset("of:N", sort=shares),
            tooltip=[
                alt.Tooltip("kind:N"),
                alt.Tooltip("of:N"),
                alt.Tooltip("share:Q", format=".1%"),
                alt.Tooltip("n_clusters:Q", title="clusters"),
                alt.Tooltip("n_extreme:Q", format=",", title="extreme updates"),
                alt.Tooltip("n_value_vectors:Q", format=",", title="value vectors"),
                alt.Tooltip("mean_layers_spanned:Q", format=".1f", title="layers spanned"),
                alt.Tooltip("early_share:Q", format=".1%", title="early"),
                alt.Tooltip("mean_target_probability:Q", format=".2f", title="target probability"),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart
