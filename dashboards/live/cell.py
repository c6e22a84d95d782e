"""One cell of a traced prompt: what is predicted there, and the neurons that hold most of the FFN's update."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import streamlit as st

from catalog.spelling import visible
from catalog.terminal.cells import MISSING
from dashboards.colours import ACCENT
from dashboards.widgets.html import SHEET, plain
from dashboards.widgets.links import link_html, token_link
from dashboards.widgets.page import theme
from queries.trace.grid import GridPage
from queries.trace.trace import TracePage

SOURCE = (
    "Dominant neurons: the ten of the largest |activation| times the length of their value vector; share: of the sum "
    "over all neurons of the layer. Score: activation times value vector times unembedding. Geva et al. 2022, "
    "sections 3 and 5."
)
_TOKENS = 8
_STYLE = """
<style>
.nt-cell { border-collapse: collapse; font-size: 0.9rem; width: 100%; max-width: 62rem;
  font-variant-numeric: tabular-nums; }
.nt-cell th { font-weight: 400; opacity: 0.65; text-align: right; padding: 0.15rem 0.7rem 0.15rem 0; border: 0;
  border-bottom: 1px solid #8a8a8a55; white-space: nowrap; }
.nt-cell td { text-align: right; padding: 0.16rem 0.9rem 0.16rem 0; border: 0;
  border-bottom: 1px solid #8a8a8a33; }
.nt-cell .nt-words { text-align: left; font-family: monospace; white-space: pre; overflow: hidden;
  text-overflow: ellipsis; max-width: 1px; width: 99%; }
.nt-cell th.nt-words { font-family: inherit; }
.nt-cell th:first-child, .nt-cell td:first-child { text-align: left; white-space: nowrap; }
.nt-cell tr:hover td { background: #8a8a8a18; }
.nt-cell td:nth-child(2) { white-space: nowrap; }
.nt-cell .nt-muted { opacity: 0.5; }
.nt-promoters { margin: 0.5rem 0 0; font-size: 0.9rem; opacity: 0.85; }
.nt-cell .nt-share { display: inline-block; height: 0.55rem; border-radius: 2px; margin-right: 0.4rem; }
</style>
"""


def show_cell(page: TracePage, grid: GridPage, layer: int) -> None:
    """Say what a cell predicts, and list its neurons, each a link to its page.

    Args:
        page: the trace of the cell's position.
        grid: the grid that the cell is one of.
        layer: its layer.
    """
    cell = grid.cell(layer, page.traced.position)
    title = f"Layer {layer}, position {cell['position']}, after {visible(cell['token'])}"
    st.markdown(f"**{plain(title)}**", help=plain(SOURCE))
    st.markdown(plain(cell_sentence(cell, page, layer)))
    neurons = page.neurons.filter(layer=layer)
    links = promoters_html([cell["predicted"], page.final])
    st.html(neurons_html(neurons, page.final, ACCENT[theme()]) + links)


def cell_sentence(cell: Mapping[str, Any], page: TracePage, layer: int) -> str:
    """What is predicted in a cell, what that is to the prediction in the end, and how much the ten neurons hold."""
    final = f"{visible(page.final)} ({100 * page.traced.final_probability:.1f}%)"
    said = f"Predicts {visible(cell['predicted'])} ({100 * cell['probability']:.1f}%)"
    end = ", as the whole model does" if cell["final_rank"] == 1 else f"; {final}, predicted in the end, has rank "
    rank = "" if cell["final_rank"] == 1 else f"{cell['final_rank']:,}"
    changed = cell["before"] is not None and cell["before"] != cell["predicted"]
    ffn = f" Before the FFN it was {visible(cell['before'])}." if changed else ""
    share = page.layers.row(by_predicate=pl.col("layer") == layer, named=True)["dominant_share"]
    held = "" if share is None else f" Ten neurons hold {share:.1%} of what the FFN writes:"
    return f"{said}{end}{rank}.{ffn}{held}"


def promoters_html(tokens: Sequence[str]) -> str:
    """Links to the neurons of the whole warehouse that promote tokens, each once."""
    links = " ".join(token_link(token) for token in dict.fromkeys(tokens))
    return f'<p class="nt-promoters">Search for the neurons that promote {links}</p>'


def neurons_html(neurons: pl.DataFrame, final: str, colour: str) -> str:
    """The neurons of one layer as a table: what each adds, promotes and fires on.

    Args:
        neurons: rows of `TracePage.neurons`.
        final: text of the token predicted in the end.
        colour: of the bars, as #rrggbb.
    """
    rows = neurons.to_dicts()
    widest = max((row["share"] or 0 for row in rows), default=0) or 1
    seen = next((f"of {row['n_tokens_seen']:,} tokens of {row['corpus']}" for row in rows if row["n_tokens_seen"]), "")
    head = {
        "neuron": "click to open its page",
        "share": "of the sum of |activation| times length of the value vector, over the layer",
        "activation": "after the non-linearity",
        f"adds to {visible(final)}": "activation times value vector times unembedding",
        "promotes": "tokens of the largest value vector times unembedding",
        "fires on": seen,
    }
    names = "".join(
        f'<th{_left(name)} title="{html.escape(title)}">{html.escape(name)}</th>' for name, title in head.items()
    )
    body = "".join(_row(row, colour, widest) for row in rows)
    return f'{SHEET}{_STYLE}<table class="nt-cell"><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>'


def _promoted(token: str) -> str:
    # Pieces of a character tell people little.
    return token_link(token, css="nt-muted" if visible(token).startswith("\\x") else "")


def _left(name: str) -> str:
    return ' class="nt-words"' if name == "promotes" else ""


def _row(row: Mapping[str, Any], colour: str, widest: float) -> str:
    share, frequency = row["share"], row["frequency"]
    bar = f'<span class="nt-share" style="background: {colour}; width: {40 * (share or 0) / widest:.0f}px"></span>'
    words = "".join(_promoted(token) for token in (row["top_tokens"] or [])[:_TOKENS])
    place = row["address"].rpartition("/")[2]
    cells = (
        link_html(place, "neuron", title=row["kind"] or "", css="nt-row", neuron=row["address"]),
        f"{bar}{MISSING if share is None else f'{share:.1%}'}",
        f"{row['coefficient']:.3f}",
        f"{row['score_final']:+.3f}",
        words,
        MISSING if frequency is None else f"{frequency:.1%}",
    )
    kinds = ("", "", "", "", ' class="nt-words"', "")
    return f"<tr>{''.join(f'<td{kind}>{cell}</td>' for kind, cell in zip(kinds, cells, strict=True))}</tr>"
