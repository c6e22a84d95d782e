"""What a warehouse's file holds beside rows: views, macros and computed columns, which anybody may have written."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import duckdb

from queries.ask.statements import ask_records
from queries.errors import QueryFailed

_QUOTED = r'"(?:[^"]|"")*"'
_VIEW = re.compile(
    rf'create\s(?:\w+\s)*?view\s(?:{_QUOTED}|[^\s"(])+\s*(?:\((?:{_QUOTED}|[^")])*\)\s*)?as\s',
    re.IGNORECASE,
)
"""What stands before the query of a view, as DuckDB writes it out."""


@dataclass(frozen=True)
class Definition:
    """A query that a name stands for, or that computes one of its columns."""

    what: str
    query: str


@dataclass(frozen=True)
class Definitions:
    """What a file defines.

    Attributes:
        relations: names of its views and tables, of whatever schema.
        queries: such a name -> what stands behind it; of several schemas all of it.
        macros: names of its macros.
    """

    relations: frozenset[str] = frozenset()
    queries: Mapping[str, Sequence[Definition]] = field(default_factory=dict)
    macros: frozenset[str] = frozenset()

    def behind(self, name: str) -> Sequence[Definition]:
        """What a name of a relation stands for."""
        return self.queries.get(name, ())

    def holds(self, name: str) -> bool:
        """Whether the file has a relation of this name."""
        return name in self.relations


def definitions_of(connection: duckdb.DuckDBPyConnection) -> Definitions:
    """What the file of a reader defines.

    Raises:
        QueryFailed: a view is written in a way that cannot be taken apart.
    """
    rows = ask_records(connection, "definitions")
    queries: dict[str, list[Definition]] = {}
    for row in rows:
        name = row["name"].casefold()
        if row["kind"] == "view":
            queries.setdefault(name, []).append(Definition(f"the view {row['name']}", _query_of(row["text"])))
        elif row["kind"] == "column":
            computed = Definition(f"a column of {row['name']}", f"select {row['text']}")
            queries.setdefault(name, []).append(computed)
    return Definitions(
        relations=frozenset(row["name"].casefold() for row in rows if row["kind"] in ("view", "table")),
        queries=queries,
        macros=frozenset(row["name"].casefold() for row in rows if row["kind"] == "macro"),
    )


def _query_of(view: str) -> str:
    head = _VIEW.match(view)
    if head is None:
        raise QueryFailed("a view of this file is written in a form that cannot be checked")
    return view[head.end() :]
