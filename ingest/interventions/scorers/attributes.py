"""The names of what is scored: few, short, printable, each once."""

from collections.abc import Sequence

from neurothek.ingest.interventions.scorers.errors import excerpt, unusable_scorer

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
    found: list[str] = []
    for name in names:
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > LONGEST_ATTRIBUTE:
            raise unusable_scorer(
                spec,
                f"{excerpt(repr(name))} is no name of an attribute",
                f"name it in 1 to {LONGEST_ATTRIBUTE} printable characters",
            )
        if name in found:
            raise unusable_scorer(spec, f"two of its attributes are called {name!r}", "give each a name of its own")
        found.append(name)
    return tuple(found)
