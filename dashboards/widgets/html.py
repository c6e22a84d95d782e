"""Texts of the warehouse as the page shows them: as themselves, never as Markdown or HTML."""

import html
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from neurothek.catalog.spelling import one_line, visible, visible_list
from neurothek.catalog.terminal.cells import SHARES, TOKENS, PrintedColumn, columns_of
from neurothek.dashboards.widgets.links import link_html

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")

SHEET = """
<style>
[data-testid="stTopNav"] [aria-current] { background: #8a8a8a26; }
[data-testid="stTopNav"] [aria-current] p { font-weight: 600; }
.nt-above { display: flex; flex-wrap: wrap; gap: 0 2rem; align-items: center; }
.nt-above > span[data-place] { display: none; }
.nt-tabs { font-size: 0.93rem; display: flex; flex-wrap: wrap; gap: 0 1.1rem; align-items: center; min-height: 2rem; }
.nt-tabs [aria-current] { font-weight: 600; border-bottom: 2px solid currentColor; }
.nt-trail { font-size: 0.93rem; display: flex; flex-wrap: wrap; gap: 0 0.5rem; align-items: center; min-height: 2rem; }
.nt-step { opacity: 0.7; }
a.nt-link, a.nt-link:visited { color: inherit; text-decoration: underline 1px #8a8a8a88; text-underline-offset: 3px; }
a.nt-link:hover { text-decoration-color: currentcolor; }
.nt-t { font-family: "Source Code Pro", monospace; font-size: 0.85rem; }
a.nt-t.nt-link { text-decoration: none; padding: 0 0.2rem; border-radius: 0.2rem; }
a.nt-t.nt-link:hover { background: #8a8a8a33; }
.nt-muted { opacity: 0.7; }
a.nt-row:focus { outline: 2px solid #8a8a8a; outline-offset: 2px; }
.nt-places { display: grid; grid-template-columns: max-content max-content 1fr; gap: 0.15rem 1rem; font-size: 0.93rem; }
.nt-number { text-align: right; font-variant-numeric: tabular-nums; }
.nt-domain { opacity: 0.7; }
.nt-text { font-family: monospace; white-space: pre; overflow: hidden; display: grid; grid-template-columns: 3fr 2fr; }
.nt-before { display: flex; justify-content: flex-end; overflow: hidden; opacity: 0.75; }
.nt-after { overflow: hidden; text-overflow: ellipsis; }
.nt-after span { opacity: 0.75; }
.nt-token { border-radius: 0.2rem; padding: 0.05rem 0; font-weight: 600; }
.nt-legend { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; font-size: 0.93rem; }
.nt-legend i { display: inline-block; width: 0.7rem; height: 0.7rem; border-radius: 50%; margin-right: 0.4rem; }
.nt-flow { display: flex; flex-wrap: wrap; gap: 1rem 3rem; font-size: 0.93rem; }
.nt-examples { display: grid; grid-template-columns: max-content 1fr; gap: 0.5rem 1.5rem; font-size: 0.93rem; }
.nt-examples > span { opacity: 0.7; }
.nt-examples > div { display: flex; flex-wrap: wrap; gap: 0.5rem 1.6rem; }
.nt-told { gap: 0.3rem 1.2rem; align-items: center; }
.nt-chip { border: 1px solid #8a8a8a77; border-radius: 1rem; padding: 0.05rem 0.6rem; }
.nt-table { border-collapse: collapse; font-size: 0.93rem; font-variant-numeric: tabular-nums; }
.nt-table th { font-weight: 400; opacity: 0.7; text-align: left; }
.nt-table th, .nt-table td { padding: 0.15rem 1.2rem 0.15rem 0; border: 0; border-bottom: 1px solid #8a8a8a33; }
.nt-table .nt-right { text-align: right; }
.nt-table td.nt-tokens { font-family: monospace; white-space: pre; }
.nt-texts .nt-table { table-layout: fixed; width: 100%; }
.nt-texts .nt-table td { overflow-wrap: anywhere; vertical-align: top; }
span.nt-tokens { font-family: monospace; padding-left: 0.6rem; }
.nt-columns { margin: 0 !important; padding: 0 !important; font-size: 0.88rem; line-height: 1.35; }
.nt-columns dt { font-family: monospace; margin-top: 0.35rem; }
.nt-columns dd { margin: 0; opacity: 0.7; }
@media (max-width: 900px) { .nt-places { font-size: 0.85rem; gap: 0.15rem 0.6rem; } }
</style>
"""


