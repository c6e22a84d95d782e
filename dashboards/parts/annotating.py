"""The state of the page on which people annotate: where they are, what they have written, and how it is saved."""

import html
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
import streamlit as st

from neurothek.catalog.advice import about
from neurothek.catalog.problems import Busy, NeurothekError, NotMeasured
from neurothek.catalog.spelling import visible
from neurothek.catalog.tables.annotations import LEAST_MARKED
from neurothek.dashboards.parts.token_cards import STYLE, card_html
from neurothek.dashboards.session import backend
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.address import address_value, remember
from neurothek.dashboards.widgets.figures import data_of_query, show_source
from neurothek.dashboards.widgets.html import plain
from neurothek.dashboards.widgets.page import missing
from neurothek.queries.annotate.lists import ListSample, draw_lists, lists_left
from neurothek.queries.annotate.sample import Sample, Vector, judged

_OWN_ANNOTATIONS = """\
-- What one annotator says about vectors of one model.
select
    own.condition, own.layer, coalesce(own.neuron, own.control_id) as number, stored.shown_token_ids,
    own.concept, own.class, own.token_ids,
from annotations as own
inner join store.annotations as stored on stored.annotation_id = own.annotation_id
where own.model = $model and own.annotator = $annotator and own.is_latest
order by own.created_at, own.concept"""

_PLAUSIBLE_SHARES = """\
-- How many lists of each shortcut of one model are plausible, as each annotator and all together say.
select
    method,
    state,
    annotator,
    n,
    plausible_share,
    plausible_share_low,
    plausible_share_high,
    precision_1,
    precision_1_gain,
from plausibility
where model = $model
order by method, state, annotator <> 'all', annotator"""


@dataclass(frozen=True)
class Concept:
    """A pattern in the tokens of a vector."""

    name: str = ""  # its name, in the annotator's words
    concept_class: str | None = None  # its class; None before it is chosen
    ranks: tuple[int, ...] = ()  # of the marked tokens in the list shown, from 1, in order

    @property
    def is_begun(self) -> bool:
        """Whether anything of it is there."""
        return bool(self.name.strip() or self.ranks)

    def problem(self) -> str | None:
        """What is missing, in a sentence; None if nothing is."""
        if len(self.ranks) < LEAST_MARKED:
            marked = {0: "no token is", 1: "one token is"}.get(len(self.ranks), f"{len(self.ranks)} tokens are")
            return f"{marked} marked, but a concept needs {LEAST_MARKED}: mark more, or choose No concept"
        if not self.name.strip():
            return "the concept has no name: write what its tokens have in common"
        if self.concept_class is None:
            return "the concept has no class: choose one of the four"
        return None


@dataclass(frozen=True)
class Draft:
    """What an annotator says of one vector."""

    concepts: tuple[Concept, ...] = ()  # those that are finished
    pending: Concept = field(default_factory=Concept)  # the one being marked
    turn: int = 0  # how many concepts were begun, so that each has fields of its own

    def finished(self) -> "Draft":
        """The draft with the pending concept among the others, where one was begun."""
        if not self.pending.is_begun:
            return self
        return Draft((*self.concepts, self.pending), turn=self.turn + 1)

    def problem(self) -> str | None:
        """Why it cannot be saved, in a sentence; None if it can."""
        if not self.concepts or self.pending.is_begun:
            return self.pending.problem()
        return None

    def annotations(self, vector: Mapping[str, str]) -> list[dict[str, Any]]:
        """The annotations to be saved, as `neurothek annotate --stdin` takes them.

        Args:
            vector: the fields that name the vector and its annotator.
        """
        return [
            {**vector, "concept": one.name.strip(), "class": one.concept_class, "ranks": list(one.ranks)}
            for one in self.finished().concepts
        ]


def no_concept(vector: Mapping[str, str]) -> list[dict[str, Any]]:
    """The annotation that says that there is none."""
    return [{**vector, "concept": None}]


PROBLEM = "annotating_problem"
"""Entry of the session with why something was not done, until it is shown."""

_DRAFTS = "annotating_drafts"


@dataclass(frozen=True)
class Place:
    """Where an annotator is."""

    sample: Sample  # what is to be judged
    annotator: str  # who judges
    judged: frozenset[str]  # handles of what they have judged
    vector: Vector | None  # the vector they look at; None when all are judged

    @property
    def handle(self) -> str:
        """Name of the vector that they look at."""
        assert self.vector is not None
        return self.vector.handle


def place_of(connection: duckdb.DuckDBPyConnection, sample: Sample, annotator: str) -> Place:
    """The vector that the address names, else the first that is not judged."""
    done = judged(connection, sample, annotator)
    vector = sample.by_handle.get(address_value("vector") or "")
    if vector is None:
        vector = next((one for one in sample.vectors if one.handle not in done), None)
    remember(vector=None if vector is None else vector.handle)
    return Place(sample, annotator, done, vector)


