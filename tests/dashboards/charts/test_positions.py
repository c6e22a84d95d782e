"""Where neurons fire: circles that never lie on each other, ranges and profiles against loops over positions."""

import itertools
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.dashboards.charts import positions
from neurothek.dashboards.charts.positions import covered_ranges
from neurothek.dashboards.colours import DOMAINS
from neurothek.dashboards.papers.material import Material
from neurothek.queries.compare.kinds import KINDS


@pytest.mark.parametrize("n", [1, 20, 21, 500])
def test_circles_of_crowded_layers_stand_beside_each_other(n: int) -> None:
    rows = pl.DataFrame(
        {
            "model": ["m"] * n,
            "layer": [1] * n,
            "neuron": range(n),
            "address": [f"m/L1N{i}" for i in range(n)],
            "position_kind": [KINDS[i % 4] for i in range(n)],
            "position_strength": ["strong" if i % 3 else "weak" for i in range(n)],
            "mutual_information_corrected": [0.1] * n,
        }
    )
    chart = positions.positional(rows, [("m", "")], {"m": 3}).to_dict()
    (drawn,) = chart["datasets"].values()
    assert len({(row["x"], row["row"]) for row in drawn}) == n
    assert all(0.5 < row["x"] < 1.5 for row in drawn)
    # From the foot up, the kinds stand in their order.
    by_place = sorted(drawn, key=lambda row: (row["row"], row["column"]))
    assert [KINDS.index(row["position_kind"]) for row in by_place] == sorted(i % 4 for i in range(n))


def test_ranges_are_the_positions_where_a_neuron_mostly_fires(whole: Material) -> None:
    team = whole.positional.filter(pl.col("counts").is_not_null())
    covered = {
        (address, position)
        for address, start, stop in covered_ranges(team).select("address", "start", "stop").iter_rows()
        for position in range(start, stop)
    }
    expected = {
        (row["address"], row["first_position"] + place)
        for row in team.to_dicts()
        for place, count in enumerate(row["counts"])
        if count / row["n_sequences"] > 0.5
    }
    assert covered == expected


def neuron(counts: list[int], *, n_sequences: int = 10, first: int = 1, address: str = "m/L0N0") -> dict[str, Any]:
    place = {"address": address, "position_kind": "oscillatory", "first_position": first}
    return place | {"n_sequences": n_sequences, "counts": counts}


@given(
    counts=st.lists(st.integers(0, 10), min_size=1, max_size=30),
    first=st.sampled_from([0, 1]),
    n_sequences=st.sampled_from([10, 11]),
)
def test_runs_are_maximal_and_hold_the_positions_of_the_majority(
    counts: list[int], first: int, n_sequences: int
) -> None:
    runs = covered_ranges(pl.DataFrame([neuron(counts, n_sequences=n_sequences, first=first)]))
    positions_covered = {first + place for place, count in enumerate(counts) if count > n_sequences / 2}
    spans = runs.select("start", "stop").rows()
    assert [place for start, stop in spans for place in range(start, stop)] == sorted(positions_covered)
    assert all(one[1] < other[0] for one, other in itertools.pairwise(spans))


def test_half_of_the_sequences_is_no_majority() -> None:
    assert covered_ranges(pl.DataFrame([neuron([5, 6, 5])])).rows() == [("m/L0N0", "oscillatory", 2, 3)]
    nothing = covered_ranges(pl.DataFrame([neuron([0, 5])]))
    assert nothing.is_empty()
    assert nothing.columns == ["address", "position_kind", "start", "stop"]


def test_those_that_come_first_stand_at_the_top() -> None:
    team = pl.DataFrame(
        [
            neuron([0, 0, 9, 9], address="m/L0N0"),
            neuron([9, 9, 9, 0], address="m/L0N2"),
            neuron([9, 9, 0, 9], address="m/L0N1"),
        ]
    )
    drawn = positions.ranges(team).to_dict()
    assert drawn["encoding"]["y"]["sort"] == ["m/L0N1", "m/L0N2", "m/L0N0"]
    assert drawn["encoding"]["x"]["scale"]["domain"] == [0, 5]


