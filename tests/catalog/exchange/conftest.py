"""A warehouse and its export, for all tests of what leaves and comes back."""

import shutil
from pathlib import Path

import pytest

from neurothek.catalog.exchange.exports import export
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.views import install
from tests.support import event_warehouse


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Rows in all tables but those of n-grams and near tokens."""
    path = tmp_path_factory.mktemp("full") / "full.duckdb"
    event_warehouse.create(path)
    return Warehouse(path, views=install)


@pytest.fixture(scope="session")
def exported(full: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "out"
    export(full, folder)
    return folder


@pytest.fixture
def copy(exported: Path, tmp_path: Path) -> Path:
    return shutil.copytree(exported, tmp_path / "copy")
