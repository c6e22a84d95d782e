"""A warehouse as the release before wrote it."""

from catalog.tables.migrations import LATEST, scripts

assert LATEST == 26, "undo the latest migration here, not the one before"

BEFORE_THE_LATEST = f"{scripts()[9].partition(';')[0]}; delete from store.schema_versions where version = {LATEST}"
"""Undoes the latest migration of a warehouse, whose file then has the tables of the version before."""
