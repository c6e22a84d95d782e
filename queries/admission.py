"""Which SQL people may ask: one question over the warehouse's own relations; anything else is refused by kind.

Two parsers read the text: sqlglot names what is refused and why, and DuckDB's own parser has to see nothing more in it.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from catalog.visible import is_text
from queries.errors import (
    FunctionRefused,
    NotAQuery,
    NotOneQuery,
    OutsideTheWarehouse,
    QueryFailed,
    UnknownRelation,
)

MOST_CHARACTERS = 50_000
"""A longer text is refused unread: parsing it would take longer than most answers."""

LAMBDA = "lambda"
"""What stands for them among the functions that a condition calls."""

TABLE_FUNCTIONS = frozenset(
    {
        *("unnest", "range", "generate_series", "repeat", "json_each", "json_tree"),
        *("duckdb_tables", "duckdb_views", "duckdb_columns", "duckdb_functions", "duckdb_types"),
        *("duckdb_keywords", "pragma_table_info"),
    }
)
"""Functions that may stand where a table does; all others read files, run text as SQL, or tell of the machine."""

_REFUSED_FUNCTIONS = {
    **dict.fromkeys(("getenv", "current_setting", "getvariable"), "it tells of the machine, not of neurons"),
    **dict.fromkeys(("query", "query_table", "json_execute_serialized_sql"), "it runs a text as SQL"),
    **dict.fromkeys(("sleep_ms", "pg_sleep"), "it only waits"),
    **dict.fromkeys(("nextval", "currval", "setval", "setseed", "write_log"), "it changes what it reads"),
}
_READERS = re.compile(r"(read|scan|parquet|sniff|glob|which|iceberg|delta|sqlite|postgres|mysql|http|st_read)(_|$)")
_TELLING = "it reads more than the warehouse"

_UNREADABLE = "its text is nested too deeply, or written in a form that cannot be checked"

# The first word of what may be asked; the rest of a statement is judged as a tree.
_FIRST_WORDS = {"SELECT", "WITH", "FROM", "VALUES", "TABLE", "DESCRIBE", "DESC", "SUMMARIZE", "PIVOT", "UNPIVOT", "("}
EXPLAIN = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*explain\b", re.IGNORECASE | re.DOTALL)
"""How a text begins that asks for a plan."""

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")
_SYSTEM_SCHEMAS = {"information_schema"}
_OWN_SCHEMAS = {"", "main", "store"}


@dataclass
class _Mentions:
    """What a query mentions, as one parser sees it."""

    tables: list[tuple[str, str, str]] = field(default_factory=list)
    """(catalog, schema, name) of everything that stands where a table does."""
    ctes: set[str] = field(default_factory=set)
    table_functions: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)


def check_query(query: str, relations: Collection[str], *, catalog: str = "") -> None:
    """Raise unless `query` is one question over `relations` (views by name, tables as `store.NAME`) of the `catalog`.

    Raises:
        NotOneQuery: the text holds no statement or several.
        NotAQuery: the statement does more than ask.
        FunctionRefused, OutsideTheWarehouse: it would reach beyond the warehouse.
        UnknownRelation: it names a relation that does not exist.
        QueryFailed: the text cannot be read.
    """
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
        complaint = _syntax_error(query)
        raise QueryFailed(complaint) if complaint else NotAQuery(first)
    else:
        _check_tree(query[explained.end() :] if explained else query, relations, catalog)


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
    if len(starts) != 1:
        raise NotOneQuery(len(starts))
    return [token for token in tokens if token.token_type != TokenType.SEMICOLON]


def _check_show(tokens: list[Token], relations: Collection[str]) -> None:
    shown = "".join(token.text for token in tokens).casefold()
    if shown not in ("tables", "alltables") and shown not in relations:
        raise UnknownRelation(shown, list(relations))


def _check_explained(tokens: list[Token], first: str) -> None:
    second = tokens[1].text.upper() if len(tokens) > 1 else ""
    if first in ("ANALYZE", "ANALYSE") or (first == "(" and second not in _FIRST_WORDS):
        raise NotAQuery("EXPLAIN with options")
    if first not in _FIRST_WORDS:
        raise NotAQuery(f"EXPLAIN {first}")


def _check_tree(query: str, relations: Collection[str], catalog: str) -> None:
    try:
        # A comment behind the last semicolon is a tree of its own.
        trees = sqlglot.parse(query, read="duckdb")
        (tree,) = [tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)]
        mentions = _sqlglot_mentions(tree)
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError) as error:
        raise QueryFailed(_syntax_error(query) or _UNREADABLE) from error
    if not isinstance(tree, exp.Query | exp.Values | exp.Describe | exp.Summarize | exp.Pivot | exp.Subquery):
        raise NotAQuery(type(tree).__name__.upper())
    for node in tree.find_all(exp.DML, exp.DDL, exp.Command, exp.Into):
        # A query is one kind of what creates a table.
        if not isinstance(node, exp.Query):
            raise NotAQuery(type(node).__name__.upper())
    _judge(mentions, relations, catalog)
    _judge(_duckdb_mentions(query), relations, catalog)


def _judge(mentions: _Mentions, relations: Collection[str], catalog: str) -> None:
    for name in mentions.table_functions:
        if name not in TABLE_FUNCTIONS:
            raise FunctionRefused(name, _REFUSED_FUNCTIONS.get(name, _TELLING))
    for name in mentions.functions:
        if name in _REFUSED_FUNCTIONS:
            raise FunctionRefused(name, _REFUSED_FUNCTIONS[name])
        if _READERS.match(name):
            raise FunctionRefused(name, _TELLING)
    known = {name.casefold() for name in relations}
    # A name of a table expression with a dot in it could hide a file of that name elsewhere in the query.
    ctes = {name for name in mentions.ctes if _PLAIN_NAME.fullmatch(name)}
    for owner, schema, name in mentions.tables:
        _judge_table(owner, schema, name, known=known, ctes=ctes, catalog=catalog, relations=relations)


def _judge_table(
    owner: str, schema: str, name: str, *, known: set[str], ctes: set[str], catalog: str, relations: Collection[str]
) -> None:
    written = ".".join(part for part in (owner, schema, name) if part)
    if not all(_PLAIN_NAME.fullmatch(part) for part in (schema, name) if part) or not name:
        raise OutsideTheWarehouse(written)
    if owner and owner != catalog.casefold():
        raise OutsideTheWarehouse(written)
    # A file's own name may stand for its schema main.
    schema = "" if schema in ("main", catalog.casefold()) and not (owner and schema == catalog.casefold()) else schema
    if schema in _SYSTEM_SCHEMAS or (not schema and not owner and name in ctes):
        return
    if schema not in _OWN_SCHEMAS:
        raise OutsideTheWarehouse(written)
    if (f"{schema}.{name}" if schema else name) not in known:
        raise UnknownRelation(written, list(relations))


def _sqlglot_mentions(tree: exp.Expr) -> _Mentions:
    mentions = _Mentions(ctes={cte.alias.casefold() for cte in tree.find_all(exp.CTE)})
    for table in tree.find_all(exp.Table):
        # Where sqlglot stops at a table, DuckDB may go on: AT, or a table function behind a schema.
        inner = table.this
        if isinstance(inner, exp.Identifier):
            mentions.tables.append((table.catalog.casefold(), table.db.casefold(), table.name.casefold()))
        elif isinstance(inner, exp.Func):
            mentions.table_functions.append(_name_of(inner))
        else:
            mentions.tables.append(("", "", table.sql(dialect="duckdb")))
    mentions.functions = [_name_of(function) for function in tree.find_all(exp.Func)]
    return mentions


def _name_of(function: exp.Func) -> str:
    if isinstance(function, exp.Anonymous):
        return str(function.this).casefold()
    # sqlglot reads range as the series that it is.
    return "range" if isinstance(function, exp.GenerateSeries) else function.sql_name().casefold()


def _duckdb_mentions(query: str) -> _Mentions:
    """What DuckDB's parser sees in a SELECT; nothing for the other questions, which it does not hand out as a tree."""
    with _parser().cursor() as parser:
        rows = parser.execute("select json_serialize_sql($query)", {"query": query}).fetchall()
    tree = json.loads(rows[0][0])
    if tree.get("error") and tree.get("error_type") == "parser":
        raise QueryFailed(_first_line(str(tree["error_message"])))
    mentions = _Mentions()
    for node in _nodes(tree):
        if node.get("type") == "BASE_TABLE":
            place = (node.get("catalog_name", ""), node.get("schema_name", ""), node.get("table_name", ""))
            mentions.tables.append((place[0].casefold(), place[1].casefold(), place[2].casefold()))
        elif node.get("type") == "TABLE_FUNCTION":
            mentions.table_functions.append(str(node["function"].get("function_name", "")).casefold())
        elif node.get("class") == "FUNCTION":
            mentions.functions.append(str(node.get("function_name", "")).casefold())
        mentions.ctes |= _cte_names(node)
    return mentions


