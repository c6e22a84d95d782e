"""A grid of layers by positions on a page: the prediction of each cell, coloured by probability, to be clicked."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2 import component

from neurothek.catalog.spelling import visible
from neurothek.dashboards.colours import ACCENT, CONTRAST
from neurothek.dashboards.widgets.address import remember
from neurothek.dashboards.widgets.html import plain
from neurothek.dashboards.widgets.page import Theme, theme
from neurothek.queries.trace.grid import GridPage

LEGEND = (
    "Each cell: the likeliest next token after the layer's FFN, coloured by its probability. Bold: the token that the "
    "whole model predicts there. Corner: this FFN changed the first token. Click a cell for its neurons."
)
THROUGH = (
    "Each cell: the likeliest next token of the state after the layer, through its map to the last one, coloured by "
    "its probability. Bold: the token that the whole model predicts there. Click a cell for its neurons."
)
SOURCE = (
    "Streams after every block read through the final norm and the unembedding: the logit lens (nostalgebraist 2020; "
    "Geva et al. 2022, section 5)."
)

Cell = tuple[int, int]
"""Layer and position."""


def show_grid(page: GridPage, chosen: Cell, *, side: str = "") -> None:
    """Draw a grid, the last layer on top and the prompt at its foot; a click puts its cell into the page's address.

    Args:
        page: the grid.
        chosen: the cell that is marked.
        side: what follows `layer` and `position` in the address, of a second grid on the page.
    """
    key = f"grid{side}"

    def choose() -> None:
        choose_cell(*st.session_state[key]["cell"], side=side)

    _mounted(theme())(key=key, data=grid_data(page, chosen, theme()), on_cell_change=choose)


def choose_cell(layer: int, position: int, *, side: str = "") -> None:
    """Put a cell into the page's address; a switch was one of another cell."""
    remember(
        **{f"layer{side}": str(layer), f"position{side}": str(position), "switch": None, "also": None, "set": None}
    )


def show_switched(page: GridPage, without: GridPage) -> None:
    """Draw a grid with a neuron switched: cells whose first token is another one than without are framed."""
    marked = grid_data(page, None, theme(), without=without)
    _mounted(theme())(key="grid_switched", data=marked)


def say_legend(page: GridPage) -> None:
    """What cells show, in a line, and whose lens it is."""
    st.caption(plain(LEGEND if page.lens == "id" else THROUGH), help=plain(SOURCE))


def grid_data(page: GridPage, chosen: Cell | None, on: Theme, *, without: GridPage | None = None) -> Mapping[str, Any]:
    """What the browser draws of a grid.

    Args:
        page: the grid.
        chosen: the cell that is marked; None: cells cannot be clicked.
        on: the page's theme.
        without: the same prompt without the switch of a neuron; None: there is none.
    """
    layers = list(range(page.n_layers))[::-1]
    positions = range(page.first, len(page.tokens))
    rows: dict[int, list[Mapping[str, Any]]] = {layer: [] for layer in layers}
    for cell in page.cells.sort("layer", "position").to_dicts():
        before = None if without is None else without.cell(cell["layer"], cell["position"])
        rows[cell["layer"]].append(_cell(cell, before))
    layer, position = chosen or (-1, -1)
    is_there = layer in rows and position in positions
    return {
        "label": f"{page.model}: predictions by layer and position",
        "shade": ACCENT[on],
        "rows": [{"layer": f"layer {number}", "number": number, "cells": rows[number]} for number in layers],
        "columns": [{"position": number, "token": visible(page.tokens[number])} for number in positions],
        "is_fixed": chosen is None,
        "selected": [layers.index(layer), position - page.first] if is_there else None,
    }


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
        "place": f"layer {cell['layer']}, position {cell['position']}, after {visible(cell['token'])}",
        "tokens": [[visible(token), share] for token, share in zip(cell["tokens"], cell["probabilities"], strict=True)],
        "notes": notes,
    }


@cache
def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")


def _mounted(on: Theme) -> Any:  # noqa: ANN401 - what Streamlit calls a component renderer
    css = _file("token_grid.css").replace("CONTRAST", CONTRAST[on])
    return component(f"token_grid_{on}", html='<div class="grid"></div>', css=css, js=_file("token_grid.js"))
