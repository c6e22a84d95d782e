"""What can be wrong with a scorer: how it is named, what it needs, what it answers."""

from collections.abc import Iterable

from neurothek.catalog.errors import NeurothekError
from neurothek.catalog.spelling import harmless
from neurothek.catalog.suggestions import hint

MOST_SHOWN = 120
"""Characters of somebody else's text in a sentence."""


def excerpt(text: str) -> str:
    """Text of others as part of a sentence: on one line, control characters escaped, cut."""
    shown = harmless(text[: MOST_SHOWN + 1])
    return shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}…"


class ScorerUnknown(NeurothekError):
    """A scorer of no kind that there is."""

    def __init__(self, spec: str, kind: str, known: Iterable[str]) -> None:
        super().__init__(
            f"there is no scorer {excerpt(spec)!r} ({hint(kind, known)}); give words:FILE, domains,"
            " hf:REPO_OR_FOLDER or command:PROGRAM"
        )


class ScorerUnusable(NeurothekError):
    """A scorer that lacks what it needs, known before it scores anything.

    Its reason says what was found and, after a semicolon, what to do.
    """

    def __init__(self, spec: str, reason: str) -> None:
        super().__init__(f"the scorer {excerpt(spec)!r} cannot be used: {reason}")


class ScorerFailed(NeurothekError):
    """A scorer that gave no scores, or no sensible ones.

    Attributes:
        reason: what was found and, after a semicolon, what to do.
    """

    def __init__(self, spec: str, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the scorer {excerpt(spec)!r} failed: {reason}")
