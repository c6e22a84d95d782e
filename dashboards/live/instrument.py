"""A prompt as an instrument on a page: a grid of layers by positions, and beside it the neurons of the chosen cell.

Grid and list are one component without a build step: Streamlit's own widgets cannot link what is hovered in one of
them to another, and a chart that is clicked runs a page again. What hovering tells is sent with the grid; a click is
shown at once, and after it runs that part of the page which depends on the cell.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import blake2b
from json import dumps
from pathlib import Path
from typing import Any

import polars as pl
import streamlit as st
from streamlit.components.v2 import component

from neurothek.catalog.spelling import visible
from neurothek.dashboards.colours import CONTRAST, FILLED
from neurothek.dashboards.widgets.address import remember
from neurothek.dashboards.widgets.html import plain
from neurothek.dashboards.widgets.page import Theme, theme
from neurothek.queries.trace.grid import GridPage

LEGEND = (
    "The likeliest next token after each layer. Bold: the one that the model predicts in the end. Corner: this FFN "
    "changed it."
)
THROUGH = (
    "The likeliest next token of the state after each layer, through its map to the last one. Bold: the one that the "
    "model predicts in the end."
)
SOURCE = (
    "Hover over a cell for its neurons, click it for their contexts; arrows move, Enter chooses. A token that has no "
    "room is underlined where others are bold. Streams after every block are read through the final norm and the "
    "unembedding: the logit lens (nostalgebraist 2020; Geva et al. 2022, section 5)."
)

_INK = {"light": "#000000", "dark": "#ffffff"}
"""Of words on a shade of middling strength."""

ROOM = """
<style>
.st-key-{room} {{
  --row: clamp(12px, calc((100vh - 26rem) / {layers} - 2px), 26px);
  min-height: max({least}, calc({layers} * (var(--row) + 2px) + 5.5rem));
}}
</style>
"""
"""Room for an instrument before it is drawn, so that nothing under it jumps; rows are as high as in its own sheet."""

N_HOVERED, N_WORDS = 5, 4
"""Neurons of a cell that hovering tells, and tokens of what each writes."""

Cell = tuple[int, int]
"""Layer and position."""


def show_instrument(
    page: GridPage, chosen: Cell | None, *, pane: Mapping[str, Any] | None = None, side: str = ""
) -> None:
    """Draw a grid, the last layer on top and the prompt at its foot; what is chosen stands in the page's address.

    Args:
        page: the grid.
        chosen: the cell that is marked; None: none is.
        pane: what `cell_data` makes of the chosen cell; None: the grid has no list beside it.
        side: what follows `layer` and `position` in the address, of a second grid on the page.
    """
    key = f"grid{side}"

    def choose() -> None:
        choose_cell(*st.session_state[key]["cell"], side=side)

    def sort() -> None:
        remember(by="adds" if st.session_state[key]["order"] == "adds" else None)

    def open_place() -> None:
        layer, position, neuron = st.session_state[key]["place"]
        choose_cell(layer, position, side=side)
        remember(**{f"inspect{side}": neuron})

    def inspect() -> None:
        remember(**{f"inspect{side}": st.session_state[key]["neuron"] or None})

    def switch() -> None:
        place, value = st.session_state[key]["switch"]
        set_neuron(f"{page.model}/{place}", value)

    room = f"instrument{side}"
    st.html(ROOM.format(room=room, least="41rem" if pane else "0px", layers=page.n_layers))
    with st.container(key=room):
        _mounted()(
            key=key,
            data=grid_data(page, chosen or (-1, -1), theme(), pane=pane),
            on_cell_change=choose,
            on_order_change=sort,
            on_neuron_change=inspect,
            on_place_change=open_place,
            on_switch_change=switch,
        )


def choose_cell(layer: int, position: int, *, side: str = "") -> None:
    """Put a cell into the page's address; a switch and an inspected neuron were those of another cell."""
    remember(**{f"layer{side}": str(layer), f"position{side}": str(position), f"inspect{side}": None}, **_UNSWITCHED)


def set_neuron(address: str, value: float | None) -> None:
    """Put a switch into the page's address; None takes it out."""
    remember(**_UNSWITCHED if value is None else {"switch": address, "set": f"{value:g}", "also": None})


_UNSWITCHED: Mapping[str, None] = {"switch": None, "also": None, "set": None}


def show_switched(page: GridPage, without: GridPage) -> None:
    """Draw a grid with a neuron switched: cells whose first token is another one than without are framed."""
    marked = grid_data(page, None, theme(), without=without)
    _mounted()(key="grid_switched", data=marked)


def say_legend(page: GridPage) -> None:
    """What cells show, in a line, and whose lens it is."""
    st.caption(plain(LEGEND if page.lens == "id" else THROUGH), help=plain(SOURCE))


