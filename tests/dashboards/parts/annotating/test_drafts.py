"""What an annotator has written so far: what is missing of it, and what is sent of it."""

from typing import Any

import pytest

from neurothek.dashboards.parts.annotating import Concept, Draft, no_concept

WHOLE = Concept("schools", "semantic", (1, 4, 7, 9))
VECTOR = {"model": "m", "vector": "0-12ab34cd56ef", "annotator": "anna"}


@pytest.mark.parametrize(
    ("concept", "problem"),
    [
        (WHOLE, None),
        (Concept("schools", "semantic", (1, 4, 7)), "3 tokens are marked, but a concept needs 4"),
        (Concept("schools", "semantic", (1,)), "one token is marked"),
        (Concept("schools", "semantic"), "no token is marked"),
        (Concept(" ", "semantic", (1, 4, 7, 9)), "has no name"),
        (Concept("schools", None, (1, 4, 7, 9)), "has no class"),
    ],
)
def test_what_is_missing_of_a_concept_is_said(concept: Concept, problem: str | None) -> None:
    found = concept.problem()
    assert found is None if problem is None else problem in str(found)
    # Where nothing is finished, the pending concept decides; beside a finished one, only if it was begun.
    assert Draft(pending=concept).problem() == found
    assert Draft((WHOLE,), concept).problem() == found
    assert Draft((WHOLE,)).problem() is None


def test_nothing_at_all_cannot_be_saved() -> None:
    assert "no token is marked" in str(Draft().problem())


def test_pending_concepts_are_sent_with_the_finished_ones() -> None:
    other = Concept(" two ", "names", (2, 3, 4, 5))
    expected: list[dict[str, Any]] = [
        {**VECTOR, "concept": "schools", "class": "semantic", "ranks": [1, 4, 7, 9]},
        {**VECTOR, "concept": "two", "class": "names", "ranks": [2, 3, 4, 5]},
    ]
    assert Draft((WHOLE,), other).annotations(VECTOR) == expected
    assert Draft((WHOLE, other)).annotations(VECTOR) == expected
    assert no_concept(VECTOR) == [{**VECTOR, "concept": None}]


def test_a_finished_concept_makes_room_for_fields_of_their_own() -> None:
    draft = Draft(pending=WHOLE).finished()
    assert (draft.concepts, draft.pending, draft.turn) == ((WHOLE,), Concept(), 1)
    assert draft.finished() is draft
