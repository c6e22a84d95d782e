"""One cell of a traced prompt: what is predicted there, and the neurons that hold most of the FFN's update."""

import html
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import polars as pl
import streamlit as st

from neurothek.catalog.spelling import quoted, visible
from neurothek.catalog.terminal.cells import MISSING
from neurothek.dashboards.colours import ACCENT
from neurothek.dashboards.widgets.html import SHEET, plain
from neurothek.dashboards.widgets.links import link_html, token_link
from neurothek.dashboards.widgets.page import theme
from neurothek.queries.trace.grid import GridPage
from neurothek.queries.trace.trace import TracePage

SOURCE = (
    "Dominant neurons: the ten of the largest |activation| times the length of their value vector; share: of the sum "
    "over all neurons of the layer. Score: activation times value vector times unembedding. Geva et al. 2022, "
    "sections 3 and 5. Subtracting the mean over all tokens, which changes no prediction: this project."
)
Order = Literal["share", "adds"]
"""Of the neurons of a cell: by their share of the update, or by what they add to the token predicted in the end."""

LEAST_ADDED = 0.1
"""To the score of a token, less the mean over all tokens: less is called little [ours]."""

WRITES = (
    "tokens of the largest activation times value vector times unembedding: at an activation below 0 those that the "
    "neuron suppresses at one above 0"
)

_TOKENS = 8
_STYLE = """
<style>
.nt-cell { border-collapse: collapse; font-size: 0.9rem; width: 100%; max-width: 62rem;
  font-variant-numeric: tabular-nums; }
.nt-cell th { font-weight: 400; opacity: 0.7; text-align: right; padding: 0.15rem 0.7rem 0.15rem 0; border: 0;
  border-bottom: 1px solid #8a8a8a55; white-space: nowrap; }
.nt-cell td { text-align: right; padding: 0.16rem 0.9rem 0.16rem 0; border: 0;
  border-bottom: 1px solid #8a8a8a33; }
.nt-cell .nt-words { text-align: left; font-family: monospace; white-space: pre; overflow: hidden;
  text-overflow: ellipsis; max-width: 1px; width: 99%; }
.nt-cell th.nt-words { font-family: inherit; }
.nt-cell th:first-child, .nt-cell td:first-child { text-align: left; white-space: nowrap; }
.nt-cell tr:hover td { background: #8a8a8a18; }
.nt-cell td:nth-child(2) { white-space: nowrap; }
.nt-cell .nt-muted { opacity: 0.7; }
.nt-promoters { margin: 0.5rem 0 0; font-size: 0.9rem; }
.nt-cell .nt-share { display: inline-block; height: 0.55rem; border-radius: 2px; margin-right: 0.4rem; }
</style>
"""


def show_cell(
    page: TracePage, grid: GridPage, layer: int, *, order: Order = "share", pale: Collection[str] = ()
) -> None:
    """Say what a cell predicts, and list its neurons, each a link to its page.

    Args:
        page: the trace of the cell's position.
        grid: the grid that the cell is one of.
        layer: its layer.
        order: whether the neurons of the largest share come first, or those that add most to the predicted token.
        pale: tokens to show pale.
    """
    cell = grid.cell(layer, page.traced.position)
    title = f"Layer {layer}, position {cell['position']}, after {quoted(cell['token'])}"
    st.markdown(f"**{plain(title)}**", help=plain(SOURCE))
    st.markdown(plain(cell_sentence(cell, page, layer)))
    neurons = ordered(page.neurons.filter(layer=layer), order)
    if little := added_little(neurons, page.final):
        st.markdown(plain(little))
    links = promoters_html([cell["predicted"], page.final])
    st.html(neurons_html(neurons, page.final, ACCENT[theme()], pale, is_signed=page.is_signed) + links)


def ordered(neurons: pl.DataFrame, order: Order) -> pl.DataFrame:
    """The neurons of one layer, the first of the order first: the largest share, or what adds most to the token."""
    first = ["centred_final", "rank"] if order == "adds" else ["rank"]
    return neurons.sort(first, descending=[name == "centred_final" for name in first])


def added_little(neurons: pl.DataFrame, final: str) -> str:
    """A sentence where none of the neurons adds much to the token predicted in the end; else nothing.

    Args:
        neurons: rows of `TracePage.neurons`.
        final: text of the token.
    """
    most = neurons.get_column("centred_final").max()
    if not isinstance(most, float) or most > LEAST_ADDED:
        return ""
    return f"None of the ten adds more than {LEAST_ADDED} to {quoted(final)}: the most is {most:+.3f}."