def open_draft(connection: duckdb.DuckDBPyConnection, place: Place) -> Draft:
    """What was written of the vector so far in this session, else what was saved; fills the page's fields."""
    if _which(place) not in _drafts():
        _drafts()[_which(place)] = Draft(_saved(connection, place) if place.handle in place.judged else ())
    draft = _drafts()[_which(place)]
    # Streamlit forgets the fields of vectors that are not on the page.
    if key("marks", place) not in st.session_state:
        st.session_state[key("marks", place)] = list(draft.pending.ranks)
        st.session_state[key("name", place)] = draft.pending.name
        st.session_state[key("class", place)] = draft.pending.concept_class
    return draft


def begin_another(place: Place) -> None:
    """Put the concept that was being marked among the finished ones."""
    draft = _current(place)
    problem = draft.pending.problem()
    if problem is not None:
        _hold_back(problem)
        return
    _drafts()[_which(place)] = draft.finished()


def take_back(place: Place, at: int) -> None:
    """Take a finished concept back into the fields; what stands in them is put among the finished ones first."""
    draft = _current(place)
    problem = draft.pending.problem() if draft.pending.is_begun else None
    if problem is not None:
        _hold_back(f"{problem}; then you can edit another one")
        return
    others = (*draft.concepts[:at], *draft.finished().concepts[at + 1 :])
    _drafts()[_which(place)] = Draft(others, draft.concepts[at], draft.turn + 1)


def drop(place: Place) -> None:
    """Clear the fields."""
    draft = _current(place)
    _drafts()[_which(place)] = Draft(draft.concepts, turn=draft.turn + 1)


def go(place: Place, steps: int) -> None:
    """Go to the vector so many places on, and keep what stands in the fields; after the last comes the first."""
    _drafts()[_which(place)] = _current(place)
    handles = [vector.handle for vector in place.sample.vectors]
    remember(vector=handles[(handles.index(place.handle) + steps) % len(handles)])


def save_draft(place: Place) -> None:
    """Save what is written of the vector, and go to the next that is not judged."""
    draft = _current(place)
    problem = draft.problem()
    if problem is None:
        _save(place, draft.annotations(_named(place)), draft.finished().concepts)
    else:
        _hold_back(problem)


def save_none(place: Place) -> None:
    """Save that the vector has no concept, and go to the next that is not judged."""
    if _current(place).finished().concepts:
        _hold_back("tokens are marked or a concept is named: save that, or clear the fields first")
    else:
        _save(place, no_concept(_named(place)), ())


def key(field: str, place: Place) -> str:
    """Name of a field of the page, its own for every concept: a browser may send once more what stood in a field."""
    return f"{field}-{place.handle}-{_drafts().get(_which(place), Draft()).turn}"


def _save(place: Place, annotations: list[dict[str, Any]], concepts: tuple[Concept, ...]) -> None:
    problem = _publish(annotations)
    if problem is not None:
        st.session_state[PROBLEM] = f"Nothing was saved; your input is still here: {problem}."
        # What stands in the fields would go with them, should the page not come to draw them now.
        _drafts()[_which(place)] = _current(place)
        return
    _drafts()[_which(place)] = Draft(concepts, turn=_current(place).turn + 1)
    handles = [vector.handle for vector in place.sample.vectors]
    at = handles.index(place.handle)
    left = [handle for handle in (*handles[at + 1 :], *handles[:at]) if handle not in place.judged]
    remember(vector=left[0] if left else None)


def _hold_back(problem: str) -> None:
    st.session_state[PROBLEM] = f"Not yet: {problem}."


def _named(place: Place) -> Mapping[str, str]:
    return {"model": place.sample.model.name, "vector": place.handle, "annotator": place.annotator}


def _which(place: Place) -> tuple[str, str]:
    return place.annotator, place.handle


def _drafts() -> dict[tuple[str, str], Draft]:
    drafts: dict[tuple[str, str], Draft] = st.session_state.setdefault(_DRAFTS, {})
    return drafts


def _current(place: Place) -> Draft:
    """The draft with what stands in the fields."""
    state = st.session_state
    pending = Concept(
        name=state.get(key("name", place)) or "",
        concept_class=state.get(key("class", place)),
        ranks=tuple(sorted(state.get(key("marks", place)) or ())),
    )
    return replace(_drafts().get(_which(place), Draft()), pending=pending)


def _saved(connection: duckdb.DuckDBPyConnection, place: Place) -> tuple[Concept, ...]:
    """The concepts that the annotator has named in the vector."""
    vector = place.vector
    assert vector is not None
    asked_of = {"model": place.sample.model.name, "annotator": place.annotator}
    rows = data_of_query(connection, "own_annotations", _OWN_ANNOTATIONS, asked_of).frame.to_dicts()
    return tuple(
        Concept(row["concept"], row["class"], tuple(vector.token_ids.index(token) + 1 for token in row["token_ids"]))
        for row in rows
        if (row["condition"], row["layer"], row["number"]) == vector.key
        and tuple(row["shown_token_ids"]) == vector.token_ids
        and row["concept"] is not None
    )


