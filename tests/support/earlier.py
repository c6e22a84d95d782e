"""A warehouse as the release before wrote it."""

from neurothek.catalog.tables.migrations import LATEST

assert LATEST == 28, "undo the latest migration here, not the one before"

BEFORE_THE_LATEST = f"delete from store.schema_versions where version = {LATEST}"
"""Undoes the latest migration of a warehouse, whose file then has the tables of the version before."""
