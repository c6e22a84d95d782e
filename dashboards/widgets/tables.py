"""How frames look on a page: as tables that one reads and sorts, or that lead to neurons."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import polars as pl
import streamlit as st

from neurothek.catalog.spelling import visible
from neurothek.catalog.terminal.cells import MISSING, TOKENS
from neurothek.dashboards.addresses import script_of
from neurothek.dashboards.widgets.columns import (
    ADDRESS_WITHIN_MODEL,
    IN_PERCENT,
    Frequency,
    columns,
    in_percent,
    shares,
)

_MOST_ROWS_WHOLE = 15
"""A longer table scrolls."""

_LETTERS = 38
"""Of a list of tokens in a row; a cell cuts what has no room in the middle of a word."""

_MODEL = "^(.*)/"
"""Of an address, what is before the neuron's layer and number."""

_FEW_COLUMNS = 3
"""A table of so few is as wide as they are: a line's width would set them far apart."""

_ROW, _EDGES = 31, 3
"""Pixels of a row, of the names above as well, at the size of letters that the server asks for."""


def show_table(frame: pl.DataFrame, *, key: str, frequency: Frequency = "frequency") -> None:
    """Draw a table that one reads and sorts; `frequency` is what its column of that name is called."""
    st.dataframe(
        with_percents(with_words(frame)),
        column_config=columns(frequency),
        hide_index=True,
        key=key,
        height=whole_height(frame) or "auto",
        placeholder=MISSING,
    )


def link_to_neurons(
    neurons: pl.DataFrame,
    shown_columns: Sequence[str],
    *,
    key: str,
    height: int,
    frequency: Frequency = "frequency",
) -> None:
    """Draw a table of neurons, of which a click on any row opens the neuron's page.

    Its addresses look like links; in the dashboard's shell they lead to the neuron, too. The page names the model
    where all are of one.

    Args:
        neurons: rows with an address.
        shown_columns: the columns to draw.
        key: a name of its own on the page.
        height: of a table too long to be drawn whole, in pixels.
        frequency: what the column of that name is called.
    """
    rows, alike = without_equal_shares(readable_columns(neurons.select(shown_columns)), frequency)
    is_of_one = neurons.get_column("address").str.extract(_MODEL).n_unique() == 1
    picked = st.dataframe(
        with_percents(with_words(rows)),
        column_config=columns(frequency) | ({"address": ADDRESS_WITHIN_MODEL} if is_of_one else {}),
        hide_index=True,
        placeholder=MISSING,
        key=table_key(key, neurons.get_column("address")),
        on_select="rerun",
        selection_mode="single-cell",
        height=whole_height(neurons) or height,
        width="stretch" if rows.width > _FEW_COLUMNS else "content",
    )
    st.caption(" ".join([*alike, "Click a row to open its neuron, the name of a column to sort by it."]))
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
    """The row of a table that a person clicked, in whatever column; None if none."""
    cells = selection.get("cells") or []
    return int(cells[0][0]) if cells else None


def readable_columns(
    frame: pl.DataFrame, *, keep: tuple[str, ...] = (), letters: int | None = _LETTERS
) -> pl.DataFrame:
    """The frame without columns that say nothing in any row (but for `keep`), tokens with their white space marked.

    Args:
        frame: the rows.
        keep: columns that stay whatever they hold.
        letters: what a list of tokens may take, see `listed`; None: without end.
    """
    names = [name for name in frame.columns if name in keep or not _is_empty(frame.get_column(name))]
    return frame.select(marked(name, frame.schema[name], letters=letters) for name in names)


def without_equal_shares(frame: pl.DataFrame, frequency: Frequency = "frequency") -> tuple[pl.DataFrame, list[str]]:
    """The frame without shares that read the same in all of its rows, and a sentence on each of them.

    Args:
        frame: the rows; one alone is left as it is.
        frequency: what the column of that name is called.
    """
    alike = [name for name in frame.columns if name in shares() and frame.height > 1 and _reads_alike(frame[name])]
    labels = columns(frequency)
    sentences = [
        f"{labels[in_percent(name)]['label'].capitalize()}: {IN_PERCENT % (100 * frame[name][0])} in every row."
        for name in alike
    ]
    return frame.drop(alike), sentences


def _reads_alike(column: pl.Series) -> bool:
    return column.null_count() == 0 and len({IN_PERCENT % (100 * share) for share in column}) == 1


def listed(tokens: Sequence[str], letters: int | None) -> str:
    """Tokens with their white space marked, as many whole ones as have room; dots where others follow.

    Args:
        tokens: the tokens.
        letters: what they may take with the blanks between them; the first stands there whatever it takes. None:
            without end.
    """
    texts = [visible(token) for token in tokens]
    ends = accumulate(len(token) + 1 for token in texts)
    n = sum(end - 1 <= letters for end in ends) if letters is not None else len(texts)
    return " ".join(texts) if n >= len(texts) else " ".join([*texts[: max(1, n)], "…"])


def _is_empty(column: pl.Series) -> bool:
    n_empty = int((column == "").sum()) if column.dtype == pl.String else 0
    return column.null_count() + n_empty == len(column)


def with_words(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with yes or no for what is true or not: boxes would look as if they could be ticked."""
    return frame.with_columns(
        pl.when(column).then(pl.lit("yes")).when(~column).then(pl.lit("no")).alias(name)
        for name, dtype in frame.schema.items()
        if dtype == pl.Boolean
        for column in (pl.col(name),)
    )


def with_percents(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with its shares in percent, under names that say so."""
    share_names = shares()
    return frame.select(
        (100 * pl.col(name)).alias(in_percent(name)) if name in share_names else pl.col(name) for name in frame.columns
    )


def plain_numbers(frame: pl.DataFrame) -> dict[str, Any]:
    """How columns of any query's answer are shown: fractions to six digits, however small they are."""
    return {
        name: st.column_config.NumberColumn(format="%.6g") for name, dtype in frame.schema.items() if dtype.is_float()
    }


def marked(name: str, dtype: pl.DataType, *, letters: int | None = None) -> pl.Expr:
    """A column as it is shown: that of tokens as text with their white space marked, see `listed`."""
    if name not in TOKENS:
        return pl.col(name)
    if isinstance(dtype, pl.List):
        return pl.col(name).map_elements(lambda tokens: listed(tokens, letters), return_dtype=pl.String)
    return pl.col(name).map_elements(visible, return_dtype=pl.String) if dtype == pl.String else pl.col(name)
