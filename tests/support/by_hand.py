"""Fixtures: warehouses that are made by hand once a session, with everything, with nothing, and readers of them."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from tests.support import event_warehouse, shortcut_rows
from tests.support import warehouse as made
from tests.support.templates import copy_of


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
def whole_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every kind of measurement: the hand-made warehouse with events, exits and shortcuts."""
    path = tmp_path_factory.mktemp("whole") / "whole.duckdb"
    copy_of("whole", _create_whole, path)
    return path


def _create_whole(path: Path) -> None:
    event_warehouse.create(path)
    measured = event_warehouse.MEASURED
    methods = (*shortcut_rows.WHOLE, *shortcut_rows.PARTIAL)
    with duckdb.connect(str(path)) as connection:
        made.insert(connection, "shortcuts", shortcut_rows.fits(measured))
        made.insert(connection, "shortcut_predictions", shortcut_rows.predictions(measured, methods))
        made.insert(connection, "sub_module_fits", shortcut_rows.part_fits(measured))


@pytest.fixture(scope="module")
def full(full_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(full_path).reader() as connection:
        yield connection


@pytest.fixture(scope="module")
def empty(empty_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(empty_path).reader() as connection:
        yield connection
