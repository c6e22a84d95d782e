"""The page of linear shortcuts: how linear models are between their states, what they say there, what exits save."""

from collections.abc import Sequence

import duckdb
import streamlit as st

from dashboards import exit_figures, shortcut_figures
from dashboards.colours import model_colours
from dashboards.looks import Look
from dashboards.page import Theme, answer, asked_among, heading, pick_corpus, pick_models, remember, theme
from dashboards.reading import Reading
from dashboards.text import legend_html
from queries.names.models import choose_models


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Shortcuts")
    everything = [model.name for model in choose_models(connection)]
    names = pick_models(connection)
    with Reading(connection, names, pick_corpus(connection, names, width=300)) as reader:
        _show(reader, everything, names)


def _show(reader: Reading, everything: Sequence[str], names: Sequence[str]) -> None:
    measured = shortcut_figures.measured(reader, names)

    def look(theme: Theme) -> Look:
        return Look(model_colours(everything, theme=theme), {})

    if measured:
        colours = look(theme()).colours
        st.html(legend_html({name: colours[name] for name in measured}))
    shortcut_figures.compared(reader, names, look)
    if not measured:
        return
    model = _pick(measured)
    shortcut_figures.heat_maps(reader, model)
    st.subheader("What it says from each state", anchor=False)
    shortcut_figures.of_model(reader, model)
    st.subheader("Parts of its blocks replaced", anchor=False)
    shortcut_figures.parts(reader, model)
    st.subheader("Leaving it early", anchor=False)
    exit_figures.of_model(reader, model)


def _pick(measured: list[str]) -> str:
    """The model that the rest of the page is about, the largest unless the address names another."""
    st.subheader("One model from state to state", anchor=False)
    wanted = asked_among("model", measured, is_silent=True)
    index = len(measured) - 1 if wanted is None else measured.index(wanted)
    model = st.selectbox("Model", measured, index=index, key="model", label_visibility="collapsed", width=300)
    remember(model=model)
    return model


answer(show)
