"""Two warehouses that measured the same on different processors: where their numbers differ, and by how much."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from neurothek.catalog.tables.registry import BY_NAME
from neurothek.catalog.tables.table import STEPS
from neurothek.catalog.upkeep.verification import TOLERANCE, deviations

OF_FILES = (("models", "source"), ("shortcut_maps", "sha256"))
"""Columns about files: where they lie, and the hash of a matrix that rounding moves."""


@dataclass(frozen=True)
class Difference:
    """A column of a table whose values differ somewhere.

    Attributes:
        table: name of the table.
        column: name of the column; "rows" for rows that only one of the two has.
        is_exact: whether its values are no floating-point numbers, so that rounding cannot be what they differ by.
        n_rows: rows that both have.
        n_different: rows that differ at all.
        largest: the largest difference, relative to the value or to a typical one of the column.
        example: the first of these rows, with both values.
    """

    table: str
    column: str
    is_exact: bool
    n_rows: int
    n_different: int
    largest: float
    example: str


def differences(found: Mapping[str, pl.DataFrame], expected: Mapping[str, pl.DataFrame]) -> list[Difference]:
    """Every column of the tables whose values are not the same in every bit."""
    assert found.keys() == expected.keys()
    return [one for name in expected for one in _of_table(name, found[name], expected[name])]


def _of_table(name: str, found: pl.DataFrame, expected: pl.DataFrame) -> Iterator[Difference]:
    if found.equals(expected):
        return
    assert found.schema == expected.schema
    keys = _keys(name, expected)
    only = pl.concat(
        one.join(other, on=keys, how="anti", nulls_equal=True) for one, other in ((found, expected), (expected, found))
    )
    if only.height:
        yield Difference(name, "rows", True, found.height, only.height, 1.0, str(only.row(0, named=True)))
    pairs = expected.join(found, on=keys, how="inner", suffix=" found", nulls_equal=True)
    for column in (one for one in expected.columns if one not in keys):
        yield from _of_column(name, column, pairs, keys)


def _keys(name: str, rows: pl.DataFrame) -> list[str]:
    """The columns that tell the rows of a table apart; of what is kept of a view the first ones that do."""
    if name in BY_NAME:
        return [*BY_NAME[name].ids, *BY_NAME[name].key]
    numbers = range(1, len(rows.columns) + 1)
    return next(rows.columns[:n] for n in numbers if not rows.select(rows.columns[:n]).is_duplicated().any())


def _of_column(table: str, column: str, pairs: pl.DataFrame, keys: list[str]) -> Iterator[Difference]:
    differing = pairs.filter(pl.col(column).ne_missing(pl.col(f"{column} found")))
    if differing.is_empty():
        return
    dtype = pairs.schema[column]
    inner = dtype.inner if isinstance(dtype, pl.List) else dtype
    is_exact = not inner.is_float()
    largest = 1.0
    judged = _judged(table, column, pairs)
    if judged is not None:
        is_exact, largest = False, judged
    elif inner.is_numeric():
        largest = _largest(differing[column], differing[f"{column} found"], pairs[column])
    row = differing.select(*keys, column, f"{column} found").row(0, named=True)
    yield Difference(table, column, is_exact, pairs.height, differing.height, largest, str(row)[:300])


def _judged(table: str, column: str, pairs: pl.DataFrame) -> float | None:
    """The deviation that `verify` finds where rounding moves whole steps or exchanges ranks; `TOLERANCE` is allowed."""
    declared = BY_NAME[table].columns.get(column) if table in BY_NAME else None
    if declared is None or (declared.order is None and declared.step is None and declared.dtype != STEPS):
        return None
    renamed = pairs.select(
        pl.all().exclude("^.* found$").name.suffix("_stored"), pl.col("^.* found$").name.replace(" found$", "")
    )
    known = pairs.select(*BY_NAME[table].ids, *BY_NAME[table].key).hstack(renamed)
    parts = known.partition_by(BY_NAME[table].ids) if BY_NAME[table].ids else [known]
    worst = [deviations(BY_NAME[table], part, tolerance=TOLERANCE["float32"])[column].max() for part in parts]
    return TOLERANCE["float32"] * max(float(one) for one in worst if isinstance(one, int | float))


def _largest(expected: pl.Series, found: pl.Series, every: pl.Series) -> float:
    """The largest relative difference; infinite where one value is missing or lists are of unequal length."""
    if isinstance(expected.dtype, pl.List):
        if not (expected.list.len().eq_missing(found.list.len())).all():
            return float("inf")
        expected, found, every = expected.explode(), found.explode(), every.explode()
    a, b, typical = (one.cast(pl.Float64) for one in (expected, found, every))
    if not (a.is_null() == b.is_null()).all():
        return float("inf")
    middle = typical.abs().median()
    scale = a.abs() + (float(middle) if isinstance(middle, int | float) else 0.0)
    ratio = ((a - b).abs() / scale).fill_nan(0.0).max()
    return float(ratio) if isinstance(ratio, int | float) else 0.0


def assert_close(found: Mapping[str, pl.DataFrame], expected: Mapping[str, pl.DataFrame], *, tolerance: float) -> None:
    """Whole numbers, flags and lists of tokens are the same, and other numbers within the tolerance."""
    beyond = [one for one in differences(found, expected) if one.is_exact or one.largest > tolerance]
    assert [one for one in beyond if (one.table, one.column) not in OF_FILES] == []
