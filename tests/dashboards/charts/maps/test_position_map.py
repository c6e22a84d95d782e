"""The heat map of positions: rows of one shape together, cells against a loop, a click on any leads to its neuron."""

from typing import Any

import polars as pl
import pytest

from neurothek.dashboards.charts.maps.position_map import middle, position_cells, position_map
from neurothek.dashboards.colours import KINDS

ORDER = list(KINDS["light"])


def profile(address: str, kind: str, counts: list[int]) -> dict[str, Any]:
    place = {"address": address, "position_kind": kind, "position_strength": "weak"}
    return place | {"first_position": 1, "last_position": len(counts), "n_sequences": 10, "counts_64": counts}


PROFILES = pl.DataFrame(
    [
        profile("m/L0N3", "one extreme", [0, 0, 0, 10]),
        profile("m/L0N0", "other", [5, 5, 5, 5]),
        profile("m/L0N1", "one extreme", [10, 2, 0, 0]),
        profile("m/L1N2", "both extremes", [10, 10, 0, 0]),
        profile("m/L0N2", "one extreme", [0, 10, 0, 0]),
    ]
)


def test_rows_stand_by_kind_and_then_by_where_they_fire() -> None:
    cells = position_cells(PROFILES, ORDER)
    rows = cells.unique("address").sort("row").select("row", "address").rows()
    # A gap of two rows stands between kinds.
    assert rows == [(0, "m/L1N2"), (3, "m/L0N1"), (4, "m/L0N2"), (5, "m/L0N3"), (8, "m/L0N0")]


def test_cells_hold_the_frequencies_of_their_stretches() -> None:
    cells = position_cells(PROFILES, ORDER)
    for row in PROFILES.to_dicts():
        mine = cells.filter(pl.col("address") == row["address"]).sort("position")
        assert mine["frequency"].to_list() == [count / 10 for count in row["counts_64"]]
        assert mine["position"].to_list() == [1.0, 2.0, 3.0, 4.0]
        assert mine["position_to"].to_list() == [2.0, 3.0, 4.0, 5.0]


def test_a_neuron_without_sequences_has_no_row() -> None:
    assert position_cells(PROFILES.with_columns(n_sequences=pl.lit(0)), ORDER).is_empty()


def test_the_middle_is_the_mean_place_of_the_firing() -> None:
    assert middle([0, 0, 1, 1]) == 2.5
    assert middle([0.5, 0.25, 0.25]) == pytest.approx(0.75)
    assert middle([0, 0]) == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_kind_that_is_there_is_named_with_its_number(theme: str) -> None:
    cells = position_cells(PROFILES, ORDER)
    drawn = position_map(cells, KINDS[theme], theme).to_dict()
    heat, _, names = drawn["layer"]
    said = drawn["datasets"][names["data"]["name"]]
    assert [(row["said"], row["row"], row["row_to"]) for row in said] == [
        ("both extremes (1)", 0, 1),
        ("one extreme (3)", 3, 6),
        ("other (1)", 8, 9),
    ]
    assert [row["colour"] for row in said] == [KINDS[theme][kind] for kind in ("both extremes", "one extreme", "other")]
    assert heat["encoding"]["color"]["scale"]["domain"] == [0, 1]
    (chosen,) = drawn["params"]
    assert chosen["name"] == "chosen"
    assert chosen["select"]["fields"] == ["address"]


def test_where_strong_activations_are_counted_none_is_said_to_fire() -> None:
    cells = position_cells(PROFILES, ORDER)
    for counts_strong, fires in ((False, "fires"), (True, "is strong")):
        heat = position_map(cells, KINDS["light"], "light", counts_strong=counts_strong).to_dict()["layer"][0][
            "encoding"
        ]
        assert heat["color"]["legend"]["title"] == f"share of the sequences in which it {fires}"
        assert heat["tooltip"][-1]["title"] == f"{fires} in"


def test_many_rows_are_no_higher_than_a_screen() -> None:
    many = pl.DataFrame([profile(f"m/L0N{number}", "other", [1, 2]) for number in range(120)])
    assert position_map(position_cells(many, ORDER), KINDS["light"], "light").to_dict()["height"] < 750
