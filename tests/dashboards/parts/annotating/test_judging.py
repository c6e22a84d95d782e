"""Where an annotator is, and what is written so far: nothing is lost on the way, and nothing is saved half done."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from neurothek.dashboards.parts import annotating
from neurothek.dashboards.parts.annotating import (
    PROBLEM,
    Concept,
    Place,
    begin_another,
    drop,
    go,
    key,
    save_draft,
    save_none,
    take_back,
)
from neurothek.queries.annotate.sample import Sample, Vector
from tests.support.known import known_model

VECTORS = tuple(
    Vector(f"0-{number:012x}", ("value", 0, number), tuple(range(9)), tuple("abcdefghi")) for number in range(3)
)
SAMPLE = Sample(known_model(), 0, VECTORS)
FIRST, SECOND, THIRD = (vector.handle for vector in VECTORS)


@dataclass
class Page:
    """The session of a person on the page, its address, and what was sent to be saved."""

    state: dict[str, Any] = field(default_factory=dict)
    address: dict[str, str | None] = field(default_factory=dict)
    saved: list[list[dict[str, Any]]] = field(default_factory=list)
    problem: str | None = None

    def save(self, _: Path, annotations: list[dict[str, Any]]) -> str | None:
        if self.problem is None:
            self.saved.append(annotations)
        return self.problem

    def write(
        self, place: Place, *, name: str = "c", kind: str | None = "names", ranks: tuple[int, ...] = (1, 2, 3, 4)
    ) -> None:
        """What a person types and marks."""
        fields = {"name": name, "class": kind, "marks": list(ranks)}
        self.state.update({key(one, place): value for one, value in fields.items()})


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Page:
    page = Page()
    monkeypatch.setattr(annotating, "st", SimpleNamespace(session_state=page.state))
    monkeypatch.setattr(annotating, "remember", lambda **values: page.address.update(values))
    monkeypatch.setattr(annotating, "save_annotations", page.save)
    warehouse = SimpleNamespace(path=Path("w.duckdb"), why_only_read=None)
    monkeypatch.setattr(annotating, "backend", lambda: SimpleNamespace(warehouse=warehouse))
    return page


def at(number: int = 0, *, judged: frozenset[str] = frozenset(), annotator: str = "anna") -> Place:
    return Place(SAMPLE, annotator, judged, VECTORS[number])


def test_what_is_written_is_saved_and_the_next_vector_follows(page: Page) -> None:
    page.write(at())
    save_draft(at())
    ((one,),) = page.saved
    assert (one["model"], one["vector"], one["annotator"]) == ("m", FIRST, "anna")
    assert (one["concept"], one["class"], list(one["ranks"])) == ("c", "names", [1, 2, 3, 4])
    assert page.address == {"vector": SECOND}
    assert PROBLEM not in page.state


@pytest.mark.parametrize(
    ("number", "judged", "following"),
    [
        (0, frozenset(), SECOND),
        (0, frozenset({SECOND}), THIRD),
        (2, frozenset({FIRST}), SECOND),
        (2, frozenset({FIRST, SECOND}), None),
        (1, frozenset({FIRST, SECOND, THIRD}), None),
    ],
)
def test_the_next_is_the_first_behind_it_that_is_not_judged(
    page: Page, number: int, judged: frozenset[str], following: str | None
) -> None:
    save_none(at(number, judged=judged))
    assert page.address == {"vector": following}
    ((one,),) = page.saved
    assert one["concept"] is None


@pytest.mark.parametrize("half", [{"ranks": (1, 2, 3)}, {"name": " "}, {"kind": None}, {"ranks": ()}], ids=str)
def test_what_is_half_done_is_held_back_and_stays_in_the_fields(page: Page, half: dict[str, Any]) -> None:
    page.write(at(), **half)
    before = dict(page.state)
    for act in (save_draft, begin_another):
        act(at())
        assert page.state.pop(PROBLEM)
        assert page.saved == []
        assert {name: page.state[name] for name in before} == before
    assert page.address == {}


def test_no_concept_is_not_said_of_a_vector_in_which_one_was_marked(page: Page) -> None:
    page.write(at())
    save_none(at())
    assert page.saved == []
    assert page.state[PROBLEM]


def test_several_concepts_are_saved_together_and_each_has_fields_of_its_own(page: Page) -> None:
    page.write(at(), name="one")
    before = key("name", at())
    begin_another(at())
    assert key("name", at()) != before, "a browser may send once more what stood in the last"
    page.write(at(), name="two", ranks=(5, 6, 7, 8))
    save_draft(at())
    (saved,) = page.saved
    assert [one["concept"] for one in saved] == ["one", "two"]


def test_a_finished_concept_is_taken_back_into_the_fields(page: Page) -> None:
    for name in ("one", "two", "three"):
        page.write(at(), name=name)
        begin_another(at())
    page.write(at(), name="pending")
    take_back(at(), 1)
    draft = annotating._drafts()["anna", FIRST]
    assert draft.pending == Concept("two", "names", (1, 2, 3, 4))
    assert [one.name for one in draft.concepts] == ["one", "three", "pending"]
    page.write(at(), name="")
    take_back(at(), 0)
    assert page.state[PROBLEM], "what stands in the fields would be lost"
    assert annotating._drafts()["anna", FIRST] == draft


def test_fields_are_cleared_and_what_was_finished_stays(page: Page) -> None:
    page.write(at(), name="one")
    begin_another(at())
    page.write(at(), name="two")
    drop(at())
    save_draft(at())
    ((one,),) = page.saved
    assert one["concept"] == "one"


@pytest.mark.parametrize(("number", "steps", "there"), [(0, 1, SECOND), (2, 1, FIRST), (0, -1, THIRD), (1, 3, SECOND)])
def test_after_the_last_vector_comes_the_first(page: Page, number: int, steps: int, there: str) -> None:
    go(at(number), steps)
    assert page.address == {"vector": there}


def test_who_goes_on_and_comes_back_finds_what_was_written(page: Page) -> None:
    page.write(at(), name="one")
    go(at(), 1)
    # Streamlit forgets the fields of vectors that are not on the page.
    for name in [name for name in page.state if FIRST in name]:
        del page.state[name]
    assert annotating._drafts()["anna", FIRST].pending.name == "one"
    assert ("ben", FIRST) not in annotating._drafts(), "another annotator has a draft of their own"


def test_what_could_not_be_saved_is_still_there(page: Page) -> None:
    page.problem = "w.duckdb was still in use; save again"
    page.write(at(), name="one")
    save_draft(at())
    assert page.problem in page.state[PROBLEM]
    assert annotating._drafts()["anna", FIRST].pending.name == "one"
    assert page.address == {}
    page.problem = None
    save_draft(at())
    assert len(page.saved) == 1
