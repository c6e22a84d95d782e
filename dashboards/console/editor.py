"""The editor of the SQL page: text with the words of SQL coloured, views, columns and functions completed."""

from typing import Any

import streamlit as st
from code_editor import code_editor

from neurothek.dashboards.console.completions import completions
from neurothek.dashboards.widgets.address import asked, remember
from neurothek.dashboards.widgets.page import theme

LINES = (10, 20)
"""The fewest and the most lines that are shown without scrolling; completions are offered inside of them."""

_TURN, _SHOWN, _MOUNTED, _RUN = "editor_turn", "editor_query", "editor_mounted", "editor_run"
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
button span, button svg { color: #fff !important; opacity: 1 !important; font-size: 0.95rem; }
.ace_editor.ace_autocomplete, .ace_tooltip { background: var(--background-color) !important; color: var(--text-color); }
"""
}
# The package gives Ctrl+/ to another command of its own.
_KEYS = {"commands": [{"name": "togglecomment", "bindkey": {"win": "Ctrl-/", "mac": "Command-/|Ctrl-/"}}]}


def show_editor(first_query: str) -> str:
    """Draw the editor, and return the query to answer.

    That is the one that was run just now, else the one of the page's address, `first_query` where it holds none.
    """
    query = asked("query") or first_query
    if st.session_state.get(_SHOWN) != query:
        _replace(query)
    said = code_editor(
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
    query = newly_run(said) or query
    remember(query=query)
    return query


def newly_run(said: dict[str, Any]) -> str | None:
    """The text that was run since the page was drawn last; None where none was.

    Args:
        said: what the component returns: its last event, with an `id` of its own, at each run of the page again.
    """
    if said["type"] != "submit" or not said["text"].strip() or st.session_state.get(_RUN) == said["id"]:
        return None
    st.session_state[_RUN] = said["id"]
    st.session_state[_SHOWN] = said["text"]
    return str(said["text"])


def put_query(text: str) -> None:
    """Ask another query, in the place of whatever stands in the editor."""
    _replace(text)
    remember(query=text)


def _replace(text: str) -> None:
    """Mount the editor anew: Ace keeps its text as long as the key stays."""
    st.session_state[_SHOWN] = st.session_state[_MOUNTED] = text
    st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1
