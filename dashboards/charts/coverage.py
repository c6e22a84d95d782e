"""How many n-grams cover neurons, how many neurons detect n-grams so frequent, and which are new in a layer."""

from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

from neurothek.dashboards.charts.axes import count_axis, count_scale, spoken
from neurothek.dashboards.charts.models import Panel, panels_of
from neurothek.dashboards.colours import ACCENT

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
_FREQUENT_COLOURS = ("#d5dde6", "#7fa6cc", ACCENT["light"])
"""The rarest n-grams in the palest."""
_LAYER_AXIS = alt.Axis(labelAngle=0, labelOverlap="greedy", labelSeparation=8)


def coverage(bins: pl.DataFrame, panels: Sequence[Panel]) -> alt.ConcatChart:
    """The alive neurons of each layer by how many n-grams cover them, a panel per model.

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
    return panels_of(base, bins.with_columns(place.alias("place")), panels)


def detectors_by_minimum(counts: pl.DataFrame, panels: Sequence[Panel]) -> alt.ConcatChart:
    """How many neurons of each layer detect n-grams that occur so often: bars one before the other, a panel per model.

    The more occurrences are asked for, the fewer neurons detect: each bar lies within that of fewer occurrences.

    Args:
        counts: rows of `detectors_by_minimum` of one length of n-grams.
        panels: the models and what stands under their names.
    """
    minima = sorted(set(counts.get_column("least_occurrences")))
    numbers = counts.get_column("n_detectors")
    base = (
        alt.Chart()
        .mark_bar()
        .encode(
            alt.X("layer:O", axis=_LAYER_AXIS),
            alt.Y(
                "n_detectors:Q",
                title="detectors in the layer",
                axis=count_axis(numbers),
                scale=count_scale(numbers),
                stack=False,
            ),
            alt.Color(
                "least_occurrences:O",
                scale=alt.Scale(domain=minima, range=list(_FREQUENT_COLOURS)),
                legend=alt.Legend(title="occurrences, at least", orient="top", symbolType="square", titleOrient="left"),
            ),
            tooltip=[
                alt.Tooltip("layer:O"),
                alt.Tooltip("least_occurrences:O", title="occurrences, at least"),
                *(alt.Tooltip(f"{name}:Q", format=",", title=spoken(name)) for name in ("n_detectors", "n_alive")),
                alt.Tooltip("frequent_share:Q", format=".1%", title="positions they hold"),
            ],
        )
    )
    # Bars are drawn in the order of the rows: the shortest last, before the others.
    return panels_of(base, counts.sort("least_occurrences"), panels)


def new_ngrams(detected: pl.DataFrame, panels: Sequence[Panel]) -> alt.ConcatChart:
    """The n-grams that each layer's detectors know, split by whether layers below know them, a panel per model.

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
    return panels_of(base, parts.with_columns(place.alias("place")), panels)
