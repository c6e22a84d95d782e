"""What a query mentions, as DuckDB's own parser sees it: relations, calls of functions, and kinds of expressions."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal

import duckdb

from neurothek.catalog.problems import Failed, NotFound, Refused
from neurothek.catalog.store.damage import is_damage
from neurothek.catalog.store.schema import our_tables
from neurothek.queries.ask.statements import records
from neurothek.queries.errors.refused_sql import failed_query, not_a_question
from neurothek.queries.errors.unknown_subjects import unknown_column_among, unknown_relation

_COLUMN_NAMES = """\
-- What columns are called, of views and tables.
select distinct column_name as name
from duckdb_columns()
where database_name = current_database() and schema_name in ('main', 'store') and not internal
order by name
"""

Place = Literal["expression", "window", "table"]
"""Where in a query a function is called."""

_KINDS: Mapping[Place, tuple[str, ...]] = {
    "expression": ("scalar", "aggregate", "macro", "syntax"),
    "window": ("window", "aggregate"),
    "table": ("table", "table_macro"),
}

_NEW = "it has not been reviewed yet"
_MISPLACED = "it cannot be called there"


@dataclass(frozen=True)
class Functions:
    """DuckDB's functions as `functions.toml` classifies them."""

    admitted: Mapping[tuple[str, str], str]  # (kind, name) -> what it is about
    refused: Mapping[tuple[str, str], str]  # (kind, name) -> why it is refused

    def admits(self, name: str, place: Place) -> bool:
        """Whether a query may call the function there."""
        return any((kind, name.casefold()) in self.admitted for kind in _KINDS[place])

    def admits_aggregate(self, name: str) -> bool:
        """Whether a list may be aggregated by the function of this name."""
        return ("aggregate", name.casefold()) in self.admitted

    def why_not(self, name: str) -> str:
        """Why a function is refused, to follow "as"; of several kinds the first that is refused says it."""
        reasons = [why for (_, one), why in self.refused.items() if one == name.casefold()]
        return reasons[0] if reasons else _MISPLACED if name.casefold() in self.names() else _NEW

    def knows(self, name: str) -> bool:
        """Whether the function was reviewed, whatever the result."""
        return any(name.casefold() == one for _, one in (*self.admitted, *self.refused))

    def names(self) -> set[str]:
        """Names of all that may be called somewhere."""
        return {name for _, name in self.admitted}


@cache
def classified() -> Functions:
    """The functions of DuckDB that were reviewed."""
    groups = tomllib.loads((resources.files("neurothek.queries.ask") / "functions.toml").read_text("utf-8"))["group"]
    rows = [(group, (group["kind"], name.casefold())) for group in groups for name in group["names"]]
    return Functions(
        admitted={key: group["admitted"] for group, key in rows if "admitted" in group},
        refused={key: group["because"] for group, key in rows if "because" in group},
    )


LAMBDA = "lambda"
"""What stands for them among the functions that a condition calls."""

MARK = "\ufeff"
"""What some editors begin a file of UTF-8 with: DuckDB passes over it, and so does the gate."""

MOST_CHARACTERS = 50_000
"""A longer text is refused unread: parsing it would take longer than most answers."""

EXPLAIN = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*explain\b", re.IGNORECASE | re.DOTALL)
"""How a text begins that asks for a plan."""

UNREADABLE = "its text is nested too deeply, or written in a form that cannot be checked"

_BY_NAME = {"aggregate", "array_aggr", "array_aggregate", "list_aggr", "list_aggregate"}
"""Functions that call the aggregate which a text names."""

