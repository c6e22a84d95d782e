"""What the editor completes: the views and their columns, functions that may be called, words of SQL."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from neurothek.queries.ask.functions import classified
from neurothek.queries.views.install import all_views

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_CALLED = ("scalar", "aggregate", "window", "macro", "table", "syntax")

KEYWORDS = (
    *("all", "and", "any", "anti", "as", "asc", "asof", "between", "by", "case", "cast", "columns", "cross", "cube"),
    *("current", "desc", "describe", "distinct", "else", "end", "escape", "except", "exclude", "exists", "explain"),
    *("false", "filter", "first", "following", "from", "full", "group", "grouping", "having", "ilike", "in", "inner"),
    *("intersect", "interval", "is", "join", "last", "lateral", "left", "like", "limit", "materialized", "natural"),
    *("not", "null", "nulls", "offset", "on", "or", "order", "ordinality", "outer", "over", "partition", "pivot"),
    *(
        "positional",
        "preceding",
        "qualify",
        "range",
        "recursive",
        "rename",
        "replace",
        "right",
        "rollup",
        "row",
        "rows",
    ),
    *("sample", "select", "semi", "sets", "show", "similar", "summarize", "table", "then", "ties", "to", "true"),
    *("try_cast", "unbounded", "union", "unpivot", "using", "values", "when", "where", "window", "with", "within"),
)
"""Words of DuckDB's SQL that a question can hold."""

TYPES = (
    *("bigint", "blob", "boolean", "date", "decimal", "double", "float", "hugeint", "integer", "json", "list", "map"),
    *("real", "smallint", "struct", "text", "time", "timestamp", "tinyint", "ubigint", "uinteger", "uuid", "varchar"),
)

_FIRST, _VIEW, _FUNCTION = 1000, 3, -3
"""Of names that match alike the shortest comes first; a view counts as some letters shorter, a function as longer."""


@cache
def completions() -> tuple[Mapping[str, Any], ...]:
    """One entry a name, as Ace takes them: `caption` is matched and shown, `value` inserted, `docText` explains."""
    views, columns = all_views(), _columns()
    return (
        *(_entry(name, "view", view.grain, bonus=_VIEW) for name, view in sorted(views.items())),
        *(_entry(name, where, about) for name, (where, about) in columns.items() if name not in views),
        *(
            _entry(name, "function", about, value=f"{name}(", bonus=_FUNCTION)
            for name, about in sorted(_functions().items())
        ),
        *(_entry(name, "type", bonus=_FUNCTION) for name in TYPES if name not in columns),
        *(_entry(name, "keyword") for name in KEYWORDS),
    )


def _entry(name: str, meta: str, about: str = "", *, value: str = "", bonus: int = 0) -> Mapping[str, Any]:
    entry = {"caption": name, "value": value or name, "meta": meta, "name": name, "score": _FIRST + bonus - len(name)}
    return {**entry, "docText": about} if about else entry


def _columns() -> dict[str, tuple[str, str]]:
    """Name of a column -> the first view that has it and how many others do, and what it holds."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, view in sorted(all_views().items()):
        for column, about in view.columns.items():
            found.setdefault(column, []).append((name, about))
    return {
        column: (f"{where[0][0]} +{len(where) - 1}" if where[1:] else where[0][0], where[0][1])
        for column, where in sorted(found.items())
    }


def _functions() -> dict[str, str]:
    """Name of a function that a query may call -> what it is about."""
    admitted = classified().admitted
    return {
        name: about
        for kind in reversed(_CALLED)
        for (one, name), about in admitted.items()
        if one == kind and _NAME.fullmatch(name) and name not in KEYWORDS
    }
