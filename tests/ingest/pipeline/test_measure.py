"""Interrupted, sharded, streamed and whole measurements publish the same bits; what failed is kept and taken up."""

import dataclasses
import errno
import itertools
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch

from neurothek.catalog.problems import Busy, LimitExceeded, Unavailable
from neurothek.catalog.publishing.staging import StagedRun, staged_manifests
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.corpora import corpus
from neurothek.ingest.forward import chunk_pass, sweep
from neurothek.ingest.forward.sweep import Order
from neurothek.ingest.pipeline.ingest_model import ingest_model
from neurothek.ingest.request import DEFAULT_JOBS, IngestRequest, ModelSource
from tests.support import ingests
from tests.support.models import build

# One worker measures the reference once.
pytestmark = pytest.mark.xdist_group("measuring")

CHUNK_TOKENS = 300
N_LAYERS = 2
TEXT_JOBS = DEFAULT_JOBS[1:]


@pytest.fixture(scope="module", autouse=True)
def small_chunks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "CHUNK_TOKENS", CHUNK_TOKENS)
        yield


@dataclasses.dataclass(frozen=True)
class Reference:
    """A model, a request, and all that an uninterrupted run of it publishes."""

    model: Path
    asked: IngestRequest
    tables: dict[str, pl.DataFrame]
    n_steps: int

    @property
    def n_chunks(self) -> int:
        # The steps are three shards of projections, then layers times chunks.
        return (self.n_steps - 3) // N_LAYERS


