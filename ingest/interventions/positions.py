"""Positions at which neurons are changed, as a person writes them."""

import re

_LAST_POSITION = 2**31
"""No sequence is as long."""


def parse_positions(text: str) -> range | None:
    """The positions `3`, `0-7` or `5-`; None where the text says none."""
    match = re.fullmatch(r"([0-9]{1,9})(?:(-)([0-9]{1,9})?)?", text.strip())
    if match is None:
        return None
    first = int(match[1])
    last = _LAST_POSITION if match[2] and match[3] is None else int(match[3] or first)
    return range(first, last + 1) if last >= first else None
