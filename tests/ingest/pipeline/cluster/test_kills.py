"""Workers, machines and drivers killed at random moments: nothing is lost, and nothing is counted twice."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import psutil
import pytest

from neurothek.catalog.upkeep.checks import check
from neurothek.ingest.corpora import corpus
from neurothek.ingest.request import DEFAULT_JOBS
from tests.support import ingests, ray_clusters, ray_workers
from tests.support.models import build
from tests.support.ray_clusters import Machines

pytestmark = [pytest.mark.ray, pytest.mark.long, pytest.mark.xdist_group("ray")]

N_KILLS = 20
PATIENCE_SECONDS = 240.0
LONGEST_SECONDS = 3.0
"""Measuring goes on for about so long once the first shard lies there."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Machines]:
    with ray_clusters.two_machines() as found:
        yield found


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("model") / "opt", "opt", d_ffn=32, n_layers=4)


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    return ingests.write_corpus(tmp_path_factory.mktemp("texts"))


@pytest.fixture(scope="module")
def expected(
    model: Path, corpora: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, pl.DataFrame]:
    warehouse = ingests.open_warehouse(tmp_path_factory.mktemp("reference") / "w.duckdb")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "CHUNK_TOKENS", ray_workers.CHUNK_TOKENS)
        ingests.measure(warehouse, model, ingests.request(corpora, jobs=DEFAULT_JOBS))
    return ingests.everything(warehouse)


class Driver:
    """A driver in a process of its own."""

    def __init__(self, warehouse: Path, model: Path, address: str, corpora: tuple[str, ...]) -> None:
        self._staging = warehouse.with_name(f"{warehouse.name}.staging")
        command = [sys.executable, "-m", "tests.support.ray_driver", str(warehouse), str(model), address, *corpora]
        self._log = warehouse.with_name("driver.log")
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(command, cwd=Path(__file__).parents[4], stdout=log, stderr=log)

    def stages(self) -> None:
        """Wait for the first shard."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not any(self._staging.glob("*/*.parquet")):
            assert self.process.poll() is None, self.told()
            assert time.monotonic() < deadline, "nothing is staged"
            time.sleep(0.02)

    def finish(self) -> None:
        assert self.process.wait(PATIENCE_SECONDS) == 0, self.told()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def told(self) -> str:
        return self._log.read_text()[-3000:]


def workers() -> list[psutil.Process]:
    """The processes of the workers."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        if line.startswith("ray::") and "SmallChunks" in line:
            found.append(process)
    return found


@pytest.mark.parametrize("seed", range(N_KILLS))
def test_killed_at_a_random_moment(  # noqa: PLR0917 - fixtures
    cluster: Machines,
    model: Path,
    corpora: tuple[str, ...],
    expected: dict[str, pl.DataFrame],
    tmp_path: Path,
    seed: int,
) -> None:
    drawn = random.Random(seed)
    what = ("worker", "machine", "driver")[seed % 3]
    node = cluster.add_node(num_cpus=2, object_store_memory=100 << 20) if what == "machine" else None
    path = tmp_path / "w.duckdb"
    driver = Driver(path, model, cluster.address, corpora)
    driver.stages()
    time.sleep(drawn.random() * LONGEST_SECONDS)
    if what == "worker":
        for process in drawn.sample(alive := workers(), min(1, len(alive))):
            os.kill(process.pid, signal.SIGKILL)
    elif what == "machine":
        cluster.remove_node(node, allow_graceful=False)
    else:
        driver.kill()
        # Either engine takes up what the other left.
        driver = Driver(path, model, drawn.choice((cluster.address, "here")), corpora)
    driver.finish()
    warehouse = ingests.open_warehouse(path)
    ingests.assert_same(ingests.everything(warehouse), expected)
    assert check(warehouse) == []
    assert not warehouse.staging.exists()
