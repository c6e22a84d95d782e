"""A warehouse of two tiny models, one of them gated, for all tests of other people's catalogs."""

import shutil
from pathlib import Path

import pytest

import neurothek
from neurothek import Neurothek
from tests.support.ingests import measure, open_warehouse, request, write_corpus
from tests.support.models import build

N_LAYERS, WIDTH = 2, 48


@pytest.fixture(scope="session")
def two_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("foreign")
    corpora = write_corpus(folder)
    warehouse = open_warehouse(folder / "w.duckdb")
    for name, kind in (("plain", "opt"), ("gated", "llama")):
        model = build(folder / name, kind, d_ffn=WIDTH)  # type: ignore[arg-type] # two of the kinds
        measure(warehouse, model, request(corpora, jobs=("projections", "activity")))
    return warehouse.path


@pytest.fixture
def door(two_models: Path, tmp_path: Path) -> Neurothek:
    """A copy of it, to import into."""
    return neurothek.open(shutil.copyfile(two_models, tmp_path / "w.duckdb"))
