"""Neurons under each other as HTML, where a table could not mute tokens: each leads to its page, as do its tokens."""

import html
from collections.abc import Mapping, Sequence

import polars as pl

from neurothek.dashboards.parts.muted import Muted
from neurothek.dashboards.parts.token_cards import STYLE, tokens_html
from neurothek.dashboards.widgets.html import SHEET
from neurothek.dashboards.widgets.links import link_html

_SHEET = """
<style>
.nt-rows { max-height: 30rem; overflow: auto; }
.nt-rows table { width: 100%; }
.nt-rows thead th { position: sticky; top: 0; background: var(--background-color, Canvas); opacity: 1; }
.nt-rows td, .nt-rows th { white-space: nowrap; vertical-align: baseline; }
.nt-rows td:last-child { white-space: normal; width: 50%; }
</style>
"""
_TOKENS = "top_tokens"


def rows_html(neurons: pl.DataFrame, columns: Mapping[str, tuple[str, str]], muted: Muted) -> str:
    """The neurons in their order: address, numbers, and the tokens that each promotes.

    Args:
        neurons: rows with address and top_tokens, all of one model.
        columns: name of a column -> its label, and the format of its numbers; those that are unknown of all are left
            out.
        muted: tokens to show pale.
    """
    known = [name for name in columns if neurons.get_column(name).null_count() < neurons.height]
    head = "".join(f"<th{_right(columns[name][1])}>{html.escape(columns[name][0])}</th>" for name in known)
    rows = []
    for row in neurons.to_dicts():
        address = row["address"]
        cells = (f"<td{_right(columns[name][1])}>{_cell(row[name], columns[name][1])}</td>" for name in known)
        tokens = tokens_html(row[_TOKENS] or [], muted=muted)
        link = link_html(address, "neuron", css="nt-row", neuron=address)
        rows.append(f"<tr><td>{link}</td>{''.join(cells)}<td>{tokens}</td></tr>")
    table = f"<thead><tr><th>neuron</th>{head}<th>promotes</th></tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'{SHEET}{STYLE}{_SHEET}<div class="nt-rows"><table class="nt-table">{table}</table></div>'


def told_muted(neurons: pl.DataFrame, muted: Muted) -> str:
    """How many of the tokens that the rows show are muted, and why; nothing where none is."""
    lists: Sequence[Sequence[str] | None] = neurons.get_column(_TOKENS).to_list()
    return muted.told(token for tokens in lists for token in tokens or [])


def _cell(value: object, form: str) -> str:
    return "" if value is None else html.escape(format(value, form))


def _right(form: str) -> str:
    return ' class="nt-right"' if form else ""
