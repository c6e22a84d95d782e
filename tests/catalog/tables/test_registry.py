"""All tables: their declarations agree with the SQL schema, and every fact table is filled by its jobs."""

import duckdb
import polars as pl
import pytest

from neurothek.catalog.store import schema as tables
from neurothek.catalog.tables.registry import ALL, FACTS, JOB_TABLES, OF_WEIGHTS, OWNERS
from neurothek.catalog.tables.table import Table
from neurothek.ingest.jobs import registry

DUCKDB_TYPES = {
    pl.Int16(): "SMALLINT",
    pl.Int32(): "INTEGER",
    pl.Int64(): "BIGINT",
    pl.Float32(): "FLOAT",
    pl.Float64(): "DOUBLE",
    pl.String(): "VARCHAR",
    pl.Boolean(): "BOOLEAN",
    pl.Datetime("us"): "TIMESTAMP",
    pl.List(pl.String()): "VARCHAR[]",
    pl.List(pl.Int8()): "TINYINT[]",
    pl.List(pl.Int32()): "INTEGER[]",
    pl.List(pl.Int64()): "BIGINT[]",
    pl.List(pl.Float32()): "FLOAT[]",
}

# Texts that are one of a few, where there are hundreds of millions of them.
_READER = {"reader": "ENUM('key', 'gate', 'up')"}
_POLE = {"pole": "ENUM('positive', 'negative')"}
ENUMERATED = {
    "postings": {"side": "ENUM('promoted', 'suppressed')"},
    "key_projections": _READER,
    "key_postings": {**_READER, **_POLE},
    "key_controls": _READER,
    "pole_activity": _POLE,
    "pole_contexts": _POLE,
    "gate_cases": {"gate_case": "ENUM('g+u+', 'g+u-', 'g-u+', 'g-u-')"},
}


@pytest.fixture(scope="module")
def schema() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    tables.create(connection)
    return connection


@pytest.mark.parametrize("table", ALL, ids=lambda table: table.name)
def test_the_file_has_what_is_declared(table: Table, schema: duckdb.DuckDBPyConnection) -> None:
    found = schema.execute(
        "select column_name, data_type, is_nullable, comment from duckdb_columns() where table_name = ?"
        " order by column_index",
        [table.name],
    ).fetchall()
    enumerated = ENUMERATED.get(table.name, {})
    assert found == [
        (name, enumerated.get(name, DUCKDB_TYPES[column.dtype]), column.nullable, column.meaning)
        for name, column in table.columns.items()
    ]
    comments = schema.execute("select comment from duckdb_tables() where table_name = ?", [table.name]).fetchall()
    assert comments == [(table.meaning,)]


def test_publishing_adds_the_ids_and_the_run() -> None:
    for table in ALL:
        given = {name for name, column in table.columns.items() if column.is_given}
        assert {*table.ids} <= given, table.name
        assert given - {*table.ids} <= {
            "run_id",
            "tokenizer_id",
            "model_id",
            "corpus_id",
            "other_model_id",
            "set_id",
        }, table.name
        assert table.is_fact == (table in FACTS), table.name


def test_every_table_and_column_has_a_comment(schema: duckdb.DuckDBPyConnection) -> None:
    silent = schema.execute(
        "select table_name, column_name from duckdb_columns() where schema_name = 'store' and comment is null"
    ).fetchall()
    silent += schema.execute("select table_name from duckdb_tables() where comment is null").fetchall()
    assert silent == []


def test_jobs_fill_every_fact_table_once() -> None:
    filled = [table.name for tables in JOB_TABLES.values() for table in tables]
    assert set(filled) == {table.name for table in FACTS}
    shared = {table.name for table in FACTS if table.part is not None}
    assert len([name for name in filled if name not in shared]) == len(FACTS) - len(shared)


def test_jobs_whose_rows_are_of_no_corpus_are_those_that_read_no_text() -> None:
    assert set(registry.OF_WEIGHTS) == OF_WEIGHTS


def test_rows_are_of_the_model_or_the_set_of_units_whose_number_they_have(schema: duckdb.DuckDBPyConnection) -> None:
    query = """
        select table_name, min(column_name)
        from duckdb_columns() where schema_name = 'store' and column_name in ('model_id', 'set_id') group by table_name
    """
    assert dict(schema.execute(query).fetchall()) == OWNERS
