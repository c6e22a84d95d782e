"""The state of the page on which people annotate: where they are, what they have written, and how it is saved."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import streamlit as st

from neurothek.dashboards.parts.annotating.drafts import Concept, Draft, no_concept
from neurothek.dashboards.parts.annotating.saving import save_annotations
from neurothek.dashboards.session import desk
from neurothek.dashboards.widgets.address import asked, remember
from neurothek.dashboards.widgets.figures import data_of
from neurothek.queries.annotate.sample import Sample, Vector, judged

PROBLEM = "annotating_problem"
"""Entry of the session with why something was not done, until it is shown."""

_DRAFTS = "annotating_drafts"


@dataclass(frozen=True)
class Place:
    """Where an annotator is.

    Attributes:
        sample: what is to be judged.
        annotator: who judges.
        judged: handles of what they have judged.
        vector: the vector they look at; None when all are judged.
    """

    sample: Sample
    annotator: str
    judged: frozenset[str]
    vector: Vector | None

    @property
    def handle(self) -> str:
        """Name of the vector that they look at."""
        assert self.vector is not None
        return self.vector.handle


def place_of(connection: duckdb.DuckDBPyConnection, sample: Sample, annotator: str) -> Place:
    """The vector that the address names, else the first that is not judged."""
    done = judged(connection, sample, annotator)
    vector = sample.by_handle.get(asked("vector") or "")
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
        _hold_back(f"{problem}; then you can change another")
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
    problem = save_annotations(desk().warehouse.path, annotations)
    if problem is not None:
        st.session_state[PROBLEM] = f"Nothing was saved, but what you wrote is still here: {problem}."
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
    rows = data_of(connection, "own_annotations", asked_of).frame.to_dicts()
    return tuple(
        Concept(row["concept"], row["class"], tuple(vector.token_ids.index(token) + 1 for token in row["token_ids"]))
        for row in rows
        if (row["condition"], row["layer"], row["number"]) == vector.key
        and tuple(row["shown_token_ids"]) == vector.token_ids
        and row["concept"] is not None
    )
