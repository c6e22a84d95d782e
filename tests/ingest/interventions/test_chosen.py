"""Neurons of an intervention as text, and the changes that they stand for."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.problems import Unreadable
from neurothek.ingest.interventions.chosen import as_parameters, by_layer, changes, from_parameters, packed, unpacked
from neurothek.ingest.request import Intervention

NEURONS = ((0, 1), (0, 2), (0, 3), (0, 9), (3, 7))
CPU = torch.device("cpu")


def test_neurons_as_text() -> None:
    assert packed(NEURONS) == "0:1-3,9 3:7"
    assert unpacked("0:1-3,9 3:7") == NEURONS
    assert packed(()) == ""
    assert unpacked("") == ()


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 60))))
def test_text_is_read_as_it_was_written(neurons: set[tuple[int, int]]) -> None:
    given_ = tuple(sorted(neurons))
    assert unpacked(packed(given_)) == given_


def test_parameters_hold_all_of_an_intervention() -> None:
    one = Intervention("mine", NEURONS, "where x", "scale", 0.5, "before", "dead")
    assert from_parameters("mine", as_parameters(one)) == one
    assert "negative" not in as_parameters(one)
    for negative in ((), NEURONS[:2]):
        turned = Intervention("mine", NEURONS, "promote x at either pole", "set", 3.0, negative=negative)
        assert from_parameters("mine", as_parameters(turned)) == turned


def test_layers() -> None:
    found = by_layer(Intervention("mine", NEURONS, "named"))
    assert {layer: neurons.tolist() for layer, neurons in found.items()} == {0: [1, 2, 3, 9], 3: [7]}


@pytest.mark.parametrize(
    ("how", "value", "moment", "becomes"),
    [
        ("set", 0.0, "after", [0, 0, 0]),
        ("set", 3.0, "before", [3, 3, 3]),
        ("scale", 0.5, "after", [5, 10, 15]),
        ("mean", None, "after", [0.1, 0.3, 0.2]),
    ],
)
def test_changes(how: str, value: float | None, moment: str, becomes: list[float]) -> None:
    one = Intervention("mine", ((2, 0), (2, 2), (2, 1)), "named", how, value, moment)  # type: ignore[arg-type]  # as typed
    made = changes(one, {2: np.array([0, 2, 1])}, {2: np.array([0.1, 0.2, 0.3])}, CPU)
    assert made.keys() == {2}
    assert made[2].is_before == (moment == "before")
    own = torch.tensor([[[10.0, 30.0, 20.0, 99.0]]])
    after = made[2].of(own, shape=(1, 1), start=0)[0, 0]
    assert after[[0, 2, 1]].tolist() == pytest.approx(becomes)
    assert after[3] == 99
    assert own[0, 0].tolist() == [10, 30, 20, 99]


@pytest.mark.parametrize("text", ["1:0-9999999999", "0:0-40000000 1:0-40000000"])
def test_more_neurons_than_any_model_has_are_refused_before_they_are_listed(text: str) -> None:
    with pytest.raises(Unreadable, match="more than any model has"):
        unpacked(text)
