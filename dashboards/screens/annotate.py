"""The page on which people judge: concepts of vectors drawn blind, plausibility of lists, and the results."""

import duckdb
import streamlit as st

from neurothek.catalog.problems import NotMeasured
from neurothek.catalog.spelling import visible
from neurothek.catalog.tables.annotations import CONCEPT_CLASSES
from neurothek.dashboards.parts import annotating
from neurothek.dashboards.parts.annotating import Concept, judge_plausibility, plausible_shares
from neurothek.dashboards.parts.concepts import results
from neurothek.dashboards.widgets.address import address_value, asked_number, remember
from neurothek.dashboards.widgets.html import concept_html, plain
from neurothek.dashboards.widgets.memory import cached_answer
from neurothek.dashboards.widgets.page import answer, heading, missing
from neurothek.dashboards.widgets.pickers import pick_model
from neurothek.queries.annotate.sample import Sample, Vector, draw_sample

JUDGE, LISTS, RESULTS = "Judge", "Plausibility", "Results"
N_EXAMPLES = 8
"""Vectors that are shown before anybody gave a name."""

LAST_SEED = 10**9 - 1

# Tokens in columns, one width each; a list of thirty fits without scrolling.
_STYLE = """
<style>
.st-key-shown [role="toolbar"] {
  display: grid; grid-template-columns: repeat(6, minmax(0, 1fr)); gap: 0.35rem;
}
.st-key-shown button { justify-content: flex-start; width: 100%; border-radius: 0.4rem; min-width: 0; }
.st-key-shown button > div { justify-content: flex-start; min-width: 0; }
.st-key-shown button p { font-family: monospace; font-size: 0.95rem; text-align: left; }
@media (max-width: 1000px) { .st-key-shown [role="toolbar"] { grid-template-columns: repeat(5, minmax(0, 1fr)); } }
@media (max-width: 640px) { .st-key-shown [role="toolbar"] { grid-template-columns: repeat(3, minmax(0, 1fr)); } }
</style>
"""


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page below its title, from top to bottom."""
    model, annotator, seed, part = _pick(connection)
    if part == RESULTS:
        results(connection, model)
        plausible_shares(connection, model)
        return
    if part == LISTS:
        judge_plausibility(connection, model, annotator, seed)
        return
    try:
        sample = cached_answer(connection, _draw, model, seed)
    except NotMeasured as error:
        if "controls" not in error.jobs:
            raise
        missing(
            connection,
            "Neurons are judged among random vectors and FFN updates, which have not been measured for this model yet.",
            [model],
            jobs=("projections", "controls"),
        )
        return
    if not annotator:
        st.info("Enter your name above: it is saved with your annotations, and you can continue where you stopped.")
        _explain(sample)
        titles = (f"Vector {number} of {len(sample.vectors)}" for number in range(1, 1 + N_EXAMPLES))
        annotating.show_unjudged({title: one.tokens for title, one in zip(titles, sample.vectors, strict=False)})
        return
    _judge(connection, annotating.place_of(connection, sample, annotator))


def _draw(connection: duckdb.DuckDBPyConnection, model: str, seed: int) -> Sample:
    return draw_sample(connection, model, seed=seed)


def _pick(connection: duckdb.DuckDBPyConnection) -> tuple[str, str, int, str]:
    """Model, annotator, seed of the sample, and which part of the page."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width=360):
            model = pick_model(connection, is_labelled=True).name
        name = address_value("annotator") or ""
        annotator = st.text_input("Your name", name, key="annotator", max_chars=200, width=260).strip()
        seed = st.number_input(
            "Seed",
            0,
            LAST_SEED,
            asked_number("seed", most=LAST_SEED) or 0,
            key="seed",
            help="Another seed draws another sample.",
            width=140,
        )
        parts = (JUDGE, LISTS, RESULTS)
        default = next((name for name in parts if address_value("part") == name.lower()), JUDGE)
        part = st.segmented_control("Part", parts, default=default, key="part", label_visibility="collapsed") or JUDGE
    remember(
        annotator=annotator or None,
        seed=str(seed) if seed else None,
        part=None if part == JUDGE else part.lower(),
    )
    return model, annotator, int(seed), part


