"""A cluster of two machines that are one, and measuring with it."""

import dataclasses
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from neurothek.catalog.progress import Progress
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.pipeline.cluster.worker import Worker
from neurothek.ingest.pipeline.engines.choice import engine_for
from neurothek.ingest.pipeline.ingest_model import ingest_model
from neurothek.ingest.pipeline.outcomes import ModelReport
from neurothek.ingest.request import IngestRequest, ModelSource
from tests.support.ray_workers import SmallChunks

N_WORKERS = 4

Machines = Any
"""Ray's `Cluster`, which is there where the extra is."""


@contextmanager
def two_machines() -> Iterator[Machines]:
    """Ray's own cluster for tests, of two nodes with two CPUs each, which this process has joined."""
    said = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in said.items():
            patch.setenv(name, os.environ.get(name, value))
        import ray  # noqa: PLC0415 - an extra, which reads the environment when it is loaded
        from ray.cluster_utils import Cluster  # noqa: PLC0415

        size = {"num_cpus": 2, "object_store_memory": 100 << 20, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args=size)
        try:
            cluster.add_node(num_cpus=2, object_store_memory=100 << 20)
            ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()


def by_workers(asked: IngestRequest, *, workers: int = N_WORKERS, **fields: Any) -> IngestRequest:
    """The request, to be measured by workers."""
    return dataclasses.replace(asked, engine="ray", workers=workers, **fields)


def measure(
    warehouse: Warehouse,
    model: Path,
    asked: IngestRequest,
    *,
    worker: type[Worker] = SmallChunks,
    progress: Progress | None = None,
) -> ModelReport:
    """Measure one model with such workers."""
    from neurothek.ingest.pipeline.cluster import worker_pool  # noqa: PLC0415 - needs the extra

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_pool, "Worker", worker)
        with engine_for(asked) as engine:
            return ingest_model(warehouse, asked, ModelSource(str(model)), progress=progress, engine=engine)
