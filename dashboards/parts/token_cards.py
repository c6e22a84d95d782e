"""Cards, chips and tokens as HTML: each with its white space marked, and a way to the neurons that promote it."""

import html
from collections.abc import Iterable, Mapping

from neurothek.dashboards.parts.muted import Muted
from neurothek.dashboards.widgets.links import link_html, token_link

SIGN_OF_POLE: Mapping[str, str] = {"positive": "+", "negative": "\N{MINUS SIGN}"}
"""How short lines call the poles of a neuron."""


def tokens_html(tokens: Iterable[str], *, titles: Mapping[str, str] | None = None, muted: Muted | None = None) -> str:
    """Tokens in a row, each a link to a search for it.

    Args:
        tokens: their exact texts.
        titles: token -> what hovering over it tells.
        muted: tokens to show pale; None: none.
    """
    return " ".join(token_html(token, title=(titles or {}).get(token, ""), muted=muted) for token in tokens)


def token_html(token: str, *, title: str = "", is_asked: bool = False, muted: Muted | None = None) -> str:
    """One token as a link to a search, see `token_link`; framed where it was asked for, else pale where it is muted."""
    pale = "nt-asked" if is_asked else (muted or Muted()).css(token)
    return token_link(token, title=title, css=f"nt-tok {pale}".strip())


def neuron_html(address: str, *, short: bool = False) -> str:
    """A neuron's address as a link to its page.

    Args:
        address: such as opt-125m/L3N1702.
        short: whether its model is left out, where all neurons are of one.
    """
    return link_html(address.rpartition("/")[2] if short else address, "neuron", neuron=address)


STYLE = """
<style>
a.nt-link.nt-tok { border-bottom: 0; }
.nt-tok { font-family: monospace; font-size: 0.86em; padding: 0.05rem 0.25rem; border-radius: 0.25rem;
  background: #8a8a8a1c; white-space: pre; text-decoration: none; display: inline-block; margin: 0.06rem 0;
  max-width: 100%; overflow: hidden; text-overflow: ellipsis; vertical-align: bottom; box-sizing: border-box; }
.nt-tok:hover { background: #8a8a8a40; }
.nt-asked { outline: 1.5px solid #8a8a8a; }
.nt-muted, .nt-pole { opacity: 0.7; }
.nt-cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(14.5rem, 1fr)); gap: 0.6rem; }
.nt-cards.nt-wide { grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); }
@media (min-width: 1200px) { .nt-cards[style] { grid-template-columns: repeat(var(--n), minmax(0, 1fr)); } }
.nt-card { min-width: 0; border: 1px solid #8a8a8a38; border-radius: 0.5rem; padding: 0.55rem 0.8rem 0.65rem;
  font-size: 0.9rem; }
.nt-card header { display: flex; justify-content: space-between; gap: 0.6rem; font-size: 0.82rem; }
.nt-card header span { opacity: 0.7; }
.nt-card header:not(:has(.nt-name)) { flex-wrap: wrap; gap: 0 0.6rem; }
.nt-card header:not(:has(.nt-name)) > a { white-space: nowrap; }
.nt-card header .nt-name { font-family: monospace; font-weight: 600; white-space: normal; overflow-wrap: anywhere; }
.nt-card header span { white-space: nowrap; }
.nt-card p { margin: 0.15rem 0 0.35rem; font-size: 0.9rem; }
.nt-jobs { font-size: 0.9rem; }
.nt-chips { display: flex; flex-wrap: wrap; gap: 0.3rem; font-size: 0.82rem; align-items: center; }
.nt-chip { border: 1px solid #8a8a8a55; border-radius: 1rem; padding: 0.08rem 0.6rem; }
</style>
"""
"""Of tokens, cards and chips."""


def card_html(name: str, aside: str, text: str, body: str) -> str:
    """A small card.

    Args:
        name: HTML at the left above.
        aside: plain text at the right above.
        text: plain text, a sentence; empty: none.
        body: HTML under it.
    """
    sentence = f"<p>{html.escape(text)}</p>" if text else ""
    header = f"<header>{name}<span>{html.escape(aside)}</span></header>"
    return f'<div class="nt-card">{header}{sentence}<div>{body}</div></div>'
