"""Values as people read them in a table: aligned numbers, visible tokens, one line per cell."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from neurothek.catalog.spelling import harmless, readable, visible, visible_list
from neurothek.catalog.terminal.kinds import NAMES_IN_NUMBERS, TOKENS

MISSING = "-"
ELLIPSIS = "…"

_ASKED_FOR = frozenset({"address", "model", "z_score", "z_sum", "overlap", "frequency", "dead"})
"""Columns, beside those of tokens, that a narrow terminal shows the longest: what a question is about."""

_RIGID_COLUMNS = frozenset({"#", "address", "model", "layer", "depth", "view", "column"})
_MAX_TEXT = 2000
"""Longer texts are cut before they are laid out: no terminal shows so much in one line."""


@dataclass(frozen=True)
class Column:
    """A column of a table as text.

    Attributes:
        name: its header.
        cells: its cells, one line each.
        is_right: whether the cells end at the right edge: numbers, and text that leads up to a token.
        is_flexible: whether it may be cut to make room.
        keeps_end: whether cutting takes the beginning away instead of the end.
        is_asked_for: whether other columns are left out before it is.
    """

    name: str
    cells: tuple[str, ...]
    is_right: bool = False
    is_flexible: bool = False
    keeps_end: bool = False
    is_asked_for: bool = False


def columns_of(frame: pl.DataFrame) -> list[Column]:
    """The frame's columns as text."""
    return [_column(frame.get_column(name)) for name in frame.columns]


def _column(series: pl.Series) -> Column:
    name, dtype = series.name, series.dtype
    is_list = isinstance(dtype, pl.List)
    show = _formatter(series.explode(empty_as_null=True) if is_list else series, is_list=is_list)
    cells = tuple(_cell(value, show, name) for value in series.to_list())
    is_text = is_list or dtype == pl.String
    return Column(
        # It may show a token already.
        name=harmless(name),
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
    return readable(str(value)[:_MAX_TEXT]) + _cut_mark(str(value))


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
