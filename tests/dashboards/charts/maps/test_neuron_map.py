"""The map of a model: its cells against a loop over the neurons, and what the drawing says of them."""

import math
import shutil
from pathlib import Path
from typing import Any, get_args

import duckdb
import polars as pl
import pytest

from neurothek.dashboards.charts.maps.neuron_map import KINDS, MOST_CELLS, ORDERS, By, cells_of_a_row, neuron_map
from neurothek.dashboards.widgets.figures import statement
from neurothek.queries.ask.one_query import run_query

RARITY = ["token detector", "positional", "provably dead", "dead", "never active", "fires", "not run on text"]
RARITY += ["negligible", "others"]
ORDER = ["token detector", "positional", "fires", "dead", "provably dead"]
PLACED_AS = {"never active": "dead", "negligible": "dead", "not run on text": "fires", "others": "fires"}


def is_silent(row: dict[str, Any]) -> bool:
    """Dead; without exact zeros negligible, or never active where that was not measured."""
    return bool(
        next((row[name] for name in ("is_dead", "is_negligible") if row[name] is not None), row["never_active"])
    )


def how_active(row: dict[str, Any]) -> float:
    return (row["effective_frequency"] if row["is_dead"] is None else row["frequency"]) or 0.0


def kind_of(row: dict[str, Any]) -> str:
    is_positional = row["position_kind"] not in (None, "not positional", "too few sequences")
    says = {
        "negligible": row["is_negligible"],
        "provably dead": row["never_active"] and row["is_provably_dead"],
        "dead": row["is_dead"],
        "never active": row["never_active"] and row["is_negligible"] is None,
        "token detector": row["is_token_detector"],
        "positional": is_positional,
        "others": how_active(row) and row["is_dead"] is None,
        "fires": how_active(row),
    }
    return next((kind for kind, is_so in says.items() if is_so), "not run on text")


def flat(row: dict[str, Any]) -> float:
    """Its kurtosis; a neuron whose scores are unknown comes after all others."""
    return -math.inf if row["kurtosis"] is None else float(row["kurtosis"])


def in_order(rows: list[dict[str, Any]], by: str) -> list[dict[str, Any]]:
    def key(row: dict[str, Any]) -> tuple[Any, ...]:
        kind = kind_of(row)
        silent = is_silent(row)
        if by == "frequency":
            return silent, -how_active(row), row["neuron"]
        if by == "kurtosis":
            return silent, -flat(row), row["neuron"]
        if by == "first firing":
            return silent, kind == "provably dead", row["first_active"] or 0, row["neuron"]
        place = ORDER.index(PLACED_AS.get(kind, kind))
        return place, -how_active(row), row["neuron"]

    return sorted(rows, key=key)


@pytest.fixture(scope="module")
def neurons(full: duckdb.DuckDBPyConnection) -> dict[str, list[dict[str, Any]]]:
    """Model -> its neurons as the view has them."""
    return {name: list(of.to_dicts()) for (name,), of in full.sql("from neurons").pl().group_by("model")}


@pytest.mark.parametrize("by", get_args(By))
@pytest.mark.parametrize("n_cells", [1, 3, 100])
def test_cells_are_those_of_a_loop_over_the_neurons(
    full: duckdb.DuckDBPyConnection, neurons: dict[str, list[dict[str, Any]]], by: By, n_cells: int
) -> None:
    assert len(neurons) > 1
    for model, rows in neurons.items():
        values = {"model": model, "layer": None, "by": by, "n_cells": n_cells}
        found = run_query(full, statement("neuron_map"), values)
        expected = list(cells(rows, by, n_cells))
        assert [row | {"number": None} for row in found.to_dicts()] == [row | {"number": None} for row in expected]
        assert found["number"].to_list() == pytest.approx([row["number"] for row in expected], nan_ok=True)
        alone = run_query(full, statement("neuron_map"), values | {"layer": 1})
        assert alone.equals(found.filter(pl.col("layer") == 1))


