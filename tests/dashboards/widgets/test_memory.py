"""Answers that pages keep: from memory while the warehouse is the same, anew as soon as it is not."""

from pathlib import Path

import duckdb

import neurothek
from neurothek.dashboards.session import set_backend
from neurothek.dashboards.widgets.memory import cached_answer

asked: list[str] = []


def count(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    asked.append(table)
    (number,) = connection.execute(f"select count(*) from {table}").fetchall()[0]
    return int(number)


def test_an_answer_is_kept_until_the_warehouse_changes(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    set_backend(neurothek.open(path))
    asked.clear()
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table one as select 1")
        connection.execute("create table two as select 1 from range(2)")
    with duckdb.connect(str(path), read_only=True) as connection:
        assert [cached_answer(connection, count, name) for name in ("one", "two", "one", "two")] == [1, 2, 1, 2]
    assert asked == ["one", "two"]
    with duckdb.connect(str(path)) as connection:
        connection.execute("insert into one select 1")
    with duckdb.connect(str(path), read_only=True) as connection:
        assert cached_answer(connection, count, "one") == 2
