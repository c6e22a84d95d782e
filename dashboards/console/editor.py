"""The editor of the SQL page: text with the words of SQL coloured, views, columns and functions completed."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import streamlit as st
from code_editor import code_editor

from neurothek.dashboards.widgets.address import address_value, remember
from neurothek.dashboards.widgets.page import theme
from neurothek.queries.ask.parse_tree import classified
from neurothek.queries.views.install import all_views

LINES = (10, 20)
"""The fewest and the most lines that are shown without scrolling; completions are offered inside of them."""

_TURN, _QUERY, _MOUNTED, _RUN = "editor_turn", "editor_query", "editor_mounted", "editor_run"
_RUN_BUTTON = {
    "name": "Run",
    "feather": "Play",
    "primary": True,
    "hasText": True,
    "showWithIcon": True,
    "alwaysOn": True,
    "commands": ["submit"],
    "style": {"bottom": "0.5rem", "right": "0.8rem", "background": "var(--primary-color)", "borderRadius": "6px"},
}
_OPTIONS = {"wrap": True, "showLineNumbers": True, "enableLiveAutocompletion": True}
_PROPS = {"enableBasicAutocompletion": True, "enableSnippets": False, "tabSize": 2, "scrollMargin": [0, 0, 0, 0]}
_LOOKS = {
    "globalCSS": """
.ace_editor, .ace_editor .ace_gutter { background: var(--secondary-background-color) !important; }
button span { font: 400 0.875rem "Source Sans", sans-serif; }
button span, button svg { color: #fff !important; stroke: #fff; opacity: 1 !important; }
.ace_editor.ace_autocomplete, .ace_tooltip { background: var(--background-color) !important; color: var(--text-color); }
"""
}
# The package gives Ctrl+/ to another command of its own.
_KEYS = {"commands": [{"name": "togglecomment", "bindkey": {"win": "Ctrl-/", "mac": "Command-/|Ctrl-/"}}]}


def show_editor(first_query: str) -> str:
    """Draw the editor, and return the query to answer.

    That is the one that was run just now, else the one of the page's address, `first_query` where it holds none.
    """
    query = address_value("query") or first_query
    if st.session_state.get(_QUERY) != query:
        _replace(query)
    event = code_editor(
        st.session_state[_MOUNTED],
        lang="sql",
        theme=theme(),
        height=list(LINES),
        completions=list(completions()),
        # Ace's own words hold statements that write.
        replace_completer=True,
        keybindings=_KEYS,
        buttons=[_RUN_BUTTON],
        options=_OPTIONS,
        props=_PROPS,
        component_props=_LOOKS,
        key=f"editor-{st.session_state[_TURN]}",
    )
    st.caption("Ctrl+Enter runs, Ctrl+Space completes")
    query = newly_run(event) or query
    remember(query=query)
    return query


def newly_run(event: dict[str, Any]) -> str | None:
    """The text that was run since the page was drawn last; None where none was.

    Args:
        event: what the component returns: its last event, with an `id` of its own, at each run of the page again.
    """
    if event["type"] != "submit" or not event["text"].strip() or st.session_state.get(_RUN) == event["id"]:
        return None
    st.session_state[_RUN] = event["id"]
    st.session_state[_QUERY] = event["text"]
    return str(event["text"])


def put_query(text: str) -> None:
    """Ask another query, in the place of whatever stands in the editor."""
    _replace(text)
    remember(query=text)


def _replace(text: str) -> None:
    """Mount the editor anew: Ace keeps its text as long as the key stays."""
    st.session_state[_QUERY] = st.session_state[_MOUNTED] = text
    st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1


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
    places: dict[str, list[tuple[str, str]]] = {}
    for name, view in sorted(all_views().items()):
        for column, about in view.columns.items():
            places.setdefault(column, []).append((name, about))
    return {
        column: (f"{where[0][0]} +{len(where) - 1}" if where[1:] else where[0][0], where[0][1])
        for column, where in sorted(places.items())
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
