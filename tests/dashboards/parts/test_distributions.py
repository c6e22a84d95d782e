"""Numbers of neurons to draw: those that are known, and the neurons within a rectangle."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.dashboards.parts.distributions import LOGARITHMIC, NUMBERS, known_numbers, silent, usual_up, within
from neurothek.queries.views.install import view


def test_every_number_is_a_column_of_neurons() -> None:
    assert {*NUMBERS} <= {*view("neurons").columns}
    assert {*LOGARITHMIC} <= {*NUMBERS}
    assert len({*NUMBERS}) == len(NUMBERS)


def test_a_number_that_no_neuron_has_cannot_be_picked() -> None:
    neurons = pl.DataFrame({"kurtosis": [1.0, None], "frequency": [None, None], "address": ["a", "b"]})
    assert known_numbers(neurons, NUMBERS) == ["kurtosis"]
    assert known_numbers(neurons, ("address", "kurtosis")) == ["address", "kurtosis"]
    assert known_numbers(neurons.clear(), NUMBERS) == []


def test_how_often_a_gate_is_open_is_no_first_number() -> None:
    neurons = pl.DataFrame({"frequency": [0.5], "effective_frequency": [0.25], "kurtosis": [1.0], "is_dead": [None]})
    assert known_numbers(neurons, NUMBERS) == ["effective_frequency", "kurtosis", "frequency"]
    of_relu = neurons.with_columns(is_dead=pl.lit(value=False))
    assert known_numbers(of_relu, NUMBERS) == ["frequency", "effective_frequency", "kurtosis"]


def test_of_relu_models_peakedness_stands_up_first() -> None:
    relu = pl.DataFrame({"is_dead": [False, None]})
    columns = ["frequency", "effective_frequency", "kurtosis"]
    assert usual_up(relu, columns) == "kurtosis"
    assert usual_up(relu, columns[:2]) == "effective_frequency"
    assert usual_up(relu, columns[:1]) == "frequency"
    smooth = pl.DataFrame({"is_dead": [None, None]}, schema={"is_dead": pl.Boolean})
    assert usual_up(smooth, ["effective_frequency", "contribution_max", "kurtosis"]) == "contribution_max"


POINTS = st.lists(st.tuples(st.none() | st.integers(-9, 9), st.integers(-9, 9)), max_size=12)
EDGES = st.tuples(st.integers(-9, 9), st.integers(-9, 9)).map(list)


@given(points=POINTS, x=EDGES, y=EDGES)
def test_neurons_within_a_rectangle_are_those_of_the_loop(
    points: list[tuple[int | None, int]], x: list[float], y: list[float]
) -> None:
    neurons = pl.DataFrame(points, schema={"x": pl.Float64, "y": pl.Float64}, orient="row").with_row_index("n")
    expected = [
        number
        for number, (a, b) in enumerate(points)
        if a is not None and min(x) <= a <= max(x) and min(y) <= b <= max(y)
    ]
    # Whichever corner was drawn first.
    assert within(neurons, {"x": x, "y": y})["n"].to_list() == expected


@pytest.mark.parametrize("rectangle", [{}, {"stranger": [0.0, 1.0]}, {"x": []}, {"x": [1.0]}, {"x": [0.0, 1.0, 2.0]}])
def test_a_rectangle_of_nothing_known_leaves_all(rectangle: dict[str, list[float]]) -> None:
    neurons = pl.DataFrame({"x": [1.0, 5.0]})
    assert within(neurons, rectangle).equals(neurons)


def test_what_is_known_of_a_rectangle_counts() -> None:
    neurons = pl.DataFrame({"x": [1.0, 5.0]})
    assert within(neurons, {"x": [0.0, 1.0], "stranger": [0.0, 1.0]})["x"].to_list() == [1.0]


def test_those_that_never_fired_are_counted_and_called_dead_where_they_can_be() -> None:
    neurons = pl.DataFrame({"never_active": [True, None, False, True], "is_dead": [True, None, False, True]})
    assert silent(neurons) == (2, "dead")
    unknown = neurons.with_columns(is_dead=pl.lit(None, pl.Boolean))
    assert silent(unknown) == (2, "never active")
    assert silent(unknown.with_columns(pole=pl.lit(None, pl.String))) == (2, "never active")
    assert silent(unknown.with_columns(pole=pl.lit("negative"))) == (2, "never open")
    assert silent(unknown.with_columns(never_active=pl.lit(None, pl.Boolean))) == (0, "never active")
