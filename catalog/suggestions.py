"""The nearest of several names, for errors that say what a person may have meant."""

import difflib
from collections.abc import Iterable

# Two names of five share at least this much where one is a slip of the other; lower suggests strangers.
_LEAST_LIKENESS = 0.5


def nearest(name: str, known: Iterable[str], *, limit: int = 3) -> list[str]:
    """Up to `limit` of the known names, the likeliest first, whatever their case."""
    by_folded: dict[str, str] = {}
    for one in known:
        by_folded.setdefault(one.casefold(), one)
    near = difflib.get_close_matches(name.casefold(), by_folded, n=limit, cutoff=_LEAST_LIKENESS)
    return [by_folded[folded] for folded in near]


def enumerated(names: Iterable[str], *, limit: int = 12) -> str:
    """The names as prose, cut after `limit`."""
    names = list(names)
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def hint(name: str, known: Iterable[str]) -> str:
    """What to try instead of `name`: the nearest names, or else all there are."""
    known = list(known)
    near = nearest(name, known)
    if near:
        return f"nearest: {enumerated(near)}"
    return f"there are: {enumerated(known)}" if known else "there are none"
