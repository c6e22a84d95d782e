"""A database without rows that shows a catalog: this release's tables as views of Parquet files, its views over them.

It is made once a release, in the cache folder, and of nothing that any catalog brings. Each relation of the schema
`store` reads a file that has its name; which files these are is the business of the file system that is registered.
"""

from __future__ import annotations

import io
import json
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import fsspec
from platformdirs import user_cache_path

from neurothek.catalog.exchange.exports import INTERNAL
from neurothek.catalog.hub.file_system import PROTOCOL
from neurothek.catalog.hub.lines import COLUMNS, LINES
from neurothek.catalog.publishing.summaries import PREFIX
from neurothek.catalog.store import schema
from neurothek.catalog.store.connections import settings_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neurothek.catalog.store.schema import ViewInstaller

NUMBERED, NUMBERED_SCHEMA = ("neuron_facts", "projections"), "numbered"
"""Tables whose rows are found by their numbers, and the schema that has these as the column `rowid`; the lines of
neurons, which are sorted by a number of their own, are in it as well."""

DATABASE = "catalog"
"""Name of the database, by which queries may call it."""

_FORMAT = 5
"""Raised when a shell of an earlier release cannot be used, though its tables and views are the same."""

_COLUMNS = """
    select
        table_name, column_name, data_type, if(data_type like 'ENUM%', 'VARCHAR', data_type), coalesce(comment, '')
    from duckdb_columns()
    where schema_name = 'store' and database_name = current_database()
    order by table_oid, column_index
"""


@dataclass(frozen=True)
class Shell:
    """Where the database lies, and what stands for a relation that a catalog has no rows of.

    Attributes:
        database: the file. Its schema `store` has the tables as a warehouse has them, and its schema `numbered` some
            of them with the numbers of their rows.
        blanks: relation -> a Parquet file without rows.
        columns: relation -> name and type of each column as its file has it.
    """

    database: Path
    blanks: Mapping[str, bytes]
    columns: Mapping[str, Mapping[str, str]]


@cache
def shell_of(views: ViewInstaller) -> Shell:
    """The shell of this release."""
    root = user_cache_path("neurothek", appauthor=False) / "shells"
    folder = root / f"{schema.fingerprint(views)[:32]}-{_FORMAT}"
    try:
        if not (folder / "blanks.json").is_file():
            root.mkdir(parents=True, exist_ok=True)
            _make(root, folder, views)
        return _read(folder)
    except OSError:
        # No cache: it is made anew for this process, whose end deletes it.
        folder = Path(_own_folder().name) / "shell"
        _make(folder.parent, folder, views)
        return _read(folder)


@cache
def _own_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="neurothek-")


def _read(folder: Path) -> Shell:
    content = json.loads((folder / "blanks.json").read_text("ascii"))
    blanks = {name: bytes.fromhex(text) for name, text in content["blanks"].items()}
    return Shell(folder / f"{DATABASE}.duckdb", blanks, content["columns"])


def _make(root: Path, folder: Path, views: ViewInstaller) -> None:
    with tempfile.TemporaryDirectory(dir=root, prefix=".shell-") as name:
        fresh = Path(name)
        blanks = _Blanks()
        settings = {key: value for key, value in settings_of(read_only=False).items() if "external" not in key}
        with duckdb.connect(str(fresh / f"{DATABASE}.duckdb"), config=settings) as connection:
            schema.bring_up_to_date(connection)
            views.install(connection, is_new=True)
            columns = _columns(connection)
            connection.register_filesystem(blanks)
            connection.execute(f"begin; create schema {NUMBERED_SCHEMA}")
            for relation in columns:
                _show_file(connection, relation, columns[relation])
            for relation in NUMBERED:
                _define(connection, f"{NUMBERED_SCHEMA}.{relation}", columns[relation], has_numbers=True)
            _define_lines(connection)
            connection.execute("commit")
        content = {
            "blanks": {_relation(path): text.hex() for path, text in blanks.written.items()},
            "columns": {
                relation: {name: as_file for name, _, as_file, _ in listed} for relation, listed in columns.items()
            },
        }
        (fresh / "blanks.json").write_text(json.dumps(content), "ascii")
        if not folder.exists():
            shutil.copytree(fresh, folder.with_name(f"{folder.name}.{fresh.name}"))
            try:
                folder.with_name(f"{folder.name}.{fresh.name}").rename(folder)
            except OSError:
                # Another process was quicker.
                shutil.rmtree(folder.with_name(f"{folder.name}.{fresh.name}"), ignore_errors=True)


