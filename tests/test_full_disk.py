"""A disk that is full, wherever it is found out: one sentence, the warehouse as it was, and nothing measured twice."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from tests.support import crash, ingests
from tests.support.crash import Task
from tests.support.models import build

# The worker that has the server which children are forked from.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("crash")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models, a text, and a warehouse of each of the models."""
    folder = tmp_path_factory.mktemp("full")
    build(folder / "small", "opt", d_ffn=16)
    build(folder / "other", "opt", d_ffn=64, seed=1)
    corpora = ingests.write_corpus(folder)
    assert crash.finish(crash.start(Task(folder / "used.duckdb", folder / "small", corpora))) == 0
    assert ingest(folder, "other", folder / "reference.duckdb")[0] == 0
    return folder


def ingest(folder: Path, model: str, warehouse: Path, *, file_bytes: int | None = None) -> tuple[int, str]:
    corpora = [part for name in ("long=long.txt", "short=short") for part in ("--corpus", name)]
    arguments = ["ingest", str(folder / model), *corpora, "--warehouse", str(warehouse)]
    arguments = [part.replace("=", f"={folder}/") if "=" in part else part for part in arguments]
    stderr = warehouse.with_suffix(".stderr")
    status = crash.run_command(arguments, file_bytes=file_bytes, stderr=stderr)
    said = stderr.read_text()
    stderr.unlink()
    return status, said


@pytest.mark.parametrize(
    ("file_bytes", "sentence"),
    [
        (1_000, "a measurement could not be written to"),
        (20_000, "a measurement could not be written to"),
        (150_000, "w.duckdb could not be written (Could not write file"),
    ],
    ids=["first shard", "later shard", "new warehouse"],
)
def test_a_full_disk_while_staging_or_making_the_warehouse(
    folder: Path, tmp_path: Path, file_bytes: int, sentence: str
) -> None:
    warehouse = tmp_path / "w.duckdb"
    status, said = ingest(folder, "other", warehouse, file_bytes=file_bytes)
    assert_refused(status, said, sentence)
    assert not warehouse.exists()
    assert not list(tmp_path.glob(".*"))
    # With room again it goes on, and the rows are those of a run that never was interrupted.
    assert ingest(folder, "other", warehouse)[0] == 0
    ingests.assert_same(tables(warehouse), tables(folder / "reference.duckdb"))
    assert not ingests.open_warehouse(warehouse).staging.exists()


def test_a_full_disk_while_publishing_leaves_the_warehouse_as_it_was(folder: Path, tmp_path: Path) -> None:
    warehouse = tmp_path / "w.duckdb"
    shutil.copy(folder / "used.duckdb", warehouse)
    before = tables(warehouse)
    # The shards fit, the log of the transaction that inserts their rows does not.
    status, said = ingest(folder, "other", warehouse, file_bytes=150_000)
    assert_refused(status, said, "w.duckdb could not be written (Could not write file")
    ingests.assert_same(tables(warehouse), before)
    assert ingest(folder, "other", warehouse)[0] == 0
    after = tables(warehouse)
    assert after["models"]["name"].to_list() == ["small", "other"]
    assert after["projections"].filter(pl.col("set_id") == 0).equals(before["projections"])


def assert_refused(status: int, said: str, sentence: str) -> None:
    assert status == 2, said
    (line,) = said.splitlines()
    assert line.startswith("Error: ")
    assert sentence in line
    assert "File too large" in line


def tables(path: Path) -> dict[str, pl.DataFrame]:
    return ingests.everything(ingests.open_warehouse(path))
