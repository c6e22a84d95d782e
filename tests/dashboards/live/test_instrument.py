"""What a browser draws of a grid: every cell once, the last layer on top, and what hovering over a cell tells."""

from dataclasses import replace

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from neurothek.dashboards.colours import FILLED
from neurothek.dashboards.live.instrument import grid_data
from neurothek.queries.trace.grid import CELL_COLUMNS, CELL_NEURON_COLUMNS, GridPage

TOKENS = ("</s>", "one", " two")


def page(*, first: int = 0, lens: str = "id") -> GridPage:
    """Two layers; after position 1 layer 0 says something else than the whole model."""
    rows = [
        (layer, position, TOKENS[position], said, 0.75, [said, " no"], [0.75, 0.25], before, " yes", rank)
        for layer, position, said, before, rank in (
            (0, 0, " yes", " yes", 1),
            (0, 1, " no", " <b>", 7),
            (0, 2, " yes", None, 1),
            (1, 0, " yes", " yes", 1),
            (1, 1, " yes", " no", 1),
            (1, 2, " yes", " yes", 1),
        )
        if position >= first
    ]
    cells = pl.DataFrame(rows, schema=dict(CELL_COLUMNS), orient="row")
    neurons = [
        (
            layer,
            position,
            rank,
            neuron,
            f"tiny/L{layer}N{neuron}",
            m,
            0.25,
            -1.0,
            1.0,
            ["<i>", " b"],
            None,
            None,
            None,
            None,
        )
        for layer, position, rank, neuron, m in ((0, 1, 1, 7, 1.5), (0, 1, 2, 8, -1.25), (0, 2, 1, 7, -0.5))
        if position >= first
    ]
    strongest = pl.DataFrame(neurons, schema=dict(CELL_NEURON_COLUMNS), orient="row")
    return GridPage("tiny", "id" if lens == "id" else "mat", TOKENS, first, cells, strongest)


def test_the_last_layer_is_on_top_and_the_prompt_at_the_foot() -> None:
    found = grid_data(page(), (1, 2), "dark")
    assert [row["number"] for row in found["rows"]] == [1, 0]
    assert found["columns"] == [
        {"position": 0, "token": "</s>"},
        {"position": 1, "token": "one"},
        {"position": 2, "token": "·two"},
    ]
    assert found["shade"] == FILLED["dark"]
    assert found["selected"] == [0, 2]
    assert grid_data(page(), (0, 1), "light")["selected"] == [1, 1]


def test_a_cell_tells_what_is_predicted_and_what_became_of_it() -> None:
    top, low = (row["cells"] for row in grid_data(page(), (1, 2), "light")["rows"])
    cell = low[1]
    assert (cell["shown"], cell["probability"], cell["is_final"], cell["is_changed"]) == ("·no", 0.75, False, True)
    assert cell["neurons"] == [[7, 0.25, 1.5, 1.0], [8, 0.25, -1.25, 1.0]]
    assert cell["tokens"] == [["·no", 0.75], ["·no", 0.25]]
    assert cell["notes"] == [
        "its FFN changed the first token from ·<b>",
        "·yes, predicted in the end, has rank 7",
    ]
    assert (top[1]["is_final"], top[1]["is_changed"], top[1]["notes"]) == (
        True,
        True,
        ["its FFN changed the first token from ·no"],
    )
    # Of a state that is read through a matrix nobody knows what was before.
    assert (low[2]["is_changed"], low[2]["notes"]) == (False, [])


def test_what_neurons_write_is_told_by_the_sign_of_their_activation() -> None:
    assert grid_data(page(), (1, 2), "light")["writes"] == {
        "0": {"7": ["<i>", "·b"], "-8": ["<i>", "·b"], "-7": ["<i>", "·b"]}
    }


def test_the_key_of_a_grid_changes_with_what_is_drawn_and_not_with_what_is_chosen() -> None:
    first, other = grid_data(page(), (1, 2), "light"), grid_data(page(), (0, 1), "light", pane={"title": "x"})
    assert (first["key"], other["cell"]) == (other["key"], {"title": "x"})
    assert grid_data(page(), (1, 2), "dark")["key"] != first["key"]
    assert grid_data(page(first=1), (1, 2), "light")["key"] != first["key"]


def test_a_cell_that_is_not_shown_is_not_marked() -> None:
    found = grid_data(page(first=1), (1, 0), "light")
    assert found["selected"] is None
    assert [column["position"] for column in found["columns"]] == [1, 2]
    assert [len(row["cells"]) for row in found["rows"]] == [2, 2]
    assert grid_data(page(first=1), (1, 1), "light")["selected"] == [0, 0]


def test_cells_that_a_switch_changed_are_framed_and_tell_what_was() -> None:
    without = page()
    changed = replace(without, cells=without.cells.with_columns(predicted=pl.lit(" yes")), setting="L0N1 set to 0")
    found = grid_data(changed, None, "light", without=without)
    assert (found["selected"], found["is_fixed"]) == (None, True)
    assert not grid_data(without, (0, 1), "light")["is_fixed"]
    cells = [cell for row in found["rows"] for cell in row["cells"]]
    # One alone was another token before.
    assert [cell["is_other"] for cell in cells] == [False, False, False, False, True, False]
    assert cells[4]["notes"][0] == "without the switch: ·no (75.0%)"
    assert not any(cell["is_other"] for row in grid_data(without, (0, 1), "light")["rows"] for cell in row["cells"])


@pytest.mark.parametrize("side", ["", "2"])
def test_a_click_stands_in_the_address_and_forgets_what_was_switched(side: str) -> None:
    def click(side: str) -> None:
        from neurothek.dashboards.live.instrument import choose_cell  # noqa: PLC0415 - it runs as a page of its own

        choose_cell(3, 5, side=side)

    page = AppTest.from_function(click, args=(side,))
    typed = {"model": "tiny", "layer": "0", "position": "1", "switch": "L0N1", "set": "0", f"inspect{side}": "L0N1"}
    for name, value in typed.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    before = {"layer": "0", "position": "1"} if side else {}
    assert dict(page.query_params) == {"model": "tiny", **before, f"layer{side}": "3", f"position{side}": "5"}


def test_a_switch_stands_in_the_address_until_it_is_taken_out() -> None:
    def switch() -> None:
        import streamlit as st  # noqa: PLC0415 - it runs as a page of its own

        from neurothek.dashboards.live.instrument import set_neuron  # noqa: PLC0415 - as above

        set_neuron("tiny/L0N1", 0.0 if "again" not in st.session_state else None)
        st.session_state["again"] = True

    page = AppTest.from_function(switch)
    page.query_params["also"] = "tiny/L0N2"
    page.run()
    assert dict(page.query_params) == {"switch": "tiny/L0N1", "set": "0"}
    page.run()
    assert not page.query_params
