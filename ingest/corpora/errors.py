"""What can be wrong with a text, where several modules find it."""

from collections.abc import Sequence
from pathlib import Path

from neurothek.catalog.problems import Invalid, LimitExceeded, NotFound, Unreadable
from neurothek.ingest.amounts import in_words

COLUMNS_SHOWN = 20


def missing_text(domain: str, location: str) -> NotFound:
    """Nothing lies where a text should be."""
    message = f"cannot read the text {domain}={location}: nothing exists at {location}"
    return NotFound(message, "check the path", what="text", name=location)


def no_text(path: Path, why: str, hint: str = "give UTF-8 text, .jsonl, .json, .csv, .tsv or .parquet") -> Unreadable:
    """A file that is neither UTF-8 text nor a table of texts."""
    return Unreadable(f"{path} cannot be read as text: {why}", hint, path=path, why=why)


def unknown_column(path: Path, column: str, columns: Sequence[str]) -> NotFound:
    """A column that a table does not have, or more than once."""
    hint = other_columns(path, columns)
    return NotFound(f"{path} has no column {column!r}", hint, what="column", name=column, known=columns)


def column_not_text(path: Path, column: str, content: str, columns: Sequence[str]) -> Invalid:
    """A column that holds something other than text."""
    message = f"the column {column!r} of {path} is not text but {content}"
    return Invalid(message, other_columns(path, columns), option="--corpus", value=f"{path}:{column}")


def other_columns(path: Path, columns: Sequence[str]) -> str:
    """Which columns could be asked for instead, and how."""
    if not columns:
        return "it has no text columns: give another file"
    more = f" and {len(columns) - COLUMNS_SHOWN} more" if len(columns) > COLUMNS_SHOWN else ""
    return f"its text columns are {', '.join(columns[:COLUMNS_SHOWN])}{more}: write {path}:COLUMN"


def text_too_long(path: Path | str, place: str, longest: int, memory: int) -> LimitExceeded:
    """A line or row, held whole while it is read, that memory does not allow."""
    return LimitExceeded(
        f"{place} of {path} has more than {in_words(longest)}, the most that --memory {in_words(memory)} allows"
        " for one line or row: allow more, or put the text in a separate file",
        what="memory",
        limit=memory,
    )


def unknown_domain(corpus: str, domain: str, domains: Sequence[str]) -> NotFound:
    """A domain that a corpus does not have."""
    message, hint = f"the corpus {corpus} has no domain {domain}", f"it has {', '.join(domains)}"
    return NotFound(message, hint, what="domain", name=domain, known=domains)
