"""Which SQL people may ask: one question over the warehouse's own relations that calls functions known to be harmless.

Two parsers read the text: sqlglot names what is refused and why, and DuckDB's own, which the query will be run from,
tells what is called. What the file itself brings along, its views, macros and computed columns, is judged alike: it may
come from a stranger.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from catalog.visible import is_text
from queries.definitions import Definitions
from queries.errors import (
    EmptyQuery,
    FunctionRefused,
    MacroInTheWay,
    NotAQuery,
    NotOneQuery,
    OutsideTheWarehouse,
    QueryFailed,
    UnknownFunction,
    UnknownRelation,
)
from queries.functions import classified
from queries.parse_tree import UNREADABLE, Mentions, functions_of_duckdb, mentions_of, syntax_error, views_of_duckdb

MARK = "\ufeff"
"""What some editors begin a file of UTF-8 with: DuckDB passes over it, and so does the gate."""

MOST_CHARACTERS = 50_000
"""A longer text is refused unread: parsing it would take longer than most answers."""

# The first word of what may be asked; the rest of a statement is judged as a tree.
_FIRST_WORDS = {"SELECT", "WITH", "FROM", "VALUES", "TABLE", "DESCRIBE", "DESC", "SUMMARIZE", "PIVOT", "UNPIVOT", "("}
EXPLAIN = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*explain\b", re.IGNORECASE | re.DOTALL)
"""How a text begins that asks for a plan."""

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")
_SYSTEM_SCHEMAS = {"information_schema"}
_OWN_SCHEMAS = {"", "main", "store"}


@dataclass(frozen=True)
class _Ground:
    """What a query may stand on: the relations of a warehouse, the name of its file, and what the file defines."""

    relations: Collection[str]
    catalog: str
    definitions: Definitions


def check_query(
    query: str, relations: Collection[str], *, catalog: str = "", definitions: Definitions | None = None
) -> None:
    """Raise unless `query` is one question over `relations` that calls admitted functions alone.

    Args:
        query: the text.
        relations: views by name, tables as `store.NAME`.
        catalog: the name that DuckDB has for the file.
        definitions: what the file defines, judged as far as the query reaches it.

    Raises:
        EmptyQuery, NotOneQuery: the text holds no statement or several.
        NotAQuery: the statement does more than ask.
        FunctionRefused, OutsideTheWarehouse: it would reach beyond the warehouse.
        MacroInTheWay: the file gives a function of DuckDB another meaning.
        UnknownRelation, UnknownFunction: it names what does not exist.
        QueryFailed: the text cannot be read.
    """
    query = query.removeprefix(MARK)
    ground = _Ground(relations, catalog.casefold(), definitions or Definitions())
    if len(query) > MOST_CHARACTERS:
        raise QueryFailed(f"its text has {len(query):,} characters, and at most {MOST_CHARACTERS:,} are read")
    if not is_text(query):
        raise QueryFailed("its text is no UTF-8")
    if "\0" in query:
        raise QueryFailed("its text holds a character that no text holds (NUL)")
    explained = EXPLAIN.match(query)
    tokens = _statement_tokens(query[explained.end() :] if explained else query)
    # sqlglot hands out some statements whole.
    first = tokens[0].text.split(maxsplit=1)[0].upper() if tokens[0].text.strip() else tokens[0].text
    if explained:
        _check_explained(tokens, first)
    if first == "SHOW" and not explained:
        _check_show(tokens[1:], relations)
    elif first not in _FIRST_WORDS:
        complaint = syntax_error(query)
        raise QueryFailed(complaint) if complaint else NotAQuery(first)
    else:
        _check_tree(query[explained.end() :] if explained else query, ground)


def _statement_tokens(query: str) -> list[Token]:
    try:
        tokens = sqlglot.tokenize(query, read="duckdb")
    except sqlglot.errors.SqlglotError as error:
        raise QueryFailed("its text cannot be read") from error
    starts = [
        token
        for number, token in enumerate(tokens)
        if token.token_type != TokenType.SEMICOLON
        and (number == 0 or tokens[number - 1].token_type == TokenType.SEMICOLON)
    ]
    if not starts:
        raise EmptyQuery(query)
    if len(starts) != 1:
        raise NotOneQuery(len(starts))
    return [token for token in tokens if token.token_type != TokenType.SEMICOLON]


def _check_show(tokens: list[Token], relations: Collection[str]) -> None:
    shown = "".join(token.text for token in tokens).casefold()
    if not shown:
        raise QueryFailed("SHOW has to be told what: TABLES, or the name of a view or table")
    if shown not in ("tables", "alltables") and shown not in relations:
        raise UnknownRelation(shown, list(relations))


def _check_explained(tokens: list[Token], first: str) -> None:
    second = tokens[1].text.upper() if len(tokens) > 1 else ""
    if first in ("ANALYZE", "ANALYSE") or (first == "(" and second not in _FIRST_WORDS):
        raise NotAQuery("EXPLAIN with options")
    if first not in _FIRST_WORDS:
        raise NotAQuery(f"EXPLAIN {first}")


def _check_tree(query: str, ground: _Ground) -> None:
    try:
        # A comment behind the last semicolon is a tree of its own.
        trees = sqlglot.parse(query, read="duckdb")
        (tree,) = [tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)]
        mentions = _sqlglot_mentions(tree)
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError) as error:
        raise QueryFailed(syntax_error(query) or UNREADABLE) from error
    if not isinstance(tree, exp.Query | exp.Values | exp.Describe | exp.Summarize | exp.Pivot | exp.Subquery):
        raise NotAQuery(type(tree).__name__.upper())
    for node in tree.find_all(exp.DML, exp.DDL, exp.Command, exp.Into):
        # A query is one kind of what creates a table.
        if not isinstance(node, exp.Query):
            raise NotAQuery(type(node).__name__.upper())
    _judge_relations(mentions, ground)
    _judge_macros(ground.definitions)
    called = mentions_of(query)
    _judge_relations(called, ground)
    _judge_calls(called, ground.definitions)
    _judge_definitions(called, ground.definitions)


def _judge_macros(definitions: Definitions) -> None:
    """Refuse a file whose macros change what our own views and everybody's queries say."""
    if definitions.macros:
        in_the_way = sorted(definitions.macros & (functions_of_duckdb() | classified().names()))
        if in_the_way:
            raise MacroInTheWay(in_the_way[0])


