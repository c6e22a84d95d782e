"""Glosses for annotators who do not read the model's language: a file of tokens and what they mean."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from neurothek.queries.annotate.errors import unreadable_glosses

HEADER = ("token", "gloss")
"""First line of a file, which may be left out."""


@dataclass(frozen=True)
class Glosses:
    """What tokens mean.

    Attributes:
        by_text: glosses by the texts of tokens without surrounding white space; several of one token are joined.
    """

    by_text: Mapping[str, str]

    def of(self, token: str) -> str | None:
        """The gloss of a token by its exact text; None where the file has none."""
        return self.by_text.get(token.strip())


def read_glosses(path: Path) -> Glosses:
    """The glosses of a file: a token and its gloss on each line, parted by a tab, a comma or a semicolon."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise unreadable_glosses(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise unreadable_glosses(path, "it is not in UTF-8") from error
    first, _, _ = text.partition("\n")
    separator = next((one for one in "\t,;" if one in first), "\t")
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        raise unreadable_glosses(path, f"it is neither TSV nor CSV ({error})") from error
    found: dict[str, list[str]] = {}
    for number, row in enumerate(rows, start=1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or (number == 1 and tuple(cells) == HEADER):
            continue
        if len(cells) != len(HEADER) or not all(cells):
            raise unreadable_glosses(path, f"line {number} is not a token and its gloss")
        found.setdefault(cells[0], []).append(cells[1])
    if not found:
        raise unreadable_glosses(path, "it is empty")
    return Glosses({token: "; ".join(dict.fromkeys(meanings)) for token, meanings in found.items()})