def grid_data(
    page: GridPage,
    chosen: Cell | None,
    on: Theme,
    *,
    pane: Mapping[str, Any] | None = None,
    without: GridPage | None = None,
) -> Mapping[str, Any]:
    """What the browser draws of a grid.

    Args:
        page: the grid.
        chosen: the cell that is marked; None: cells cannot be clicked.
        on: the page's theme.
        pane: what stands beside the grid; None: nothing.
        without: the same prompt without the switch of a neuron; None: there is none.
    """
    layers = list(range(page.n_layers))[::-1]
    positions = range(page.first, len(page.tokens))
    layer, position = chosen or (-1, -1)
    is_there = layer in layers and position in positions
    drawn = {
        "label": f"{page.model}: predictions by layer and position",
        "shade": FILLED[on],
        "contrast": CONTRAST[on],
        "ink": _INK[on],
        "rows": [{"number": number, "cells": cells} for number, cells in _rows(page, without).items()],
        "columns": [{"position": number, "token": visible(page.tokens[number])} for number in positions],
        "writes": _writes(page),
        "is_fixed": chosen is None,
    }
    return {
        **drawn,
        # What has not changed is not drawn again.
        "key": blake2b(dumps(drawn).encode(), digest_size=8).hexdigest(),
        "selected": [layers.index(layer), position - page.first] if is_there else None,
        "cell": pane,
    }


def _rows(page: GridPage, without: GridPage | None) -> dict[int, list[Mapping[str, Any]]]:
    """The cells of each layer, the last layer first."""
    rows: dict[int, list[Mapping[str, Any]]] = {layer: [] for layer in reversed(range(page.n_layers))}
    strongest = _strongest(page)
    earlier = {} if without is None else {_place(cell): cell for cell in without.cells.to_dicts()}
    for cell in page.cells.sort("layer", "position").to_dicts():
        drawn = _cell(cell, earlier.get(_place(cell)))
        rows[cell["layer"]].append({**drawn, "neurons": strongest.get(_place(cell), [])})
    return rows


def _place(cell: Mapping[str, Any]) -> Cell:
    return cell["layer"], cell["position"]


def _cell(cell: Mapping[str, Any], without: Mapping[str, Any] | None) -> Mapping[str, Any]:
    is_changed = cell["before"] is not None and cell["before"] != cell["predicted"]
    notes = [f"its FFN changed the first token from {visible(cell['before'])}"] if is_changed else []
    if cell["final_rank"] > 1:
        notes.append(f"{visible(cell['final'])}, predicted in the end, has rank {cell['final_rank']:,}")
    is_other = without is not None and without["predicted"] != cell["predicted"]
    if without is not None:
        notes.insert(0, f"without the switch: {visible(without['predicted'])} ({100 * without['probability']:.1f}%)")
    return {
        "is_other": is_other,
        "shown": visible(cell["predicted"]),
        "probability": cell["probability"],
        "is_final": cell["predicted"] == cell["final"],
        "is_changed": is_changed,
        "tokens": [
            [visible(token), round(share, 5)]
            for token, share in zip(cell["tokens"], cell["probabilities"], strict=True)
        ],
        "notes": notes,
    }


def _strongest(page: GridPage) -> dict[Cell, list[Sequence[float | None]]]:
    """Of each cell's neurons the place, share, activation, and what it adds to the final token's logit."""
    table = page.neurons.filter(pl.col("rank") <= N_HOVERED).select(
        "layer",
        "position",
        "neuron",
        pl.col("share").round(5),
        pl.col("coefficient", "direct_final").cast(pl.Float64).round(3),
    )
    neurons: dict[Cell, list[Sequence[float | None]]] = {}
    for layer, position, *numbers in table.rows():
        neurons.setdefault((layer, position), []).append(numbers)
    return neurons


def _writes(page: GridPage) -> dict[str, dict[str, list[str]]]:
    """Tokens of what neurons of each layer write, by the neuron; with a - before it, at activations below 0."""
    writes: dict[str, dict[str, list[str]]] = {}
    rows = page.neurons.filter((pl.col("rank") <= N_HOVERED) & pl.col("writes").is_not_null())
    for layer, neuron, coefficient, tokens in rows.select("layer", "neuron", "coefficient", "writes").rows():
        name = f"{'-' if coefficient < 0 else ''}{neuron}"
        writes.setdefault(str(layer), {})[name] = [visible(token) for token in tokens[:N_WORDS]]
    return writes


@cache
def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")


def _mounted() -> Any:  # noqa: ANN401 - what Streamlit calls a component renderer
    return component(
        "instrument", html='<div class="room"></div>', css=_file("instrument.css"), js=_file("instrument.js")
    )
