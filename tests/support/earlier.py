"""A warehouse as the release before wrote it."""

from catalog.tables.migrations import LATEST, scripts

assert LATEST == 27, "undo the latest migration here, not the one before"

_ADDED = ("negative_coherence", "negative_coherence_z", "negative_coherence_percentile")

BEFORE_THE_LATEST = "; ".join(
    [
        *(f"alter table store.coherences drop column {name}" for name in _ADDED),
        *(
            next(line for line in scripts()[number].split(";\n") if f"on column store.neuron_facts.{name} is" in line)
            for number, name in ((5, "coherence"), (1, "top_token_log_frequency"))
        ),
        f"delete from store.schema_versions where version = {LATEST}",
    ]
)
"""Undoes the latest migration of a warehouse, whose file then has the tables of the version before."""