def cell_sentence(cell: Mapping[str, Any], page: TracePage, layer: int) -> str:
    """What is predicted in a cell, what that is to the prediction in the end, and how much the ten neurons hold."""
    final = f"{quoted(page.final)} ({100 * page.traced.final_probability:.1f}%)"
    prediction = f"Predicts {quoted(cell['predicted'])} ({100 * cell['probability']:.1f}%)"
    end = ", as the whole model does" if cell["final_rank"] == 1 else f"; {final}, predicted in the end, has rank "
    rank = "" if cell["final_rank"] == 1 else f"{cell['final_rank']:,}"
    changed = cell["before"] is not None and cell["before"] != cell["predicted"]
    ffn = f" Before the FFN it was {quoted(cell['before'])}." if changed else ""
    share = page.layers.row(by_predicate=pl.col("layer") == layer, named=True)["dominant_share"]
    held = "" if share is None else f" Ten neurons hold {share:.1%} of the summed sizes of the FFN's sub-updates:"
    return f"{prediction}{end}{rank}.{ffn}{held}"


def promoters_html(tokens: Sequence[str]) -> str:
    """Links to the neurons of the whole warehouse that promote tokens, each once."""
    links = " ".join(token_link(token) for token in dict.fromkeys(tokens))
    return f'<p class="nt-promoters">Search for the neurons that promote {links}</p>'


def neurons_html(
    neurons: pl.DataFrame, final: str, colour: str, pale: Collection[str] = (), *, is_signed: bool = False
) -> str:
    """The neurons of one layer as a table: what each adds, writes and fires on.

    Args:
        neurons: rows of `TracePage.neurons`.
        final: text of the token predicted in the end.
        colour: of the bars, as #rrggbb.
        pale: tokens to show pale.
        is_signed: whether coefficients can be below 0, where a neuron writes the bottom of its list.
    """
    rows = neurons.to_dicts()
    widest = max((row["share"] or 0 for row in rows), default=0) or 1
    words = "writes" if is_signed else "promotes"
    seen = next((f"of {row['n_tokens_seen']:,} tokens of {row['corpus']}" for row in rows if row["n_tokens_seen"]), "")
    head = {
        "neuron": "click to open its page",
        "share": "of the sum of |activation| times length of the value vector, over the layer",
        "activation": "after the non-linearity",
        f"adds to {visible(final)}": "activation times value vector times unembedding, less the mean over all tokens",
        "rank": f"of {visible(final)} among all tokens in what the neuron writes",
        words: WRITES if is_signed else "tokens of the largest value vector times unembedding",
        "fires on": seen,
    }
    names = "".join(
        f'<th{_left(name == words)} title="{html.escape(title)}">{html.escape(name)}</th>'
        for name, title in head.items()
    )
    body = "".join(_row(row, colour, widest, pale) for row in rows)
    return f'{SHEET}{_STYLE}<table class="nt-cell"><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>'


def _left(is_words: bool) -> str:
    return ' class="nt-words"' if is_words else ""


def _row(row: Mapping[str, Any], colour: str, widest: float, pale: Collection[str]) -> str:
    share, frequency = row["share"], row["frequency"]
    bar = f'<span class="nt-share" style="background: {colour}; width: {40 * (share or 0) / widest:.0f}px"></span>'
    tokens = (row["writes"] or [])[:_TOKENS]
    words = "".join(token_link(token, css="nt-muted" if token in pale else "") for token in tokens)
    place = row["address"].rpartition("/")[2]
    cells = (
        link_html(place, "neuron", title=row["kind"] or "", css="nt-row", neuron=row["address"]),
        f"{bar}{MISSING if share is None else f'{share:.1%}'}",
        f"{row['coefficient']:.3f}",
        f'<span title="raw: {row["score_final"]:+.3f}">{row["centred_final"]:+.3f}</span>',
        MISSING if row["rank_final"] is None else f"{row['rank_final']:,}",
        words,
        MISSING if frequency is None else f"{frequency:.1%}",
    )
    kinds = ("", "", "", "", "", ' class="nt-words"', "")
    return f"<tr>{''.join(f'<td{kind}>{cell}</td>' for kind, cell in zip(kinds, cells, strict=True))}</tr>"
