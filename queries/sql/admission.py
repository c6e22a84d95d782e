"""Which SQL people may ask: one question over the warehouse's own relations that calls functions known to be harmless.

Two parsers read the text: sqlglot names what is refused and why, and DuckDB's own, which the query will be run from,
tells what is called.
"""

from collections.abc import Callable, Collection
from typing import ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

from neurothek.catalog.spelling import is_text
from neurothek.queries.ask.parse_tree import (
    EXPLAIN,
    MARK,
    MOST_CHARACTERS,
    UNREADABLE,
    Mentions,
    mentions_of,
    syntax_error,
)
from neurothek.queries.errors.refused_sql import (
    empty_query,
    failed_query,
    not_a_question,
    several_statements,
)
from neurothek.queries.errors.unknown_subjects import unknown_relation
from neurothek.queries.sql.policy import QueryScope, check_mentions, check_relations

# The first word of what may be asked; the rest of a statement is judged as a tree.
_FIRST_WORDS = {"SELECT", "WITH", "FROM", "VALUES", "TABLE", "DESCRIBE", "DESC", "SUMMARIZE", "PIVOT", "UNPIVOT", "("}


class _AsDuckDBReadsIt(DuckDB):
    """sqlglot's DuckDB with what it lacks: `x'00'`, and `reduce` and `apply` as the functions of lists they are."""

    class Tokenizer(DuckDB.Tokenizer):
        HEX_STRINGS: ClassVar[list[str | tuple[str, str]]] = [("x'", "'"), ("X'", "'")]
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            word: kind for word, kind in DuckDB.Tokenizer.KEYWORDS.items() if word != "APPLY"
        }

    class Parser(DuckDBParser):
        FUNCTIONS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {
            name: build for name, build in DuckDBParser.FUNCTIONS.items() if name != "REDUCE"
        }


def check_query(query: str, relations: Collection[str], *, catalog: str = "") -> None:
    """Raise unless `query` is one question over `relations` that calls admitted functions alone.

    Args:
        query: the text.
        relations: views by name, tables as `store.NAME`.
        catalog: the name that DuckDB has for the file.
    """
    query = query.removeprefix(MARK)
    scope = QueryScope(relations, catalog.casefold())
    if len(query) > MOST_CHARACTERS:
        raise failed_query(f"its text has {len(query):,} characters, but at most {MOST_CHARACTERS:,} are allowed")
    if not is_text(query):
        raise failed_query("its text is not UTF-8")
    if "\0" in query:
        raise failed_query("its text holds a NUL character")
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
        raise failed_query(complaint) if complaint else not_a_question(first)
    else:
        _check_tree(query[explained.end() :] if explained else query, scope)


def _statement_tokens(query: str) -> list[Token]:
    try:
        tokens = sqlglot.tokenize(query, read=_AsDuckDBReadsIt)
    except sqlglot.errors.SqlglotError as error:
        raise failed_query("its text cannot be read") from error
    starts = [
        token
        for number, token in enumerate(tokens)
        if token.token_type != TokenType.SEMICOLON
        and (number == 0 or tokens[number - 1].token_type == TokenType.SEMICOLON)
    ]
    if not starts:
        raise empty_query(query)
    if len(starts) != 1:
        raise several_statements(len(starts))
    return [token for token in tokens if token.token_type != TokenType.SEMICOLON]


def _check_show(tokens: list[Token], relations: Collection[str]) -> None:
    name = "".join(token.text for token in tokens).casefold()
    if not name:
        raise failed_query("SHOW needs TABLES, or the name of a view or table")
    if name not in ("tables", "alltables") and name not in relations:
        raise unknown_relation(name, list(relations))


def _check_explained(tokens: list[Token], first: str) -> None:
    second = tokens[1].text.upper() if len(tokens) > 1 else ""
    if first in ("ANALYZE", "ANALYSE") or (first == "(" and second not in _FIRST_WORDS):
        raise not_a_question("EXPLAIN with options")
    if first not in _FIRST_WORDS:
        raise not_a_question(f"EXPLAIN {first}")


def _check_tree(query: str, scope: QueryScope) -> None:
    try:
        # A comment behind the last semicolon is a tree of its own.
        trees = sqlglot.parse(query, read=_AsDuckDBReadsIt)
        (tree,) = [tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)]
        mentions = _sqlglot_mentions(tree)
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError) as error:
        raise failed_query(syntax_error(query) or UNREADABLE) from error
    if not isinstance(tree, exp.Query | exp.Values | exp.Describe | exp.Summarize | exp.Pivot | exp.Subquery):
        raise not_a_question(type(tree).__name__.upper())
    for node in tree.find_all(exp.DML, exp.DDL, exp.Command, exp.Into):
        # A query is one kind of what creates a table.
        if not isinstance(node, exp.Query):
            raise not_a_question(type(node).__name__.upper())
    # sqlglot takes for a table what DuckDB does not, such as a function that is described.
    if isinstance(tree, exp.Describe | exp.Summarize) and (complaint := syntax_error(query)):
        raise failed_query(complaint)
    check_relations(mentions, scope)
    check_mentions(mentions_of(query), scope)


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
