"""Judging lists of next tokens on a page: one list at a time, two buttons, and the shares that came out."""

import duckdb
import streamlit as st

from neurothek.catalog.problems import NotMeasured
from neurothek.catalog.spelling import visible
from neurothek.dashboards.parts.annotating.judging import PROBLEM, save_annotations
from neurothek.dashboards.session import desk
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.figures import data_of, show_source
from neurothek.dashboards.widgets.html import plain
from neurothek.dashboards.widgets.page import missing
from neurothek.queries.annotate.lists import ListSample, draw_lists, lists_left

EXPLAINED = (
    "Sentences with the five tokens that a linear shortcut puts first, from some state and by one of two methods; "
    "neither is told. A list is plausible if at least one of its tokens is a plausible continuation (after Din et al. "
    "2023)."
)
SHARES = (
    "Share of lists that are plausible, with Wilson's 95% interval, beside precision@1 of the same shortcut. After Din "
    "et al. 2023."
)


def judge_plausibility(connection: duckdb.DuckDBPyConnection, model: str, annotator: str, seed: int) -> None:
    """The next list that the annotator has not judged, with its two buttons."""
    try:
        sample = draw_lists(connection, model, seed=seed)
    except NotMeasured as error:
        if "shortcuts" not in error.jobs:
            raise
        text = "Lists of next tokens come from linear shortcuts, which this model does not have yet."
        missing(connection, text, [model], jobs=("shortcuts",))
        return
    if not annotator:
        st.info("Enter your name above: it is saved with your judgements, and you can continue where you stopped.")
        st.caption(EXPLAINED)
        return
    left, n = lists_left(connection, sample, annotator).lists, len(sample.lists)
    st.progress(1 - len(left) / n, f"{n - len(left)} of {n} lists judged")
    if not left:
        st.success("All lists of this sample are judged. Another seed draws another sample.")
        return
    listed = left[0]
    st.markdown(f"{plain(listed.text)} **...**")
    st.markdown("\n".join(f"{rank}. {plain(visible(token))}" for rank, token in enumerate(listed.tokens, start=1)))
    with st.container(horizontal=True, gap="small"):
        for label, shortcut, is_plausible in (("Plausible", "Y", True), ("Not plausible", "N", False)):
            st.button(
                label,
                key=f"{label}-{listed.handle}",
                shortcut=shortcut,
                on_click=_save,
                args=(sample, listed.handle, annotator, is_plausible),
            )
    st.caption(EXPLAINED)


def plausible_shares(connection: duckdb.DuckDBPyConnection, model: str) -> None:
    """The shares by method and state, where anybody judged lists of the model."""
    data = data_of(connection, "plausible_shares", {"model": model})
    if data.frame.is_empty():
        return
    st.subheader("Plausible lists", anchor=False)
    tables.show_table(data.frame, key="plausible")
    st.caption(SHARES)
    show_source(data)


def _save(sample: ListSample, handle: str, annotator: str, is_plausible: bool) -> None:
    said = {"model": sample.model.name, "item": handle, "annotator": annotator, "plausible": is_plausible}
    problem = save_annotations(desk().warehouse.path, [said])
    if problem is not None:
        st.session_state[PROBLEM] = f"Nothing was saved: {problem}."
