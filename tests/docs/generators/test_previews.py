"""Which model the pictures of pages are drawn from."""

import polars as pl
import pytest

from docs.generators.previews import largest_with

MODELS = pl.DataFrame(
    {
        "model": ["small", "middle", "large"],
        "size": [10, 20, 30],
        "jobs": [["shortcuts", "events"], ["shortcuts"], ["events"]],
    }
)


def test_a_page_is_drawn_from_the_largest_model_that_it_has_something_of() -> None:
    assert largest_with(MODELS, ["events"]) == "large"
    assert largest_with(MODELS, ["shortcuts"]) == "middle"
    assert largest_with(MODELS, ["interventions", "shortcuts"]) == "middle"
    with pytest.raises(ValueError, match="no model was measured by interventions or neuron_effects"):
        largest_with(MODELS, ["interventions", "neuron_effects"])