def _judge_calls(mentions: Mentions, definitions: Definitions, within: str = "") -> None:
    functions = classified()
    for call in mentions.calls:
        if call.name in definitions.macros:
            raise FunctionRefused(
                call.name, "it is a macro of this file, and nobody has looked at what it does", within
            )
        if not functions.admits(call.name, call.place):
            if functions.knows(call.name) or call.name in functions_of_duckdb():
                raise FunctionRefused(call.name, functions.why_not(call.name), within)
            raise UnknownFunction(call.name, functions.names())
    for name in mentions.aggregates:
        if name is None:
            raise FunctionRefused("list_aggregate", "what it calls has to be named by a plain text", within)
        if not functions.admits_aggregate(name):
            raise FunctionRefused(name, "a list is aggregated by known aggregates alone", within)


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


def _judge_relations(mentions: Mentions, ground: _Ground) -> None:
    ctes = _local(mentions)
    for owner, schema, name in mentions.tables:
        _judge_table(owner, schema, name, ctes=ctes, ground=ground)


def _judge_table(owner: str, schema: str, name: str, *, ctes: set[str], ground: _Ground) -> None:
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


def _sqlglot_mentions(tree: exp.Expr) -> Mentions:
    """Relations alone: sqlglot has names of its own for functions."""
    mentions = Mentions(ctes={cte.alias.casefold() for cte in tree.find_all(exp.CTE)})
    for table in tree.find_all(exp.Table):
        # Where sqlglot stops at a table, DuckDB may go on: AT, or a table function behind a schema.
        if isinstance(table.this, exp.Identifier):
            mentions.tables.append((table.catalog.casefold(), table.db.casefold(), table.name.casefold()))
        elif not isinstance(table.this, exp.Func):
            mentions.tables.append(("", "", table.sql(dialect="duckdb")))
    return mentions
