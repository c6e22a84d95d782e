"""How rows that were measured again agree with those that the warehouse holds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import NotMeasured
from neurothek.catalog.store.frames import as_frame
from neurothek.catalog.tables.table import Column, Order, Table

# Another processor, or another batch, rounds differently: about 1e-6 in float32, and a thousand times that in half
# precision. What lies within a hundred times that is the same measurement.
TOLERANCE = {"float32": 1e-4, "float16": 5e-2, "bfloat16": 5e-2}
# A number that is a difference rounds like what is subtracted, its terms; ten times their rounding is allowed. An H200
# was off by 1.2e-6 in a coefficient next to 0 where the largest of its layer was 2.5, and by 1.3e-6 in an excess
# kurtosis. Where a column does not say what its terms are, a typical number of it stands for them.
_OF_TERMS = 0.1
# Signs of pre-activations next to zero flip likewise, so counts of activations move a little.
_COUNT_TOLERANCE = 1e-3
_COUNTS = ("n_", "counts", "rank_")


def nothing_to_verify(model: str) -> NotMeasured:
    """The warehouse holds no rows of the model."""
    hint = f"measure it with `{command_line('ingest', model)}`"
    return NotMeasured(f"{model} has not been measured yet", hint, jobs=[], models=[model])


@dataclass(frozen=True)
class Remeasured:
    """Rows of one table, measured again."""

    run_id: int  # the run that measured them first
    job: str  # its job
    dtype: str  # the number format that it computed in
    table: Table  # the table
    frame: pl.DataFrame  # the rows, without ids
    # the values of the table's `place` that were measured again, also those that have no row; empty for a table that is
    # measured as a whole
    places: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Agreement:
    """Agreement of the rows of one table.

    Attributes:
        job: the job that filled it.
        table: its name.
        n_rows: rows that were measured again.
        n_equal: of these, rows that are the same in every bit.
        n_close: rows that differ by no more than another processor's rounding.
        n_different: rows that differ by more, are missing, or should not be there.
        largest_difference: the largest relative difference of two numbers.
        first_difference: where the first row that differs is, and in what; empty if there is none.
    """

    job: str
    table: str
    n_rows: int
    n_equal: int
    n_close: int
    n_different: int
    largest_difference: float
    first_difference: str


def agreement(connection: duckdb.DuckDBPyConnection, again: Remeasured) -> Agreement:
    """Compare rows that were measured again with the warehouse's rows of the same run and place."""
    keys, frame = list(again.table.key), again.frame
    stored = _stored(connection, again)
    missing = frame.join(stored, on=keys, how="anti")
    extra = stored.join(frame, on=keys, how="anti")
    pairs = frame.join(stored, on=keys, how="inner", suffix="_stored")
    values = [name for name in again.table.schema if name not in keys]
    judged = deviations(again.table, pairs, tolerance=TOLERANCE[again.dtype])
    # Of a table that is all key nothing is left to deviate.
    worst = judged.with_columns(pl.max_horizontal([pl.lit(0.0), *values]).alias("worst"))
    n_equal, n_close = int((worst["worst"] == 0).sum()), int(worst["worst"].is_between(0, 1, closed="right").sum())
    differing = judged.filter(worst["worst"] > 1)
    return Agreement(
        job=again.job,
        table=again.table.name,
        n_rows=frame.height,
        n_equal=n_equal,
        n_close=n_close,
        n_different=differing.height + missing.height + extra.height,
        largest_difference=float(worst["worst"].max() or 0) * TOLERANCE[again.dtype],  # type: ignore[arg-type]
        first_difference=_first(keys, values, differing, missing, extra),
    )


def combined(parts: Iterable[Agreement]) -> list[Agreement]:
    """One agreement a job and table, in the order in which they came."""
    agreements: dict[tuple[str, str], Agreement] = {}
    for part in parts:
        so_far = agreements.setdefault((part.job, part.table), part)
        if so_far is not part:
            agreements[part.job, part.table] = Agreement(
                job=part.job,
                table=part.table,
                n_rows=so_far.n_rows + part.n_rows,
                n_equal=so_far.n_equal + part.n_equal,
                n_close=so_far.n_close + part.n_close,
                n_different=so_far.n_different + part.n_different,
                largest_difference=max(so_far.largest_difference, part.largest_difference),
                first_difference=so_far.first_difference or part.first_difference,
            )
    return list(agreements.values())


