"""The views people query: one SQL file each, read with their headers, installed in the order of their dependencies."""

import graphlib
import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources

import duckdb

from neurothek.catalog.problems import NotFound
from neurothek.catalog.publishing import summaries
from neurothek.catalog.publishing.summaries import PREFIX

_SECTION = re.compile(r"^(key|kept|columns):\s*(.*)$")
_COLUMN = re.compile(r"^  (\w+): (.+)$")
_MENTION = re.compile(r"\b(?:from|join)\s+([a-z_]+)\b(?!\.)")
_READ = re.compile(r"\b(?:from|join)\s+((?:store\.)?[a-z_]+)\b")


@dataclass(frozen=True)
class View:
    """A view as its file describes it."""

    name: str  # name of the view and of its file
    text: str  # the whole file, header included: what one edits and runs
    purpose: str  # the header's prose: what one row is, why, from what, and the sources
    key: tuple[str, ...]  # the columns that identify a row
    columns: Mapping[str, str]  # column name -> description, in order
    # where its rows lie in a table, computed anew for a model when its measurements change, a table of the store
    # without whose rows a model has none in the view
    stored: str | None = None

    @cached_property
    def query(self) -> str:
        """The query alone, without header and comments."""
        return "\n".join(line for line in self.text.splitlines() if not line.lstrip().startswith("--"))

    @property
    def grain(self) -> str:
        """First sentence of the header: what one row is."""
        return self.purpose.split(". ", 1)[0].rstrip(".") + "."


def parse_view(name: str, text: str) -> View:
    """Read a view's file: a header of comment lines with prose, `key:`, `kept:` and `columns:`, then one query."""
    prose: list[str] = []
    key: tuple[str, ...] = ()
    columns: dict[str, str] = {}
    stored_from: str | None = None
    in_columns = False
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        content = line[3:]
        section = _SECTION.match(content)
        column = _COLUMN.match(content) if in_columns else None
        if section:
            in_columns = section[1] == "columns"
            key = tuple(section[2].split(", ")) if section[1] == "key" else key
            stored_from = section[2] if section[1] == "kept" else stored_from
        elif column:
            columns[column[1]] = column[2]
        else:
            prose.append(content.strip())
    return View(name=name, text=text, purpose=" ".join(prose), key=key, columns=columns, stored=stored_from)


@cache
def _texts() -> Mapping[str, str]:
    """Every view's file, by name."""
    folder = resources.files("neurothek.queries") / "views"
    files = {file.name.removesuffix(".sql"): file for file in folder.iterdir() if file.name.endswith(".sql")}
    return {name: file.read_text("utf-8") for name, file in files.items()}


@cache
def _fingerprints() -> Mapping[str, str]:
    """sha256 of every view's file: what a file holds of an earlier release is told without reading the headers."""
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in _texts().items()}


@cache
def all_views() -> Mapping[str, View]:
    """Every view of this release, by name, each after the views it reads."""
    views = {name: parse_view(name, text) for name, text in _texts().items()}
    reads = {name: sorted(set(_MENTION.findall(view.text)) & (set(views) - {name})) for name, view in views.items()}
    # Sorted first, so that the order does not depend on the order of files in a folder.
    order = graphlib.TopologicalSorter(dict(sorted(reads.items()))).static_order()
    return {name: views[name] for name in order}


@cache
def views_that_read(*relations: str) -> tuple[View, ...]:
    """The views that read one of the relations, or a view that does, in the order of their dependencies.

    Args:
        relations: names of views, and of tables as `store.NAME`.
    """
    reached, readers = set(relations), []
    for name, one in all_views().items():
        if name not in relations and reached & set(_READ.findall(one.query)):
            reached.add(name)
            readers.append(one)
    return tuple(readers)


def view(name: str) -> View:
    """The view called `name`."""
    views = all_views()
    if name not in views:
        raise NotFound.among("view", name, sorted(views))
    return views[name]


