"""Tables of the warehouse, each declared once: SQL, comments, and the frames that are checked before a write."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import polars as pl

from neurothek.catalog.problems import Failed
from neurothek.catalog.tables.versions import FIRST

Scope = Literal["tokenizer", "corpus", "model", "model_corpus", "set", "set_corpus", "pair", "pair_corpus", "none"]

# A shard of examples or sentences holds all layers and methods of them, so these come first.
_PLACES = ("intervention", "contrast", "example_id", "sentence_id", "source_state", "layer", "method")

SCOPE_IDS: Mapping[Scope, tuple[str, ...]] = {
    "tokenizer": ("tokenizer_id",),
    "corpus": ("corpus_id",),
    "model": ("model_id",),
    "model_corpus": ("model_id", "corpus_id"),
    "set": ("set_id",),
    "set_corpus": ("set_id", "corpus_id"),
    "pair": ("set_id", "other_set_id"),
    "pair_corpus": ("set_id", "other_set_id", "corpus_id"),
    "none": (),
}

RUN_IDS: Mapping[str, str] = {"set_id": "model_id", "other_set_id": "other_model_id"}
"""Number of a set of units -> the number at the run that measured it: the set of a model's neurons has the model's."""


_NOT_NULL = " not null"

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
class FrameSchema:
    """Typed rows that are handed on: frames are checked against it before anybody reads them."""

    name: str
    columns: Mapping[str, pl.DataType]
    key: tuple[str, ...]  # the columns that identify a row
    nullable: frozenset[str] = frozenset()  # the columns in which null is a value

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


@dataclass(frozen=True)
class Order:
    """Numbers by which ids are ranked: those nearer to each other than rounding may change places."""

    by: str  # the column of these numbers, a list where the ids are one
    within: tuple[str, ...] = ()  # the columns that say which list a row belongs to, where each id has a row


@dataclass(frozen=True)
class Column:
    """A column of the schema `store`: what it holds, and who fills it."""

    dtype: pl.DataType
    meaning: str  # its comment in the file and in the data dictionary
    nullable: bool = False  # whether null is a value ("never happened", "not defined here")
    is_given: bool = False  # whether publishing fills it: a number of this file, the run
    values: tuple[str, ...] = ()  # the texts it may hold, stored as an enumeration: for hundreds of millions of rows
    default: str | None = None  # in SQL, where files have rows that are older than the column
    since: int = FIRST  # the version of the schema that brought it; what a later one brings stands last in its table
    # What rounding is relative to, where that is not the number itself: the size of what it is the difference of, or
    # for a share of n cases what one case more is. Not compared, as polars makes an expression of a comparison.
    terms: pl.Expr | None = field(default=None, compare=False)
    step: pl.Expr | None = field(default=None, compare=False)
    order: Order | None = None  # what puts ids, or their ranks, in their order
    former: str | None = None  # its name before the version `renamed`
    renamed: int = FIRST

    def name_in(self, version: int, name: str) -> str:
        """What a column called `name` was called in a version of the schema."""
        return name if self.former is None or version >= self.renamed else self.former

    @property
    def sql(self) -> str:
        """Its definition in a `create table`, without its name."""
        kind = SQL_TYPES[self.dtype]
        if self.values:
            kind = f"enum({', '.join(map(_quoted, self.values))})"
        default = "" if self.default is None else f" default {self.default}"
        return kind + default + ("" if self.nullable else _NOT_NULL)


@dataclass(frozen=True)
class Table:
    """One table of the schema `store`: its columns as they lie in the file, and the rows that a job hands over."""

    name: str
    meaning: str  # what one row is: its comment in the file and in the data dictionary
    columns: Mapping[str, Column]
    key: tuple[str, ...]  # the columns that identify a row within the ids of `scope`
    scope: Scope = "none"  # which ids publishing adds
    # SQL expressions by which rows lie sorted on disk, where they are not the shards in the order of layers
    order: tuple[str, ...] = ()
    # the column that a run counts from 0, and publishing from the first number that the warehouse has free
    serial: str | None = None
    # where several jobs fill it, the column that tells their rows apart: a run replaces the parts it brings
    part: str | None = None
    is_repeatable: bool = True  # whether measuring again gives the same rows but for rounding
    # whether it came after the first releases of its job: their runs stand without rows of it, until somebody measures
    # them again
    is_later: bool = False
    since: int = FIRST  # the version of the schema that brought it
    # SQL that adds the rows that follow from other tables and are not there yet
    filling: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The id columns that publishing adds."""
        return SCOPE_IDS[self.scope]

    @property
    def is_of_pair(self) -> bool:
        """Whether its rows are about two models."""
        return "other_set_id" in self.ids

    @property
    def owner(self) -> str | None:
        """The column that says whose rows they are: a model's, or a set's of units; None where neither is named."""
        return next((name for name in ("model_id", "set_id") if name in self.columns), None)

    @property
    def is_fact(self) -> bool:
        """Whether publishing adds the id of the run that measured the row."""
        return self.columns.get("run_id") is RUN

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        """Column name -> polars type of the rows that are handed over, which publishing completes."""
        return {name: column.dtype for name, column in self.columns.items() if not column.is_given}

    @cached_property
    def rows(self) -> FrameSchema:
        """The rows that are handed over."""
        nullable = frozenset(name for name in self.schema if self.columns[name].nullable)
        return FrameSchema(self.name, self.schema, self.key, nullable)

    @property
    def place(self) -> str | None:
        """The column that says which part of a model a row is of, so that parts can be measured alone."""
        return next((name for name in _PLACES if name in self.schema), None)

    def statements(self, version: int) -> list[str]:
        """SQL that makes the table as a version of the schema has it, with its comments."""
        if self.since > version:
            return []
        held = [name for name, column in self.columns.items() if column.since <= version]
        columns = ", ".join(f'"{self.columns[name].name_in(version, name)}" {self.columns[name].sql}' for name in held)
        made = [f"create table store.{self.name} ({columns})"]
        made.append(f"comment on table store.{self.name} is {_quoted(self.meaning)}")
        return made + [self._comment(name, version) for name in held]

    def additions(self, version: int) -> list[str]:
        """SQL that brings the table of an earlier version of the schema to the next one."""
        if self.since > version:
            return []
        if self.since == version:
            return [*self.statements(version), *([self.filling] if self.filling else [])]
        added = []
        for name, column in self.columns.items():
            if column.former is not None and column.renamed == version and column.since < version:
                added.append(f'alter table store.{self.name} rename column "{column.former}" to "{name}"')
                added.append(self._comment(name, version))
            if column.since == version:
                kind = column.sql.removesuffix(_NOT_NULL)
                added.append(f'alter table store.{self.name} add column "{name}" {kind}')
                if not column.nullable:
                    added.append(f'alter table store.{self.name} alter column "{name}" set{_NOT_NULL}')
                added.append(self._comment(name, version))
        return added

    def _comment(self, name: str, version: int) -> str:
        column = self.columns[name]
        return f'comment on column store.{self.name}."{column.name_in(version, name)}" is {_quoted(column.meaning)}'

    def empty(self) -> pl.DataFrame:
        """A frame without rows and with exactly the columns that are handed over."""
        return self.rows.empty()

    def check(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return `frame` if it fits, see `FrameSchema`."""
        return self.rows.check(frame)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


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
TEXTS = pl.List(TEXT)

SQL_TYPES: Mapping[pl.DataType, str] = {
    SMALL: "smallint",
    INTEGER: "integer",
    BIG: "bigint",
    FLOAT: "float",
    DOUBLE: "double",
    TEXT: "varchar",
    FLAG: "boolean",
    TIME: "timestamp",
    IDS: "integer[]",
    SCORES: "float[]",
    COUNTS: "bigint[]",
    STEPS: "tinyint[]",
    TEXTS: "varchar[]",
}

MODEL = Column(INTEGER, "The model.", is_given=True)
SET = Column(
    INTEGER,
    "The set of units: of the neurons of a model, the model's number.",
    is_given=True,
    former="model_id",
    renamed=30,
)
OTHER_SET = Column(INTEGER, "The other model's set of units.", is_given=True, former="other_model_id", renamed=30)
CORPUS = Column(INTEGER, "The corpus.", is_given=True)
RUN = Column(INTEGER, "The run that measured it.", is_given=True)
LAYER = Column(SMALL, "Layer, 0-based.")
NEURON = Column(INTEGER, "Neuron within the layer, 0-based.")
INTERVENTION = Column(TEXT, "Name of the intervention.")
