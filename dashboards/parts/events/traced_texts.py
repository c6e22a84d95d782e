"""Texts in which an FFN brought a word to the top: each leads to its trace."""

import html

import polars as pl

from neurothek.catalog.spelling import visible
from neurothek.dashboards.widgets.html import SHEET
from neurothek.dashboards.widgets.links import link_html

_MOST_LETTERS = 90
"""Of a text the end is shown, where the word follows."""

_SHEET = """
<style>
.nt-event { display: grid; grid-template-columns: max-content minmax(0, 1fr) max-content; gap: 0 1.2rem;
  font-size: 0.88rem; }
.nt-event > span { padding: 0.22rem 0; border-bottom: 1px solid #8a8a8a22; }
.nt-event .nt-prompt { font-family: monospace; white-space: nowrap; overflow: hidden; text-overflow: ellipsis;
  direction: rtl; text-align: left; }
.nt-event bdi { direction: ltr; unicode-bidi: isolate; }
</style>
"""


def traced_texts_html(rows: pl.DataFrame) -> str:
    """A line per text: its model, its end with the token after it, and a way to the trace.

    Args:
        rows: of the statement `event_texts`.
    """
    lines = []
    for row in rows.to_dicts():
        prompt, token = row["prompt"], row["token"]
        shown = visible(prompt[-_MOST_LETTERS:])
        told = f"layer {row['layer']} of {row['n_layers']}"
        trace = link_html("trace", "trace", css="nt-row", model=row["model"], prompt=prompt)
        lines.append(
            f'<span class="nt-domain">{html.escape(row["model"])}</span>'
            f'<span class="nt-prompt"><bdi>{html.escape(shown)}<b>{html.escape(visible(token))}</b></bdi></span>'
            f"<span>{html.escape(told)} · {trace}</span>"
        )
    return f'{SHEET}{_SHEET}<div class="nt-event">{"".join(lines)}</div>'
