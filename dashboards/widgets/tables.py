"""How frames look on a page: as tables that one reads and sorts, or that lead to neurons."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
import streamlit as st

from neurothek.catalog.spelling import visible, visible_list
from neurothek.catalog.terminal.cells import MISSING
from neurothek.catalog.terminal.kinds import TOKENS
from neurothek.dashboards.addresses import script_of
from neurothek.dashboards.widgets.columns import columns, in_percent, shares

_MOST_ROWS_WHOLE = 15
"""A longer table scrolls."""

_ROW, _EDGES = 31, 3
"""Pixels of a row, of the names above as well, at the size of letters that the server asks for."""


def show_table(frame: pl.DataFrame, *, key: str) -> None:
    """Draw a table that one reads and sorts."""
    st.dataframe(
        with_percents(frame),
        column_config=columns(),
        hide_index=True,
        key=key,
        height=whole_height(frame) or "auto",
        placeholder=MISSING,
    )


def link_to_neurons(neurons: pl.DataFrame, shown_columns: Sequence[str], *, key: str, height: int) -> None:
    """Draw a table of neurons, of which a click on any row opens the neuron's page.

    Its addresses look like links; in the dashboard's shell they lead to the neuron, too.

    Args:
        neurons: rows with an address.
        shown_columns: the columns to draw.
        key: a name of its own on the page.
        height: of a table too long to be drawn whole, in pixels.
    """
    picked = st.dataframe(
        with_percents(shown(neurons.select(shown_columns))),
        column_config=columns(),
        hide_index=True,
        placeholder=MISSING,
        key=table_key(key, neurons.get_column("address")),
        on_select="rerun",
        selection_mode=["single-row", "single-cell"],
        height=whole_height(neurons) or height,
    )
    st.caption("Click a row to open its neuron, the name of a column to sort by it.")
    place = chosen_row(picked.selection)
    # A choice may be older than the rows it was made among.
    if place is not None and place < neurons.height:
        address = neurons.get_column("address")[place]
        # Streamlit writes the new parameters into this page's address before it leaves: without those that are there
        # the browser's way back would lead to this page as if nothing had been asked.
        st.switch_page(script_of("neuron"), query_params={**st.query_params.to_dict(), "neuron": address})


def table_key(key: str, addresses: Iterable[str]) -> str:
    """A name that a table of neurons has for these rows alone.

    What was chosen among other rows is not chosen among them: two neurons that are each other's nearest would lead to
    one another without end. And the first click on rows that took the place of others would not count.
    """
    return f"{key}-{zlib.crc32(chr(10).join(addresses).encode())}"


def whole_height(frame: pl.DataFrame) -> int | None:
    """Pixels of the whole table, which the page keeps free before it is drawn; None for one that scrolls."""
    return _ROW * (frame.height + 1) + _EDGES if frame.height <= _MOST_ROWS_WHOLE else None


def chosen_row(selection: Mapping[str, Any]) -> int | None:
    """The row of a table that a person clicked, in its box or anywhere; None if none."""
    if selection["rows"]:
        return int(selection["rows"][0])
    cells = selection.get("cells") or []
    return int(cells[0][0]) if cells else None


def shown(frame: pl.DataFrame, *, keep: tuple[str, ...] = ()) -> pl.DataFrame:
    """The frame without columns that are all unknown (except `keep`), its tokens with their white space marked."""
    known = [name for name in frame.columns if name in keep or frame.get_column(name).null_count() < frame.height]
    return frame.select(marked(name, frame.schema[name]) for name in known)


def with_percents(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with its shares in percent, under names that say so."""
    known = shares()
    return frame.select(
        (100 * pl.col(name)).alias(in_percent(name)) if name in known else pl.col(name) for name in frame.columns
    )


def plain_numbers(frame: pl.DataFrame) -> dict[str, Any]:
    """How columns of any query's answer are shown: fractions to six digits, however small they are."""
    return {
        name: st.column_config.NumberColumn(format="%.6g") for name, dtype in frame.schema.items() if dtype.is_float()
    }


def marked(name: str, dtype: pl.DataType) -> pl.Expr:
    """A column as it is shown: that of tokens as text with their white space marked."""
    if name not in TOKENS:
        return pl.col(name)
    if isinstance(dtype, pl.List):
        return pl.col(name).map_elements(visible_list, return_dtype=pl.String)
    return pl.col(name).map_elements(visible, return_dtype=pl.String) if dtype == pl.String else pl.col(name)
