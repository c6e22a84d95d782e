"""What a query mentions, judged: relations of the warehouse alone, and functions known to be harmless.

What the file itself brings along, its views, macros and computed columns, is judged alike: it may come from a stranger.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from queries.ask.definitions import Definitions
from queries.ask.functions import classified
from queries.ask.parse_tree import Mentions, functions_of_duckdb, mentions_of, views_of_duckdb
from queries.errors import FunctionRefused, MacroInTheWay, OutsideTheWarehouse, UnknownFunction, UnknownRelation

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")
_SYSTEM_SCHEMAS = {"information_schema"}
_OWN_SCHEMAS = {"", "main", "store"}


@dataclass(frozen=True)
class Ground:
    """What a query may stand on: the relations of a warehouse, the name of its file, and what the file defines."""

    relations: Collection[str]
    catalog: str
    definitions: Definitions


def judge_mentions(mentions: Mentions, ground: Ground) -> None:
    """Refuse what a query may not mention.

    Raises:
        OutsideTheWarehouse, UnknownRelation: a relation is none of the warehouse's.
        MacroInTheWay: the file gives a function of DuckDB another meaning.
        FunctionRefused, UnknownFunction: a function is not admitted, or there is none.
        QueryFailed: what the file defines cannot be read.
    """
    judge_macros(ground.definitions)
    judge_relations(mentions, ground)
    _judge_calls(mentions, ground.definitions)
    _judge_definitions(mentions, ground.definitions)


def judge_relations(mentions: Mentions, ground: Ground) -> None:
    """Refuse a relation that is none of the warehouse's: a file, an address, or nothing at all."""
    ctes = _local(mentions)
    for owner, schema, name in mentions.tables:
        _judge_table(owner, schema, name, ctes=ctes, ground=ground)


def judge_macros(definitions: Definitions) -> None:
    """Refuse a file whose macros change what our own views and everybody's queries say."""
    if definitions.macros:
        in_the_way = sorted(definitions.macros & (functions_of_duckdb() | classified().names()))
        if in_the_way:
            raise MacroInTheWay(in_the_way[0])


def _judge_calls(mentions: Mentions, definitions: Definitions, within: str = "") -> None:
    functions = classified()
    for call in mentions.calls:
        if call.name in definitions.macros:
            raise FunctionRefused(call.name, "it is a macro of this file, which has not been reviewed", within)
        if not functions.admits(call.name, call.place):
            if functions.knows(call.name) or call.name in functions_of_duckdb():
                raise FunctionRefused(call.name, functions.why_not(call.name), within)
            raise UnknownFunction(call.name, functions.names())
    for name in mentions.aggregates:
        if name is None:
            raise FunctionRefused("list_aggregate", "the function that it calls is not named by a plain text", within)
        if not functions.admits_aggregate(name):
            raise FunctionRefused(name, "only known aggregates may be applied to a list", within)


def _judge_definitions(mentions: Mentions, definitions: Definitions) -> None:
    """Judge what the file puts behind the names that a query mentions: views, what these read, computed columns."""
    waiting, seen = [name for _, _, name in mentions.tables], set[str]()
    while waiting:
        name = waiting.pop()
        for definition in definitions.behind(name) if name not in seen else ():
            below = mentions_of(definition.query)
            _judge_calls(below, definitions, definition.what)
            waiting += _read_below(below, definitions)
        seen.add(name)


def _read_below(mentions: Mentions, definitions: Definitions) -> list[str]:
    """Names of the file's relations that a definition reads."""
    ctes = _local(mentions)
    read = []
    for owner, schema, table in mentions.tables:
        is_local = not owner and not schema and table in ctes
        if not is_local and schema not in _SYSTEM_SCHEMAS and not definitions.holds(table):
            raise OutsideTheWarehouse(".".join(part for part in (owner, schema, table) if part))
        read.append(table)
    return read


def _local(mentions: Mentions) -> set[str]:
    """Table expressions that hide nothing elsewhere in the query: neither a file nor what DuckDB tells of itself."""
    plain = {name for name in mentions.ctes if _PLAIN_NAME.fullmatch(name)}
    return plain - views_of_duckdb() if plain else plain


def _judge_table(owner: str, schema: str, name: str, *, ctes: set[str], ground: Ground) -> None:
    catalog = ground.catalog
    written = ".".join(part for part in (owner, schema, name) if part)
    if not all(_PLAIN_NAME.fullmatch(part) for part in (schema, name) if part) or not name:
        raise OutsideTheWarehouse(written)
    if owner and owner != catalog:
        raise OutsideTheWarehouse(written)
    # A file's own name may stand for its schema main.
    schema = "" if schema in ("main", catalog) and not (owner and schema == catalog) else schema
    if schema in _SYSTEM_SCHEMAS or (not schema and not owner and name in ctes):
        return
    if schema not in _OWN_SCHEMAS:
        raise OutsideTheWarehouse(written)
    if (f"{schema}.{name}" if schema else name) not in {one.casefold() for one in ground.relations}:
        raise UnknownRelation(written, list(ground.relations))
