"""Exports: files and a manifest that other programs read, and nothing half made where one fails."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from neurothek.catalog.exchange.exports import INTERNAL, export, store_tables
from neurothek.catalog.exchange.imports import import_folder
from neurothek.catalog.problems import Conflict, Unavailable
from neurothek.catalog.store.warehouse import Warehouse

pytestmark = pytest.mark.long


def tables(warehouse: Warehouse) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, in the order in which they lie."""
    with warehouse.reader() as connection:
        return {name: connection.execute(f"select * from store.{name}").fetchall() for name in store_tables(connection)}


def test_an_empty_warehouse_is_exported_as_files_without_rows(tmp_path: Path) -> None:
    empty = Warehouse(tmp_path / "w.duckdb")
    with empty.writer():
        pass
    manifest = export(empty, tmp_path / "out")
    assert manifest.n_rows == 0
    assert pl.read_parquet(tmp_path / "out" / "tables" / "postings" / "*.parquet").schema["token_id"] == pl.Int32
    import_folder(empty, tmp_path / "out")
    assert not any(tables(empty).values())


def test_the_manifest_describes_tables_and_columns(full: Warehouse, exported: Path) -> None:
    content = json.loads((exported / "manifest.json").read_text("utf-8"))
    assert content["format"] == "neurothek export"
    assert not INTERNAL & content["tables"].keys()
    for table in content["tables"].values():
        assert table["description"].startswith("One ")
        assert all(column["description"] and column["type"] for column in table["columns"].values())
        assert table["n_rows"] == sum(file["n_rows"] for file in table["files"])
    assert [file["path"] for file in content["tables"]["postings"]["files"]] == [
        f"tables/postings/model-{model_id}.parquet" for model_id in range(5)
    ]


def test_polars_pandas_and_datasets_read_it(
    full: Warehouse, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = exported / "tables" / "postings"
    n_rows = len(tables(full)["postings"])
    frame = pl.read_parquet(folder)
    assert frame.height == n_rows
    assert frame.filter(pl.col("set_id") == 1).height == pl.read_parquet(folder / "model-1.parquet").height
    assert len(pd.read_parquet(folder)) == n_rows
    import datasets  # noqa: PLC0415 - takes a second, for this test only

    loaded = datasets.load_dataset(str(exported), "projections", split="train", cache_dir=str(tmp_path / "cache"))
    assert loaded.num_rows == len(tables(full)["projections"])


def test_a_folder_that_holds_something_is_left_alone(full: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(Conflict, match="not empty; choose a new folder"):
        export(full, tmp_path / "mine")
    with pytest.raises(Conflict, match="not empty; choose a new folder"):
        export(full, tmp_path / "mine" / "notes.txt")
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "notes.txt"]
    (tmp_path / "empty").mkdir()
    export(full, tmp_path / "empty")
    assert (tmp_path / "empty" / "manifest.json").exists()


def test_an_export_that_fails_leaves_nothing(full: Warehouse, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory"):
        export(full, tmp_path / "out", texts={"tables": "a text where there is a folder"})
    with pytest.raises(Unavailable, match="there is no warehouse at"):
        export(Warehouse(tmp_path / "none.duckdb"), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
