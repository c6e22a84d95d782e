"""The page of interventions: what models lose, and write, when some of their neurons are changed."""

from collections.abc import Sequence

import duckdb
import streamlit as st

from neurothek.dashboards.parts import interventions
from neurothek.dashboards.widgets.address import asked_among, remember
from neurothek.dashboards.widgets.html import plain
from neurothek.dashboards.widgets.page import answer, heading, show_preview
from neurothek.dashboards.widgets.pickers import ALONE, pick_corpus, pick_models
from neurothek.dashboards.widgets.reading import Reading
from neurothek.dashboards.widgets.tables import table_key


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Interventions")
    names = pick_models(connection)
    with Reading(connection, names, pick_corpus(connection, names, width=300)) as reader:
        _show(reader, names)


def _show(reader: Reading, names: Sequence[str]) -> None:
    changed = interventions.changed(reader, names)
    if not changed:
        show_preview("interventions")
        return
    interventions.worth(reader, names)
    if absent := [name for name in names if name not in changed]:
        st.caption(plain(f"No interventions have been run on {' and '.join(absent)}."))
    model = changed[-1]
    if len(changed) > 1:
        st.header("One model", anchor=False)
        model = _pick("model", "Model", changed, len(changed) - 1)
    effects = interventions.effects_of_model(reader, model)
    if effects:
        st.header("One intervention", anchor=False)
        intervention = _pick("intervention", "Intervention", effects, 0)
        left, right = st.columns(2, gap="medium")
        with left:
            interventions.places(reader, model, intervention)
        with right:
            interventions.shares_of_continuations(reader, model, intervention)
        interventions.written(reader, model, intervention)
    interventions.single_neurons(reader, model)


def _pick(name: str, label: str, names: Sequence[str], usual: int) -> str:
    """One of several, which the address names."""
    chosen = asked_among(name, names, is_silent=name == "model")
    index = usual if chosen is None else names.index(chosen)
    # What was picked of another model is not picked of this one.
    key = table_key(name, names) if name == "intervention" else name
    picked = st.selectbox(plain(label), names, index=index, key=key, label_visibility="collapsed", width=ALONE)
    remember(**{name: picked})
    return picked


answer(show)