@pytest.fixture(scope="module")
def reference(small_chunks: None, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    folder = tmp_path_factory.mktemp("reference")
    model = build(folder / "tiny", "opt", d_ffn=32, n_layers=N_LAYERS)
    asked = ingests.request(ingests.write_corpus(folder), jobs=DEFAULT_JOBS)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    steps = Steps()
    ingest_model(warehouse, asked, ModelSource(str(model)), progress=steps)
    return Reference(model, asked, ingests.everything(warehouse), steps.taken)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return ingests.open_warehouse(tmp_path / "w.duckdb")


class Steps:
    """Counts the steps of measuring, and does something after one of them."""

    def __init__(self, *, at: int | None = None, do: Callable[[], None] = lambda: None) -> None:
        self.taken, self._at, self._do, self._counts = 0, at, do, False

    def start(self, label: str, total: int) -> None:
        # Reading weights and text comes first and stages nothing.
        self._counts = label.startswith("tiny:")

    def advance(self, amount: int = 1, note: str = "") -> None:
        if self._counts:
            self.taken += amount
            if self.taken == self._at:
                self._do()

    def finish(self) -> None:
        self._counts = False


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Every (job, shard) that is measured from now on."""
    found: list[tuple[str, str]] = []
    original = StagedRun.write

    def write(self: StagedRun, shard: str, frames: Mapping[str, pl.DataFrame], *, is_passing: bool = False) -> None:
        original(self, shard, frames, is_passing=is_passing)
        found.append((self.manifest.job, shard))

    monkeypatch.setattr(StagedRun, "write", write)
    return found


# Steps 1 to 3 are the shards of projections; the sweep goes through the two layers of each chunk.
@pytest.mark.parametrize("step", [*(pytest.param(step, marks=pytest.mark.long) for step in (1, 3, 7)), 4, -1])
def test_interrupted_and_resumed_is_uninterrupted(
    reference: Reference, warehouse: Warehouse, written: list[tuple[str, str]], step: int
) -> None:
    at = step if step > 0 else reference.n_steps
    progress = Steps(at=at, do=interrupt)
    with pytest.raises(KeyboardInterrupt):
        ingest_model(warehouse, reference.asked, ModelSource(str(reference.model)), progress=progress)
    assert {manifest["state"] for manifest in staged_manifests(warehouse.staging)} == {"interrupted"}
    ingests.measure(warehouse, reference.model, reference.asked)
    # No shard is measured twice, and together they are what a whole run measures.
    assert len(written) == len(set(written))
    ingests.assert_same(ingests.everything(warehouse), reference.tables)
    assert not warehouse.staging.exists()


@pytest.mark.long
def test_interrupted_after_every_fourth_shard_is_uninterrupted(
    reference: Reference, warehouse: Warehouse, written: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = StagedRun.write

    def write(self: StagedRun, shard: str, frames: Mapping[str, pl.DataFrame], *, is_passing: bool = False) -> None:
        original(self, shard, frames, is_passing=is_passing)
        if len(written) % 4 == 0:
            interrupt()

    monkeypatch.setattr(StagedRun, "write", write)
    n_attempts = 1
    while True:
        try:
            ingests.measure(warehouse, reference.model, reference.asked)
        except KeyboardInterrupt:
            n_attempts += 1
            continue
        break
    # Three shards of projections; a part a layer and chunk and a folded shard a layer for each of the text jobs.
    assert len(written) == len(set(written)) == 3 + len(TEXT_JOBS) * N_LAYERS * (reference.n_chunks + 1)
    assert n_attempts == 1 + len(written) // 4
    ingests.assert_same(ingests.everything(warehouse), reference.tables)


@pytest.mark.parametrize(("order", "is_resident"), [("chunks", True), ("chunks", False), ("layers", False)])
def test_every_order_gives_the_same_rows(
    reference: Reference, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, order: Order, is_resident: bool
) -> None:
    ingests.force(monkeypatch, order, is_resident=is_resident)
    ingests.measure(warehouse, reference.model, reference.asked)
    ingests.assert_same(ingests.everything(warehouse), reference.tables)


def test_one_order_takes_up_what_the_other_left(
    reference: Reference, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    interruptions: list[tuple[Order, int]] = [("layers", 6), ("chunks", 2), ("layers", 2)]
    for order, at in interruptions:
        ingests.force(monkeypatch, order)
        progress = Steps(at=at, do=interrupt)
        with pytest.raises(KeyboardInterrupt):
            ingest_model(warehouse, reference.asked, ModelSource(str(reference.model)), progress=progress)
    ingests.measure(warehouse, reference.model, reference.asked)
    ingests.assert_same(ingests.everything(warehouse), reference.tables)
    assert not warehouse.staging.exists()


def test_parts_measured_in_other_batches_are_measured_again(
    reference: Reference, warehouse: Warehouse, written: list[tuple[str, str]]
) -> None:
    """Batches of another shape round otherwise: a run that is taken up holds nothing of them."""
    others = dataclasses.replace(reference.asked, batch_tokens=2 * reference.asked.batch_tokens)
    with pytest.raises(KeyboardInterrupt):
        progress = Steps(at=reference.n_steps - 1, do=interrupt)
        ingest_model(warehouse, others, ModelSource(str(reference.model)), progress=progress)
    before = {shard for shard in written if shard[0] != "projections"}
    assert before
    ingests.measure(warehouse, reference.model, reference.asked)
    assert all(written.count(shard) == 2 for shard in before)
    # The weights are read without batches: nothing of them is measured again.
    assert all(written.count(shard) == 1 for shard in written if shard[0] == "projections")
    ingests.assert_same(ingests.everything(warehouse), reference.tables)


def test_layers_outside_keep_the_parts_of_one_layer(
    reference: Reference, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a process stops between a layer's last part and its folding."""
    ingests.force(monkeypatch, "layers")
    seen: list[tuple[set[str], set[str]]] = []

    def look() -> None:
        parts = {path.name.split(".")[0] for path in warehouse.staging.glob("*/*.chunk-*.parquet")}
        layers = {path.name.split(".")[0] for path in warehouse.staging.glob("*/layer-????.*.parquet")}
        seen.append((parts, layers - parts))
        interrupt()

    # After layer 0 is seen whole, and, once that is folded, after the first chunk of layer 1.
    for step in (3 + reference.n_chunks, reference.n_chunks + 1):
        with pytest.raises(KeyboardInterrupt):
            ingest_model(
                warehouse, reference.asked, ModelSource(str(reference.model)), progress=Steps(at=step, do=look)
            )
    assert seen == [({"layer-0000"}, set()), ({"layer-0001"}, {"layer-0000"})]
    ingests.measure(warehouse, reference.model, reference.asked)
    ingests.assert_same(ingests.everything(warehouse), reference.tables)
    assert not warehouse.staging.exists()


def test_too_little_memory_is_refused_before_anything_is_written(reference: Reference, warehouse: Warehouse) -> None:
    with pytest.raises(LimitExceeded, match="measuring needs at least"):
        ingests.measure(warehouse, reference.model, dataclasses.replace(reference.asked, memory_bytes=1000))
    assert list(warehouse.path.parent.iterdir()) == []


def test_too_little_disk_is_refused_before_anything_is_written(
    reference: Reference, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = 10_000

    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage)
    with pytest.raises(LimitExceeded, match="choose another disk with --staging"):
        ingests.measure(warehouse, reference.model, reference.asked)
    assert list(warehouse.path.parent.iterdir()) == []


def test_staging_may_lie_elsewhere(reference: Reference, warehouse: Warehouse, tmp_path: Path) -> None:
    elsewhere = tmp_path / "scratch"
    asked = dataclasses.replace(reference.asked, staging=elsewhere)
    with pytest.raises(KeyboardInterrupt):
        ingest_model(warehouse, asked, ModelSource(str(reference.model)), progress=Steps(at=2, do=interrupt))
    (run,) = (path for path in (elsewhere / "w.duckdb.staging").iterdir() if path.is_dir())
    assert len(list(run.glob("*.parquet"))) == 5
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]
    ingests.measure(warehouse, reference.model, asked)
    ingests.assert_same(ingests.everything(warehouse), reference.tables)
    assert list(elsewhere.iterdir()) == []
    assert not warehouse.staging.exists()


