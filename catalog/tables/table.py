"""One table of the warehouse as a typed polars schema; frames are checked against it before anything is written."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from neurothek.catalog.problems import Failed

Scope = Literal["tokenizer", "corpus", "model", "model_corpus", "pair", "none"]

# A shard of examples or sentences holds all layers and methods of them, so these come first.
_PLACES = ("intervention", "example_id", "sentence_id", "source_state", "layer", "method")

SCOPE_IDS: Mapping[Scope, tuple[str, ...]] = {
    "tokenizer": ("tokenizer_id",),
    "corpus": ("corpus_id",),
    "model": ("model_id",),
    "model_corpus": ("model_id", "corpus_id"),
    "pair": ("model_id", "other_model_id"),
    "none": (),
}


_ADVICE = "nothing was written, and this is a defect worth reporting"


class NotFinite(Failed):
    """A frame holds infinity, or what is not a number.

    A class of its own, as measuring tells of it in another sentence, also where another process found it, and no other
    failure may be taken for it.

    Attributes:
        table: name of the table.
        column: where it is.
    """

    def __init__(self, table: str, column: str) -> None:
        why = f"hold a value in {column} that is not a finite number"
        super().__init__(f"rows for the table {table} {why}", _ADVICE, what="rows", why=why)
        self.table, self.column = table, column


@dataclass(frozen=True)
class Table:
    """One table of the schema `store`, as a job hands it over."""

    name: str  # the table's name in the schema `store`
    scope: Scope  # which ids publishing adds in front of the columns
    columns: Mapping[str, pl.DataType]  # column name -> polars type, without the ids of `scope` and without `run_id`
    key: tuple[str, ...]  # the columns that identify a row within the ids of `scope`
    # SQL expressions by which rows lie sorted on disk, where they are not the shards in the order of layers
    order: tuple[str, ...] = ()
    is_fact: bool = True  # whether publishing appends the id of the run that measured the row
    # the columns in which null is a value ("never happened", "not defined here")
    nullable: frozenset[str] = frozenset()
    # the column that a run counts from 0, and publishing from the first number that the warehouse has free
    serial: str | None = None
    # where several jobs fill it, the column that tells their rows apart: a run replaces the parts it brings
    part: str | None = None
    is_repeatable: bool = True  # whether measuring again gives the same rows but for rounding
    # whether it came after the first releases of its job: their runs stand without rows of it, until somebody measures
    # them again
    is_later: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """The id columns that publishing adds."""
        return SCOPE_IDS[self.scope]

    @property
    def place(self) -> str | None:
        """The column that says which part of a model a row is of, so that parts can be measured alone."""
        return next((name for name in _PLACES if name in self.columns), None)

    def empty(self) -> pl.DataFrame:
        """A frame without rows and with exactly the declared columns."""
        return pl.DataFrame(schema=dict(self.columns))

    def check(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return `frame` if it fits: its columns and their types, no null where none may be, finite, each key once."""
        if dict(frame.schema) != dict(self.columns):
            raise self._mismatch(f"have columns {dict(frame.schema)} instead of {dict(self.columns)}")
        for name, dtype in self.columns.items():
            column = frame.get_column(name)
            if name not in self.nullable and column.null_count():
                raise self._mismatch(f"have {column.null_count()} empty values in {name}")
            if not _all_finite(column, dtype):
                raise NotFinite(self.name, name)
        if _repeats(frame.select(self.key)):
            raise self._mismatch(f"repeat a key ({', '.join(self.key)})")
        return frame

    def _mismatch(self, why: str) -> Failed:
        return Failed(f"rows for the table {self.name} {why}", _ADVICE, what="rows", why=why)


def _repeats(keys: pl.DataFrame) -> bool:
    # Equal rows have equal hashes: where all of these differ, which takes a third of the time, so do the rows.
    return keys.hash_rows().n_unique() < keys.height and bool(keys.is_duplicated().any())


def _all_finite(column: pl.Series, dtype: pl.DataType) -> bool:
    if isinstance(dtype, pl.List) and dtype.inner in (pl.Float32(), pl.Float64()):
        column = column.explode().drop_nulls()
    elif dtype not in (pl.Float32(), pl.Float64()):
        return True
    return bool(column.drop_nulls().is_finite().all())


SMALL, INTEGER, BIG = pl.Int16(), pl.Int32(), pl.Int64()
FLOAT, DOUBLE = pl.Float32(), pl.Float64()
TEXT, FLAG, TIME = pl.String(), pl.Boolean(), pl.Datetime("us")
IDS, SCORES, COUNTS, STEPS = pl.List(INTEGER), pl.List(FLOAT), pl.List(BIG), pl.List(pl.Int8())
