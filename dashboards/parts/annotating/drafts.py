"""What an annotator has marked and named so far of one vector, before any of it is saved."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from neurothek.catalog.tables.annotations import LEAST_MARKED


@dataclass(frozen=True)
class Concept:
    """A pattern in the tokens of a vector.

    Attributes:
        name: its name, in the annotator's words.
        concept_class: its class; None before it is chosen.
        ranks: of the marked tokens in the list shown, from 1, in order.
    """

    name: str = ""
    concept_class: str | None = None
    ranks: tuple[int, ...] = ()

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
    """What an annotator says of one vector.

    Attributes:
        concepts: those that are finished.
        pending: the one being marked.
        turn: how many concepts were begun, so that each has fields of its own.
    """

    concepts: tuple[Concept, ...] = ()
    pending: Concept = field(default_factory=Concept)
    turn: int = 0

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
