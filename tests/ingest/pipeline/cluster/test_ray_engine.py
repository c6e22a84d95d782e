"""What workers of a cluster measure is what one process measures, bit by bit, whatever befalls them."""

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal

from neurothek.catalog.problems import Conflict, Failed, LimitExceeded, Unavailable
from neurothek.catalog.publishing.staging import staged_manifests
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.registry import OWNERS
from neurothek.catalog.upkeep.checks import check
from neurothek.ingest.corpora import corpus
from neurothek.ingest.jobs import registry
from neurothek.ingest.pipeline.cluster import placement
from neurothek.ingest.pipeline.cluster.placement import Placement
from neurothek.ingest.pipeline.cluster.worker import Worker
from neurothek.ingest.pipeline.ingest_model import ingest_model
from neurothek.ingest.request import DEFAULT_JOBS, IngestRequest, ModelSource
from tests.support import ingests, ray_clusters, ray_workers
from tests.support.models import Kind, build, edit_tensors
from tests.support.ray_clusters import Machines

pytestmark = [pytest.mark.ray, pytest.mark.xdist_group("ray")]

JOBS = (*DEFAULT_JOBS, "clusters", "events", "shortcuts")
KINDS: tuple[Kind, ...] = ("opt", "llama")


@pytest.fixture(scope="module", autouse=True)
def small_chunks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "CHUNK_TOKENS", ray_workers.CHUNK_TOKENS)
        yield


@pytest.fixture(scope="module")
def cluster() -> Iterator[Machines]:
    with ray_clusters.two_machines() as found:
        yield found


@dataclasses.dataclass(frozen=True)
class Reference:
    """Models, a request, and all that one process publishes of them."""

    models: dict[Kind, Path]
    asked: IngestRequest
    tables: dict[str, pl.DataFrame]

    @property
    def opt(self) -> Path:
        return self.models["opt"]

    def by_workers(self, **fields: Any) -> IngestRequest:
        return ray_clusters.by_workers(self.asked, **fields)


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


class Steps:
    """Counts the steps of measuring."""

    def __init__(self) -> None:
        self.taken = 0

    def start(self, label: str, total: int) -> None:
        pass

    def advance(self, amount: int = 1, note: str = "") -> None:
        self.taken += amount

    def finish(self) -> None:
        pass


