"""`open`, and what it returns: the object that joins measurements, warehouse and answers."""

import os
from dataclasses import dataclass
from pathlib import Path

from catalog.advice import DEFAULT_WAREHOUSE
from neurothek.keeping import Keeping
from neurothek.measuring import Measuring
from neurothek.questions import Questions

__version__ = "0.1.0"


@dataclass(frozen=True)
class Neurothek(Questions, Measuring, Keeping):
    """A warehouse that can be asked; it holds a path, and no connection between calls.

    Attributes:
        path: the DuckDB file.
    """


def open(path: str | Path | None = None) -> Neurothek:  # noqa: A001 - neurothek.open reads as what it does
    """The warehouse at `path`, else at NEUROTHEK_WAREHOUSE, else ./neurothek.duckdb; nothing is opened yet."""
    return Neurothek(Path(path or os.environ.get("NEUROTHEK_WAREHOUSE") or DEFAULT_WAREHOUSE).expanduser())
