"""Numbers of another file become numbers of this one: the same for what is known, the next free ones for the rest."""

from collections.abc import Iterator, Mapping, Sequence

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.exchange.merging import NUMBERED, Numbering, Numbers

TABLES = """
    create schema store;
    create table store.tokenizers (tokenizer_id integer, sha256 varchar);
    create table store.models (model_id integer, name varchar, tokenizer_id integer);
    create table store.runs (run_id integer, model_id integer);
"""


@pytest.fixture(scope="module")
def files() -> Iterator[tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection]]:
    with duckdb.connect() as theirs, duckdb.connect() as ours:
        for connection in (theirs, ours):
            connection.execute(TABLES)
        yield theirs, ours


def fill(connection: duckdb.DuckDBPyConnection, **tables: Sequence[Sequence[object]]) -> duckdb.DuckDBPyConnection:
    for table in ("tokenizers", "models", "runs"):
        connection.execute(f"delete from store.{table}")
        for row in tables.get(table, ()):
            connection.execute(f"insert into store.{table} values ({', '.join('?' * len(row))})", list(row))
    return connection


Files = tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection]


def test_known_rows_keep_our_number_and_new_ones_follow_the_last(files: Files) -> None:
    theirs = fill(files[0], tokenizers=[(0, "b"), (3, "new"), (5, "a"), (9, "newer")])
    ours = fill(files[1], tokenizers=[(2, "a"), (7, "b")])
    numbers = Numbering({}).with_table("tokenizers", ("sha256",), theirs=theirs, ours=ours).tables["tokenizers"]
    assert dict(numbers.ids) == {0: 7, 3: 8, 5: 2, 9: 9}
    assert numbers.new == {3, 9}
    assert numbers.given == [8, 9]


def test_into_an_empty_file_numbers_begin_at_nought(files: Files) -> None:
    theirs, ours = fill(files[0], tokenizers=[(4, "a"), (6, "b")]), fill(files[1])
    numbering = Numbering({}).with_table("tokenizers", ("sha256",), theirs=theirs, ours=ours)
    assert dict(numbering.tables["tokenizers"].ids) == {4: 0, 6: 1}
    nothing = Numbering({}).with_table("tokenizers", ("sha256",), theirs=ours, ours=theirs).tables["tokenizers"]
    assert (dict(nothing.ids), nothing.new, nothing.given) == ({}, frozenset(), [])


def test_a_number_that_identifies_a_row_is_translated_first(files: Files) -> None:
    """The same name with the same number of another tokenizer is another model."""
    theirs = fill(files[0], tokenizers=[(0, "a"), (1, "b")], models=[(0, "m", 0), (1, "m", 1)])
    ours = fill(files[1], tokenizers=[(0, "b"), (1, "c")], models=[(0, "m", 0), (1, "m", 1)])
    numbering = Numbering({}).with_table("tokenizers", ("sha256",), theirs=theirs, ours=ours)
    numbering = numbering.with_table("models", ("name", "tokenizer_id"), theirs=theirs, ours=ours)
    assert dict(numbering.tables["tokenizers"].ids) == {0: 2, 1: 0}
    assert dict(numbering.tables["models"].ids) == {0: 2, 1: 0}
    assert numbering.tables["models"].new == {0}


def test_without_an_identity_every_row_is_new_and_a_condition_leaves_some_out(files: Files) -> None:
    theirs, ours = fill(files[0], runs=[(0, 1), (1, 1), (2, 2)]), fill(files[1], runs=[(0, 1), (1, 1)])
    numbering = Numbering({}).with_table("runs", (), theirs=theirs, ours=ours, condition="model_id = 1")
    assert dict(numbering.tables["runs"].ids) == {0: 2, 1: 3}


@given(
    theirs=st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 9)), unique_by=(lambda row: row[0], lambda row: row[1])
    ),
    ours=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), unique_by=(lambda row: row[0], lambda row: row[1])),
)
def test_no_two_rows_get_one_number(files: Files, theirs: list[tuple[int, int]], ours: list[tuple[int, int]]) -> None:
    fill(files[0], tokenizers=[(number, str(name)) for number, name in theirs])
    fill(files[1], tokenizers=[(number, str(name)) for number, name in ours])
    numbering = Numbering({}).with_table("tokenizers", ("sha256",), theirs=files[0], ours=files[1])
    numbers = numbering.tables["tokenizers"]
    names = {name: number for number, name in ours}
    for number, name in theirs:
        assert (number in numbers.new) == (name not in names)
        assert name not in names or numbers.ids[number] == names[name]
    assert len({*numbers.ids.values()}) == len(theirs)
    assert not {number for number, _ in ours} & {*numbers.given}


def numbering(**ids: Mapping[int, int]) -> Numbering:
    return Numbering({table: Numbers(of, frozenset()) for table, of in ids.items()})


def test_rows_get_our_numbers_and_null_for_what_is_not_there() -> None:
    rows = pl.DataFrame(
        {"model_id": [0, 1, 9], "other_model_id": [1, None, 0], "layer": [0, 1, 9], "run_id": [5, 5, 5]},
        schema_overrides={"model_id": pl.Int32, "other_model_id": pl.Int32, "run_id": pl.Int32},
    )
    renumbered = numbering(models={0: 4, 1: 0}, runs={5: 11}).renumbered(rows)
    assert renumbered.to_dict(as_series=False) == {
        "model_id": [4, 0, None],
        "other_model_id": [0, None, 4],
        "layer": [0, 1, 9],
        "run_id": [11, 11, 11],
    }
    assert renumbered.schema == rows.schema


def test_where_nothing_is_numbered_numbers_become_null_and_empty_frames_stay() -> None:
    rows = pl.DataFrame({"corpus_id": [0, -1]}, schema={"corpus_id": pl.Int32})
    # -1 is no number of any row.
    assert numbering(corpora={}).renumbered(rows[:1])["corpus_id"].to_list() == [None]
    assert numbering(corpora={1: 2}).renumbered(rows.clear()).schema == rows.schema
    assert numbering().renumbered(pl.DataFrame({"n": [1]})).to_dicts() == [{"n": 1}]


def test_every_column_of_numbers_names_a_table_with_its_own() -> None:
    models = {"model_id", "other_model_id", "set_id", "other_set_id"}
    own = {column: table for column, table in NUMBERED.items() if column not in models}
    assert len({"models", *own.values()}) == len(own) + 1
    assert {NUMBERED[column] for column in models} == {"models"}
