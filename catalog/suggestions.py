"""The nearest of several names, for errors that say what a person may have meant."""

import difflib
from collections.abc import Iterable

# Two names of five share at least this much where one is a slip of the other; lower suggests strangers.
_LEAST_LIKENESS = 0.5


def nearest(name: str, names: Iterable[str], *, limit: int = 3) -> list[str]:
    """Up to `limit` of the known names, the likeliest first, whatever their case."""
    by_folded: dict[str, str] = {}
    for one in names:
        by_folded.setdefault(one.casefold(), one)
    near = difflib.get_close_matches(name.casefold(), by_folded, n=limit, cutoff=_LEAST_LIKENESS)
    return [by_folded[folded] for folded in near]


def enumerated(names: Iterable[str], *, limit: int = 12) -> str:
    """The names as prose, cut after `limit`."""
    names = list(names)
    listed = ", ".join(names[:limit])
    return listed if len(names) <= limit else f"{listed} and {len(names) - limit} more"


def hint(name: str, names: Iterable[str]) -> str:
    """What to try instead of `name`: the nearest names, or else all there are."""
    names = list(names)
    near = nearest(name, names)
    if near:
        return f"nearest: {enumerated(near)}"
    return f"there are: {enumerated(names)}" if names else "there are none"
