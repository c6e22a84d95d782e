"""The editor of the SQL page: text with the words of SQL coloured, views, columns and functions completed."""

import hashlib
from collections.abc import Mapping
from functools import cache

import streamlit as st
from streamlit.components.v2 import component

from dashboards.console.editor_files import FILES, PLACE, path_of
from dashboards.console.words import words
from dashboards.widgets.address import asked, remember
from dashboards.widgets.page import theme

COLOURS: Mapping[str, Mapping[str, str]] = {
    "light": {
        "keyword": "#2f5d8a",
        "string": "#3f7d3a",
        "number": "#a0522d",
        "function": "#6f42c1",
        "comment": "#767676",
    },
    "dark": {
        "keyword": "#7fb2e5",
        "string": "#8fc98a",
        "number": "#e0a27c",
        "function": "#c3a6f2",
        "comment": "#9a9a9a",
    },
}
_KEY, _TURN, _SHOWN = "editor", "editor_turn", "editor_query"
_HTML = """
<div class="editor">
  <div class="text"></div>
  <div class="below"><button disabled>Run</button><span>Ctrl+Enter runs, Ctrl+Space completes</span></div>
</div>
"""
_CSS = """
.below { display: flex; align-items: center; gap: 0.8rem; margin-top: 0.5rem; font-family: var(--st-font); }
.below button { font: inherit; font-size: 0.95rem; padding: 0.3rem 1.1rem; border: none; border-radius: 6px;
  cursor: pointer; color: #fff; background: var(--st-primary-color); }
.below button:hover { filter: brightness(1.1); }
.below button:focus-visible { outline: 2px solid var(--st-text-color); outline-offset: 2px; }
.below button:disabled { opacity: 0.5; cursor: default; }
.below span { font-size: 0.8rem; color: color-mix(in srgb, var(--st-text-color) 60%, transparent); }
.text { min-height: 8.5rem; }
"""


def show_editor(first_query: str) -> str:
    """Draw the editor, and return the query that the page's address holds; `first_query` where it holds none."""
    query = asked("query") or first_query
    if st.session_state.get(_SHOWN) != query:
        _replace(query)
    remember(query=query)

    def run() -> None:
        run_query_of(str(st.session_state[_KEY]["run"]))

    mounted = component("sql_editor", html=_HTML, css=_CSS, js=_loader())
    data = {"query": query, "turn": st.session_state[_TURN], "colours": COLOURS[theme()]}
    mounted(key=_KEY, data=data, on_run_change=run)
    return query


def run_query_of(text: str) -> None:
    """Ask what stands in the editor, which stays as it is."""
    st.session_state[_SHOWN] = text
    remember(query=text)


def put_query(text: str) -> None:
    """Ask another query, in the place of whatever stands in the editor."""
    _replace(text)
    remember(query=text)


def _replace(text: str) -> None:
    st.session_state[_SHOWN] = text
    st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1


@cache
def _loader() -> str:
    """Loads the editor's own script, by an address that changes when it does."""
    parts = [path_of(name).read_bytes() for name in FILES]
    version = hashlib.sha256(b"".join([*parts, repr(words()).encode()])).hexdigest()[:12]
    return f"""
        const script = import(`${{location.origin}}{PLACE}/editor.js?v={version}`);
        export default (component) => {{ script.then((loaded) => loaded.default(component)); }};
    """
