"""What workers of a cluster measure is what one process measures, bit by bit, whatever befalls them."""

import dataclasses
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import psutil
import pytest
import torch

from catalog.publishing.staging import staged_manifests
from catalog.store.warehouse import Warehouse
from ingest.corpora import corpus
from ingest.request import DEFAULT_JOBS, IngestRequest
from tests.support import ingests, ray_clusters, ray_workers
from tests.support.models import Kind, build

pytestmark = [pytest.mark.ray, pytest.mark.xdist_group("ray")]

JOBS = (*DEFAULT_JOBS, "clusters", "events", "shortcuts")
KINDS: tuple[Kind, ...] = ("opt", "llama")


@pytest.fixture(scope="module", autouse=True)
def small_chunks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "CHUNK_TOKENS", ray_workers.CHUNK_TOKENS)
        yield


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with ray_clusters.two_machines() as found:
        yield found


@dataclasses.dataclass(frozen=True)
class Reference:
    """Models, a request, and all that one process publishes of them."""

    models: dict[str, Path]
    asked: IngestRequest
    tables: dict[str, pl.DataFrame]

    @property
    def opt(self) -> Path:
        return self.models["opt"]

    def by_workers(self, **fields: Any) -> IngestRequest:
        return dataclasses.replace(self.asked, engine="ray", workers=ray_clusters.N_WORKERS, **fields)


@pytest.fixture(scope="module")
def reference(small_chunks: None, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    folder = tmp_path_factory.mktemp("reference")
    models = {kind: build(folder / kind, kind, d_ffn=32, n_layers=4) for kind in KINDS}
    asked = ingests.request(ingests.write_corpus(folder), jobs=JOBS, examples=40)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    for model in models.values():
        ingests.measure(warehouse, model, asked)
    return Reference(models, asked, ingests.everything(warehouse))


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return ingests.open_warehouse(tmp_path / "w.duckdb")


def of_opt(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Rows of the first model: the other's come after them."""
    mine = {name: frame.filter(model_id=0) if "model_id" in frame.columns else frame for name, frame in tables.items()}
    return mine


def test_two_models_are_measured_bit_by_bit_as_in_one_process(
    cluster: Any, reference: Reference, warehouse: Warehouse
) -> None:
    for model in reference.models.values():
        ray_clusters.measure(warehouse, model, reference.by_workers())
    ingests.assert_same(ingests.everything(warehouse), reference.tables)
    assert not warehouse.staging.exists()