def test_a_gate_that_is_never_open_leaves_a_neuron_that_does_something(full_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    shutil.copy(full_path, path)
    with duckdb.connect(str(path)) as connection:
        of = "set_id = (select model_id from store.models where name = 'gelu-1m') and layer = 0"
        facts = "update store.neuron_facts set n_active = 0, contribution_max"
        connection.execute(f"{facts} = 0.5 where {of} and neuron = 1")
        connection.execute(f"{facts} = 0.005 where {of} and neuron = 2")
        found = run_query(
            connection, statement("neuron_map"), {"model": "gelu-1m", "layer": 0, "by": "kind", "n_cells": 9}
        )
    kinds = dict(found.select("neuron", "kind").iter_rows())
    assert (kinds[1], kinds[2]) == ("others", "negligible")


def cells(neurons: list[dict[str, Any]], by: str, n_cells: int) -> list[dict[str, Any]]:
    column = {"first firing": "first_active", "kurtosis": "kurtosis"}.get(by)
    made = []
    for layer in sorted({row["layer"] for row in neurons}):
        ordered = in_order([row for row in neurons if row["layer"] == layer], by)
        width = min(n_cells, len(ordered))
        for cell in range(width):
            held = [place for place in range(len(ordered)) if place * width // len(ordered) == cell]
            rows = [ordered[place] for place in held]
            leads = min(rows, key=lambda row: (RARITY.index(kind_of(row)), -flat(row), row["neuron"]))
            numbers = [_activity(row) if column is None else row[column] for row in rows]
            known = [number for number in numbers if number is not None]
            made.append(
                {
                    "layer": layer,
                    "cell": cell,
                    "cell_from": held[0] / len(ordered),
                    "cell_to": (held[-1] + 1) / len(ordered),
                    "n_neurons": len(rows),
                    "kind": kind_of(leads),
                    "neuron": leads["neuron"],
                    "address": leads["address"],
                    "number": sum(known) / len(known) if known else None,
                }
            )
    return made


def _activity(row: dict[str, Any]) -> float | None:
    number: float | None = row["effective_frequency"] if row["is_dead"] is None else row["frequency"]
    return number


def test_a_picture_has_no_more_cells_than_a_browser_draws(subtests: pytest.Subtests) -> None:
    for n_layers in [1, 4, 12, 40, 64, 200]:
        with subtests.test(n_layers=n_layers):
            assert n_layers * cells_of_a_row(n_layers) <= max(MOST_CELLS, 64 * n_layers)
            assert 64 <= cells_of_a_row(n_layers) <= 512


def made_up(n_layers: int = 2) -> pl.DataFrame:
    kinds = ["token detector", "positional", "fires", "dead"]
    return pl.DataFrame(
        [
            {
                "layer": layer,
                "cell_from": place / 4,
                "cell_to": (place + 1) / 4,
                "n_neurons": 1,
                "kind": kind,
                "address": f"m/L{layer}N{place}",
                "number": None if kind == "dead" else 0.5 / (place + 1),
            }
            for layer in range(n_layers)
            for place, kind in enumerate(kinds)
        ]
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("by", get_args(By))
def test_the_dead_are_drawn_in_their_colour_whatever_colours_the_rest(by: By, theme: str) -> None:
    drawn = neuron_map(made_up(), by, theme).to_dict()
    colour = drawn["encoding"]["color"]
    if by == "kind":
        kinds = dict(zip(colour["scale"]["domain"], colour["scale"]["range"], strict=True))
        assert kinds == {kind: KINDS[theme][kind] for kind in ("token detector", "positional", "fires", "dead")}
    else:
        assert colour["condition"]["value"] == KINDS[theme]["dead"]
        assert "'dead'" in colour["condition"]["test"]
    # A cell without a number would be left out.
    (rows,) = drawn["datasets"].values()
    assert len(rows) == 8
    assert all(row["number"] is not None for row in rows)
    assert drawn["params"][0]["select"]["fields"] == ["address"]
    assert by in ORDERS


def test_where_no_activation_is_0_the_numbers_have_other_names() -> None:
    relu, smooth = (
        [neuron_map(made_up(), by, "light", lacks_zeros=lacks).to_dict()["encoding"] for by in get_args(By)]
        for lacks in (False, True)
    )
    told = [encoding["tooltip"][-1]["title"] for encoding in relu]
    assert told == ["frequency", "frequency", "tokens before it first fired", "excess kurtosis of its scores"]
    of_smooth = [encoding["tooltip"][-1]["title"] for encoding in smooth]
    assert of_smooth[:3] == ["effective frequency", "effective frequency", "tokens before it was first active"]
    assert of_smooth[3] == told[3]
    assert smooth[2]["color"]["legend"]["title"] == of_smooth[2]


def test_layers_without_a_number_are_drawn_too() -> None:
    cells = made_up().with_columns(pl.lit("not run on text").alias("kind"), pl.lit(None, pl.Float64).alias("number"))
    assert neuron_map(cells, "kind", "light").to_dict()["encoding"]["opacity"] == {"value": 1}
    assert neuron_map(cells, "kurtosis", "light").to_dict()["encoding"]["color"]["scale"]["domain"] == [0.1, 1.0]


def test_a_model_of_many_layers_is_no_higher_than_a_screen_or_two() -> None:
    for n_layers in (1, 6, 40, 64):
        height = neuron_map(made_up(n_layers), "kind", "light").to_dict()["height"]
        assert 8 * n_layers <= height < 700