def _stored(connection: duckdb.DuckDBPyConnection, again: Remeasured) -> pl.DataFrame:
    """The warehouse's rows of the same run, of those layers or examples that were measured again."""
    table = again.table
    columns = [f"{name} - min({name}) over () as {name}" if name == table.serial else name for name in table.schema]
    query = f"select {', '.join(columns)} from store.{table.name} where run_id = $run_id"
    parameters: dict[str, Any] = {"run_id": again.run_id}
    if table.place is not None:
        query += f" and list_contains($places, {table.place})"
        parameters["places"] = list(again.places)
    rows = as_frame(connection.sql(query, params=parameters))
    return rows.cast(pl.Schema(table.schema))


def deviations(table: Table, pairs: pl.DataFrame, *, tolerance: float) -> pl.DataFrame:
    """Judge every value of rows that were measured twice, the second time into columns that end in `_stored`.

    Returns:
        The key, and a number for each value: 0 where both are equal, at most 1 where they are as close as another
        processor's rounding, above 1 where they differ.
    """
    values = [name for name in table.schema if name not in table.key]
    return pairs.select(table.key).with_columns(
        _deviation(table.columns[name], pairs, name, tolerance).alias(name) for name in values
    )


def _deviation(column: Column, pairs: pl.DataFrame, name: str, tolerance: float) -> pl.Series:
    measured, stored = pairs[name], pairs[f"{name}_stored"]
    dtype = measured.dtype
    is_equal = measured.eq_missing(stored)
    is_count = name.startswith(_COUNTS)
    if is_equal.all():
        return pl.zeros(len(measured), eager=True)
    if column.order is not None:
        return _order_deviation(column.order, pairs, name, tolerance=tolerance)
    if isinstance(dtype, pl.List):
        return _list_deviation(measured, stored, is_equal, tolerance=tolerance)
    if not dtype.is_numeric() or (dtype.is_integer() and not is_count):
        return pl.select(pl.when(is_equal).then(0.0).otherwise(2.0)).to_series()
    allowed = _allowed(stored, tolerance=tolerance)
    # Of what was measured now: a number that somebody changed does not say by how much it may be off.
    if column.terms is not None:
        terms = pairs.select(terms=column.terms.fill_nan(None)).to_series()
        allowed = pl.select(pl.max_horizontal(allowed, terms.abs() * tolerance * _OF_TERMS)).to_series()
    if column.step is not None:
        step = pairs.select(step=column.step).to_series()
        allowed = pl.select(pl.max_horizontal(allowed, step, stored.abs() * _COUNT_TOLERANCE)).to_series()
    return _number_deviation(measured, stored, is_equal, allowed)


def _number_deviation(measured: pl.Series, stored: pl.Series, is_equal: pl.Series, allowed: pl.Series) -> pl.Series:
    distance = (measured.cast(pl.Float64) - stored.cast(pl.Float64)).abs() / allowed
    # One of the two is not there, or not a number.
    differs = pl.select(pl.when(is_equal).then(0.0).otherwise(pl.lit(distance).fill_null(2.0).fill_nan(2.0)))
    return differs.to_series()


def _allowed(stored: pl.Series, *, tolerance: float) -> pl.Series:
    """What another processor may move each number by: relative to it, or to a typical one where it is next to 0."""
    sizes = stored.cast(pl.Float64).abs()
    if stored.dtype.is_integer():
        return pl.select(pl.max_horizontal(sizes * _COUNT_TOLERANCE, pl.lit(1.0))).to_series()
    typical = sizes.drop_nulls().median()
    floor = tolerance * _OF_TERMS * (float(typical) if isinstance(typical, int | float) else 0.0)
    return pl.select(pl.max_horizontal(sizes * tolerance, pl.lit(max(floor, 1e-12)))).to_series()


