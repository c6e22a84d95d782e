"""The page of linear shortcuts: how linear models are between states, what states predict, what exits save."""

from collections.abc import Sequence

import duckdb
import streamlit as st

from dashboards.charts.models import Look
from dashboards.colours import model_colours
from dashboards.parts import exits, shortcuts
from dashboards.widgets.address import asked_among, remember
from dashboards.widgets.figures import data_of_models
from dashboards.widgets.html import legend_html, plain
from dashboards.widgets.page import Theme, answer, heading, theme
from dashboards.widgets.pickers import pick_corpus, pick_models
from dashboards.widgets.preview import show_preview
from dashboards.widgets.reading import Reading
from queries.names.models import choose_models


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Shortcuts")
    everything = [model.name for model in choose_models(connection)]
    names = pick_models(connection)
    with Reading(connection, names, pick_corpus(connection, names, width=300)) as reader:
        _show(reader, everything, names)


def _show(reader: Reading, everything: Sequence[str], names: Sequence[str]) -> None:
    measured = shortcuts.measured(reader, names)

    def look(theme: Theme) -> Look:
        return Look(model_colours(everything, theme=theme), {})

    if measured:
        rows = data_of_models(reader, "shortcut_quality", names, "method", "state").frame
        st.markdown(plain(shortcuts.told_shortcuts(rows, measured[-1])))
        colours = look(theme()).colours
        st.html(legend_html({name: colours[name] for name in measured}, are_models=True))
    shortcuts.compare_shortcuts(reader, names, look)
    if not measured:
        show_preview("shortcuts")
        return
    model = _pick(measured)
    shortcuts.heat_maps(reader, model)
    st.subheader("What it predicts from each state", anchor=False)
    shortcuts.shortcuts_of_model(reader, model)
    st.subheader("Replacing parts of its blocks", anchor=False)
    shortcuts.parts(reader, model)
    st.subheader("Leaving it early", anchor=False)
    exits.exits_of_model(reader, model)


def _pick(measured: list[str]) -> str:
    """The model that the rest of the page is about, the largest unless the address names another."""
    st.subheader("One model from state to state", anchor=False)
    wanted = asked_among("model", measured, is_silent=True)
    index = len(measured) - 1 if wanted is None else measured.index(wanted)
    model = st.selectbox("Model", measured, index=index, key="model", label_visibility="collapsed", width=300)
    remember(model=model)
    return model


answer(show)
