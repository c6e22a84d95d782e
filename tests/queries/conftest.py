"""Warehouses that the tests of answers share: full, empty, and with projections only."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.views import install
from tests.support import reads
from tests.support import warehouse as made
from tests.support.by_hand import empty, empty_path, full, full_path
from tests.support.templates import copy_of

__all__ = ["empty", "empty_path", "full", "full_path"]

WEIGHTS_ONLY = frozenset({"models", "tokenizers", "tokens", "projections", "postings"})


@pytest.fixture(scope="session")
def weights_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "weights.duckdb"
    made.create(path, tables=WEIGHTS_ONLY)
    return path


@pytest.fixture(scope="module")
def weights(weights_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(weights_path).reader() as connection:
        yield connection


@pytest.fixture(scope="session")
def reads_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny models that were measured on a text, of which two have keys, with a planted neuron each."""
    path = tmp_path_factory.mktemp("reads") / "reads.duckdb"
    copy_of("reads", reads.create, path)
    return path


@pytest.fixture(scope="module")
def measured_reads(reads_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(reads_path, views=install).reader() as connection:
        yield connection
