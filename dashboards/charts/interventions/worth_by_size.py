"""What kinds of neurons are worth to models of several sizes."""

from collections.abc import Mapping

import altair as alt
import polars as pl

from neurothek.dashboards.charts.axes import HEIGHT
from neurothek.dashboards.charts.interventions.effect_ranges import GREY

KIND_COLOURS: Mapping[str, str] = {
    "dead": "#8a8a8a",
    "token detectors": "#4a86c2",
    "n-gram detectors": "#c9a227",
    "positional": "#009e73",
    "dominant": "#d55e00",
}
"""Read on white and on black, and told apart with any colour vision."""


def worth_of_kinds(rows: pl.DataFrame) -> alt.LayerChart:
    """What turning off a kind costs beyond random neurons, models side by side, over the range of the random sets.

    Args:
        rows: rows of `worth_of_kinds`, smallest model first.
    """
    around = rows.with_columns(
        (pl.col(f"random_effect_{end}") - pl.col("random_effect")).alias(end) for end in ("least", "most")
    )
    kinds = [kind for kind in KIND_COLOURS if kind in set(rows.get_column("kind"))]
    models = rows.get_column("model").unique(maintain_order=True).to_list()
    base = alt.Chart(around).encode(
        alt.X("model:N", sort=models, axis=alt.Axis(labelAngle=0, labelLimit=140, ticks=False, title="smallest first")),
        alt.Color(
            "kind:N",
            scale=alt.Scale(domain=kinds, range=[KIND_COLOURS[kind] for kind in kinds]),
            legend=alt.Legend(title=None, orient="top", columns=3, symbolType="circle", symbolOpacity=1),
        ),
        xOffset=alt.XOffset("kind:N", sort=kinds),
        tooltip=[
            alt.Tooltip("model:N"),
            alt.Tooltip("kind:N"),
            alt.Tooltip("n_neurons:Q", format=",", title="neurons"),
            alt.Tooltip("worth:Q", format="+.4~g"),
            alt.Tooltip("effect:Q", format="+.4~g"),
            alt.Tooltip("random_effect:Q", format="+.4~g", title="random, mean"),
            alt.Tooltip("percentile:Q", format=".0f"),
            alt.Tooltip("n_sets:Q", title="random sets"),
        ],
    )
    zero = alt.Chart(pl.DataFrame({"nothing": [0]})).mark_rule(color=GREY, strokeDash=[3, 3]).encode(alt.Y("nothing:Q"))
    ranges = base.mark_rule(strokeWidth=6, opacity=0.45, strokeCap="round").encode(alt.Y("least:Q"), alt.Y2("most:Q"))
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        alt.Y("worth:Q", title="loss beyond random neurons (nats a token)", axis=alt.Axis(tickCount=5))
    )
    whole = alt.LayerChart(layer=[zero, ranges, points])
    whole.height = HEIGHT
    return whole