def _explain(sample: Sample) -> None:
    st.caption(
        f"{len(sample.vectors)} vectors: neurons of every layer, random vectors and outputs of whole FFNs, in an order "
        "that does not reveal which is which: what people see in random vectors is the measure for what they see in "
        "neurons. Mark at least 4 of the 30 highest tokens that follow a pattern, name it and choose its class; or "
        "choose No concept. Geva et al. 2022, section 4."
    )


def _judge(connection: duckdb.DuckDBPyConnection, place: annotating.Place) -> None:
    n_done, n = len(place.judged), len(place.sample.vectors)
    st.progress(n_done / n, f"{n_done} of {n} vectors judged")
    vector = place.vector
    if vector is None:
        st.success("All vectors of this sample are judged. Another seed draws another sample.")
        first = place.sample.vectors[0].handle
        st.button("Go through them again", on_click=remember, kwargs={"vector": first})
        return
    draft = annotating.open_draft(connection, place)
    number = 1 + place.sample.vectors.index(vector)
    again = " You have already judged it: saving replaces that judgement." if vector.handle in place.judged else ""
    st.markdown(f"**Vector {number} of {n}.**{again} Which of its tokens follow a pattern?")
    st.html(_STYLE)
    # A form sends all that stands in it with every button: nothing typed is lost to a quick click.
    with st.form("judgement", border=False):
        _tokens(place, vector)
        for at, concept in enumerate(draft.concepts):
            _finished(place, concept, at)
        _name(place)
        _buttons(place)
    if not place.judged:
        _explain(place.sample)


def _say_what_happened() -> None:
    problem = st.session_state.pop(annotating.PROBLEM, None)
    if problem:
        st.error(plain(problem))


def _tokens(place: annotating.Place, vector: Vector) -> None:
    """The tokens with their ranks, to be clicked; arrow keys go from one to the next, Space marks."""
    ranks = range(1, len(vector.tokens) + 1)
    with st.container(key="shown"):
        st.pills(
            "Tokens",
            ranks,
            selection_mode="multi",
            format_func=lambda rank: f":gray[{rank}] {plain(visible(vector.tokens[rank - 1]))}",
            key=annotating.key("marks", place),
            label_visibility="collapsed",
            width="stretch",
        )


def _finished(place: annotating.Place, concept: Concept, at: int) -> None:
    vector = place.vector
    assert vector is not None
    tokens = [vector.tokens[rank - 1] for rank in concept.ranks]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(concept_html(concept.name, concept.concept_class, tokens), width="content")
        st.form_submit_button(
            "Change",
            key=f"change-{vector.handle}-{at}",
            type="tertiary",
            on_click=annotating.take_back,
            args=(place, at),
        )


def _name(place: annotating.Place) -> None:
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    left.text_input(
        "Concept", key=annotating.key("name", place), placeholder="what the tokens have in common", max_chars=200
    )
    right.segmented_control("Class", CONCEPT_CLASSES, key=annotating.key("class", place))


def _buttons(place: annotating.Place) -> None:
    with st.container(horizontal=True, gap="small"):
        button = st.form_submit_button
        button("Save", type="primary", shortcut="Ctrl+S", on_click=annotating.save_draft, args=(place,))
        button("No concept", shortcut="Alt+N", on_click=annotating.save_none, args=(place,))
        button("Another concept", shortcut="Alt+A", on_click=annotating.begin_another, args=(place,))
        button("Clear the fields", shortcut="Alt+E", on_click=annotating.drop, args=(place,))
        button("Previous", shortcut="Alt+Up", on_click=annotating.go, args=(place, -1))
        button("Skip", shortcut="Alt+Down", on_click=annotating.go, args=(place, 1))


heading("Annotate")
# Before the lease: where another process holds the warehouse, a person need not wait for the page to hear of it.
_say_what_happened()
answer(show)
