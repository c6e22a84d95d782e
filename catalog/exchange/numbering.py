"""Which number of another warehouse is which of this one: by what identifies a row, else the next free number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import polars as pl

from neurothek.catalog.store.warehouse import Row, first_row

NUMBERED: Mapping[str, str] = {
    "tokenizer_id": "tokenizers",
    "corpus_id": "corpora",
    "model_id": "models",
    "other_model_id": "models",
    "run_id": "runs",
    "clustering_id": "clusterings",
}
"""Column that holds a number of the file -> the table that gives these numbers."""


@dataclass(frozen=True)
class Numbers:
    """The rows of one table of the other file.

    Attributes:
        ids: number there -> number here.
        new: the numbers there whose rows are not here yet.
    """

    ids: Mapping[int, int]
    new: frozenset[int]

    @property
    def given(self) -> list[int]:
        """The new numbers here, in order."""
        return sorted(self.ids[one] for one in self.new)


@dataclass(frozen=True)
class Numbering:
    """Tables whose rows have been numbered so far: table -> numbers."""

    tables: Mapping[str, Numbers]

    def with_table(
        self,
        table: str,
        identity: Sequence[str],
        *,
        theirs: duckdb.DuckDBPyConnection,
        ours: duckdb.DuckDBPyConnection,
        condition: str = "true",
    ) -> "Numbering":
        """Number another table too.

        Args:
            table: a table of the schema `store` whose first column is its number.
            identity: the columns that say which row it is, in any warehouse; without them every row is new.
            theirs: a lease of the other file.
            ours: a lease of this one.
            condition: which rows of the other file.
        """
        key = next(column for column, numbered in NUMBERED.items() if numbered == table)
        listed = ", ".join((key, *identity))
        query = f"select {listed} from store.{table}"
        known = {tuple(row[1:]): int(row[0]) for row in ours.execute(query).fetchall()} if identity else {}
        free = first_row(ours, f"select coalesce(max({key}), -1) + 1 from store.{table}")
        ids: dict[int, int] = {}
        new: set[int] = set()
        for number, *values in theirs.execute(f"{query} where {condition} order by {key}").fetchall():
            taken = known.get(self._translated(identity, values))
            if taken is None:
                taken = int(free[0]) + len(new) if free else 0
                new.add(int(number))
            ids[int(number)] = taken
        return Numbering({**self.tables, table: Numbers(ids, frozenset(new))})

    def renumbered(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with numbers of this file; those that stand for nothing there become null."""
        columns = [column for column in rows.columns if column in NUMBERED]
        return rows.with_columns(
            pl.col(column).replace_strict(
                dict(self.tables[NUMBERED[column]].ids) or {-1: -1}, default=None, return_dtype=pl.Int32()
            )
            for column in columns
        )

    def _translated(self, identity: Sequence[str], values: Sequence[object]) -> Row:
        return tuple(
            self.tables[NUMBERED[column]].ids.get(value) if isinstance(value, int) and column in NUMBERED else value
            for column, value in zip(identity, values, strict=True)
        )
