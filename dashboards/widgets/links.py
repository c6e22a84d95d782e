"""Links of pages: to a page about something, as an address, as HTML, and as an address that can be sent."""

import html
import shlex
from functools import lru_cache
from urllib.parse import quote, urlencode

import streamlit as st

from neurothek.catalog.spelling import visible
from neurothek.dashboards.addresses import FRONT, PAGES


def href(page: str, *, anchor: str = "", **parameters: str) -> str:
    """The address of a page that is asked for something, from the root of the server on.

    Args:
        page: name of the page.
        anchor: a place on it, such as that of a figure.
        parameters: what the page is asked for.
    """
    if page != FRONT and page not in PAGES:
        raise KeyError(f"no page is called {page}")
    values = {name: value for name, value in parameters.items() if value}
    query = f"?{urlencode(values, quote_via=quote, safe='/,')}" if values else ""
    place = f"#{anchor}" if anchor else ""
    return f"/{'' if page == FRONT else page}{query}{place}"


def link_html(text: str, page: str, *, title: str = "", css: str = "", anchor: str = "", **parameters: str) -> str:
    """A link to a page as HTML; in the dashboard's shell it opens without loading everything again.

    Args:
        text: what it says, as plain text.
        page: name of the page.
        title: what hovering over it tells.
        css: further classes of the style sheet, with spaces between.
        anchor: a place on the page.
        parameters: what the page is asked for.
    """
    tooltip = f' title="{html.escape(title)}"' if title else ""
    classes = f"nt-link {css}".strip()
    address = html.escape(href(page, anchor=anchor, **parameters))
    return f'<a class="{classes}" target="_self" href="{address}"{tooltip}>{html.escape(text)}</a>'


def question_here() -> str:
    """What this page is asked for, as the part of an address after the question mark."""
    return urlencode(st.query_params.to_dict(), quote_via=quote, safe="/,")


def here(anchor: str = "") -> str:
    """The whole address of this page as it is asked now, with a place on it."""
    query = question_here()
    return f"{st.context.url or ''}{f'?{query}' if query else ''}{f'#{anchor}' if anchor else ''}"


@lru_cache(maxsize=1 << 14)
def token_link(token: str, *, css: str = "", title: str = "") -> str:
    """A token with its white space marked, as a link to the neurons that promote it."""
    return link_html(visible(token), "search", css=f"nt-t {css}".strip(), title=title, **token_question(token))


def token_question(token: str) -> dict[str, str]:
    """What the page Search is asked for the neurons that promote a token.

    A token that has a word is searched for as that word, any other exactly as it is.
    """
    word = token.strip()
    return {"words": shlex.quote(word)} if word else {"words": visible(token), "exact": "yes"}
