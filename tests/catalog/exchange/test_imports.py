"""Imports: a warehouse comes back row for row, and nothing damaged gets in."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from neurothek.catalog.exchange.exports import export, store_tables
from neurothek.catalog.exchange.imports import import_folder
from neurothek.catalog.files import sha256_of
from neurothek.catalog.problems import Conflict, Unreadable
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.registry import BY_NAME
from neurothek.catalog.upkeep.checks import check
from neurothek.queries.views import install
from tests.support import publications as made

pytestmark = pytest.mark.long


def tables(warehouse: Warehouse) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, in the order in which they lie."""
    with warehouse.reader() as connection:
        return {name: connection.execute(f"select * from store.{name}").fetchall() for name in store_tables(connection)}


def test_what_was_exported_comes_back_row_for_row(full: Warehouse, exported: Path, tmp_path: Path) -> None:
    back = Warehouse(tmp_path / "back.duckdb", views=install)
    manifest = import_folder(back, exported)
    assert set(manifest.tables) >= set(BY_NAME)
    assert manifest.n_rows == sum(len(rows) for rows in tables(full).values())
    for name, rows in tables(full).items():
        assert sorted(map(repr, tables(back)[name])) == sorted(map(repr, rows)), name
        assert manifest.tables[name].n_rows == len(rows)


def test_rows_lie_as_they_were_stored_and_a_measured_warehouse_stays_sound(tmp_path: Path) -> None:
    measured = Warehouse(tmp_path / "w.duckdb", views=install)
    made.publish_everything(measured)
    export(measured, tmp_path / "out")
    back = Warehouse(tmp_path / "back.duckdb", views=install)
    import_folder(back, tmp_path / "out")
    assert tables(back) == tables(measured)
    assert [finding.name for finding in check(back)] == [finding.name for finding in check(measured)]


@pytest.mark.parametrize(
    "change",
    [
        "update store.projections set value_norm = value_norm + 1 where rowid = 0",
        "update store.models set variant = '' where rowid = 0",
        "delete from store.postings where rowid = 0",
        "delete from store.postings",
    ],
)
def test_only_a_new_or_empty_warehouse_takes_an_import(
    full: Warehouse, exported: Path, tmp_path: Path, change: str
) -> None:
    other = Warehouse(tmp_path / "other.duckdb", views=install)
    shutil.copy(full.path, other.path)
    with other.writer() as connection:
        connection.execute(change)
    before = other.path.read_bytes()
    with pytest.raises(Conflict, match="neurothek merge"):
        import_folder(other, exported)
    assert other.path.read_bytes() == before


def test_a_warehouse_that_holds_these_very_rows_is_left_as_it_is(full: Warehouse, exported: Path) -> None:
    before = full.path.read_bytes()
    assert import_folder(full, exported).n_rows > 0
    assert full.path.read_bytes() == before


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((folder / "manifest.json").read_text("utf-8"))
    change(content)
    (folder / "manifest.json").write_text(json.dumps(content), "utf-8")


def flip(folder: Path) -> None:
    file = folder / "tables" / "postings" / "model-1.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def replace(folder: Path, frame: pl.DataFrame) -> None:
    """Another table under the name and fingerprint of one of the files."""
    file = folder / "tables" / "postings" / "model-1.parquet"
    frame.write_parquet(file)
    edit(folder, lambda content: content["tables"]["postings"]["files"][1].update(sha256=sha256_of(file)))


