"""The page of a reproduced paper: its exhibits in the paper's order, each with its claims, picture, numbers and SQL."""

from collections.abc import Iterator
from html import escape

import polars as pl

from neurothek.catalog.spelling import spoken_corpus
from neurothek.catalog.terminal.cells import columns_of
from neurothek.dashboards.charts.pictures import Drawing
from neurothek.dashboards.colours import verdict_colour
from neurothek.dashboards.papers.reproduced import Reproduced, ReproducedExhibit, Table
from neurothek.queries.papers.findings import OUTCOMES, Outcome
from neurothek.queries.papers.verdicts import JudgedClaim, tally

MOST_ROWS = 12
"""Of a table on the page; its files hold all."""

_STYLE = """
:root { color-scheme: light dark; --ink: #222; --soft: #666; --line: #ddd; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --soft: #a0a0a0; --line: #444; --paper: #15181c; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 68rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; }
h2 { font-size: 1.15rem; margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
p.soft, figcaption, summary, td.soft { color: var(--soft); }
img { max-width: 100%; background: white; }
figure { margin: 1rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; }
th, td { padding: 0.2em 0.7em; text-align: left; vertical-align: top; }
th { border-bottom: 1px solid var(--line); white-space: nowrap; } td.number, th.number { text-align: right; }
td.exact { white-space: pre; font-family: ui-monospace, monospace; }
pre { overflow-x: auto; padding: 0.7rem; border: 1px solid var(--line); font-size: 12px; }
.verdict { display: inline-block; min-width: 9.5em; font-weight: 600; }
"""


def _verdict_style() -> str:
    light, dark = (
        " ".join(f".{_mark(one)} {{ color: {verdict_colour(one, theme=theme)}; }}" for one in OUTCOMES)
        for theme in ("light", "dark")
    )
    return f"{light}\n@media (prefers-color-scheme: dark) {{ {dark} }}\n"


def _mark(outcome: Outcome) -> str:
    return outcome.replace(" ", "-")


def index_html(reproduced: Reproduced) -> str:
    """The page as HTML, which shows the files beside it."""
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
            f"<title>{escape(reproduced.paper.source)}</title><style>{_STYLE}{_verdict_style()}</style></head><body>",
            *_head(reproduced),
            *(line for one in reproduced.exhibits for line in _exhibit(one)),
            "</body></html>",
            "",
        )
    )


def _head(reproduced: Reproduced) -> Iterator[str]:
    on = "" if reproduced.corpus is None else f" on {spoken_corpus(reproduced.corpus)}"
    yield f"<h1>{escape(reproduced.paper.source)}</h1>"
    counts = tally(reproduced.claims.judged).capitalize()
    yield f"<p>For {escape(', '.join(reproduced.models))}{escape(on)}. {escape(counts)};"
    yield ' <a href="claims.csv">all claims with their rules and numbers</a>.</p>'
    yield from (f'<p class="soft">{escape(remark)}</p>' for remark in reproduced.claims.remarks())
    yield '<p class="soft">Pictures show sizes and seeds, unless they are about variants; tables show all models.</p>'
    links = (f'<a href="#{one.exhibit.slug}">{escape(one.exhibit.label)}</a>' for one in reproduced.exhibits)
    yield f"<p>{' · '.join(links)}</p>"


def _exhibit(one: ReproducedExhibit) -> Iterator[str]:
    yield f'<h2 id="{one.exhibit.slug}">{escape(one.exhibit.label)}</h2>'
    yield f"<p>{escape(one.exhibit.shows)}</p>"
    for judged in one.claims:
        yield from _claim(judged)
    if one.exhibit.remark:
        yield f'<p class="soft">{escape(one.exhibit.remark)}</p>'
    for figure in one.figures:
        if figure.chart is not None:
            yield from _picture(figure.picture.slug, figure.chart)
    for reason in (figure.why_not for figure in one.figures if figure.why_not):
        yield f'<p class="soft">Not drawn: {escape(reason)}</p>'
    for table in one.tables:
        yield from _table(table)


def _claim(judged: JudgedClaim) -> Iterator[str]:
    claim, finding = judged.claim, judged.finding
    yield f'<p><span class="verdict {_mark(finding.outcome)}">{escape(finding.verdict)}</span>'
    yield f' {escape(claim.text)} <span title="{escape(claim.rule)}">(section {escape(claim.section)})</span><br>'
    yield f"<small>{escape(claim.rule)}: {escape(finding.numbers)}</small></p>"


def _picture(slug: str, chart: Drawing) -> Iterator[str]:
    title, lines = caption(chart)
    text = escape(" ".join((f"{title}.", *lines)))
    yield f'<figure><img src="{slug}.svg" alt="{text}">'
    yield f'<figcaption><a href="{slug}.png">PNG</a> <a href="{slug}.svg">SVG</a></figcaption></figure>'


def caption(chart: Drawing) -> tuple[str, list[str]]:
    """A drawing's title and the lines under it."""
    title = chart.to_dict(validate=False).get("title", {})
    if isinstance(title, str):
        return title, []
    return title.get("text", ""), list(title.get("subtitle", ()))


def _table(table: Table) -> Iterator[str]:
    stem, rows = table.sheet.stem, table.rows
    extent = f"the first {MOST_ROWS} of {rows.height:,} rows" if rows.height > MOST_ROWS else f"{rows.height:,} rows"
    files = f'<a href="{stem}.csv">CSV</a> <a href="{stem}.md">Markdown</a>'
    yield f"<details{' open' if 0 < rows.height <= MOST_ROWS else ''}><summary>{escape(stem)}: {extent}</summary>"
    if not rows.is_empty():
        yield from _cells(rows.head(MOST_ROWS))
    yield f"<p>{files}</p><pre>{escape(table.sql.strip())}</pre></details>"


def _cells(rows: pl.DataFrame) -> Iterator[str]:
    columns = columns_of(rows)
    classes = ["number" if column.is_right else "" for column in columns]
    names = "".join(f'<th class="{of}">{escape(column.name)}</th>' for of, column in zip(classes, columns, strict=True))
    yield f'<div class="scroll"><table><tr>{names}</tr>'
    for cells in zip(*(column.cells for column in columns), strict=True):
        inner = "".join(f'<td class="{of}">{escape(cell)}</td>' for of, cell in zip(classes, cells, strict=True))
        yield f"<tr>{inner}</tr>"
    yield "</table></div>"
