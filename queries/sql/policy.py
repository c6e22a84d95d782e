"""The policy for queries: relations of the warehouse alone, and functions known to be harmless.

A file may come from a stranger. What stands behind the relations' names is this release's own, see
`neurothek.catalog.store.schema`; a file with a macro is not opened. A first look at a query's names, before anything is
started for it, reports misspelt ones at once; what passes it is judged by `admission` all the same.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import duckdb

from neurothek.catalog.problems import NeurothekError, NotFound
from neurothek.catalog.spelling import is_text
from neurothek.catalog.suggestions import nearest
from neurothek.queries.ask.parse_tree import (
    EXPLAIN,
    MARK,
    MOST_CHARACTERS,
    Mentions,
    classified,
    functions_of_duckdb,
    mentions_in,
    nodes_in,
    statements_of,
    views_of_duckdb,
)
from neurothek.queries.ask.statements import records
from neurothek.queries.errors.refused_sql import outside_the_warehouse, refused_function, unknown_function
from neurothek.queries.errors.unknown_subjects import RELATION, unknown_column_among, unknown_relation

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")
_SYSTEM_SCHEMAS = {"information_schema"}
_OWN_SCHEMAS = {"", "main", "store"}


@dataclass(frozen=True)
class QueryScope:
    """The relations of a warehouse that a query may read, and the name of its file."""

    relations: Collection[str]
    catalog: str


def check_mentions(mentions: Mentions, scope: QueryScope) -> None:
    """Refuse what a query may not mention."""
    check_relations(mentions, scope)
    _check_calls(mentions)


def check_relations(mentions: Mentions, scope: QueryScope) -> None:
    """Refuse a relation that is none of the warehouse's: a file, an address, or nothing at all."""
    ctes = _local(mentions)
    for owner, schema, name in mentions.tables:
        _check_table(owner, schema, name, ctes=ctes, scope=scope)


def _check_calls(mentions: Mentions) -> None:
    functions = classified()
    for call in mentions.calls:
        if not functions.admits(call.name, call.place):
            if functions.knows(call.name) or call.name in functions_of_duckdb():
                raise refused_function(call.name, functions.why_not(call.name))
            raise unknown_function(call.name, functions.names())
    for name in mentions.aggregates:
        if name is None:
            raise refused_function("list_aggregate", "the function that it calls is not named by a plain text")
        if not functions.admits_aggregate(name):
            raise refused_function(name, "only known aggregates may be applied to a list")


def _local(mentions: Mentions) -> set[str]:
    """Table expressions that hide nothing elsewhere in the query: neither a file nor what DuckDB tells of itself."""
    plain = {name for name in mentions.ctes if _PLAIN_NAME.fullmatch(name)}
    return plain - views_of_duckdb() if plain else plain


def _check_table(owner: str, schema: str, name: str, *, ctes: set[str], scope: QueryScope) -> None:
    catalog = scope.catalog
    written = ".".join(part for part in (owner, schema, name) if part)
    if not all(_PLAIN_NAME.fullmatch(part) for part in (schema, name) if part) or not name:
        raise outside_the_warehouse(written)
    if owner and owner != catalog:
        raise outside_the_warehouse(written)
    # A file's own name may stand for its schema main.
    schema = "" if schema in ("main", catalog) and not (owner and schema == catalog) else schema
    if schema in _SYSTEM_SCHEMAS or (not schema and not owner and name in ctes):
        return
    if schema not in _OWN_SCHEMAS:
        raise outside_the_warehouse(written)
    if (f"{schema}.{name}" if schema else name) not in {one.casefold() for one in scope.relations}:
        raise unknown_relation(written, list(scope.relations))


_COLUMNS_OF_RELATIONS = """\
-- The columns of every view and table, by the name of what has them: views as people query them, tables of the store.
select
    case when schema_name = 'store' then 'store.' else '' end || table_name as relation,
    column_name as name,
from duckdb_columns()
where database_name = current_database() and schema_name in ('main', 'store') and not internal
order by relation, column_index
"""