def test_a_full_disk_keeps_what_was_finished(
    reference: Reference, warehouse: Warehouse, written: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = pl.DataFrame.write_parquet

    def full(self: pl.DataFrame, target: Path, **options: Any) -> None:
        if len(written) == 5:
            target.write_bytes(b"half a file")
            raise OSError(errno.ENOSPC, "No space left on device")
        original(self, target, **options)

    with monkeypatch.context() as patch:
        patch.setattr(pl.DataFrame, "write_parquet", full)
        with pytest.raises(Unavailable, match="No space left on device"):
            ingests.measure(warehouse, reference.model, reference.asked)
    states = {manifest["job"]: manifest for manifest in staged_manifests(warehouse.staging)}
    assert {manifest["state"] for manifest in states.values()} == {"failed"}
    assert "No space left" in states["activity"]["problem"]
    ingests.measure(warehouse, reference.model, reference.asked)
    assert len(written) == len(set(written))
    ingests.assert_same(ingests.everything(warehouse), reference.tables)


def test_a_gpu_without_room_publishes_nothing_and_keeps_what_was_finished(
    reference: Reference, warehouse: Warehouse, written: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    called = itertools.count()
    original = chunk_pass.show

    def full(*arguments: Any, **options: Any) -> list[pl.DataFrame]:
        if next(called) == 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return original(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(sweep, "show", full)
        with pytest.raises(LimitExceeded) as caught:
            ingests.measure(warehouse, reference.model, reference.asked)
    named = f"measuring {', '.join(TEXT_JOBS)} of tiny needs more memory than the GPU has"
    assert str(caught.value).startswith(named)
    assert "\n" not in str(caught.value)
    states = {manifest["job"]: manifest for manifest in staged_manifests(warehouse.staging)}
    assert {manifest["state"] for manifest in states.values()} == {"failed"}
    assert states["activity"]["problem"].startswith(named)
    # The projections had been measured, and of the text nothing is there yet.
    assert ingests.table(warehouse, "runs")["job"].to_list() == ["projections"]
    ingests.measure(warehouse, reference.model, reference.asked)
    assert len(written) == len(set(written))
    ingests.assert_same(ingests.everything(warehouse), reference.tables)


HOLD = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
print("held", flush=True)
sys.stdin.read()
"""


def test_work_is_kept_while_another_program_holds_the_warehouse(
    reference: Reference, warehouse: Warehouse, written: list[tuple[str, str]]
) -> None:
    holders: list[subprocess.Popen[str]] = []

    def hold() -> None:
        command = [sys.executable, "-c", HOLD, str(warehouse.path)]
        holders.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        stdout = holders[0].stdout
        assert stdout is not None
        assert stdout.readline() == "held\n"

    impatient = dataclasses.replace(warehouse, wait_seconds=0.3)
    with pytest.raises(Busy) as caught:
        ingest_model(
            impatient,
            reference.asked,
            ModelSource(str(reference.model)),
            progress=Steps(at=reference.n_steps, do=hold),
        )
    (holder,) = holders
    assert f"still in use by the process {holder.pid}" in str(caught.value)
    holder.communicate()
    states = {(manifest["job"], manifest["state"]) for manifest in staged_manifests(warehouse.staging)}
    assert states == {(job, "failed") for job in TEXT_JOBS}
    n_written = len(written)
    ingests.measure(warehouse, reference.model, reference.asked)
    assert len(written) == n_written
    ingests.assert_same(ingests.everything(warehouse), reference.tables)


def test_a_run_that_another_process_measures_is_refused(reference: Reference, warehouse: Warehouse) -> None:
    problems = []

    def second() -> None:
        with pytest.raises(Busy) as caught:
            ingests.measure(warehouse, reference.model, reference.asked)
        problems.append(str(caught.value))

    ingest_model(warehouse, reference.asked, ModelSource(str(reference.model)), progress=Steps(at=2, do=second))
    assert problems == [
        "projections of tiny is being measured by another process; wait for it, then repeat the command"
    ]
    ingests.assert_same(ingests.everything(warehouse), reference.tables)
