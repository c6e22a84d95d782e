"""The charts of the pages on positions and events: each a function from rows to a drawing, without state."""

from collections.abc import Mapping

import altair as alt
import polars as pl

from dashboards.charts import HEIGHT

_KINDS_OF_UPDATE = {"dominant": "#4a86c2", "random_active": "#c9a227", "random": "#8a8a8a"}
"""Colours of sub-updates, read on white and on black."""


def kinds_by_layer(rows: pl.DataFrame, colours: Mapping[str, str]) -> alt.Chart:
    """The positional neurons of each layer, stacked by kind; weak ones are pale.

    Args:
        rows: rows with layer, position_kind, position_strength, n_neurons, n_sequences.
        colours: kind -> colour, in the order of the stack.
    """
    shown = [kind for kind in colours if kind in set(rows.get_column("position_kind"))]
    chart: alt.Chart = (
        alt.Chart(rows)
        .mark_bar()
        .encode(
            alt.X("layer:O", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
            alt.Y("n_neurons:Q", title="positional neurons"),
            alt.Color(
                "position_kind:N",
                scale=alt.Scale(domain=shown, range=[colours[kind] for kind in shown]),
                legend=alt.Legend(title=None, orient="top"),
            ),
            alt.Opacity(
                "position_strength:N", scale=alt.Scale(domain=["strong", "weak"], range=[1, 0.45]), legend=None
            ),
            order=alt.Order("position_kind:N"),
            tooltip=[
                alt.Tooltip("layer:O"),
                alt.Tooltip("position_kind:N"),
                alt.Tooltip("position_strength:N"),
                alt.Tooltip("n_neurons:Q"),
                alt.Tooltip("n_sequences:Q", format=",", title="sequences"),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart


def profile_strips(cells: pl.DataFrame, colour: str) -> alt.Chart:
    """Frequencies over positions as one strip a neuron, the fuller the oftener it fires.

    Args:
        cells: rows with address, position, position_to, frequency.
        colour: of a stretch at which a neuron always fires.
    """
    order = cells.get_column("address").unique(maintain_order=True).to_list()
    chart: alt.Chart = (
        alt.Chart(cells)
        .mark_bar(color=colour)
        .encode(
            alt.X(
                "position:Q",
                title="position in the sequence",
                # A label that would reach beyond the strips is left out, else it is cut.
                axis=alt.Axis(format="d", labelBound=True),
                scale=alt.Scale(nice=False),
            ),
            alt.X2("position_to:Q"),
            alt.Y("address:N", sort=order, title=None, axis=alt.Axis(labelFontSize=9, labelOverlap=True, ticks=False)),
            opacity=alt.Opacity("frequency:Q", scale=alt.Scale(domain=[0, 1], range=[0.04, 1]), legend=None),
            tooltip=[
                alt.Tooltip("address:N"),
                alt.Tooltip("position_kind:N"),
                alt.Tooltip("position:Q", format=".0f", title="from position"),
                alt.Tooltip("frequency:Q", format=".1%"),
            ],
        )
        .properties(height=max(60, min(HEIGHT, 12 * len(order))))
    )
    return chart


def candidate_scores(rows: pl.DataFrame) -> alt.Chart:
    """Largest, mean and smallest score of ten sub-updates for the candidate, by layer; a colour each kind.

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
            alt.X("layer:Q", axis=alt.Axis(tickMinStep=1, format="d", grid=False)),
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
