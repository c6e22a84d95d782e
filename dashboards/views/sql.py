"""The page that asks SQL: an editor with the views beside it; what is typed goes through the gate."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import duckdb
import streamlit as st

from dashboards import tables
from dashboards.figures import csv_of, parquet_of
from dashboards.page import answer, asked, heading, remember
from dashboards.text import columns_html, plain
from queries.sandbox import run_query
from queries.views import all_views, view

FIRST_QUERY = "select model, layer, n_neurons, n_dead, n_tokens_seen\nfrom layer_activity\norder by model, layer"
# More rows are not brought to the page; the command line prints all.
MOST_ROWS = 10_000

MOST_SECONDS = 30.0


def show() -> None:
    """The page from top to bottom."""
    heading("SQL")
    editor, beside = st.columns([3, 1], gap="medium")
    with beside:
        _relations()
    with editor:
        query = _editor()
        if query.strip():
            answer(partial(_answer, query))


def _editor() -> str:
    st.session_state.setdefault("query", asked("query") or FIRST_QUERY)
    with st.form("editor", border=False):
        query = st.text_area("Query", key="query", height=200, label_visibility="collapsed")
        st.form_submit_button("Run", type="primary")
    remember(query=query)
    return query


def _relations() -> None:
    name = st.selectbox("View", sorted(all_views()), index=sorted(all_views()).index("neurons"), key="view")
    st.caption(plain(view(name).grain))
    st.button("Ask for its first rows", on_click=_ask_for, args=(name,))
    with st.container(height=420, border=False):
        st.html(columns_html(view(name).columns))


def _ask_for(name: str) -> None:
    st.session_state["query"] = f"from {name}\nlimit 100"


def _answer(query: str, connection: duckdb.DuckDBPyConnection) -> None:
    start = time.perf_counter()
    with at_most(connection, MOST_SECONDS):
        frame = run_query(connection, query, most_rows=MOST_ROWS + 1)
    seconds = time.perf_counter() - start
    cut = frame.height > MOST_ROWS
    frame = frame.head(MOST_ROWS)
    st.caption(f"{'the first ' if cut else ''}{frame.height:,} rows in {seconds:.2f} s")
    st.dataframe(tables.shown(frame, keep=tuple(frame.columns)), hide_index=True, key="answer")
    with st.container(horizontal=True):
        st.download_button("CSV", csv_of(frame), "answer.csv", "text/csv", type="tertiary", on_click="ignore")
        st.download_button("Parquet", parquet_of(frame), "answer.parquet", type="tertiary", on_click="ignore")


@contextmanager
def at_most(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
    """Interrupt what the connection does after some time: a page may not hold its lease for longer."""
    timer = threading.Timer(seconds, connection.interrupt)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


show()