def _list_deviation(measured: pl.Series, stored: pl.Series, is_equal: pl.Series, *, tolerance: float) -> pl.Series:
    inner = measured.dtype.inner  # type: ignore[attr-defined]
    if inner == pl.Int32() or not inner.is_numeric():
        return pl.select(pl.when(is_equal).then(0.0).otherwise(2.0)).to_series()
    pairs = pl.DataFrame(
        {"row": pl.int_range(len(measured), eager=True), "a": measured, "b": stored, "equal": is_equal}
    )
    fitting = pairs.filter(~pl.col("equal") & (pl.col("a").list.len() == pl.col("b").list.len()))
    flat = fitting.explode("a", "b")
    if flat.is_empty():
        inside = pl.DataFrame(schema={"row": pl.Int64, "inside": pl.Float64})
    else:
        allowed = _allowed(flat["b"], tolerance=tolerance)
        entries = _number_deviation(flat["a"], flat["b"], flat["a"].eq_missing(flat["b"]), allowed)
        inside = _worst_entries(flat, entries)
    joined = pairs.join(inside, on="row", how="left", maintain_order="left")
    return joined.select(pl.when("equal").then(0.0).otherwise(pl.col("inside").fill_null(2.0))).to_series()


def _worst_entries(flat: pl.DataFrame, entries: pl.Series) -> pl.DataFrame:
    return flat.select("row").with_columns(entries.alias("inside")).group_by("row").agg(pl.col("inside").max())


def _order_deviation(order: Order, pairs: pl.DataFrame, name: str, *, tolerance: float) -> pl.Series:
    """1 where an id stands at another place of the list than before, among numbers that rounding may exchange."""
    number = pl.col(f"{order.by}_stored")
    if isinstance(pairs[name].dtype, pl.List):
        ids = pairs.select(
            row=pl.int_range(pl.len()), list=pl.int_range(pl.len()), a=name, b=f"{name}_stored", by=number
        )
        fits = (pl.col("a").list.len() == pl.col("b").list.len()) & (pl.col("b").list.len() == pl.col("by").list.len())
        flat = ids.filter(fits.fill_null(value=False)).explode("a", "b", "by")
    else:
        flat = pairs.select(
            row=pl.int_range(pl.len()),
            list=pl.struct(order.within).rank("dense"),
            a=name,
            b=f"{name}_stored",
            by=number,
        )
    flat = flat.sort("list", "by", maintain_order=True)
    gap = (pl.col("by") - pl.col("by").shift(1)).abs().over("list")
    allowed = pl.col("by").abs() * tolerance
    is_tied = ((gap <= allowed) | (gap.shift(-1).over("list") <= allowed)).fill_null(value=False)
    before, now = (flat.select(pl.struct("list", id=one)).to_series().implode() for one in ("b", "a"))
    is_listed = pl.struct("list", id="a").is_in(before) & pl.struct("list", id="b").is_in(now)
    entries = flat.select(
        pl.when(pl.col("a").eq_missing(pl.col("b"))).then(0.0).when(is_tied & is_listed).then(1.0).otherwise(2.0)
    ).to_series()
    rows = pl.DataFrame({"row": pl.int_range(pairs.height, eager=True)})
    joined = rows.join(_worst_entries(flat, entries), on="row", how="left", maintain_order="left")
    both = pairs[name].eq_missing(pairs[f"{name}_stored"])
    return joined.select(pl.when(both).then(0.0).otherwise(pl.col("inside").fill_null(2.0))).to_series()


def _first(
    keys: Sequence[str], values: Sequence[str], differing: pl.DataFrame, missing: pl.DataFrame, extra: pl.DataFrame
) -> str:
    if differing.height:
        row = differing.row(0, named=True)
        return f"{_place(keys, row)}: {', '.join(name for name in values if row[name] > 1)}"
    if missing.height:
        return f"{_place(keys, missing.row(0, named=True))}: not in the warehouse"
    if extra.height:
        return f"{_place(keys, extra.row(0, named=True))}: only in the warehouse"
    return ""


def _place(keys: Sequence[str], row: dict[str, Any]) -> str:
    return ", ".join(f"{key} {row[key]}" for key in keys)
