"""What papers show: planted detectors, and warehouses in which all was measured, one with n-grams, one with events."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.papers.material import Material
from neurothek.dashboards.papers.reproduced import Reproduced, collect
from neurothek.queries.papers.paper_names import PAPER_NAMES, PaperName
from neurothek.queries.views import install
from tests.support import detectors
from tests.support.paper_figures import material

FAMILY = "tiny"
NAMES = ["tiny-1m", "tiny-2m", "tiny-2m-nopos"]


Readers = dict[PaperName, duckdb.DuckDBPyConnection]
Found = dict[str, Reproduced]
CASES = (*PAPER_NAMES, "n-grams")


@pytest.fixture(scope="session")
def n_grams(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """Two models with planted detectors and none."""
    path = tmp_path_factory.mktemp("reproduced") / "ngrams.duckdb"
    detectors.publish(path)
    with Warehouse(path, views=install).current_reader() as connection:
        yield connection


@pytest.fixture(scope="session")
def readers(whole_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Readers]:
    # A copy: other tests open the file itself to write while this one is read.
    path = Path(shutil.copy(whole_path, tmp_path_factory.mktemp("reproduced") / "whole.duckdb"))
    with Warehouse(path, views=install).current_reader() as connection:
        yield dict.fromkeys(PAPER_NAMES, connection)


@pytest.fixture(scope="session")
def found(readers: Readers, n_grams: duckdb.DuckDBPyConnection) -> Found:
    """Each paper for the models with events, and Voita et al. for those with n-grams."""
    papers: Found = {paper: collect(readers[paper], paper, NAMES) for paper in PAPER_NAMES}
    return papers | {"n-grams": collect(n_grams, "voita")}


@pytest.fixture(scope="session")
def ngrams(tmp_path_factory: pytest.TempPathFactory) -> Material:
    """Two models with counted n-grams, one with planted detectors."""
    path = tmp_path_factory.mktemp("paper") / "ngrams.duckdb"
    detectors.publish(path)
    with Warehouse(path).reader() as connection:
        return material(connection)
