"""An answer of several tables, each with a title for people and a name for programs; as text and as HTML."""

import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import ParamSpec, TypeVar

import polars as pl

from neurothek.catalog.terminal.cells import PrintedColumn, columns_of, fit
from neurothek.queries.ask.statements import ExecutedStatement, recorded


@dataclass(frozen=True)
class Section:
    """One table of an answer."""

    title: str  # what it shows, one line
    frame: pl.DataFrame  # the rows; texts are exact, whoever shows them marks white space
    remark: str = ""  # a sentence under the table, or nothing


def first_of(title: str, frame: pl.DataFrame, limit: int, remark: str = "") -> Section:
    """The first `limit` rows of a frame; where there are more, a remark under them says how many."""
    cut = f"the first {limit:,} of {frame.height:,}" if frame.height > limit else ""
    return Section(title, frame.head(limit), "\n".join(part for part in (cut, remark) if part))


_WIDTH = 110


_ROWS = 40


_CELL = "padding: 0.15em 0.6em; white-space: pre; font-family: monospace; text-align: "


@dataclass(frozen=True, repr=False)
class TabularAnswer:
    """An answer of several tables, which shows itself at a prompt and in a notebook."""

    statements: tuple[ExecutedStatement, ...] = field(default=(), kw_only=True, compare=False)  # that were run for it

    @property
    def sql(self) -> str:
        """The statements that were run for it, with their values, to be read, changed and run."""
        return ";\n\n".join(one.sql.strip() for one in self.statements)

    def sections(self) -> list[Section]:
        """Its tables with their titles."""
        raise NotImplementedError

    def remarks(self) -> list[str]:
        """What is said below the tables, a sentence each."""
        return []

    @property
    def summary(self) -> str:
        """What is said above the tables."""
        return ""

    def __repr__(self) -> str:
        """The tables as text."""
        return text_page(self.sections(), self.remarks(), head=self.summary)

    def _repr_html_(self) -> str:
        return html_page(self.sections(), self.remarks(), head=self.summary)


P = ParamSpec("P")
A = TypeVar("A", bound=TabularAnswer)


def with_its_sql(ask: Callable[P, A]) -> Callable[P, A]:
    """Have a function's answer carry the statements that it ran."""

    @wraps(ask)
    def answered(*args: P.args, **kwargs: P.kwargs) -> A:
        with recorded() as executed:
            answer = ask(*args, **kwargs)
        return replace(answer, statements=tuple(executed))

    return answered


def text_page(sections: Iterable[Section], notes: Sequence[str] = (), *, head: str = "") -> str:
    """The sections as plain text."""
    blocks = ["\n".join(_text_section(section)) for section in sections]
    return "\n\n".join([*([head] if head else []), *blocks, *(["\n".join(notes)] if notes else [])])


def html_page(sections: Iterable[Section], notes: Sequence[str] = (), *, head: str = "") -> str:
    """The sections as HTML; every text is escaped, so that a token `<script>` shows as itself."""
    blocks = [_html_section(section) for section in sections]
    below = [f"<p><small>{html.escape(note)}</small></p>" for note in notes]
    above = [f"<p>{html.escape(head)}</p>"] if head else []
    return "<div>" + "".join([*above, *blocks, *below]) + "</div>"


def _text_section(section: Section) -> list[str]:
    remark = [section.remark] if section.remark else []
    if section.frame.is_empty():
        return [section.title, "(none)", *remark]
    layout = fit(columns_of(section.frame.head(_ROWS)), _WIDTH)
    more = [f"and {section.frame.height - _ROWS:,} more rows"] if section.frame.height > _ROWS else []
    omitted = [f"and the columns {', '.join(layout.omitted)}"] if layout.omitted else []
    return [section.title, *layout.lines(), *more, *omitted, *remark]


def _html_section(section: Section) -> str:
    columns = columns_of(section.frame.head(_ROWS))
    header = "".join(f'<th style="{_style(column)}">{html.escape(column.name)}</th>' for column in columns)
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_style(column)}">{html.escape(cell)}</td>' for column, cell in zip(columns, row, strict=True)
        )
        + "</tr>"
        for row in zip(*(column.cells for column in columns), strict=True)
    )
    remark = f"<p><small>{html.escape(section.remark)}</small></p>" if section.remark else ""
    return (
        f"<p><b>{html.escape(section.title)}</b></p><table><thead><tr>{header}</tr></thead>"
        f"<tbody>{rows}</tbody></table>{remark}"
    )


def _style(column: PrintedColumn) -> str:
    return _CELL + ("right" if column.is_right else "left")