def domain(name: str, counts: list[int] | None, frequencies: list[float] | None, **more: int) -> dict[str, Any]:
    usual = {"domain": name, "n_sequences": 10, "first_position": 1, "last_position": 4}
    return usual | {"counts": counts, "frequencies": frequencies} | more


def profile(*rows: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    schema = {"counts": pl.List(pl.Int64), "frequencies": pl.List(pl.Float64)}
    chart = positions.position_profile(pl.DataFrame(list(rows), schema_overrides=schema)).to_dict()
    (data,) = chart["datasets"].values()
    return chart, data


def test_a_profile_has_a_point_a_position_or_the_middle_of_a_bin() -> None:
    _, whole = profile(domain("all", [0, 5, 10, 1], None))
    assert [(row["position"], row["frequency"]) for row in whole] == [(1, 0.0), (2, 0.5), (3, 1.0), (4, 0.1)]
    _, bins = profile(domain("all", None, [0.5, 1.0]))
    assert [(row["position"], row["frequency"]) for row in bins] == [(1.5, 0.5), (3.5, 1.0)]
    # Counts at every position are finer than bins.
    assert len(profile(domain("all", [1] * 4, [0.5, 1.0]))[1]) == 4


def test_close_by_a_profile_fills_its_height_with_few_points_and_the_whole_on_top() -> None:
    schema = {"counts": pl.List(pl.Int64), "frequencies": pl.List(pl.Float64)}
    counts = [number % 3 for number in range(100)]
    rows = [domain(name, counts, None, last_position=100) for name in ("all", "code")]
    chart = positions.position_profile(pl.DataFrame(rows, schema_overrides=schema), is_close=True).to_dict()
    (drawn,) = chart["datasets"].values()
    assert [row["domain"] for row in drawn] == ["code"] * 64 + ["all"] * 64
    # Runs of one or two positions, by hand: 1 and 2, 3 and 4, 5 alone.
    assert [(row["position"], row["frequency"]) for row in drawn[:3]] == [(1.5, 0.05), (3.5, 0.1), (5.0, 0.1)]
    assert sum(row["frequency"] for row in drawn[64:]) / 64 == pytest.approx(0.1, abs=0.01)
    largest = max(row["frequency"] for row in drawn)
    assert chart["encoding"]["y"]["scale"]["domain"] == [0, pytest.approx(1.15 * largest)]
    few = [domain("all", [9, 10, 1, 0], None)]
    close = positions.position_profile(pl.DataFrame(few, schema_overrides=schema), is_close=True).to_dict()
    assert close["encoding"]["y"]["scale"]["domain"] == [0, 1.0]
    assert profile(*few)[0]["encoding"]["y"]["scale"]["domain"] == [0, 1]


def test_without_a_sequence_there_is_no_point() -> None:
    drawn = profile(domain("all", [], None, n_sequences=0), domain("code", [10, 10, 10, 10], None))[1]
    assert {row["domain"] for row in drawn} == {"code"}


def test_domains_stand_beside_the_whole_as_far_as_there_are_colours() -> None:
    several = [domain(name, [1, 1, 1, 1], None) for name in ("all", "code", "prose")]
    chart, _ = profile(*several)
    scale = chart["encoding"]["color"]["scale"]
    assert scale["domain"] == ["all", "code", "prose"]
    assert scale["range"][1:] == list(DOMAINS[:2])
    many = [domain(f"domain {number}", [1, 1, 1, 1], None) for number in range(len(DOMAINS) + 1)]
    chart, data = profile(several[0], *many)
    assert {row["domain"] for row in data} == {"all"}
    assert chart["encoding"]["color"]["legend"] is None


def test_a_deep_model_has_a_tick_at_some_layers_only(subtests: pytest.Subtests) -> None:
    for n_layers, n_ticks in [(1, 1), (12, 12), (13, 7), (48, 12), (100, 12)]:
        with subtests.test(n_layers=n_layers, n_ticks=n_ticks):
            ticks = positions._ticks(n_layers)
            assert len(ticks) == n_ticks
            assert ticks[0] == 0
            assert len({b - a for a, b in itertools.pairwise(ticks)}) <= 1