_BRINGS_COLUMNS = frozenset({"EXPRESSION_LIST", "PIVOT", "SHOW_REF", "TABLE_FUNCTION"})
"""What stands in place of a table and has columns that the warehouse does not list."""

_SPREAD = frozenset({"unlist", "unnest"})
"""Functions that make columns from their arguments."""

_HIDDEN = frozenset({"rowid"})
"""Columns that no list names."""


def look(connection: duckdb.DuckDBPyConnection, query: str, scope: QueryScope) -> bool:
    """Whether a query may well be answered, as far as its text and the names of the warehouse tell."""
    text = query.removeprefix(MARK)
    if len(text) > MOST_CHARACTERS or not is_text(text) or "\0" in text:
        return False
    explained = EXPLAIN.match(text)
    try:
        statements = statements_of(text[explained.end() :] if explained else text)
        if len(statements) != 1:
            return False
        mentions = mentions_in(statements)
        check_mentions(mentions, scope)
    except NotFound as error:
        if error.what == RELATION:
            raise
        return False
    except NeurothekError:
        return False
    _refuse_unknown_columns(connection, statements, mentions)
    return True


def _refuse_unknown_columns(
    connection: duckdb.DuckDBPyConnection, statements: list[dict[str, Any]], mentions: Mentions
) -> None:
    """Refuse a column that no relation of the query has, where nothing in its text can make a column of that name."""
    if any(_makes_columns(node) for node in nodes_in(statements)) or {call.name for call in mentions.calls} & _SPREAD:
        return
    columns = _columns_of(connection, mentions)
    if columns is None:
        return
    names = {name.casefold() for name in columns}
    names |= _HIDDEN | {text.casefold() for text in _texts(statements)}
    tables = {name for _, _, name in mentions.tables} | {
        str(node.get("alias")).casefold() for node in nodes_in(statements) if node.get("type") == "BASE_TABLE"
    }
    for node in nodes_in(statements):
        parts = node["column_names"] if node.get("class") == "COLUMN_REF" else []
        # A name with more parts may reach into a column.
        is_plain = len(parts) == 1 or (len(parts) == 2 and parts[0].casefold() in tables)
        if is_plain and parts[-1].casefold() not in names | functions_of_duckdb():
            near = nearest(parts[-1], columns)
            if near:
                raise unknown_column_among(parts[-1], near, [])


def _makes_columns(node: dict[str, Any]) -> bool:
    kind = node.get("type")
    # The type of a value is described by an object.
    return (isinstance(kind, str) and kind in _BRINGS_COLUMNS) or node.get("class") == "LAMBDA"


def _columns_of(connection: duckdb.DuckDBPyConnection, mentions: Mentions) -> list[str] | None:
    """Columns of the relations that are mentioned, in order; None if one of them is not the warehouse's own."""
    by_relation: dict[str, list[str]] = {}
    for row in records(connection, _COLUMNS_OF_RELATIONS):
        by_relation.setdefault(row["relation"].casefold(), []).append(row["name"])
    columns: dict[str, None] = {}
    for _, schema, name in mentions.tables:
        if schema == "" and name in mentions.ctes:
            continue
        relation = f"store.{name}" if schema == "store" else name
        if relation not in by_relation:
            return None
        columns |= dict.fromkeys(by_relation[relation])
    return list(columns) or None


def _texts(value: object) -> Iterator[str]:
    """Every text of a JSON tree but the names of columns that are referred to: what may give a column its name."""
    stack: list[Any] = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            stack.extend(one)
        elif isinstance(one, dict):
            is_reference = one.get("class") == "COLUMN_REF" and len(one["column_names"]) <= 2
            stack.extend(part for key, part in one.items() if not (is_reference and key == "column_names"))
