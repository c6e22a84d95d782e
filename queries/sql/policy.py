"""The policy for queries: relations of the warehouse alone, and functions known to be harmless.

A file may come from a stranger. What stands behind the relations' names is this release's own, see
`neurothek.catalog.store.objects`; a file with a macro is not opened.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from neurothek.queries.ask.parse_tree import Mentions, classified, functions_of_duckdb, views_of_duckdb
from neurothek.queries.errors.refused_sql import outside_the_warehouse, refused_function, unknown_function
from neurothek.queries.errors.unknown_subjects import unknown_relation

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