# What the page makes a link of once all marks are read, wherever it stands: addresses of the web, and of mail.
_ADDRESS = re.compile(r"(?<=http)(?=s?://)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)
_WORD_JOINER = "\u2060"
"""Has no width, and keeps what stands around it from being an address."""


def plain(text: str) -> str:
    """The text as Markdown that shows it unchanged."""
    return _PUNCTUATION.sub(r"\\\1", _ADDRESS.sub(_WORD_JOINER, text))


_TOKEN = re.compile(r"“(.+?)”(?!”)")
"""A token as sentences of the warehouse quote it; it may itself be a quotation mark."""


def prose(text: str) -> str:
    """A sentence as Markdown that shows it unchanged, but for its quoted tokens, which are set like code."""
    parts = _TOKEN.split(text)
    return "".join(_code(part) if number % 2 else plain(part) for number, part in enumerate(parts))


def _code(token: str) -> str:
    """A token as a span of code, whatever marks it is made of."""
    longest = max((len(run) for run in re.findall("`+", token)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if token[:1] == "`" or token[-1:] == "`" else ""
    return f"{fence}{pad}{token}{pad}{fence}"


def places_html(places: Iterable[Mapping[str, Any]], *, shade: str) -> str:
    """Places of activation under each other: number, domain, and the text with its token marked and shaded.

    Args:
        places: rows with activation, domain, before, token and after, and with n_copies where near-copies are left out.
        shade: the colour of the strongest, as #rrggbb; weaker ones are paler.
    """
    places = list(places)
    strongest = max((abs(place["activation"]) for place in places), default=0.0) or 1.0
    rows = [_place(place, f"{shade}{_alpha(abs(place['activation']) / strongest)}") for place in places]
    return f'{SHEET}<div class="nt-places">{"".join(rows)}</div>'


def tables_html(parts: Mapping[str, pl.DataFrame]) -> str:
    """Small tables with their titles, beside each other as far as the window is wide."""
    parts_html = (f"<div><b>{html.escape(title)}</b>{table_html(frame)}</div>" for title, frame in parts.items())
    return f'{SHEET}<div class="nt-flow">{"".join(parts_html)}</div>'


def table_html(frame: pl.DataFrame, *, tokens: Collection[str] = ()) -> str:
    """A small table to read: numbers aligned at the right, tokens in one width with their white space marked.

    Args:
        frame: the rows.
        tokens: columns that hold lists of tokens under names of their own.
    """
    pairs = zip(columns_of(frame), frame.get_columns(), strict=True)
    columns = [_printed(column, values, tokens) for column, values in pairs]
    header = "".join(
        f'<th class="{_kind(column, tokens)}">{html.escape(_spoken(column.name))}</th>' for column in columns
    )
    rows = zip(*(column.cells for column in columns), strict=True)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="{_kind(column, tokens)}">{html.escape(cell)}</td>'
            for column, cell in zip(columns, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f'{SHEET}<table class="nt-table"><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>'


def texts_html(frame: pl.DataFrame) -> str:
    """Running texts side by side, all columns as wide as each other; long words are broken."""
    return f'<div class="nt-texts">{table_html(frame)}</div>'


def _printed(column: PrintedColumn, values: pl.Series, tokens: Collection[str]) -> PrintedColumn:
    if column.name in tokens:
        return replace(column, cells=tuple(map(visible_list, values)))
    if column.name in SHARES:
        pairs = zip(column.cells, values, strict=True)
        return replace(column, cells=tuple(cell if share is None else f"{share:.2%}" for cell, share in pairs))
    return column


def _kind(column: PrintedColumn, tokens: Collection[str]) -> str:
    if column.is_right:
        return "nt-right"
    return "nt-tokens" if column.name in TOKENS or column.name in tokens else "nt-left"


def _spoken(name: str) -> str:
    return name.removeprefix("n_").replace("_", " ") or name


def legend_html(colours: Mapping[str, str], *, are_models: bool = False) -> str:
    """One legend for the charts of a page: each name after a spot of its colour; models lead to their pages."""
    spots = (
        f'<span><i style="background: {colour}"></i>'
        f"{link_html(name, 'model', model=name) if are_models else html.escape(name)}</span>"
        for name, colour in colours.items()
    )
    return f'{SHEET}<div class="nt-legend">{"".join(spots)}</div>'


def concept_html(name: str, concept_class: str | None, tokens: Iterable[str]) -> str:
    """A concept in one line: its name and class, and its tokens with their white space marked."""
    return (
        f'{SHEET}<div><b>{html.escape(one_line(name))}</b> <span class="nt-domain">{html.escape(concept_class or "")}'
        f'</span> <span class="nt-tokens">{html.escape(visible_list(tokens))}</span></div>'
    )


def columns_html(columns: Mapping[str, str]) -> str:
    """Columns of a view, each with its description under it."""
    rows = (f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>" for name, text in columns.items())
    return f'{SHEET}<dl class="nt-columns">{"".join(rows)}</dl>'


def copies_html(n_copies: int) -> str:
    """How many near-copies of a text are left out, as HTML; nothing where none is."""
    if not n_copies:
        return ""
    copies = "near-copy" if n_copies == 1 else "near-copies"
    return f' <span class="nt-copies" title="{n_copies} {copies} left out">+{n_copies}</span>'


def _place(place: Mapping[str, Any], colour: str) -> str:
    before, after = (html.escape(one_line(place[side])) for side in ("before", "after"))
    token = html.escape(visible(place["token"]))
    copies = copies_html(place.get("n_copies") or 0)
    return (
        f'<span class="nt-number">{place["activation"]:.3f}</span>'
        f'<span class="nt-domain">{html.escape(one_line(place["domain"]))}{copies}</span>'
        f'<span class="nt-text"><span class="nt-before">{before}</span>'
        f'<span class="nt-after"><b class="nt-token" style="background: {colour}">{token}</b>'
        f"<span>{after}</span></span></span>"
    )


def _alpha(share: float) -> str:
    """How opaque, as the last two digits of a colour; the strongest leaves the text readable on it."""
    return f"{round(25 + 115 * share):02x}"
