"""Charts as functions from frames to drawings."""

from typing import Any

import altair as alt
import polars as pl

from neurothek.dashboards.charts import layers
from neurothek.dashboards.charts.models import Look

LOOK = Look({"small": "#44bf70", "large": "#440154"}, {"gelu": "another text"})
LAYERS = pl.DataFrame(
    {
        "model": ["small", "large", "gelu"],
        "layer": [0, 0, 0],
        "depth": [0.5, 0.25, 0.5],
        "dead_share": [0.1, 0.2, None],
        "n_dead": [1, 2, None],
        "n_neurons": [10, 10, 10],
        "n_tokens_seen": [1000, 1000, 1000],
    }
)


def fields(chart: alt.Chart) -> set[str]:
    return {tip["field"] for tip in chart.to_dict()["encoding"]["tooltip"]}


def rows(chart: alt.Chart | alt.LayerChart) -> list[dict[str, Any]]:
    (data,) = chart.to_dict()["datasets"].values()
    return list(data)


def test_dead_share_leaves_out_models_that_have_none_and_says_on_how_many_tokens() -> None:
    chart = layers.by_depth(LAYERS, "dead_share", LOOK)
    assert {row["model"] for row in rows(chart)} == {"small", "large"}
    assert {"n_tokens_seen", "n_dead", "n_neurons"} <= fields(chart)


def test_models_are_coloured_in_the_order_of_the_scale() -> None:
    scale = layers.by_depth(LAYERS, "dead_share", LOOK).to_dict()["encoding"]["color"]["scale"]
    assert scale == {"domain": ["small", "large"], "range": ["#44bf70", "#440154"]}


def test_a_model_keeps_its_colour_whichever_are_drawn() -> None:
    one = LAYERS.filter(pl.col("model") == "large")
    scale = layers.by_depth(one, "dead_share", LOOK).to_dict()["encoding"]["color"]["scale"]
    assert scale == {"domain": ["large"], "range": ["#440154"]}
