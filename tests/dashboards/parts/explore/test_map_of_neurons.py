"""What is said beside the map of neurons, and what a cell tells on hover."""

import polars as pl
import pytest

from neurothek.dashboards.charts.maps.neuron_map import FIRST_ACTIVE, ORDERS
from neurothek.dashboards.parts.explore.map_of_neurons import caption, is_known, with_token_text


def test_the_caption_says_what_a_cell_and_a_row_is() -> None:
    assert caption("kind", 1, has_layers=True) == (
        f"A row is a layer, a cell is a neuron; click one to open it. {ORDERS['kind']}"
    )
    assert caption("frequency", 1234, has_layers=False) == (
        f"A cell holds up to 1,234 neurons and has the rarest kind of them; click one to open it. {ORDERS['frequency']}"
    )


def test_where_no_activation_is_0_no_neuron_is_said_to_fire() -> None:
    smooth = caption("first firing", 1, has_layers=True, lacks_zeros=True)
    assert smooth.endswith(FIRST_ACTIVE)
    assert "fired" not in smooth
    assert caption("first firing", 1, has_layers=True).endswith("before a neuron first fired, dead last.")
    assert caption("kind", 1, has_layers=True, lacks_zeros=True).endswith(ORDERS["kind"])


def test_a_cell_tells_the_first_five_tokens_with_their_white_space() -> None:
    cells = pl.DataFrame(
        {
            "cell": [0, 1, 2],
            "top_tokens": [[" a", "b", "\n", "d", "e", "f"], None, ["g"]],
            "pole": [None, "positive", "negative"],
        }
    )
    told = with_token_text(cells)
    assert told.columns == ["cell", "told"]
    assert told["told"].to_list() == ["·a b ↵ d e", None, "g (at its negative pole)"]


@pytest.mark.parametrize(
    ("kinds", "numbers", "known"),
    [
        (["not run on text", "not run on text"], [None, None], False),
        (["not run on text", "not run on text"], [None, 1.5], True),
        (["not run on text", "dead"], [None, None], True),
    ],
)
def test_cells_that_nothing_tells_apart_are_no_map(kinds: list[str], numbers: list[float | None], known: bool) -> None:
    cells = pl.DataFrame({"kind": kinds, "number": numbers}, schema={"kind": pl.String, "number": pl.Float64})
    assert is_known(cells) == known
