"""Which functions a person's query may call: those that were reviewed and only compute, by kind; no others."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

Place = Literal["expression", "window", "table"]
"""Where in a query a function is called."""

_KINDS: Mapping[Place, tuple[str, ...]] = {
    "expression": ("scalar", "aggregate", "macro", "syntax"),
    "window": ("window", "aggregate"),
    "table": ("table", "table_macro"),
}

_NEW = "it has not been reviewed yet"
_MISPLACED = "it cannot be called there"


@dataclass(frozen=True)
class Functions:
    """DuckDB's functions as `functions.toml` classifies them.

    Attributes:
        admitted: (kind, name) -> what it is about.
        refused: (kind, name) -> why it is refused.
    """

    admitted: Mapping[tuple[str, str], str]
    refused: Mapping[tuple[str, str], str]

    def admits(self, name: str, place: Place) -> bool:
        """Whether a query may call the function there."""
        return any((kind, name.casefold()) in self.admitted for kind in _KINDS[place])

    def admits_aggregate(self, name: str) -> bool:
        """Whether a list may be aggregated by the function of this name."""
        return ("aggregate", name.casefold()) in self.admitted

    def why_not(self, name: str) -> str:
        """Why a function is refused, to follow "as"; of several kinds the first that is refused says it."""
        reasons = [why for (_, one), why in self.refused.items() if one == name.casefold()]
        return reasons[0] if reasons else _MISPLACED if name.casefold() in self.names() else _NEW

    def knows(self, name: str) -> bool:
        """Whether the function was reviewed, whatever the result."""
        return any(name.casefold() == one for _, one in (*self.admitted, *self.refused))

    def names(self) -> set[str]:
        """Names of all that may be called somewhere."""
        return {name for _, name in self.admitted}


@cache
def classified() -> Functions:
    """The functions of DuckDB that were reviewed."""
    groups = tomllib.loads((resources.files("neurothek.queries.ask") / "functions.toml").read_text("utf-8"))["group"]
    rows = [(group, (group["kind"], name.casefold())) for group in groups for name in group["names"]]
    return Functions(
        admitted={key: group["admitted"] for group, key in rows if "admitted" in group},
        refused={key: group["because"] for group, key in rows if "because" in group},
    )