def text_instead(folder: Path) -> None:
    file = folder / "tables" / "tokens" / "rows.parquet"
    file.write_text("no parquet")
    edit(folder, lambda content: content["tables"]["tokens"]["files"][0].update(sha256=sha256_of(file)))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (shutil.rmtree, "there is no such folder"),
    "no manifest": (lambda folder: (folder / "manifest.json").unlink(), "there is no manifest.json in it"),
    "no json": (lambda folder: (folder / "manifest.json").write_text("{"), "manifest.json is damaged"),
    "not utf-8": (lambda folder: (folder / "manifest.json").write_bytes(b"\xff\xfe"), "manifest.json is damaged"),
    "a list": (lambda folder: (folder / "manifest.json").write_text("[1]"), "manifest.json is damaged"),
    "of others": (lambda folder: edit(folder, lambda c: c.update(format="x")), "is of something else"),
    "newer": (
        lambda folder: edit(folder, lambda c: c.update(schema_version=999)),
        "it was written by a newer neurothek",
    ),
    "missing file": (lambda f: (f / "tables/postings/model-1.parquet").unlink(), "model-1.parquet is missing"),
    "changed file": (flip, "model-1.parquet was changed or is damaged"),
    "other columns": (lambda folder: replace(folder, pl.DataFrame({"x": [1]})), "has different columns"),
    "no parquet": (text_instead, "is not a Parquet file"),
    "missing table": (lambda folder: edit(folder, lambda c: c["tables"].pop("tokens")), "table tokens is missing"),
    "foreign table": (
        lambda folder: edit(
            folder, lambda c: c["tables"].update(mine={**c["tables"]["tokens"], "n_rows": 0, "files": []})
        ),
        "its table mine is unknown to this release",
    ),
    "wrong sums": (
        lambda f: edit(f, lambda c: c["tables"]["tokens"].update(n_rows=1)),
        "gives two row counts for tokens",
    ),
    "wrong counts": (
        lambda folder: edit(
            folder,
            lambda c: (
                c["tables"]["tokens"].update(n_rows=33),
                c["tables"]["tokens"]["files"][0].update(n_rows=33),
            ),
        ),
        "does not have 33 rows",
    ),
    "elsewhere": (
        lambda folder: edit(folder, lambda c: c["tables"]["tokens"]["files"][0].update(path="../x.parquet")),
        "names ../x.parquet, which lies outside the folder",
    ),
}


def test_a_value_that_no_column_takes_is_refused_and_no_row_stays(copy: Path, tmp_path: Path) -> None:
    rows = pl.read_parquet(copy / "tables" / "postings" / "model-1.parquet")
    replace(copy, rows.with_columns(pl.lit("neither").alias("side")))
    back = Warehouse(tmp_path / "back.duckdb")
    with pytest.raises(Unreadable, match="the table postings has a value that its column does not allow"):
        import_folder(back, copy)
    with back.reader() as connection:
        assert [
            connection.execute(f"select count(*) from store.{name}").fetchall() for name in ("models", "tokens")
        ] == [
            [(0,)],
            [(0,)],
        ]


def test_rows_that_repeat_a_key_are_refused_and_no_row_stays(copy: Path, tmp_path: Path) -> None:
    folder = copy / "tables" / "postings"
    shutil.copy(folder / "model-1.parquet", folder / "model-9.parquet")

    def twice(content: dict[str, Any]) -> None:
        table = content["tables"]["postings"]
        again = {**table["files"][1], "path": "tables/postings/model-9.parquet"}
        table["files"].append(again)
        table["n_rows"] += again["n_rows"]

    edit(copy, twice)
    back = Warehouse(tmp_path / "back.duckdb")
    with pytest.raises(Unreadable, match="the rows of postings repeat a key"):
        import_folder(back, copy)
    with back.reader() as connection:
        assert connection.execute("select count(*) from store.models").fetchall() == [(0,)]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_refused_and_nothing_is_written(damage: str, copy: Path, tmp_path: Path) -> None:
    act, sentence = DAMAGES[damage]
    act(copy)
    with pytest.raises(Unreadable, match=sentence):
        import_folder(Warehouse(tmp_path / "back.duckdb"), copy)
    assert [path.name for path in tmp_path.iterdir() if path.name != "copy"] == []


def test_an_older_export_gets_its_facts_rebuilt(copy: Path, full: Warehouse, tmp_path: Path) -> None:
    def age(content: dict[str, Any]) -> None:
        content["schema_version"] -= 1
        content["tables"].pop("neuron_facts")

    edit(copy, age)
    back = Warehouse(tmp_path / "back.duckdb", views=install)
    import_folder(back, copy)
    assert len(tables(back)["neuron_facts"]) == len(tables(full)["neuron_facts"])
