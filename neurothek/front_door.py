"""`open`, and what it returns: the object that joins measurements, warehouse and answers."""

import os
from dataclasses import dataclass
from pathlib import Path

from neurothek.catalog.advice import DEFAULT_WAREHOUSE
from neurothek.catalog.files import expanded
from neurothek.changing import Changing
from neurothek.keeping import Keeping
from neurothek.measuring import Measuring
from neurothek.opened import checked
from neurothek.questions import Questions
from neurothek.reading import Reading
from neurothek.running import Running

__version__ = "0.1.0"


@dataclass(frozen=True, repr=False)
class Neurothek(Questions, Reading, Running, Measuring, Changing, Keeping):
    """A warehouse to query; it holds a path, and no connection between calls.

    Attributes:
        path: the DuckDB file.
    """


@checked
def open(path: str | Path | None = None) -> Neurothek:  # noqa: A001 - neurothek.open reads as what it does
    """A warehouse, by its path; the file is not opened before the first call.

    A warehouse that does not exist yet says so and answers no queries; `ingest`, `import_` and `merge` create it.

    Args:
        path: the DuckDB file; None: that of the variable NEUROTHEK_WAREHOUSE, else ./neurothek.duckdb.

    Raises:
        Invalid: that is not a path.
        Unreadable: no file can have that path.

    Example:
        >>> neurothek.open("neurothek.duckdb")
        Neurothek('neurothek.duckdb')
        >>> neurothek.open("none.duckdb")
        Neurothek('none.duckdb'), which does not exist yet: ingest creates it
        >>> neurothek.open("none.duckdb").sql("select * from models")
        Traceback (most recent call last):
        ...
        neurothek.catalog.problems.Unavailable: there is no warehouse at ...
    """
    return Neurothek(expanded(path or os.environ.get("NEUROTHEK_WAREHOUSE") or DEFAULT_WAREHOUSE))
