"""The page that asks SQL: an editor with the views beside it; what is typed is judged, and runs in its own process."""

import time

import streamlit as st

import neurothek
from dashboards import tables
from dashboards.figures import download_data
from dashboards.page import asked, heading, remember, said
from dashboards.text import columns_html, plain
from queries.asking import ask_people
from queries.views import all_views, view

FIRST_QUERY = "select model, layer, n_neurons, n_dead, n_tokens_seen\nfrom layer_activity\norder by model, layer"


def show() -> None:
    """The page from top to bottom."""
    heading("SQL")
    editor, beside = st.columns([3, 1], gap="medium")
    with beside:
        _relations()
    with editor:
        query = _editor()
        if query.strip():
            with said():
                _answer(query)


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


def _answer(query: str) -> None:
    start = time.perf_counter()
    # A page never writes, and holds no lease while the query runs: a publisher need not wait for it.
    found = ask_people(neurothek.open().warehouse, query, updates=False)
    seconds = time.perf_counter() - start
    frame = found.frame
    st.caption(f"{'truncated: the first ' if found.is_truncated else ''}{frame.height:,} rows in {seconds:.2f} s")
    st.dataframe(tables.shown(frame, keep=tuple(frame.columns)), hide_index=True, key="answer")
    download_data("answer", frame)


show()
