"""Tables that came after the first releases of their jobs: which runs stand without rows of them."""

from collections.abc import Callable
from typing import Any

from neurothek.catalog.tables.registry import JOB_TABLES
from neurothek.catalog.tables.table import Table

Execute = Callable[[str, dict[str, Any]], Any]
"""What runs a query of the warehouse."""

_KNOWN = "select count(*) from duckdb_tables() where schema_name = 'store' and table_name = $table"


def lacks_rows(execute: Execute, table: Table, run_id: int) -> bool:
    """Whether an earlier release measured a run without this table; a warehouse of such a release lacks it itself."""
    if not table.is_later:
        return False
    if execute(_KNOWN, {"table": table.name}).fetchall() == [(0,)]:
        return True
    query = f"select count(*) from (from store.{table.name} where run_id = $run_id limit 1)"  # noqa: S608 - our own
    return bool(execute(query, {"run_id": run_id}).fetchall() == [(0,)])


def is_incomplete(execute: Execute, job: str, run_id: int) -> bool:
    """Whether a run of a job lacks rows of any of the job's tables."""
    return any(lacks_rows(execute, table, run_id) for table in JOB_TABLES.get(job, ()))
