"""The constants that views compare with, read from the views themselves: one place says what a label means."""

import re
from collections.abc import Mapping
from functools import cache

from neurothek.queries.views.install import view

# Constants stand one per line: `cast(0.95 as double) as least_recall,` or `3 as oscillating_switches,`.
_BLOCK = re.compile(r"^with thresholds as \((.*?)^\)", re.DOTALL | re.MULTILINE)
_CONSTANT = re.compile(r"(?:cast\((-?[\d.]+) as \w+\)|\b(-?[\d.]+)) as (\w+),")


@cache
def thresholds(name: str) -> Mapping[str, float]:
    """The named constants of a view; empty where it compares with none."""
    block = _BLOCK.search(view(name).text)
    if block is None:
        return {}
    return {name: float(cast or plain) for cast, plain, name in _CONSTANT.findall(block[1])}
