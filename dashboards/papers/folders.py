"""Folders of figures: those of a comparison, and a reproduced paper with its tables, claims and page."""

import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import polars as pl

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import NotMeasured
from neurothek.catalog.terminal.cells import columns_of
from neurothek.catalog.terminal.outputs import encode_rows
from neurothek.dashboards.charts.pictures import Picture, drawn, save_all, unwritable_figure, write
from neurothek.dashboards.papers.figure import Figure
from neurothek.dashboards.papers.index_page import index_html
from neurothek.dashboards.papers.reproduced import Reproduced

INDEX = "index.html"
MOST_MARKDOWN_ROWS = 1_000


def write_figures(figures: Sequence[Figure], folder: Path) -> None:
    """Write the figures that are drawn, each as PNG and SVG."""
    charts = {figure.name: figure.chart for figure in figures if figure.chart is not None}
    if not charts:
        raise NotMeasured(
            "no figure can be drawn: none of these models was measured on text",
            f"measure one of them with `{command_line('ingest', 'MODEL')}`",
            jobs=[],
        )
    save_all(charts, folder)


def require_place(folder: Path) -> None:
    """Refuse a folder that cannot be made or written to, before anything is measured for it."""
    nearest = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise unwritable_figure(folder, f"{nearest} is not a folder")
    if not os.access(nearest, os.W_OK):
        raise unwritable_figure(folder, f"nothing can be written to {nearest}")


def write_paper(reproduced: Reproduced, folder: Path) -> list[Path]:
    """Write everything into a folder, made where it is missing; the page comes last, when all it shows is there.

    Returns:
        The files, the page last.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable_figure(folder, error.strerror or type(error).__name__) from error
    written = []
    for name, content in _contents(reproduced):
        write(content, folder / name)
        written.append(folder / name)
    return written


def _contents(reproduced: Reproduced) -> Iterator[tuple[str, bytes]]:
    for one in reproduced.exhibits:
        for figure in one.figures:
            if figure.chart is not None:
                for kind in get_args(Picture):
                    yield f"{figure.picture.slug}.{kind}", drawn(figure.chart, kind)
        for table in one.tables:
            yield f"{table.sheet.stem}.csv", as_csv(table.rows)
            yield f"{table.sheet.stem}.md", as_markdown(table.rows).encode()
            yield f"{table.sheet.stem}.sql", f"{table.sql.strip()}\n".encode()
    yield "claims.csv", as_csv(reproduced.claims.claims)
    yield "claims.md", as_markdown(reproduced.claims.claims).encode()
    yield INDEX, index_html(reproduced).encode()


def as_csv(rows: pl.DataFrame) -> bytes:
    """Rows as the command's own CSV."""
    out = io.BytesIO()
    encode_rows([rows], "csv", out)
    return out.getvalue()


def as_markdown(rows: pl.DataFrame) -> str:
    """Rows as a table in Markdown, the first thousand of them; a line under it says how many there are."""
    columns = columns_of(rows.head(MOST_MARKDOWN_ROWS))
    header = [column.name for column in columns]
    rules = ["---:" if column.is_right else "---" for column in columns]
    lines = [
        header,
        rules,
        *([_escaped(cell) for cell in row] for row in zip(*(c.cells for c in columns), strict=True)),
    ]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    rest = rows.height - MOST_MARKDOWN_ROWS
    return f"{text}\n" if rest <= 0 else f"{text}\n\n{rest:,} more rows are in the CSV file.\n"


def _escaped(cell: str) -> str:
    """A cell that Markdown shows as it is: no end of a cell, no HTML, no escape."""
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("&", "&amp;").replace("<", "&lt;")