def called_functions(condition: str) -> Counter[str]:
    """How often a condition calls each function, operators left out; its lambdas are called LAMBDA.

    Raises:
        QueryFailed: DuckDB cannot read it.
    """
    # The line break ends a comment that the condition may close with.
    with _parser().cursor() as parser:
        query = f"select 1 where (\n{condition}\n)"
        rows = parser.execute("select json_serialize_sql($query)", {"query": query}).fetchall()
    tree = json.loads(rows[0][0])
    if tree.get("error"):
        raise QueryFailed(_first_line(str(tree["error_message"])))
    nodes = list(_nodes(tree))
    called = Counter(
        str(node.get("function_name", "")).casefold()
        for node in nodes
        if node.get("class") == "FUNCTION" and not node.get("is_operator")
    )
    called[LAMBDA] = sum(node.get("class") == "LAMBDA" for node in nodes)
    return called


def _cte_names(node: dict[str, Any]) -> set[str]:
    ctes = node.get("cte_map")
    entries: Iterable[Any] = ctes.get("map", []) if isinstance(ctes, dict) else []
    names = {str(entry.get("key", "")).casefold() for entry in entries if isinstance(entry, dict)}
    return names | ({str(node["cte_name"]).casefold()} if "cte_name" in node else set())


def _nodes(value: object) -> Iterator[dict[str, Any]]:
    """Every object of a JSON tree; a stack, as a tree may be deeper than Python's recursion."""
    stack: list[Any] = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            yield one
            stack.extend(one.values())
        elif isinstance(one, list):
            stack.extend(one)


def _syntax_error(query: str) -> str:
    """What DuckDB's parser says against the text, which names the place better than sqlglot; empty: nothing."""
    with _parser().cursor() as parser:
        try:
            parser.extract_statements(query)
        except duckdb.Error as error:
            return _first_line(str(error))
    return ""


@cache
def _parser() -> duckdb.DuckDBPyConnection:
    """An empty database in memory, only whose parser is asked: it takes 20 ms to make, and holds no file."""
    return duckdb.connect()


def _first_line(complaint: str) -> str:
    return re.sub(r"^[A-Z][A-Za-z ]* Error: ", "", complaint.splitlines()[0]).rstrip("!.")