class Interrupting(Steps):
    """Is interrupted after so many parts that workers or layers measured."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self._at, self._counts = at, False

    def start(self, label: str, total: int) -> None:
        self._counts = "activity" in label

    def advance(self, amount: int = 1, note: str = "") -> None:
        self.taken += amount if self._counts else 0
        if self.taken >= self._at:
            raise KeyboardInterrupt


def assert_jobs_same(warehouse: Warehouse, reference: Reference) -> None:
    """What was measured of the first model is what one process published of it."""
    with warehouse.reader() as connection:
        jobs = {job for (job,) in connection.execute("select job from store.runs").fetchall()}
    tables = {table.name for job in jobs for table in registry.job_class(job).tables}
    found = ingests.everything(warehouse)
    assert tables
    for name in tables:
        expected = reference.tables[name].filter(pl.col(OWNERS[name]) == 0)
        assert_frame_equal(found[name].drop("run_id"), expected.drop("run_id"), check_exact=True)
    assert check(warehouse) == []


def test_two_models_are_measured_bit_by_bit_as_in_one_process(
    cluster: Machines, reference: Reference, warehouse: Warehouse
) -> None:
    for model in reference.models.values():
        ray_clusters.measure(warehouse, model, reference.by_workers())
    ingests.assert_same(ingests.everything(warehouse), reference.tables)
    assert not warehouse.staging.exists()


def test_a_pipeline_of_workers_gives_the_same_bits(
    cluster: Machines, reference: Reference, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = list[Placement]()

    def small(*arguments: Any, **options: Any) -> Placement:
        # Room for one layer and a half beside the rest: no worker can hold all four.
        blocks, beside = arguments[0], options["beside_bytes"]
        found.append(share_layers(*arguments, **{**options, "memory_bytes": beside + blocks[0] * 3 // 2}))
        return found[-1]

    share_layers = placement.share_layers
    monkeypatch.setattr(placement, "share_layers", small)
    ray_clusters.measure(warehouse, reference.opt, reference.by_workers(jobs=DEFAULT_JOBS))
    assert [list(stage) for stage in found[0].stages] == [[0], [1], [2], [3]]
    assert_jobs_same(warehouse, reference)


def test_where_no_folder_is_shared_parts_go_through_the_object_store(
    cluster: Machines, reference: Reference, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    from neurothek.ingest.pipeline.cluster import ray_engine  # noqa: PLC0415 - it needs the extra

    start_workers = ray_engine.start_workers

    def apart(*arguments: Any, **options: Any) -> ray_engine.RunningWorkers:
        return dataclasses.replace(start_workers(*arguments, **options), sees_staging=False)

    monkeypatch.setattr(ray_engine, "start_workers", apart)
    report = ray_clusters.measure(
        warehouse, reference.opt, reference.by_workers(workers=2, jobs=(*DEFAULT_JOBS, "events"))
    )
    assert_jobs_same(warehouse, reference)
    (told,) = report.details
    moved = float(told.split(" parts, ")[1].split(" MB")[0])
    assert moved > 0.1


def test_workers_that_are_killed_are_replaced(cluster: Machines, reference: Reference, warehouse: Warehouse) -> None:
    lives = warehouse.staging / "lives"
    lives.mkdir(parents=True)
    for number in range(3):
        (lives / str(number)).touch()
    report = ray_clusters.measure(
        warehouse, reference.opt, reference.by_workers(workers=2, jobs=DEFAULT_JOBS), worker=ray_workers.Mortal
    )
    assert not list(lives.iterdir())
    assert "; 3 workers lost and replaced" in report.details[0]
    assert_jobs_same(warehouse, reference)


def test_a_full_disk_of_one_machine_and_a_model_that_opens_slowly_stop_nobody(
    cluster: Machines, reference: Reference, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    from neurothek.ingest.pipeline.cluster import worker_pool  # noqa: PLC0415 - needs the extra

    class Hurrying(Steps):
        """Once the workers are there, none is waited for as long as they take to open the model."""

        def start(self, label: str, total: int) -> None:
            if "activity by 2 workers" in label:
                monkeypatch.setattr(worker_pool, "ROOM_SECONDS", ray_workers.FullDisk.SECONDS / 3)

    lives = warehouse.staging / "lives"
    lives.mkdir(parents=True)
    (lives / "one").touch()
    asked = reference.by_workers(workers=2, jobs=("activity",))
    ray_clusters.measure(warehouse, reference.opt, asked, worker=ray_workers.FullDisk, progress=Hurrying())
    assert not list(lives.iterdir())
    assert_jobs_same(warehouse, reference)


@pytest.mark.parametrize("worker", [ray_workers.Poisoned, ray_workers.Deadly])
def test_a_poisoned_chunk_is_named_and_the_others_are_finished(
    cluster: Machines, reference: Reference, warehouse: Warehouse, worker: type[Worker]
) -> None:
    asked = reference.by_workers(workers=2, jobs=("activity",))
    with pytest.raises(Failed, match=r"^chunk 1 failed 3 times on the workers: .*repeating the command"):
        ray_clusters.measure(warehouse, reference.opt, asked, worker=worker)
    (run,) = warehouse.staging.glob("*/")
    seen = sorted(int(file.name.split(".")[1].removeprefix("chunk-")) for file in run.glob("layer-0003.chunk-*"))
    assert seen == [0, 2]
    assert {manifest["state"] for manifest in staged_manifests(warehouse.staging)} == {"failed"}
    # The rest is measured by one process.
    ingests.measure(warehouse, reference.opt, dataclasses.replace(reference.asked, jobs=("activity",)))
    assert_jobs_same(warehouse, reference)


def test_another_engine_goes_on_where_one_was_interrupted(
    cluster: Machines, reference: Reference, warehouse: Warehouse
) -> None:
    by_workers = reference.by_workers(jobs=DEFAULT_JOBS)
    here = dataclasses.replace(reference.asked, jobs=DEFAULT_JOBS)
    with pytest.raises(KeyboardInterrupt):
        ray_clusters.measure(warehouse, reference.opt, by_workers, progress=Interrupting(9))
    n_parts = len(list(warehouse.staging.glob("*/*.parquet")))
    assert n_parts >= 4
    with pytest.raises(KeyboardInterrupt):
        ingest_model(warehouse, here, ModelSource(str(reference.opt)), progress=Interrupting(9))
    assert len(list(warehouse.staging.glob("*/*.parquet"))) > n_parts
    ray_clusters.measure(warehouse, reference.opt, by_workers)
    assert_jobs_same(warehouse, reference)


def test_workers_with_other_libraries_are_refused(
    cluster: Machines, reference: Reference, warehouse: Warehouse
) -> None:
    with pytest.raises(Conflict, match=r"^the worker on elsewhere has torch 0\.\d.* and this machine has \d"):
        ray_clusters.measure(warehouse, reference.opt, reference.by_workers(workers=2), worker=ray_workers.Older)
    assert not warehouse.exists()


def test_workers_with_other_weights_are_refused(
    cluster: Machines, reference: Reference, warehouse: Warehouse, tmp_path: Path
) -> None:
    model = build(tmp_path / "opt", "opt", d_ffn=32, n_layers=4)

    class Changing(Steps):
        """Other weights lie in the folder by the time that workers open it."""

        def start(self, label: str, total: int) -> None:
            if "starting 2 workers" in label:
                build(tmp_path / "other", "opt", d_ffn=32, n_layers=4, seed=7)
                shutil.copy(tmp_path / "other" / "model.safetensors", model / "model.safetensors")

    with pytest.raises(Failed, match=r"has weights of opt with sha256 \w{12}…, and this machine has \w{12}…"):
        ray_clusters.measure(warehouse, model, reference.by_workers(workers=2, jobs=("activity",)), progress=Changing())


def test_more_workers_than_there_is_room_for_are_refused(
    cluster: Machines, reference: Reference, warehouse: Warehouse
) -> None:
    asked = dataclasses.replace(reference.by_workers(jobs=("activity",)), workers=9)
    with pytest.raises(LimitExceeded, match=r"^the cluster cannot hold 9 workers of 1 CPUs each: it has 2 machines"):
        ray_clusters.measure(warehouse, reference.opt, asked)
    with pytest.raises(LimitExceeded, match="4 workers of 1 CPUs and 1 GPUs each"):
        ray_clusters.measure(warehouse, reference.opt, dataclasses.replace(asked, workers=4, device="cuda"))


@pytest.mark.parametrize("address", ["127.0.0.1:9", "nowhere.invalid:6379", "127.0.0.1:many"])
def test_nobody_at_an_address_is_told_at_once(cluster: Machines, address: str) -> None:
    from neurothek.ingest.pipeline.cluster import session  # noqa: PLC0415 - needs the extra

    with pytest.raises(Unavailable, match=rf"^no Ray cluster can be joined at {address} \("):
        session._join(address)


def test_weights_that_overflow_are_told_as_by_one_process(
    cluster: Machines, reference: Reference, warehouse: Warehouse, tmp_path: Path
) -> None:
    def spoil(tensors: dict[str, torch.Tensor]) -> None:
        name = next(name for name in tensors if name.endswith("layers.1.fc2.weight"))
        tensors[name] = tensors[name].sign() * 3e38

    model = edit_tensors(build(tmp_path / "large", "opt", d_ffn=32, n_layers=4), spoil)
    asked = reference.by_workers(workers=2, jobs=("projections",))
    with pytest.raises(LimitExceeded, match=r"^projections of large cannot be measured: the weights are so large"):
        ray_clusters.measure(warehouse, model, asked)
    assert not list(warehouse.staging.glob("*/*.parquet"))


def test_a_machine_that_is_lost_takes_nothing_with_it(
    cluster: Machines, reference: Reference, warehouse: Warehouse
) -> None:
    node = cluster.add_node(num_cpus=2, object_store_memory=100 << 20)

    class Losing(Steps):
        """The machine goes once parts come in."""

        def advance(self, amount: int = 1, note: str = "") -> None:
            super().advance(amount)
            if self.taken == 6:
                cluster.remove_node(node, allow_graceful=False)

    asked = dataclasses.replace(reference.by_workers(jobs=DEFAULT_JOBS), workers=6)
    ray_clusters.measure(warehouse, reference.opt, asked, progress=Losing())
    assert_jobs_same(warehouse, reference)