def install(connection: duckdb.DuckDBPyConnection, *, is_new: bool = False) -> None:
    """Create or replace every view with its comments, and drop those that an earlier release installed and this lacks.

    It runs in a transaction of its own: all views change, or none.

    Args:
        connection: to a file or a database in memory.
        is_new: whether nobody else sees the file before it is whole: each view is committed alone then, as a comment
            holds a copy of its view until the commit, which is 70 MB for all of them.
    """
    views = all_views()
    connection.execute("begin")
    for name in _retired(connection):
        connection.execute(f"drop view main.{_quoted(name)}")
    summaries.clear(connection)
    stored = {one.name: one for one in materialized_views()}
    for one in views.values():
        _install_one(connection, one, stored.get(one.name))
        if is_new:
            connection.execute("commit")
            connection.execute("begin")
    connection.execute("delete from store.installed_views")
    rows = [value for fingerprint in _fingerprints().items() for value in fingerprint]
    places = ", ".join(["(?, ?)"] * len(views))
    connection.execute(f"insert into store.installed_views values {places}", rows)
    connection.execute("commit")


def define(connection: duckdb.DuckDBPyConnection) -> None:
    """Create every view as a temporary one, which computes all it shows: a file that nobody writes to needs no more."""
    for one in all_views().values():
        connection.execute(f"create or replace temp view {one.name} as\n{one.query}")


def define_also(connection: duckdb.DuckDBPyConnection, reader: duckdb.DuckDBPyConnection) -> None:
    """Define the views for another connection if they are for a reader: temporary views are one connection's own."""
    if reader.execute("select 1 from duckdb_views() where temporary and not internal limit 1").fetchall():
        define(connection)


@cache
def sources() -> str:
    """Fingerprint of every view's file."""
    return hashlib.sha256(repr(sorted(_fingerprints().items())).encode()).hexdigest()


def materialized_views() -> list[summaries.MaterializedView]:
    """The views whose rows are stored, in the order of their dependencies."""
    return [_stored_view(name) for name, one in all_views().items() if one.stored is not None]


summaries.provide(materialized_views)


def _retired(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Names of views in the file that an earlier release says it installed."""
    query = """
        select view_name from duckdb_views()
        where schema_name = 'main' and database_name = current_database() and not internal
            and view_name in (select name from store.installed_views)
    """
    return sorted(name for (name,) in connection.execute(query).fetchall() if name not in all_views())


def _install_one(connection: duckdb.DuckDBPyConnection, one: View, stored: summaries.MaterializedView | None) -> None:
    text = one.text
    if stored is not None:
        summaries.materialize(connection, stored)
        text = f"select {', '.join(one.columns)} from store.{stored.table}"
    connection.execute(f"create or replace view main.{one.name} as\n{text}")
    connection.execute(f"comment on view main.{one.name} is {_literal(one.purpose)}")
    for column, description in one.columns.items():
        connection.execute(f"comment on column main.{one.name}.{column} is {_literal(description)}")


@cache
def _stored_view(name: str) -> summaries.MaterializedView:
    # Here, as whoever only reads does without the tables' types.
    from neurothek.catalog.tables.registry import OWNERS  # noqa: PLC0415

    views = all_views()
    one = views[name]
    of_one_model = narrowed(
        name,
        {other: view.query for other, view in views.items()},
        stored={other for other, view in views.items() if view.stored},
        owners=OWNERS,
    )
    return summaries.MaterializedView(name, one.key, str(one.stored), one.query, of_one_model)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_READ_AS = re.compile(r"\b(from|join) (store\.)?([a-z_0-9]+)\b(?![.(])( as [a-z_0-9]+)?")
_CTE = re.compile(r"^(?:with )?([a-z_0-9]+) as \($", re.MULTILINE)


def narrowed(name: str, queries: Mapping[str, str], *, stored: Collection[str], owners: Mapping[str, str]) -> str:
    """The query of the view `name` for the model `$model_id` called `$model`.

    DuckDB carries a condition on the final `model` down through few of the joins, windows and unions of a view that
    sums up; here every table is narrowed where it is read.

    Args:
        name: a view.
        queries: name -> query of every view, without comments.
        stored: names of the views whose rows are stored, which are read where they lie.
        owners: table of the store -> its column with the number of the model or of the set of its neurons.
    """
    ctes = set(_CTE.findall(queries[name]))

    def narrow(match: re.Match[str]) -> str:
        word, store, read, alias = match[1], match[2], match[3], match[4] or f" as {match[3]}"
        if store:
            return f"{word} (from store.{read} where {owners[read]} = $model_id){alias}" if read in owners else match[0]
        if read in ctes or read not in queries:
            return match[0]
        if read in stored:
            return f"{word} (from store.{PREFIX}{read} where model = $model){alias}"
        return f"{word} (\n{narrowed(read, queries, stored=stored, owners=owners)}){alias}"

    return _READ_AS.sub(narrow, queries[name])
