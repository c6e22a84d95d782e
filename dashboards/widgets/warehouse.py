"""What all pages ask of the warehouse: its models and what they were measured by, asked once while it is the same."""

import duckdb

from neurothek.dashboards.widgets.memory import known
from neurothek.queries.ask.statements import records, statement
from neurothek.queries.names.models import KnownModel, choose_models


def all_models() -> list[KnownModel]:
    """The models, smallest first."""
    return known(choose_models)


def jobs_of_models() -> dict[str, list[str]]:
    """Name of each model -> names of the jobs that it was measured by."""
    return known(_jobs)


def _jobs(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    jobs: dict[str, list[str]] = {}
    for row in records(connection, statement("finished_jobs", "dashboards")):
        jobs.setdefault(row["model"], []).extend([] if row["job"] is None else [row["job"]])
    return jobs
