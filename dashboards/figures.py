"""A figure on a page: the chart, whose figure it is, the SQL behind it and its data to take along."""

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import altair as alt
import duckdb
import polars as pl
import streamlit as st

from dashboards.text import plain
from queries.sandbox import run_query

_PARAMETER = re.compile(r"\$(\w+)")


@dataclass(frozen=True)
class Data:
    """Rows of one statement, with the text that yields them again.

    Attributes:
        name: name of the statement.
        sql: the statement with its values filled in, to be run in the console.
        frame: its rows.
    """

    name: str
    sql: str
    frame: pl.DataFrame


def data_of(connection: duckdb.DuckDBPyConnection, name: str, parameters: Mapping[str, Any]) -> Data:
    """Run `dashboards/statements/NAME.sql` with values bound to its parameters."""
    text = statement(name)
    return Data(name, filled(text, parameters), run_query(connection, text, parameters))


@cache
def statement(name: str) -> str:
    """Text of `dashboards/statements/NAME.sql`."""
    return resources.files("dashboards").joinpath("statements", f"{name}.sql").read_text("utf-8").strip()


def filled(text: str, parameters: Mapping[str, Any]) -> str:
    """The statement with its parameters written out, for people to read, change and run in the console."""
    return _PARAMETER.sub(lambda found: _literal(parameters[found[1]]), text)


def show_figure(title: str, chart: alt.Chart, caption: str, data: Data) -> None:
    """Draw a chart with its caption, the SQL behind it and its data to download.

    Args:
        title: what it shows, in a few words.
        chart: the drawing.
        caption: what one sees and whose figure it is; shown as plain text.
        data: what was drawn.
    """
    st.markdown(f"**{plain(title)}**")
    st.altair_chart(chart, width="stretch", key=f"chart-{data.name}-{title}", alt=title)
    st.caption(plain(caption))
    show_source(data)


def show_source(data: Data) -> None:
    """The SQL behind something and its rows to take along, in one quiet row."""
    with st.container(horizontal=True, gap="small"):
        with st.popover("SQL behind it", type="tertiary"):
            st.code(data.sql, language="sql")
            st.page_link("views/sql.py", label="Open in the console", query_params={"query": data.sql})
        _download(data, "CSV", csv_of(data.frame))
        _download(data, "Parquet", parquet_of(data.frame))


def csv_of(frame: pl.DataFrame) -> bytes:
    """The rows as CSV; lists become JSON text, as CSV has no cells within cells."""
    flat = frame.with_columns(
        pl.format("[{}]", pl.col(name).list.eval(_json_text(pl.element())).list.join(", ")).alias(name)
        for name, dtype in frame.schema.items()
        if isinstance(dtype, pl.List)
    )
    return flat.write_csv().encode()


def parquet_of(frame: pl.DataFrame) -> bytes:
    """The rows as Parquet."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _download(data: Data, label: str, content: bytes) -> None:
    kind = label.lower()
    st.download_button(
        label,
        content,
        file_name=f"{data.name}.{kind}",
        mime={"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}[kind],
        type="tertiary",
        key=f"{kind}-{data.name}",
        on_click="ignore",
    )


def _json_text(element: pl.Expr) -> pl.Expr:
    return element.cast(pl.String)


def _literal(value: object) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return str(value)
