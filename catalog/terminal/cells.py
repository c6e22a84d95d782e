"""Tables for a terminal: cells as text, and lines that fit its width."""

import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

import polars as pl

from neurothek.catalog.spelling import escape_controls, one_line, visible, visible_list

MISSING = "-"
ELLIPSIS = "…"

_ASKED_FOR = frozenset({"address", "model", "z_score", "z_sum", "overlap", "frequency", "dead"})
"""Columns, beside those of tokens, that a narrow terminal shows the longest: what a question is about."""

_RIGID_COLUMNS = frozenset({"#", "address", "model", "layer", "depth", "view", "column"})
_MAX_TEXT = 2000
"""Longer texts are cut before they are laid out: no terminal shows so much in one line."""


@dataclass(frozen=True)
class PrintedColumn:
    """A column of a table as text."""

    name: str  # its header
    cells: tuple[str, ...]  # its cells, one line each
    is_right: bool = False  # whether the cells end at the right edge: numbers, and text that leads up to a token
    is_flexible: bool = False  # whether it may be cut to make room
    keeps_end: bool = False  # whether cutting takes the beginning away instead of the end
    is_asked_for: bool = False  # whether other columns are left out before it is


def columns_of(frame: pl.DataFrame) -> list[PrintedColumn]:
    """The frame's columns as text."""
    return [_column(frame.get_column(name)) for name in frame.columns]


def _column(series: pl.Series) -> PrintedColumn:
    name, dtype = series.name, series.dtype
    is_list = isinstance(dtype, pl.List)
    show = _formatter(series.explode(empty_as_null=True) if is_list else series, is_list=is_list)
    cells = tuple(_cell(value, show, name) for value in series.to_list())
    is_text = is_list or dtype == pl.String
    return PrintedColumn(
        # It may show a token already.
        name=escape_controls(name),
        cells=cells,
        is_right=dtype.is_numeric() or name == "before",
        is_flexible=is_text and name not in _RIGID_COLUMNS,
        keeps_end=name == "before",
        is_asked_for=name in _ASKED_FOR
        or name.startswith("rank of ")
        or (is_text and name in TOKENS and name != "neighbours"),
    )


def _cell(value: object, show: Callable[..., str], name: str) -> str:
    if value is None:
        return MISSING
    if isinstance(value, list):
        if name in TOKENS:
            return visible_list(str(one) for one in value if one is not None)
        return ", ".join(MISSING if one is None else show(one) for one in value)
    return show(value)


def _formatter(values: pl.Series, *, is_list: bool) -> Callable[..., str]:
    name = values.name
    if values.dtype == pl.Boolean:
        return lambda value: "yes" if value else "no"
    if values.dtype.is_integer():
        plain = name in NAMES_IN_NUMBERS or name.endswith("_id") or name.endswith("_ids")
        return str if plain else lambda value: f"{value:,}"
    if values.dtype.is_float():
        return _float_formatter(values.to_list(), n_digits=3 if is_list else 4)
    if name in TOKENS:
        return lambda value: visible(str(value)[:_MAX_TEXT]) + _cut_mark(str(value))
    return _text


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="minutes")
    return one_line(str(value)[:_MAX_TEXT]) + _cut_mark(str(value))


def _cut_mark(text: str) -> str:
    return ELLIPSIS if len(text) > _MAX_TEXT else ""


def _float_formatter(values: Sequence[float | None], *, n_digits: int) -> Callable[[float], str]:
    """About `n_digits` digits of the column's largest number, as many decimals for all."""
    largest = max((abs(value) for value in values if value is not None and math.isfinite(value)), default=0.0)
    decimals = max(1, n_digits - (0 if largest < 1 else len(str(int(largest)))))

    def show(value: float) -> str:
        text = f"{value:,.{decimals}f}"
        is_lost = value != 0 and not text.strip("-0.,")
        return f"{value:.1e}" if is_lost else text

    return show


_ALL = 100


def percent(share: float, digits: int = 2) -> str:
    """So many digits, or as many as the whole per cents have.

    It is never 0% of what is not 0, nor 100% of what is not all: these are told as <0.01% and >99%.
    """
    per_cent = 100 * share
    if per_cent in (0, _ALL):
        return f"{abs(per_cent):.0f}%"
    if 0 < per_cent < 10 ** (-digits):
        return f"<{10 ** (-digits):.{digits}f}%"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(per_cent))))
    text = f"{per_cent:.{decimals}f}"
    if float(text) >= _ALL > per_cent:
        return f">{_ALL - 10.0 ** (2 - digits):g}%"
    return f"{text}%"


