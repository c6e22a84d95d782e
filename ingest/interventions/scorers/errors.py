"""Errors of scorers, and text of others in sentences."""

from neurothek.catalog.problems import Failed, Invalid
from neurothek.catalog.spelling import harmless

MOST_SHOWN = 120
"""Characters of somebody else's text in a sentence."""


def excerpt(text: str) -> str:
    """Text of others as part of a sentence: on one line, control characters escaped, cut."""
    shown = harmless(text[: MOST_SHOWN + 1])
    return shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}…"


def unusable_scorer(spec: str, found: str, hint: str = "") -> Invalid:
    """A scorer lacks what it needs, known before it scores anything."""
    return Invalid(f"the scorer {excerpt(spec)!r} cannot be used: {found}", hint, option="--score", value=spec)


def failed_scorer(spec: str, found: str, hint: str) -> Failed:
    """A scorer gave no scores, or no sensible ones."""
    return Failed(f"the scorer {excerpt(spec)!r} failed: {found}", hint, what="scorer", why=found)