_EXPRESSIONS = frozenset(
    {
        *("BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION"),
        *("LAMBDA", "LAMBDA_REF", "OPERATOR", "PARAMETER", "POSITIONAL_REFERENCE", "STAR", "SUBQUERY", "TYPE"),
        "WINDOW",
    }
)
_OPERATORS = frozenset(
    {
        *("ARRAY_CONSTRUCTOR", "ARRAY_EXTRACT", "ARRAY_SLICE", "STRUCT_EXTRACT", "COMPARE_IN", "COMPARE_NOT_IN"),
        *("GROUPING_FUNCTION", "OPERATOR_COALESCE", "OPERATOR_IS_NOT_NULL", "OPERATOR_IS_NULL", "OPERATOR_NOT"),
        *("OPERATOR_NULLIF", "OPERATOR_TRY", "OPERATOR_UNPACK"),
    }
)
_RELATIONS = frozenset(
    {
        *("SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"),
        *("BASE_TABLE", "EMPTY", "EXPRESSION_LIST", "JOIN", "PIVOT", "SHOW_REF", "SUBQUERY", "TABLE_FUNCTION"),
        *("DISTINCT_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "ORDER_MODIFIER"),
        *("ASCENDING", "DESCENDING", "ORDER_DEFAULT"),
    }
)
"""What may stand in a query; what a newer parser adds is refused until it has been reviewed."""

_ALL_TABLES = {'"tables"', "__show_tables_expanded"}
"""Lists that SHOW may bring: of what the warehouse holds."""


@dataclass(frozen=True)
class Call:
    """One call of a function, and where it stands."""

    name: str
    place: Place


@dataclass
class Mentions:
    """What a query mentions, as one parser sees it."""

    tables: list[tuple[str, str, str]] = field(default_factory=list)
    """(catalog, schema, name) of everything that stands where a table does."""
    ctes: set[str] = field(default_factory=set)
    calls: list[Call] = field(default_factory=list)
    aggregates: list[str | None] = field(default_factory=list)
    """Aggregates that are named by a text; None: by one that is only known when the query runs."""


def mentions_of(query: str) -> Mentions:
    """What DuckDB's parser sees in a question."""
    return mentions_in(statements_of(query))


def statements_of(query: str) -> list[dict[str, Any]]:
    """The trees of a text's statements."""
    statements: list[dict[str, Any]] = _tree(query).get("statements", [])
    return statements


def mentions_in(statements: list[dict[str, Any]]) -> Mentions:
    """What such trees mention."""
    mentions = Mentions()
    in_tables = set()
    for node in nodes_in(statements):
        kind = node.get("type")
        _check_kind(node)
        if kind == "BASE_TABLE":
            mentions.tables.append(_place(node))
        elif kind == "SHOW_REF":
            mentions.tables += _described(node)
        elif kind == "TABLE_FUNCTION":
            in_tables.add(id(node["function"]))
            mentions.calls.append(Call(_name(node["function"]), "table"))
        elif node.get("class") == "WINDOW":
            mentions.calls.append(Call(_name(node), "window"))
        elif node.get("class") == "FUNCTION" and id(node) not in in_tables:
            mentions.calls.append(Call(_name(node), "expression"))
            mentions.aggregates += _named_by_text(node)
        mentions.ctes |= _cte_names(node)
    return mentions


def nodes_in(value: object) -> Iterator[dict[str, Any]]:
    """Every object of a JSON tree, each before what it holds; a stack, as it may be deeper than Python's recursion."""
    stack: list[Any] = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            yield one
            stack.extend(one.values())
        elif isinstance(one, list):
            stack.extend(one)


def called_functions(condition: str) -> Counter[str]:
    """How often a condition calls each function, operators left out; its lambdas are called LAMBDA."""
    # The line break ends a comment that the condition may close with.
    try:
        nodes = list(nodes_in(_tree(f"select 1 where (\n{condition}\n)")))
    except Refused as error:
        raise failed_query(UNREADABLE) from error
    called = Counter(
        _name(node) for node in nodes if node.get("class") in ("FUNCTION", "WINDOW") and not node.get("is_operator")
    )
    called[LAMBDA] = sum(node.get("class") == "LAMBDA" for node in nodes)
    return called


def syntax_error(query: str) -> str:
    """What DuckDB's parser says against the text, which names the place better than sqlglot; empty: nothing."""
    with parser().cursor() as connection:
        try:
            connection.extract_statements(query)
        except duckdb.Error as error:
            return _first_line(str(error))
    return ""


@cache
def parser() -> duckdb.DuckDBPyConnection:
    """An empty database in memory, only whose parser and list of functions are asked; it takes 20 ms to make."""
    return duckdb.connect()


@cache
def functions_of_duckdb() -> frozenset[str]:
    """Names of all functions of this release of DuckDB, of every kind."""
    with parser().cursor() as connection:
        rows = connection.execute("select distinct lower(function_name) from duckdb_functions()").fetchall()
    return frozenset(name for (name,) in rows)


@cache
def views_of_duckdb() -> frozenset[str]:
    """Names of the views in which DuckDB tells of itself."""
    with parser().cursor() as connection:
        rows = connection.execute("select lower(view_name) from duckdb_views() where internal").fetchall()
    return frozenset(name for (name,) in rows)


def _tree(query: str) -> dict[str, Any]:
    with parser().cursor() as connection:
        rows = connection.execute("select json_serialize_sql($query)", {"query": query}).fetchall()
    try:
        tree: dict[str, Any] = json.loads(rows[0][0])
    except RecursionError as error:
        raise failed_query(UNREADABLE) from error
    if not tree.get("error"):
        return tree
    if tree.get("error_type") == "parser":
        raise failed_query(_first_line(str(tree["error_message"])))
    raise _no_question(query)


def _no_question(query: str) -> Failed | Refused:
    """Why DuckDB hands out no tree of a text that it can read."""
    with parser().cursor() as connection:
        try:
            kinds = [statement.type for statement in connection.extract_statements(query)]
        except (duckdb.Error, ValueError):
            # It parses statements that it does not implement, and some for which its own client has no name.
            return not_a_question(query.split(maxsplit=1)[0].upper())
    if kinds == [duckdb.StatementType.MULTI]:
        return failed_query("PIVOT needs the values that become columns: write ON column IN (value, ...)")
    if kinds and kinds[0] != duckdb.StatementType.SELECT:
        return not_a_question(str(kinds[0]).rpartition(".")[2].replace("_", " "))
    return failed_query(UNREADABLE)


def _check_kind(node: dict[str, Any]) -> None:
    expression, kind = node.get("class"), node.get("type")
    if expression is None:
        # A type is described by what ends so, and runs nothing.
        is_known = not isinstance(kind, str) or kind in _RELATIONS or kind.endswith("_TYPE_INFO")
    else:
        is_known = expression in _EXPRESSIONS and (expression != "OPERATOR" or kind in _OPERATORS)
    if not is_known:
        raise failed_query(f"it holds an expression that has not been reviewed ({str(kind or expression).lower()})")


def _described(node: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What a SHOW, DESCRIBE or SUMMARIZE names by itself; nothing where it holds a query."""
    if node.get("query") is not None or (
        node.get("show_type") == "SHOW_SPECIAL" and node.get("table_name") in _ALL_TABLES
    ):
        return []
    return [_place(node)]


def _place(node: dict[str, Any]) -> tuple[str, str, str]:
    catalog, schema, name = (str(node.get(f"{part}_name", "")).casefold() for part in ("catalog", "schema", "table"))
    return catalog, schema, name


def _name(node: dict[str, Any]) -> str:
    return str(node.get("function_name", "")).casefold()


def _named_by_text(node: dict[str, Any]) -> list[str | None]:
    if _name(node) not in _BY_NAME:
        return []
    arguments = node.get("arguments", [])
    # Arguments that are named may come in any order.
    if len(arguments) < 2 or any(argument.get("name") for argument in arguments):
        return [None]
    literal = arguments[1].get("expression", {}).get("literal", {})
    return [str(literal["text"]).casefold() if literal.get("kind") == "STRING" else None]


def _cte_names(node: dict[str, Any]) -> set[str]:
    ctes = node.get("cte_map")
    entries: Iterable[Any] = ctes.get("map", []) if isinstance(ctes, dict) else []
    names = {str(entry.get("key", "")).casefold() for entry in entries if isinstance(entry, dict)}
    return names | ({str(node["cte_name"]).casefold()} if "cte_name" in node else set())


def _first_line(complaint: str) -> str:
    return re.sub(r"^[A-Z][A-Za-z ]* Error: ", "", complaint.splitlines()[0]).rstrip("!.")


_MISSING_TABLE = re.compile(r"Table with name ([^\s!]+) does not exist")
_MISSING_COLUMN = re.compile(r'(?:Referenced column|does not have a column named) "([^"]+)"')
_CANDIDATES = re.compile(r"Candidate bindings: (.*)")
_PREFIX = re.compile(r"^[A-Z][A-Za-z ]* Error: ")


def objection(connection: duckdb.DuckDBPyConnection, error: duckdb.Error | OSError) -> Failed | NotFound:
    """What DuckDB objects to, as one sentence with the nearest names where a name is unknown."""
    if is_damage(error):
        raise error
    text = str(error)
    table = _MISSING_TABLE.search(text)
    if table:
        return unknown_relation(table[1], known_relations())
    column = _MISSING_COLUMN.search(text)
    if column:
        candidates = _CANDIDATES.search(text)
        likeliest = re.findall(r'"([^"]+)"', candidates[1]) if candidates else []
        return unknown_column_among(column[1], likeliest, known_columns(connection))
    first, *_ = text.splitlines()
    return failed_query(_PREFIX.sub("", first).rstrip("!."))


@cache
def known_relations() -> Sequence[str]:
    """Names of the views, then of the tables as `store.NAME`: those of this release, whatever else a file holds."""
    files = (file.name for file in (resources.files("neurothek.queries") / "views").iterdir())
    return [*sorted(name.removesuffix(".sql") for name in files if name.endswith(".sql")), *our_tables()]


def known_columns(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Names of the columns of all views and tables."""
    return [row["name"] for row in records(connection, _COLUMN_NAMES)]
