"""The schema of a file: its tables, their version, and all other objects, compared with those of this release.

Nothing that a file brings is in force.
"""

import hashlib
import json
import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import duckdb

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Unreadable
from neurothek.catalog.spelling import one_line
from neurothek.catalog.store.connections import settings_of
from neurothek.catalog.store.damage import invalid_warehouse
from neurothek.catalog.tables import versions
from neurothek.catalog.tables.flat_rows import write_flat_rows

if TYPE_CHECKING:
    from neurothek.catalog.tables.table import Table


@cache
def statements(version: int) -> tuple[str, ...]:
    """SQL that makes the tables of a version of the schema.

    No primary, unique or foreign keys: they make the file seven times larger and replacing rows impossible; frames are
    checked before staging, and `neurothek check` proves the keys.
    """
    return ("create schema store", *(each for table in _tables() for each in table.statements(version)))


def create(connection: duckdb.DuckDBPyConnection, version: int | None = None) -> None:
    """Make the tables in an empty database, in one transaction."""
    version = versions.VERSION if version is None else version
    connection.execute("begin")
    _apply(connection, statements(version), version)
    connection.execute("commit")


def bring_up_to_date(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the tables, or add what later versions brought to those of an earlier one, all or nothing of it."""
    held = version_of(connection)
    if held == 0:
        create(connection)
    if held in (0, versions.VERSION):
        return
    connection.execute("begin")
    for version in range(held + 1, versions.VERSION + 1):
        _apply(connection, [each for table in _tables() for each in table.additions(version)], version)
    connection.execute("delete from store.neuron_facts")
    for (model_id,) in connection.execute("select model_id from store.models").fetchall():
        write_flat_rows(connection, model_id)
    connection.execute("commit")


def version_of(connection: duckdb.DuckDBPyConnection) -> int:
    """Version of the schema in the open file; 0 where there is none."""
    try:
        applied = connection.execute("select version from store.schema_versions").fetchall()
    except duckdb.CatalogException:
        return 0
    # Python's maximum: every opening asks, and DuckDB's own takes three times as long in an instance just opened.
    return max((int(version) for (version,) in applied), default=0)


def _apply(connection: duckdb.DuckDBPyConnection, changes: Iterable[str], version: int) -> None:
    connection.execute(";".join(changes))
    connection.execute(
        "insert into store.schema_versions select ?, cast(now() at time zone 'UTC' as timestamp)", [version]
    )


def _tables() -> "tuple[Table, ...]":
    # Frames take longer to load than a file to open, and only who makes or changes tables needs their declarations.
    from neurothek.catalog.tables import registry  # noqa: PLC0415

    return registry.ALL


Objects = Mapping[str, str]
"""An object of the catalog, such as `table store.models` -> sha256 of the SQL that DuckDB writes for it."""

RECORD = "objects.json"
"""The objects of this release, written by `make docs`: making them anew takes half a second."""

# Functions by their full names and no operators: a macro of the file may be called as any of them is.
_ALL = """
    select 'schema' as kind, null as schema_name, schema_name as name, null as sql
    from system.main.duckdb_schemas() where not internal
    union all
    select 'table', schema_name, table_name, sql from system.main.duckdb_tables() where not internal
    union all
    select 'view', schema_name, view_name, sql from system.main.duckdb_views() where not internal
    union all
    select 'macro', schema_name, function_name, null from system.main.duckdb_functions() where not internal
    union all
    select 'type', schema_name, type_name, null from system.main.duckdb_types() where not internal
    union all
    select 'sequence', schema_name, sequence_name, null from system.main.duckdb_sequences()
    union all
    select 'index', schema_name, index_name, null from system.main.duckdb_indexes()
    union all
    select 'trigger', schema_name, trigger_name, null from system.main.duckdb_triggers()
"""

_CAST = re.compile(r"AS(?<=\bAS) ([a-z][a-z0-9_]*)((?:\[\d*\])*\))")
"""A type that is cast to, in the spelling of the statement: files of newer storage versions keep it, others do not."""

_VERSIONS = "table store.schema_versions"
_STORED = "table store.kept_"
_VIEW = "view main."
_IS_ELSE = "it is a DuckDB file of something else"


class ViewInstaller(Hashable, Protocol):
    """What makes the views that people query."""

    def install(self, connection: duckdb.DuckDBPyConnection, *, is_new: bool = False) -> None:
        """Create or replace every view: all at once, or one by one where nobody sees the file before it is whole."""

    def define(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Create every view as a temporary one, which goes before what the file has of its name."""

    def sources(self) -> str:
        """Fingerprint of all that `install` runs."""


@dataclass(frozen=True)
class Judgement:
    """A file's objects beside those of this release."""

    version: int  # version of the file's schema
    strange: tuple[str, ...]  # objects that no release made
    has_our_views: bool  # whether every view, with what is kept of it, is as this release makes it

    @property
    def description(self) -> str:
        """The strange objects in words: the first three, and how many more there are."""
        first = ", ".join(f"the {one_line(one)}" for one in self.strange[:3])
        return first + (f" and {len(self.strange) - 3:,} more" if len(self.strange) > 3 else "")


def objects_of(connection: duckdb.DuckDBPyConnection) -> Objects:
    """All objects of the file. External access must be off: some are bound when they are listed."""
    return {
        f"{kind} {name}" if schema is None else f"{kind} {schema}.{name}": _sha256(_CAST.sub(_in_capitals, sql or ""))
        for kind, schema, name, sql in connection.execute(_ALL).fetchall()
    }


def judged(path: Path, connection: duckdb.DuckDBPyConnection, held: Objects, views: ViewInstaller | None) -> Judgement:
    """Judge a file by its objects, of which none has been used yet.

    Refused is what is of something else or of a newer release, has a macro that could stand in for a function of
    DuckDB or a table that is not as its release made it, or holds two models of one name.
    """
    macro = next((key for key in held if key.startswith("macro ")), None)
    if macro is not None:
        raise invalid_warehouse(path, f"it contains the {one_line(macro)}, which could replace a function of DuckDB")
    if _VERSIONS not in held:
        raise invalid_warehouse(path, _IS_ELSE)
    _require_same(path, held, {_VERSIONS: _table_objects(versions.VERSION)[_VERSIONS]})
    version = version_of(connection)
    if not 1 <= version <= versions.VERSION:
        raise invalid_warehouse(path, "it was written by a newer neurothek" if version > versions.VERSION else _IS_ELSE)
    if version < versions.FIRST:
        raise _too_old(path, version)
    tables = _table_objects(version)
    _require_same(path, held, tables)
    names = sorted(name for (name,) in connection.execute("select name from store.models").fetchall())
    twice = next((one for one, other in pairwise(names) if one == other), None)
    if twice is not None:
        # No release publishes, renames, imports or merges them, and everything that is asked is asked by name.
        raise invalid_warehouse(path, f"it contains two models named {one_line(twice)}")
    ours = _of_views(views)
    has_our_views = version == versions.VERSION and all(
        held.get(key) == fingerprint for key, fingerprint in ours.items()
    )
    rest = held.keys() - tables.keys() - ours.keys() - {"schema store"}
    if rest and not has_our_views:
        # What an earlier release made is dropped when the views are installed, and read by nobody until then.
        earlier = connection.execute("select name from store.installed_views").fetchall()
        rest -= {f"{_VIEW}{name}" for (name,) in earlier}
        rest = {key for key in rest if not key.startswith(_STORED)}
    return Judgement(version, tuple(sorted(rest)), has_our_views)


def record(views: ViewInstaller) -> str:
    """The objects of this release, with what they were made of and by which DuckDB, as JSON."""
    made = {
        "duckdb": duckdb.__version__,
        "schema": _of_schema(),
        "views": views.sources(),
    }
    return json.dumps({**made, "objects": _made(views, versions.VERSION)}, indent=1) + "\n"


def our_tables() -> list[str]:
    """The tables of this release as `store.NAME`, but for those that hold rows of views."""
    return sorted(key.removeprefix("table ") for key in _table_objects(versions.VERSION))


def fingerprint(views: ViewInstaller) -> str:
    """What changes with any object of this release."""
    return _sha256(repr((duckdb.__version__, _of_schema(), views.sources())))


@cache
def _of_schema() -> str:
    """Fingerprint of the modules that declare tables, which are not loaded for it."""
    folder = resources.files("neurothek.catalog.tables")
    files = sorted((file.name, file.read_text("utf-8")) for file in folder.iterdir() if file.name.endswith(".py"))
    return _sha256(repr(files))


def _too_old(path: Path, version: int) -> Unreadable:
    """The file has tables that this release does not read."""
    return Unreadable(
        f"{path} cannot be used as a warehouse: it was written by an earlier neurothek (schema version {version};"
        f" this one reads version {versions.FIRST} and later)",
        "export it with the neurothek that wrote it, then import the folder into a new file with"
        f" `{command_line('import', 'FOLDER', '--warehouse', 'FILE')}`",
        path=path,
        why="an earlier neurothek wrote it",
    )


def _require_same(path: Path, held: Objects, tables: Objects) -> None:
    for key, fingerprint in tables.items():
        if held.get(key) != fingerprint:
            what = "differs from neurothek's definition" if key in held else "is missing"
            raise invalid_warehouse(path, f"its {key} {what}")


@cache
def _table_objects(version: int) -> Objects:
    """The tables of the schema of some version, but for those that hold rows of views."""
    recorded = _recorded()
    if version == versions.VERSION and (recorded["duckdb"], recorded["schema"]) == (
        duckdb.__version__,
        _of_schema(),
    ):
        objects: Objects = recorded["objects"]
    else:
        objects = _made(None, version)
    return {key: text for key, text in objects.items() if key.startswith("table ") and not key.startswith(_STORED)}


@cache
def _of_views(views: ViewInstaller | None) -> Objects:
    """The views of this release, and the tables that hold their rows."""
    recorded = _recorded()
    objects: Objects = recorded["objects"]
    if views is not None and (recorded["duckdb"], recorded["views"]) != (duckdb.__version__, views.sources()):
        objects = _made(views, versions.VERSION)
    return {key: text for key, text in objects.items() if key.startswith((_VIEW, _STORED))}


@cache
def _made(views: ViewInstaller | None, version: int) -> Objects:
    """The objects of a new warehouse."""
    with duckdb.connect(config=settings_of(read_only=True)) as connection:
        create(connection, version)
        if views is not None:
            views.install(connection, is_new=True)
        return objects_of(connection)


@cache
def _recorded() -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(
        resources.files("neurothek.catalog.store").joinpath(RECORD).read_text("utf-8")
    )
    return content


def _in_capitals(cast: re.Match[str]) -> str:
    return f"AS {cast[1].upper()}{cast[2]}"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
