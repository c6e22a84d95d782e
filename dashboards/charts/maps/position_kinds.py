"""Which layers have positional neurons, and of which kind: layers without any are drawn too."""

from collections.abc import Mapping

import altair as alt
import polars as pl

from neurothek.dashboards.charts.axes import HEIGHT, count_axis, layer_axis


def kinds_by_layer(rows: pl.DataFrame, colours: Mapping[str, str], n_layers: int) -> alt.Chart:
    """The positional neurons of each layer, stacked by kind; weak ones are pale.

    Args:
        rows: rows with layer, position_kind, position_strength, n_neurons, n_sequences.
        colours: kind -> colour, in the order of the stack.
        n_layers: layers of the model; those without a row stand empty.
    """
    shown = [kind for kind in colours if kind in set(rows.get_column("position_kind"))]
    order = {kind: place for place, kind in enumerate(colours)}
    stacked = rows.with_columns(pl.col("position_kind").replace_strict(order, return_dtype=pl.Int64).alias("place"))
    most = rows.group_by("layer").agg(pl.col("n_neurons").sum()).get_column("n_neurons")
    chart: alt.Chart = (
        alt.Chart(stacked)
        # Bars of a layer each, with room between them.
        .mark_bar(size=max(2, min(40, 300 // n_layers)))
        .encode(
            alt.X(
                "layer:Q",
                scale=alt.Scale(domain=[-0.5, n_layers - 0.5], nice=False),
                axis=layer_axis(pl.Series([n_layers - 1])),
            ),
            alt.Y("n_neurons:Q", title="positional neurons", axis=count_axis(most)),
            alt.Color(
                "position_kind:N",
                scale=alt.Scale(domain=shown, range=[colours[kind] for kind in shown]),
                legend=alt.Legend(title=None, orient="top", symbolType="square"),
            ),
            alt.Opacity("position_strength:N", scale=alt.Scale(domain=["strong", "weak"], range=[1, 0.5]), legend=None),
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("layer:Q"),
                alt.Tooltip("position_kind:N", title="kind"),
                alt.Tooltip("position_strength:N", title="strength"),
                alt.Tooltip("n_neurons:Q", title="neurons"),
                alt.Tooltip("n_sequences:Q", format=",", title="sequences"),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart
