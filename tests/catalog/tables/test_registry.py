"""All tables: their declarations agree with the SQL schema, and every fact table is filled by its jobs."""

import duckdb
import polars as pl
import pytest

from neurothek.catalog.tables.migrations import migrate
from neurothek.catalog.tables.registry import BY_NAME, FACTS, JOB_TABLES, OF_MODELS
from neurothek.catalog.tables.table import Table

DUCKDB_TYPES = {
    pl.Int16(): "SMALLINT",
    pl.Int32(): "INTEGER",
    pl.Int64(): "BIGINT",
    pl.Float32(): "FLOAT",
    pl.Float64(): "DOUBLE",
    pl.String(): "VARCHAR",
    pl.Boolean(): "BOOLEAN",
    pl.Datetime("us"): "TIMESTAMP",
    pl.List(pl.Int8()): "TINYINT[]",
    pl.List(pl.Int32()): "INTEGER[]",
    pl.List(pl.Int64()): "BIGINT[]",
    pl.List(pl.Float32()): "FLOAT[]",
}

# Texts that are one of a few, where there are hundreds of millions of them.
ENUMERATED = {"postings": {"side": "ENUM('promoted', 'suppressed')"}}


@pytest.fixture(scope="module")
def schema() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    migrate(connection)
    return connection


@pytest.mark.parametrize("table", BY_NAME.values(), ids=lambda table: table.name)
def test_the_sql_schema_declares_the_same_columns(table: Table, schema: duckdb.DuckDBPyConnection) -> None:
    found = schema.execute(
        "select column_name, data_type, is_nullable from duckdb_columns() where table_name = ?", [table.name]
    ).fetchall()
    types = {name: kind for name, kind, _ in found}
    expected = {name: DUCKDB_TYPES[kind] for name, kind in table.columns.items()}
    assert (expected | ENUMERATED.get(table.name, {})).items() <= types.items()
    extra = set(types) - set(table.columns)
    allowed = {*table.ids, "run_id", "tokenizer_id", "model_id", "corpus_id", "other_model_id"}
    assert extra <= allowed
    assert ("run_id" in extra) == (table.is_fact or table.name == "runs")
    nullable = {name for name, _, is_nullable in found if is_nullable and name in table.columns}
    assert nullable == table.nullable


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


def test_tables_of_models_are_those_with_a_model_s_number(schema: duckdb.DuckDBPyConnection) -> None:
    query = "select table_name from duckdb_columns() where schema_name = 'store' and column_name = 'model_id'"
    assert {name for (name,) in schema.execute(query).fetchall()} == OF_MODELS
