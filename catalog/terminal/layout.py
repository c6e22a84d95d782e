"""Tables fitted into a width: numbers stay whole, long texts end in an ellipsis, columns without room are named."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from neurothek.catalog.terminal.cells import ELLIPSIS, PrintedColumn

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
    return sum(_character_width(character) for character in text)


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
