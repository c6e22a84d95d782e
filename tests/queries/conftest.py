"""Warehouses that the tests of answers share: full, empty, and with projections only."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from tests.support import warehouse as made

WEIGHTS_ONLY = frozenset({"models", "tokenizers", "tokens", "projections", "postings"})


@pytest.fixture(scope="session")
def full_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("full") / "full.duckdb"
    made.create(path)
    return path


@pytest.fixture(scope="session")
def empty_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "empty.duckdb"
    made.create_empty(path)
    return path


@pytest.fixture(scope="session")
def weights_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "weights.duckdb"
    made.create(path, tables=WEIGHTS_ONLY)
    return path


@pytest.fixture(scope="module")
def full(full_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(full_path).reader() as connection:
        yield connection


@pytest.fixture(scope="module")
def empty(empty_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(empty_path).reader() as connection:
        yield connection


@pytest.fixture(scope="module")
def weights(weights_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(weights_path).reader() as connection:
        yield connection