_Columns = list[tuple[str, str, str, str]]
"""Name, type, type as exported, and comment of each."""


def _columns(connection: duckdb.DuckDBPyConnection) -> dict[str, _Columns]:
    columns: dict[str, _Columns] = {}
    for relation, name, kind, as_file, comment in connection.execute(_COLUMNS).fetchall():
        if relation not in INTERNAL:
            columns.setdefault(relation, []).append((name, kind, as_file, comment))
    return columns


def _show_file(connection: duckdb.DuckDBPyConnection, relation: str, columns: _Columns) -> None:
    """Put a view of a file in the place of a table."""
    casts = ", ".join(f'cast("{name}" as {as_file}) as "{name}"' for name, _, as_file, _ in columns)
    connection.execute(f"copy (select {casts} from store.{relation}) to '{PROTOCOL}://{relation}' (format parquet)")
    row = connection.execute(
        "select comment from duckdb_tables() where schema_name = 'store' and table_name = ?", [relation]
    ).fetchall()
    connection.execute(f"drop table store.{relation}")
    _define(connection, f"store.{relation}", columns)
    comment = row[0][0] if row and row[0][0] else ""
    connection.execute(f"comment on view store.{relation} is {_literal(comment)}")
    for name, _, _, text in columns:
        connection.execute(f'comment on column store.{relation}."{name}" is {_literal(text)}')


def _define(connection: duckdb.DuckDBPyConnection, view: str, columns: _Columns, *, has_numbers: bool = False) -> None:
    # Closed sets are texts in the file; every other column must be of its type, or DuckDB refuses the file.
    selected = ", ".join(
        f'{_SOURCE} as "{name}"'
        if (view, name) in _SOURCES
        else f'"{name}"'
        if kind == as_file
        else f'cast("{name}" as {kind}) as "{name}"'
        for name, kind, as_file, _ in columns
    )
    numbers, option = (", file_row_number as rowid", ", file_row_number = true") if has_numbers else ("", "")
    file = f"{PROTOCOL}://{view.partition('.')[2]}"
    connection.execute(f"create view {view} as select {selected}{numbers} from read_parquet(['{file}']{option})")


_SOURCES = (("store.models", "source"), ("store.unit_sets", "source"))
"""Columns that say where weights are: what anybody published names no place of the machine that reads it."""

_SOURCE = r"""if(
    regexp_full_match(source, '[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*'),
    source,
    regexp_replace(regexp_replace(source, '^.*[/\\]', ''), '^[.~]+', '')
)"""
"""A hub id as it is; of anything else the last part of the path, which is a shipped model's name, or nobody's."""


def _define_lines(connection: duckdb.DuckDBPyConnection) -> None:
    file = f"{PROTOCOL}://{rows_of_view(LINES)}"
    blank = ", ".join(f"cast(null as {kind}) as {name}" for name, (kind, _) in COLUMNS.items())
    connection.execute(f"copy (select {blank} limit 0) to '{file}' (format parquet)")
    typed = ", ".join(f"cast({name} as {kind}) as {name}" for name, (kind, _) in COLUMNS.items())
    connection.execute(f"create view {NUMBERED_SCHEMA}.{LINES} as select {typed} from read_parquet(['{file}'])")


def rows_of_view(view: str) -> str:
    """The relation that holds the rows of a view which is not computed when it is asked."""
    return f"{PREFIX}{view}"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _relation(path: str) -> str:
    return path.removeprefix(f"{PROTOCOL}://")


class _Blanks(fsspec.AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Files in memory, which DuckDB writes and then reads."""

    protocol = PROTOCOL
    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self.written: dict[str, bytes] = {}

    def open(self, path: str, mode: str = "rb", *_: Any, **__: Any) -> io.BytesIO:
        return io.BytesIO(self.written[path]) if mode == "rb" else _Written(self.written, path)

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return {"name": path, "size": len(self.written[path]), "type": "file"}

    def glob(self, path: str, **_: Any) -> list[str]:
        return [path] if path in self.written else []

    def exists(self, path: str, **_: Any) -> bool:
        return path in self.written

    def isdir(self, path: str) -> bool:
        return False

    def modified(self, path: str) -> Any:  # noqa: ANN401 - as DuckDB takes it
        import datetime  # noqa: PLC0415 - here alone

        return datetime.datetime(2020, 1, 1)


class _Written(io.BytesIO):
    def __init__(self, files: dict[str, bytes], path: str) -> None:
        super().__init__()
        self._files, self._path = files, path

    def close(self) -> None:
        if not self.closed:
            self._files[self._path] = self.getvalue()
        super().close()
