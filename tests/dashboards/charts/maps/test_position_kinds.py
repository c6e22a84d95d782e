"""Kinds of positional neurons by layer: in the order of their colours, and empty layers too."""

import polars as pl

from neurothek.dashboards.charts.maps.position_map import kinds_by_layer

ROWS = pl.DataFrame(
    {
        "layer": [0, 0],
        "position_kind": ["other", "oscillatory"],
        "position_strength": ["weak", "strong"],
        "n_neurons": [1, 2],
        "n_sequences": [9, 9],
    }
)
COLOURS = {"oscillatory": "#000001", "both extremes": "#000002", "other": "#000003"}


def test_kinds_are_stacked_in_the_order_of_their_colours() -> None:
    drawn = kinds_by_layer(ROWS, COLOURS, 2).to_dict()
    scale = drawn["encoding"]["color"]["scale"]
    assert scale == {"domain": ["oscillatory", "other"], "range": ["#000001", "#000003"]}
    (rows,) = drawn["datasets"].values()
    assert {row["position_kind"]: row["place"] for row in rows} == {"oscillatory": 0, "other": 2}


def test_layers_without_any_have_their_place() -> None:
    across = kinds_by_layer(ROWS, COLOURS, 4).to_dict()["encoding"]["x"]
    assert across["scale"]["domain"] == [-0.5, 3.5]
    assert across["axis"]["values"] == [0, 1, 2, 3]
