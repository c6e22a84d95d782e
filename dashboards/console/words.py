"""What the editor completes and colours: the views with their columns, functions that may be called, words of SQL."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from queries.ask.functions import classified
from queries.views.install import all_views

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


@cache
def words() -> Mapping[str, Any]:
    """Views by name, each with what a row is and its columns; functions, each with what it is about; words of SQL."""
    return {
        "views": {
            name: {"grain": view.grain, "columns": dict(view.columns)} for name, view in sorted(all_views().items())
        },
        "functions": sorted(_functions().items()),
        "keywords": KEYWORDS,
        "types": TYPES,
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