TOKENS = frozenset(
    {
        *("token", "tokens", "text", "matched", "neighbours", "top_tokens", "bottom_tokens", "promoted", "suppressed"),
        *("promotes", "shared_tokens", "tokens before", "tokens after", "tokens by id", "tokens by mat"),
        *("model_token", "writes", "gate", "up_positive", "up_negative"),
    }
)
"""Columns that hold tokens, in which white space must be seen."""

SHARES = frozenset(
    {
        *("dead_share", "first_half_dead_share", "provably_dead_share", "never_active_share", "frequency"),
        *("mean_frequency", "median_frequency", "observed", "observed_low", "observed_high", "expected", "difference"),
        *("saturated_share", "covered_share", "positional_share", "dominant_share", "top_share", "push_share"),
        *("cumulative_share", "effective_share", "negligible_share", "median_effective_frequency", "contribution_max"),
        *("mean_share", "accuracy", "accuracy_sd", "exited_share", "exited_accuracy", "agreement", "mean_jaccard"),
        *("share", "recall", "base_share", "push_gain", "probability_off", "change_off"),
        *("abs_share", "strong_frequency", "gate_open", "effective_frequency", "negative_share", "shuffled_share"),
        *("read_share", "read_share_low", "read_share_high", "random_share", "other_share"),
    }
)
"""Columns that hold parts of 1, which pages and charts show in percent."""

NAMES_IN_NUMBERS = frozenset({"#", "layer", "neuron", "rank", "place", "position", "job_version"})
"""Whole numbers that say which one and not how many: they go without commas."""


GAP = 2
"""Blanks between two columns."""

_LEAST_WIDTH = 14


@dataclass(frozen=True)
class Layout:
    """A table that fits."""

    columns: tuple[PrintedColumn, ...]  # the columns shown, their cells cut to `widths`
    widths: tuple[int, ...]  # their widths in terminal cells
    omitted: tuple[str, ...]  # names of the columns that found no room

    def lines(self) -> list[str]:
        """The table as plain text, the header first."""
        header = [padded(column.name, width, column.is_right) for column, width in self._pairs()]
        rows = zip(*(column.cells for column in self.columns), strict=True)
        body = [
            [padded(cell, width, column.is_right) for cell, (column, width) in zip(row, self._pairs(), strict=True)]
            for row in rows
        ]
        return [(" " * GAP).join(line).rstrip() for line in (header, *body)]

    def _pairs(self) -> list[tuple[PrintedColumn, int]]:
        return list(zip(self.columns, self.widths, strict=True))


def fit(columns: Sequence[PrintedColumn], width: int) -> Layout:
    """Lay the columns out within `width` terminal cells.

    Flexible columns give way, the widest first; where that is not enough columns are left out, the last ones first and
    what was asked for after all others.
    """
    natural = [max(map(text_width, (column.name, *column.cells))) for column in columns]
    least = [
        min(natural_width, max(_LEAST_WIDTH, text_width(column.name))) if column.is_flexible else natural_width
        for column, natural_width in zip(columns, natural, strict=True)
    ]
    places = list(range(len(columns)))
    while len(places) > 1 and _total([least[place] for place in places]) > width:
        places.remove(max(places, key=lambda place: (not columns[place].is_asked_for, place)))
    widths = _shrunk([natural[place] for place in places], [least[place] for place in places], width)
    visible = tuple(_cut(columns[place], shown_width) for place, shown_width in zip(places, widths, strict=True))
    return Layout(
        visible, tuple(widths), tuple(column.name for place, column in enumerate(columns) if place not in places)
    )


def text_width(text: str) -> int:
    """Terminal cells that a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_character_width, text))


def padded(text: str, width: int, is_right: bool) -> str:
    """The text filled with blanks up to `width` terminal cells."""
    blanks = " " * max(0, width - text_width(text))
    return blanks + text if is_right else text + blanks


def shortened(text: str, width: int, *, keeps_end: bool = False) -> str:
    """The text cut to `width` terminal cells, with an ellipsis where something is missing."""
    if text_width(text) <= width:
        return text
    characters: list[str] = []
    room = width - text_width(ELLIPSIS)
    for character in reversed(text) if keeps_end else text:
        room -= _character_width(character)
        if room < 0:
            break
        characters.append(character)
    return ELLIPSIS + "".join(reversed(characters)) if keeps_end else "".join(characters) + ELLIPSIS


@cache
def _character_width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _shrunk(natural: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    widths = list(natural)
    while _total(widths) > width:
        slack = [present if present > floor else 0 for present, floor in zip(widths, least, strict=True)]
        if not any(slack):
            break
        widths[slack.index(max(slack))] -= 1
    return widths


def _cut(column: PrintedColumn, width: int) -> PrintedColumn:
    cells = tuple(shortened(cell, width, keeps_end=column.keeps_end) for cell in column.cells)
    return replace(column, name=shortened(column.name, width), cells=cells)
