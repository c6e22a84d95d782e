"""What a click on a drawing opens: a neuron that is drawn, and nothing else."""

import pytest

from neurothek.dashboards.parts.explore.map_of_neurons import chosen_address

KNOWN = ["m/L0N1", "m/L0N2"]


@pytest.mark.parametrize(
    ("selected", "expected"),
    [
        ({}, None),
        ({"chosen": []}, None),
        ({"chosen": [{"address": "m/L0N2"}]}, "m/L0N2"),
        ({"chosen": [{"vgsid": 3}, {"address": "m/L0N1"}]}, "m/L0N1"),
        # Chosen among the neurons of another model.
        ({"chosen": [{"address": "other/L0N1"}]}, None),
        ({"chosen": {"frequency": [0.1, 0.2]}}, None),
    ],
)
def test_a_neuron_that_is_drawn_is_opened(selected: dict[str, object], expected: str | None) -> None:
    assert chosen_address(selected, KNOWN) == expected
