"""Contexts that are nearly the same text, of which a reader needs one: headers, licences, lines of one table."""

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from typing import Any

ALIKE = 0.8
"""Share of the letters of two texts that are in common blocks, from which on one is a near-copy of the other [ours]."""

_BEFORE, _AFTER = 60, 30
"""Letters around the place that are compared."""


def one_of_each(contexts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The contexts in their order, without those that are near-copies of an earlier one; `n_copies` counts these.

    Args:
        contexts: rows with before, token and after, or with tokens and place, the number of the token in question.
    """
    distinct: list[tuple[str, dict[str, Any]]] = []
    for row in contexts:
        text = _text(row)
        original = next((one for earlier, one in distinct if _is_near(earlier, text)), None)
        if original is None:
            distinct.append((text, {**row, "n_copies": 0}))
        else:
            original["n_copies"] += 1
    return [row for _, row in distinct]


def _text(row: Mapping[str, Any]) -> str:
    if "tokens" in row:
        tokens, place = row["tokens"], row["place"]
        before, token, after = "".join(tokens[:place]), tokens[place], "".join(tokens[place + 1 :])
    else:
        before, token, after = row["before"], row["token"], row["after"]
    return f"{before[-_BEFORE:]}{token}{after[:_AFTER]}"


def _is_near(one: str, other: str) -> bool:
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    # Two bounds that cost less, of which most texts fail one.
    return matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE
