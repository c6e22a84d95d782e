"""A warehouse, published with its texts and without, for all tests of catalogs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

import neurothek
from neurothek import Neurothek
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.views import install
from tests.support import event_warehouse


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Neurothek:
    """Rows in nearly all tables."""
    path = tmp_path_factory.mktemp("local") / "local.duckdb"
    event_warehouse.create(path)
    with Warehouse(path, views=install).writer():
        pass
    return neurothek.open(path)


@pytest.fixture(scope="session")
def whole(local: Neurothek, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all that there is."""
    folder = tmp_path_factory.mktemp("whole") / "catalog"
    local.publish(to=folder, with_texts=True, license="cc-by-4.0")
    return folder


@pytest.fixture(scope="session")
def bare(local: Neurothek, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder without texts."""
    folder = tmp_path_factory.mktemp("bare") / "catalog"
    local.publish(to=folder)
    return folder


@pytest.fixture
def in_memory() -> Iterator[MemoryFileSystem]:
    """The file system in memory, empty before and after."""
    files = MemoryFileSystem()
    files.store.clear()
    files.pseudo_dirs[:] = [""]
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]