_N_EXAMPLES = 3
"""Lists that are shown before anybody gave a name."""

_WAIT_SECONDS = 10
"""A person waits so long for a page; an ingest publishes in less."""

_PATIENCE_SECONDS = 120
"""On a very busy machine the process may take long to end."""


def _publish(annotations: Sequence[Mapping[str, Any]]) -> str | None:
    """Save annotations in the warehouse of the pages; a published catalog is only read, which is why nothing is."""
    warehouse = backend().warehouse
    if warehouse.why_only_read is not None:
        return str(warehouse.why_only_read)
    return save_annotations(warehouse.path, annotations)


def save_annotations(warehouse: Path, annotations: Sequence[Mapping[str, Any]]) -> str | None:
    """Publish annotations as `neurothek annotate --stdin` does.

    Args:
        warehouse: the DuckDB file.
        annotations: the fields of each, as the command takes them.

    Returns:
        None when all is saved; else why nothing is, in a sentence.
    """
    request = {"warehouse": str(warehouse), "wait_seconds": _WAIT_SECONDS, "annotations": list(annotations)}
    path = os.pathsep.join(entry for entry in sys.path if entry)
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-m", "neurothek.queries.annotate.child"],
            input=json.dumps(request).encode(),
            capture_output=True,
            env={**os.environ, "PYTHONPATH": path},
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"the saving process did not answer within {_PATIENCE_SECONDS} s; save again"
    if child.returncode != 0:
        return "the saving process ended without an answer; save again"
    fields: dict[str, Any] | None = json.loads(child.stdout)["error"]
    if fields is None:
        return None
    error = NeurothekError.from_dict(fields)
    # Who waits for another process has no command to repeat here.
    sentence = f"{error.message}; wait for that, then save again" if isinstance(error, Busy) else str(error)
    return about(sentence, warehouse)


EXPLAINED = (
    "Sentences with the five tokens that a linear shortcut puts first, from some state and by one of two methods; "
    "neither is shown. A list is plausible if at least one of its tokens is a plausible continuation (after Din et al. "
    "2023)."
)
SHARES = (
    "Share of lists that are plausible, with Wilson's 95% interval, beside precision@1 of the same shortcut. After Din "
    "et al. 2023."
)


def show_unjudged(lists: Mapping[str, Sequence[str]]) -> None:
    """What is to be judged, as it is before anybody gave a name: cards of tokens to be read, in their order.

    Args:
        lists: the exact texts of each list's tokens, the highest first, by its title.
    """
    cards = []
    for title, tokens in lists.items():
        chips = "".join(f'<span class="nt-tok">{html.escape(visible(token))}</span>' for token in tokens)
        cards.append(card_html(f"<b>{html.escape(title)}</b>", "", "", f'<div class="nt-chips">{chips}</div>'))
    st.html(f'{STYLE}<div class="nt-cards nt-wide">{"".join(cards)}</div>')


def judge_plausibility(connection: duckdb.DuckDBPyConnection, model: str, annotator: str, seed: int) -> None:
    """The next list that the annotator has not judged, with its two buttons."""
    try:
        sample = draw_lists(connection, model, seed=seed)
    except NotMeasured as error:
        if "shortcuts" not in error.jobs:
            raise
        text = "Lists of next tokens come from linear shortcuts, which have not been measured for this model yet."
        missing(connection, text, [model], jobs=("shortcuts",))
        return
    if not annotator:
        st.info("Enter your name above: it is saved with your judgements, and you can continue where you stopped.")
        st.caption(EXPLAINED)
        show_unjudged({f"{one.text} ...": one.tokens for one in sample.lists[:_N_EXAMPLES]})
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
                on_click=_save_plausible,
                args=(sample, listed.handle, annotator, is_plausible),
            )
    st.caption(EXPLAINED)


def plausible_shares(connection: duckdb.DuckDBPyConnection, model: str) -> None:
    """The shares by method and state, where anybody judged lists of the model."""
    data = data_of_query(connection, "plausible_shares", _PLAUSIBLE_SHARES, {"model": model})
    if data.frame.is_empty():
        return
    st.header("Plausible lists", anchor=False)
    tables.show_table(data.frame, key="plausible")
    st.caption(SHARES)
    show_source(data)


def _save_plausible(sample: ListSample, handle: str, annotator: str, is_plausible: bool) -> None:
    judgement = {"model": sample.model.name, "item": handle, "annotator": annotator, "plausible": is_plausible}
    problem = _publish([judgement])
    if problem is not None:
        st.session_state[PROBLEM] = f"Nothing was saved: {problem}."
