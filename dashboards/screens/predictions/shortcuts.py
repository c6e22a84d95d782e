"""The page of one model's linear shortcuts: how linear it is between states, what they predict, what exits save."""

from collections.abc import Sequence

import duckdb
import streamlit as st

from neurothek.dashboards.parts import exits, shortcuts
from neurothek.dashboards.widgets.address import asked_among, kept_model, own_key, remember
from neurothek.dashboards.widgets.figures import data_of_models
from neurothek.dashboards.widgets.html import SHEET, plain
from neurothek.dashboards.widgets.links import link_html
from neurothek.dashboards.widgets.page import answer, heading, missing, show_preview
from neurothek.dashboards.widgets.pickers import ALONE, pick_corpus
from neurothek.dashboards.widgets.reading import Reading
from neurothek.queries.names.models import KnownModel, choose_models


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Shortcuts")
    models = {model.name: model for model in choose_models(connection)}
    measured = shortcuts.measured(connection, list(models))
    model = models[_pick(list(models), measured)]
    if measured and model.name not in measured:
        usual = link_html(measured[-1], "shortcuts", model=measured[-1])
        st.html(f"{SHEET}<div>The largest model that has shortcuts is {usual}.</div>")
    with Reading(connection, [model.name], pick_corpus(connection, [model.name], width=300)) as reader:
        _show(reader, model.name, shortcuts.sizes_beside(model, [models[name] for name in measured]))


def _show(reader: Reading, model: str, sizes: Sequence[KnownModel]) -> None:
    rows = data_of_models(reader, "shortcut_quality", [model], "method", "state").frame
    if rows.is_empty():
        missing(
            reader.shown_connection,
            f"No linear shortcuts have been fitted to {model} yet.",
            [model],
            jobs=("shortcuts",),
            corpus=reader.corpus,
        )
        show_preview("shortcuts")
        return
    st.markdown(plain(shortcuts.shortcuts_sentence(rows, model)))
    shortcuts.say_undetermined(reader, [model])
    if len(sizes) > 1:
        # The models that Compare shows by itself need no name in its address.
        names = ",".join(size.name for size in sizes) if any(size.variant for size in sizes) else ""
        beside = link_html("Compare with other sizes", "compare", anchor=shortcuts.BESIDE_OTHERS, models=names)
        st.html(f"{SHEET}{beside}")
    shortcuts.heat_maps(reader, model)
    st.header("Predictions from each state", anchor=False)
    shortcuts.shortcuts_of_model(reader, model)
    st.header("Replacing parts of its blocks", anchor=False)
    shortcuts.parts(reader, model)
    st.header("Early exit", anchor=False)
    exits.exits_of_model(reader, model)


def _pick(names: Sequence[str], measured: Sequence[str]) -> str:
    """The model of the address or of the page before, else the largest of those whose shortcuts were fitted."""
    previous = kept_model()
    is_other = previous is not None and previous not in measured
    usual = measured[-1] if measured else names[0]
    named = asked_among("model", names)
    chosen = named or (previous if previous in measured else usual)
    index = names.index(chosen)
    key = own_key("model")
    name = st.selectbox("Model", names, index=index, key=key, label_visibility="collapsed", width=ALONE)
    if measured and is_other and name == usual and named is None:
        st.caption(plain(f"{previous} has no shortcuts yet: this is {usual}, the largest model that has them."))
    remember(model=name)
    return name


answer(show)
