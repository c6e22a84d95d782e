"""What a scorer is, and how one is opened from the words that it is asked for in.

A kind is a module of this room whose class has `opened`, and a line here. One that nobody else answers has `reopened`,
too, and is then asked again by `verify`.
"""

import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from neurothek.catalog.problems import Failed, Invalid, NotFound
from neurothek.catalog.spelling import escape_controls
from neurothek.catalog.suggestions import hint


@runtime_checkable
class TextScorer(Protocol):
    """Says of texts how much of each attribute they have."""

    @property
    def spec(self) -> str:
        """The scorer as it was asked for, such as `words:bad.txt`."""

    @property
    def is_foreign(self) -> bool:
        """Whether a program of somebody else answers: such a score is never asked for again."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """What it scores, known without scoring anything."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """JSON values that say what its numbers depend on; never a secret."""

    def scores(self, texts: Sequence[str]) -> Float[np.ndarray, "texts attributes"]:
        """[texts attributes] scores in [0, 1]."""

    def words(self, attribute: str) -> tuple[str, ...]:
        """Words that tell an attribute, for a word filter; none where none are known."""


@dataclass(frozen=True)
class _Kind:
    """What is known of a kind of scorers before its module, and what that needs, is loaded."""

    place: str  # module and class
    # whether it can be opened again from its identity alone. What is foreign never is: a warehouse may come from a
    # stranger, who would choose the program.
    is_reopened: bool

    @property
    def loaded(self) -> Any:  # noqa: ANN401 - a class with `opened`, and `reopened` where it has that
        return pkgutil.resolve_name(f"{__package__}.{self.place}")


_KINDS: Mapping[str, _Kind] = {
    "words": _Kind("word_list:WordListScorer", is_reopened=True),
    "domains": _Kind("domains:DomainScorer", is_reopened=True),
    "hf": _Kind("sequence_classifier:SequenceClassifierScorer", is_reopened=True),
    "command": _Kind("command:CommandScorer", is_reopened=False),
}


def open_scorer(spec: str) -> TextScorer:
    """The scorer that is asked for: KIND, or KIND:ARGUMENT."""
    name, _, argument = spec.strip().partition(":")
    kind = _KINDS.get(name)
    if kind is None:
        raise NotFound(
            f"there is no scorer {excerpt(spec)!r} ({hint(name, _KINDS)})",
            "give words:FILE, domains, hf:REPO_OR_FOLDER or command:PROGRAM",
            what="scorer",
            name=spec,
            known=_KINDS,
        )
    scorer: TextScorer = kind.loaded.opened(spec.strip(), argument)
    return scorer


def reopen_scorer(identity: Mapping[str, Any]) -> TextScorer | None:
    """The scorer that a stored identity is of, to score the same again; nothing is downloaded and no program started.

    Returns:
        None where it is foreign, or not to be had as it was.
    """
    name = identity.get("kind")
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None or not kind.is_reopened:
        return None
    scorer: TextScorer | None = kind.loaded.reopened(identity)
    return scorer


def named(scorer: TextScorer) -> dict[str, Any]:
    """What a scorer's numbers depend on, and its name in the warehouse: its own words but for the place of a list."""
    identity = scorer.identity
    name = f"words:{scorer.attributes[0]}" if identity.get("kind") == "words" else scorer.spec
    return {"name": name, **identity}


MOST_ATTRIBUTES = 100
LONGEST_ATTRIBUTE = 120
"""Characters."""


def valid_attributes(spec: str, names: Sequence[object]) -> tuple[str, ...]:
    """The names, if people can read them and tell them apart.

    Args:
        spec: the scorer, for the errors.
        names: what it calls what it scores.
    """
    if not 1 <= len(names) <= MOST_ATTRIBUTES:
        raise unusable_scorer(
            spec, f"it scores {len(names)} attributes", f"give one that scores between 1 and {MOST_ATTRIBUTES}"
        )
    result: list[str] = []
    for name in names:
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > LONGEST_ATTRIBUTE:
            raise unusable_scorer(
                spec,
                f"{excerpt(repr(name))} is not an attribute name",
                f"name it in 1 to {LONGEST_ATTRIBUTE} printable characters",
            )
        if name in result:
            raise unusable_scorer(spec, f"two of its attributes are called {name!r}", "give each a name of its own")
        result.append(name)
    return tuple(result)


MOST_SHOWN = 120
"""Characters of somebody else's text in a sentence."""


def excerpt(text: str) -> str:
    """Text of others as part of a sentence: on one line, control characters escaped, cut."""
    printable = escape_controls(text[: MOST_SHOWN + 1])
    return printable if len(printable) <= MOST_SHOWN else f"{printable[:MOST_SHOWN]}…"


def unusable_scorer(spec: str, problem: str, hint: str = "") -> Invalid:
    """A scorer lacks what it needs, known before it scores anything."""
    return Invalid(f"the scorer {excerpt(spec)!r} cannot be used: {problem}", hint, option="--score", value=spec)


def failed_scorer(spec: str, problem: str, hint: str) -> Failed:
    """A scorer gave no scores, or no sensible ones."""
    return Failed(f"the scorer {excerpt(spec)!r} failed: {problem}", hint, what="scorer", why=problem)
