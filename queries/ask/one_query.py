"""One query that only asks, run on a reader that could do nothing else; its rows as a frame."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.spelling import is_text
from neurothek.catalog.store.connections import time_limit
from neurothek.catalog.store.frames import as_frame, frames
from neurothek.queries.ask.parse_tree import objection
from neurothek.queries.errors.refused_sql import empty_query, failed_query, not_a_question, several_statements

_BATCH_ROWS = 2048
"""DuckDB's own step; long texts may make even this many rows large."""

_NO_TYPE = "a column's type cannot be shown; cast it to varchar"


def run_query(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    parameters: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Run one query, values bound to its `$name`s, and return all of its rows."""
    try:
        rows = _relation(connection, query, parameters)
        frame = as_frame(rows)
    except duckdb.Error as error:
        raise objection(connection, error) from error
    except pl.exceptions.PolarsError as error:
        raise failed_query(_NO_TYPE) from error
    return _narrowed(frame, _wide(rows))


def stream_query(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    most_rows: int | None = None,
) -> Iterator[pl.DataFrame]:
    """Run one query and hand its rows over while they are found, a few thousand at a time; at least one frame comes.

    Frames differ in a column of whole numbers where one of them holds more than 64 bits.
    """
    try:
        rows = _relation(connection, query, parameters)
        wide = _wide(rows)
        for frame in frames(rows if most_rows is None else rows.limit(most_rows), n_rows=_BATCH_ROWS):
            yield _narrowed(frame, wide)
    # What comes up between two batches passes through Arrow, which knows DuckDB's errors by their text alone.
    except (duckdb.Error, OSError) as error:
        raise objection(connection, error) from error
    except pl.exceptions.PolarsError as error:
        raise failed_query(_NO_TYPE) from error


def count_rows(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Mapping[str, Any] | None, *, seconds: float
) -> int | None:
    """How many rows a query has that ran before; None where that takes longer."""
    try:
        with time_limit(connection, seconds):
            (counted,) = _relation(connection, query, parameters).aggregate("count(*) as n").fetchall()
    except duckdb.Error:
        return None
    return int(counted[0])


def _relation(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Mapping[str, Any] | None
) -> duckdb.DuckDBPyRelation:
    statement = _only_statement(connection, query)
    return _presentable(connection.sql(_without_end(statement.query), params=dict(parameters or {})))


# What frames have no type for, or one that compares with no text, and is shown as DuckDB writes it.
_WRITTEN_OUT = re.compile(r"^ENUM\b|\b(INTERVAL|UNION|BIT|VARIANT|GEOMETRY|UHUGEINT|BIGNUM|TIME WITH TIME ZONE)\b")


def _presentable(rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """The rows with names that differ, and with columns of types that frames lack written out."""
    names: list[str] = []
    for name in rows.columns:
        taken = (f"{name}_{number}" for number in range(1, len(rows.columns) + 1))
        names.append(next(one for one in (name, *taken) if one not in names))
    columns = [
        f'#{place}{"::varchar" if _WRITTEN_OUT.search(str(dtype)) else ""} as "{name.replace(chr(34), chr(34) * 2)}"'
        for place, (name, dtype) in enumerate(zip(names, rows.types, strict=True), start=1)
    ]
    as_it_is = names == list(rows.columns) and not any("::varchar" in column for column in columns)
    return rows if as_it_is else rows.project(", ".join(columns))


def _wide(rows: duckdb.DuckDBPyRelation) -> list[str]:
    return [name for name, dtype in zip(rows.columns, rows.types, strict=True) if str(dtype) == "HUGEINT"]


def _narrowed(frame: pl.DataFrame, wide: Sequence[str]) -> pl.DataFrame:
    """Sums of whole numbers as 64 bits wherever they fit: few programs read DuckDB's 128."""
    for name in wide:
        narrow = frame.get_column(name).cast(pl.Int64, strict=False)
        fits = narrow.null_count() == frame.get_column(name).null_count()
        frame = frame.with_columns(narrow if fits else frame.get_column(name).cast(pl.Int128))
    return frame


def _without_end(query: str) -> str:
    """The text before its last semicolon and the comments around that: where rows are counted it is put in brackets."""
    text = query.encode()
    end = len(text)
    for place, kind in reversed(duckdb.tokenize(query)):
        if kind != duckdb.token_type.comment and text[place : place + 1] != b";":
            break
        end = place
    return text[:end].decode()


def _only_statement(connection: duckdb.DuckDBPyConnection, query: str) -> duckdb.Statement:
    if not is_text(query):
        raise failed_query("its text is not UTF-8")
    statements = connection.extract_statements(query)
    if not statements:
        raise empty_query(query)
    if len(statements) != 1:
        raise several_statements(len(statements))
    (statement,) = statements
    if statement.type == duckdb.StatementType.MULTI:
        raise failed_query("PIVOT needs the values that become columns: write ON column IN (value, ...)")
    if statement.type not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
        raise not_a_question(str(statement.type).rpartition(".")[2].replace("_", " "))
    return statement


_PART = re.compile(r"/\* for each (\w+) \*/\n(.*?)\n */\* end \*/", re.DOTALL)

_CONDITIONAL = re.compile(r" */\* where ([a-z ]+) \*/\n(.*?) */\* end of \1 \*/\n", re.DOTALL)

_CONDITION = re.compile(r"/\* where ([a-z ]+) \*/")

_FEW = 2
"""From three tokens on a list is faster, on 574 million postings."""

_LIST = re.compile(r"/\* all of (\w+) \*/")


class PartUnknown(LookupError):
    """A part of a statement was named that the statement has not."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(f"the statement has no part {', '.join(map(repr, sorted(names)))}")


def repeated(text: str, values: Mapping[str, Sequence[object]]) -> tuple[str, dict[str, object]]:
    """The statement with its parts written out, and the parameters that they name.

    Args:
        text: a statement with parts between `/* for each NAME */` and `/* end */`, which name `$NAME`, or with
            `/* all of NAME */` where its values are to stand with commas between them.
        values: NAME -> its values; a part without values is asked of null, which equals nothing.
    """
    parameters: dict[str, object] = {}

    def write(match: re.Match[str]) -> str:
        name, part = match[1], match[2]
        parts = []
        for number, value in enumerate(values[name] or [None]):
            parameters[f"{name}_{number}"] = value
            parts.append(re.sub(rf"\${name}\b", f"${name}_{number}", part))
        return "\n    union all\n".join(parts)

    def enumerate_all(match: re.Match[str]) -> str:
        names = [f"{match[1]}_{number}" for number, _ in enumerate(values[match[1]] or [None])]
        parameters.update(zip(names, values[match[1]] or [None], strict=True))
        return ", ".join(f"${name}" for name in names)

    return _LIST.sub(enumerate_all, _PART.sub(write, text)), parameters


def how_many(values: Collection[object]) -> str:
    """Whether the values are better named one by one, or come as a list: the name of a part of a statement."""
    return "tokens are few" if len(values) <= _FEW else "tokens are many"


def with_parts(text: str, holding: Collection[str]) -> str:
    """The statement with those of its parts whose condition holds.

    Args:
        text: a statement with parts between lines `/* where SOMETHING */` and `/* end of SOMETHING */`; parts may
            hold parts.
        holding: what holds: the parts of everything else are left out.
    """
    unknown = set(holding).difference(_CONDITION.findall(text))
    if unknown:
        raise PartUnknown(unknown)
    return _remaining(text, holding)


def _remaining(text: str, holding: Collection[str]) -> str:
    return _CONDITIONAL.sub(lambda match: _remaining(match[2], holding) if match[1] in holding else "", text)
