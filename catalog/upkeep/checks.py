"""Checks of a warehouse, whatever was measured: keys, runs, counts, and written ones that tie tables together."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import duckdb

from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.publishing.summaries import stale
from neurothek.catalog.spelling import one_line
from neurothek.catalog.store.matrices import StoredMatrix, is_unchanged, missing_matrices, stored_matrices
from neurothek.catalog.store.warehouse import Warehouse, first_row
from neurothek.catalog.tables.dimensions import RUNS
from neurothek.catalog.tables.registry import ALL, FACTS, JOB_TABLES
from neurothek.catalog.tables.table import RUN_IDS, Table

_WRITTEN = Path(__file__).parent / "checks"

FILES = "kept matrices are unchanged"
"""The one check of what lies beside the warehouse."""

_FILES_LAW = "A matrix beside the warehouse is the one that was kept."


Kind = Literal["key", "runs", "rows", "stored", "written"]
"""Keys of a table, runs of its rows, row counts of a job, stored rows of a view, or a check with a file of its own."""


@dataclass(frozen=True)
class Check:
    """One check: what must hold, and the query for what breaks it."""

    name: str  # short name, in words
    law: str  # what must hold, in a sentence
    query: str  # SQL whose rows break it; its column `place` says where
    kind: Kind  # what it is about
    subject: str  # the table, job or view that it is about, or the name of the check's file


@dataclass(frozen=True)
class Finding:
    """A check that failed."""

    name: str  # the check
    law: str  # what should hold
    n_rows: int  # how many rows break it
    example: str  # where the first of them is
    subject: str = ""  # what the check is about, see `Check`
    advice: str = ""  # what to do about it, where there is a command that does it


@dataclass(frozen=True)
class CheckReport:
    """What was checked, and what failed.

    Attributes:
        findings: the checks that failed; none if all is well.
        n_checks: how many checks there were.
        missing: kept matrices whose files are not beside the warehouse, as after it was copied alone.
    """

    findings: tuple[Finding, ...]
    n_checks: int
    missing: tuple[StoredMatrix, ...]

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return not self.findings


def check_report(warehouse: Warehouse, *, progress: Progress | None = None) -> CheckReport:
    """All checks, once all of the file was read."""
    progress = progress or Silent()
    # The checks of the tables, and the one of the files beside them.
    n_checks = len(checks()) + 1
    with warehouse.lingering():
        warehouse.require_whole(progress=progress)
        with warehouse.current_reader() as connection:
            findings = broken(connection, progress=progress)
            maps = stored_matrices(connection)
    # A file that was left behind when the warehouse was copied contradicts nothing.
    missing = missing_matrices(maps, warehouse.maps)
    present = set(maps).difference(missing)
    changed = _changed([one for one in maps if one in present], warehouse.maps, progress)
    if changed:
        example = f"{changed[0].model}, states {changed[0].source_state} to {changed[0].target_state}"
        advice = _anew(changed, warehouse.maps)
        findings.append(Finding(FILES, _FILES_LAW, len(changed), example, advice=advice))
    return CheckReport(tuple(findings), n_checks, tuple(missing))


def check(warehouse: Warehouse, *, progress: Progress | None = None) -> list[Finding]:
    """Every check that fails, once all of the file was read; none if all is well."""
    return list(check_report(warehouse, progress=progress).findings)


def _anew(changed: Sequence[StoredMatrix], folder: Path) -> str:
    """How the matrices of the first run are made again: nothing is made as long as its files are there."""
    again = changed[0].again()
    files = " ".join(shlex.quote(str(one.path(folder))) for one in changed if one.again() == again)
    return f"delete {files}, then recreate them with `{again}`"


def _changed(maps: Sequence[StoredMatrix], folder: Path, progress: Progress) -> list[StoredMatrix]:
    """Those of the matrices whose files are not the ones that were kept."""
    if not maps:
        return []
    progress.start("reading kept matrices", len(maps))
    changed = []
    for one in maps:
        if not is_unchanged(one, folder):
            changed.append(one)
        progress.advance()
    progress.finish()
    return changed


def broken(
    connection: duckdb.DuckDBPyConnection, *, among: Sequence[Check] | None = None, progress: Progress
) -> list[Finding]:
    """The same on a lease that is open already; of all checks unless some are given."""
    chosen = (*checks(), *_stored_checks(connection)) if among is None else among
    progress.start("checking", len(chosen))
    findings = []
    for each in chosen:
        finding = _finding(connection, each)
        if finding is not None:
            findings.append(finding)
        progress.advance(note=each.name)
    progress.finish()
    return findings


@cache
def checks() -> tuple[Check, ...]:
    """All checks of the store: keys of every table, rows and their runs, then those in `checks/*.sql`."""
    return (*map(_key_check, ALL), *map(_owner_check, FACTS), *_count_checks(), *_written_checks())


def of_kind(kind: Kind) -> list[Check]:
    """The checks of one kind."""
    return [one for one in checks() if one.kind == kind]


def of_subject(kind: Kind, *subjects: str) -> list[Check]:
    """The checks of one kind about these tables, jobs or files of checks."""
    by_subject = {one.subject: one for one in of_kind(kind)}
    return [by_subject[subject] for subject in subjects]


def _finding(connection: duckdb.DuckDBPyConnection, each: Check) -> Finding | None:
    try:
        row = first_row(connection, f"select count(*), min(place) from ({each.query})")
    except (duckdb.CatalogException, duckdb.BinderException, duckdb.ParserException) as error:
        # A table or column is gone from a file that was changed since it was opened.
        return Finding(each.name, each.law, 1, one_line(str(error).split("\n", 1)[0]), each.subject)
    assert row is not None
    n_rows, example = row
    return Finding(each.name, each.law, int(n_rows), str(example), each.subject) if n_rows else None


def _key_check(table: Table) -> Check:
    # A run key tells weights apart, which may have two names: then there are two runs of it, and rows of both.
    about = ("model_id", "other_model_id") if table is RUNS else table.ids
    columns = ", ".join((*about, *table.key))
    # Where a run is about one model, nothing is said of another.
    place = ", ', ', ".join(f"'{column} ', {column}" for column in (*about, *table.key))
    return Check(
        name=f"key of {table.name}",
        law=f"A row of {table.name} is identified by its {columns}.",
        query=f"select concat({place}) as place from store.{table.name} group by {columns} having count(*) > 1",
        kind="key",
        subject=table.name,
    )


def _owner_check(table: Table) -> Check:
    same = " and ".join(f"runs.{RUN_IDS.get(name, name)} = rows.{name}" for name in table.ids)
    return Check(
        name=f"runs of {table.name}",
        law=f"Every row of {table.name} names the run that measured it, which has its model and corpus.",
        query=f"""
            select 'run ' || rows.run_id as place
            from (select distinct {", ".join(table.ids)}, run_id from store.{table.name}) as rows
            left join store.runs as runs on runs.run_id = rows.run_id and {same}
            where runs.run_id is null
        """,
        kind="runs",
        subject=table.name,
    )


def _count_checks() -> Iterator[Check]:
    for job, tables in JOB_TABLES.items():
        counted = " union all ".join(f"select run_id from store.{table.name}" for table in tables)
        yield Check(
            name=f"rows of {job}",
            law=f"A run of {job} has as many rows as it records.",
            query=f"""
                select 'run ' || runs.run_id as place
                from store.runs as runs
                left join (select run_id, count(*) as n_rows from ({counted}) group by run_id) as found
                    on found.run_id = runs.run_id
                where runs.job = '{job}' and coalesce(found.n_rows, 0) <> runs.n_rows
            """,
            kind="rows",
            subject=job,
        )


def _stored_checks(connection: duckdb.DuckDBPyConnection) -> Iterator[Check]:
    for name, query in stale(connection):
        yield Check(
            f"kept {name}", f"The stored rows of the view {name} equal those that it computes.", query, "stored", name
        )


def _written_checks() -> Iterator[Check]:
    for path in sorted(_WRITTEN.glob("*.sql")):
        text = path.read_text("utf-8")
        law, query = text.split("\n", 1)
        yield Check(path.stem.replace("_", " "), law.removeprefix("--").strip(), query, "written", path.stem)
