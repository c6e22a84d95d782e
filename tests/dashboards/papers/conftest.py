"""Planted detectors as the papers' figures are drawn from them."""

import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.papers.material import Material
from tests.support import detectors as planted
from tests.support.paper_figures import material


@pytest.fixture(scope="session")
def ngrams(tmp_path_factory: pytest.TempPathFactory) -> Material:
    """Two models with counted n-grams, one with planted detectors."""
    path = tmp_path_factory.mktemp("paper") / "ngrams.duckdb"
    planted.publish(path)
    with Warehouse(path).reader() as connection:
        return material(connection)
