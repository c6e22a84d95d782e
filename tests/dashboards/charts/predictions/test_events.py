"""Drawings of sub-updates: shares beside random ones, scores, where extreme updates come from."""

import polars as pl

from neurothek.dashboards.charts.predictions import events

DOMINANT = pl.DataFrame(
    {
        "model": ["a", "a", "a"],
        "layer": [0, 1, 2],
        "dominant_share": [0.5, 0.25, 0.75],
        "random_share": [0.125, None, 0.0625],
        "n_examples": [40, 40, 39],
        "n_random_examples": [20, 0, 19],
    }
)
EXTREMES = pl.DataFrame(
    {
        "model": ["a"] * 3,
        "kind": ["early common tokens", "late common tokens", "specific tokens"],
        "extreme_share": [0.25, 0.0, 0.75],
        "value_vector_share": [0.01, 0.0, 0.02],
        "n_clusters": [1, 0, 3],
        "n_extreme": [5, 0, 15],
        "n_value_vectors": [10, 0, 20],
        "mean_layers_spanned": [2.0, None, 3.0],
        "early_share": [0.8, None, 0.1],
        "mean_target_probability": [0.1, None, 0.9],
    }
)


def test_dominant_and_random_neurons_are_rows_of_their_own() -> None:
    found = {
        (row["layer"], row["kind"]): (row["share"], row["n"]) for row in events.shares_of_dominant(DOMINANT).to_dicts()
    }
    assert found == {
        (0, "dominant"): (0.5, 40),
        (1, "dominant"): (0.25, 40),
        (2, "dominant"): (0.75, 39),
        (0, "random"): (0.125, 20),
        (2, "random"): (0.0625, 19),
    }


def test_a_layer_stands_beside_its_random_ones() -> None:
    chart = events.against_random(events.shares_of_dominant(DOMINANT), "share", title="share of the update").to_dict()
    (rows,) = chart["datasets"].values()
    drawn = {(row["layer"], row["of"]): row["share"] for row in rows}
    assert drawn[0, "ten dominant neurons"] == 0.5
    assert drawn[2, "ten random others"] == 0.0625
    assert len(drawn) == 5
    colour = chart["encoding"]["color"]["scale"]
    assert dict(zip(colour["domain"], colour["range"], strict=True))["ten random others"] == "#8a8a8a"
    # A part of the whole is seen as one.
    assert chart["encoding"]["y"]["scale"]["domain"] == [0, 1]
    assert chart["encoding"]["x"]["axis"]["values"] == [0, 1, 2]


def test_value_vectors_stand_beside_random_vectors() -> None:
    rows = pl.DataFrame({"layer": [0, 0], "kind": ["value", "random"], "norm_overlap": [0.5, 0.25], "n": [4, 500]})
    chart = events.against_random(rows, "norm_overlap", title="overlap").to_dict()
    assert chart["encoding"]["color"]["scale"]["domain"] == ["value vectors", "random vectors"]


def test_extreme_updates_stand_beside_the_value_vectors_they_come_from() -> None:
    chart = events.extreme_kinds(EXTREMES).to_dict()
    (rows,) = chart["datasets"].values()
    drawn = {(row["kind"], row["of"]): row["share"] for row in rows}
    for row in EXTREMES.to_dicts():
        assert drawn[row["kind"], "of the extreme updates"] == row["extreme_share"]
        assert drawn[row["kind"], "of all value vectors"] == row["value_vector_share"]
    assert len(drawn) == 2 * EXTREMES.height
    assert chart["encoding"]["y"]["sort"] == EXTREMES["kind"].to_list()


SCORES = pl.DataFrame(
    [
        {"event": event, "kind": kind, "n_events": 9, "median_min_centred": -1.0, "median_mean_centred": 0.5 * place}
        | {"median_max_centred": 2.0}
        for event in ("elimination", "saturation")
        for place, kind in enumerate(events.KIND_NAMES)
    ]
)
CANDIDATES = pl.DataFrame(
    [
        {"layer": layer, "kind": kind, "n_examples": 9}
        | {"median_max_centred": 0.5, "median_mean_centred": 0.1 * layer, "median_min_centred": -0.25}
        for layer in range(3)
        for kind in events.KIND_NAMES
    ]
)


def test_scores_of_an_event_are_ranges_with_their_mean_on_a_shared_axis() -> None:
    chart = events.score_ranges(SCORES, (-3, 4)).to_dict()
    zero, lines, dots = chart["layer"]
    assert zero["encoding"]["x"]["field"] == "zero"
    assert lines["encoding"]["x"]["scale"]["domain"] == dots["encoding"]["x"]["scale"]["domain"] == [-3, 4]
    assert (lines["encoding"]["x"]["field"], lines["encoding"]["x2"]["field"]) == (
        "median_min_centred",
        "median_max_centred",
    )
    assert dots["encoding"]["x"]["field"] == "median_mean_centred"
    rows = [row for data in chart["datasets"].values() for row in data if "event" in row]
    assert {(row["event"], row["kind"]) for row in rows} == {
        (event, kind) for event in ("settles", "is pushed down") for kind in events.UPDATE_COLOURS
    }


def test_scores_by_layer_are_bands_with_their_mean() -> None:
    chart = events.candidate_bands(CANDIDATES, (-1, 1)).to_dict()
    band, _, mean = chart["layer"]
    assert (band["encoding"]["y"]["field"], band["encoding"]["y2"]["field"]) == (
        "median_min_centred",
        "median_max_centred",
    )
    assert mean["encoding"]["y"]["field"] == "median_mean_centred"
    assert band["encoding"]["x"]["axis"]["values"] == [0, 1, 2]
    scale = band["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == events.UPDATE_COLOURS


def test_bounds_hold_0_and_every_number() -> None:
    low, high = events.bounds(SCORES, "median_min_centred", "median_max_centred")
    assert low < -1
    assert high > 2
    assert (low, high) == (-1 - 0.15, 2 + 0.15)
    positive = SCORES.with_columns(pl.col("median_min_centred").abs())
    assert events.bounds(positive, "median_min_centred", "median_max_centred")[0] < 0
    nothing = SCORES.clear()
    low, high = events.bounds(nothing, "median_min_centred", "median_max_centred")
    assert low < 0 < high


def test_kinds_of_extreme_updates_have_the_colours_of_the_legend() -> None:
    scale = events.extreme_kinds(EXTREMES).to_dict()["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == events.EXTREME_COLOURS
