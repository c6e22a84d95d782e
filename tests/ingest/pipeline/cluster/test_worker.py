"""A worker measures what one process measures: here without a cluster, in this process."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from neurothek.catalog.progress import Silent
from neurothek.catalog.publishing.staging import RunManifest, StagedRun, now, staged_run
from neurothek.ingest.corpora import corpus
from neurothek.ingest.pipeline.cluster.assignment import (
    Assignment,
    Failure,
    MeasuredPart,
    StreamsFollow,
    Task,
    unpacked_frames,
)
from neurothek.ingest.pipeline.cluster.placement import Placement
from neurothek.ingest.pipeline.cluster.sweeping import ChunkUnit, Sweeping, layer_and_chunk, shard_units
from neurothek.ingest.pipeline.cluster.worker import Worker
from neurothek.ingest.pipeline.engines.engine import PARTIAL, StagedJob
from neurothek.ingest.planning.agenda import Prepared, prepare_model
from neurothek.ingest.request import ModelSource
from neurothek.ingest.runs.identity import versions
from tests.support import ingests
from tests.support.models import build

N_LAYERS = 4
STAGES = {"one": (range(4),), "a row": (range(1), range(1, 3), range(3, 4))}


@pytest.fixture(scope="module", autouse=True)
def small_chunks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "CHUNK_TOKENS", 300)
        yield


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = tmp_path_factory.mktemp("worker")
    model = build(folder / "opt", "opt", d_ffn=24, n_layers=N_LAYERS)
    jobs = ("projections", "activity", "contexts", "ngrams", "positions")
    asked = ingests.request(ingests.write_corpus(folder), jobs=jobs)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    return prepare_model(warehouse, asked, ModelSource(str(model)), progress=Silent())


def assignment(prepared: Prepared, **other: Any) -> Assignment:
    checkpoint = prepared.work.checkpoint
    found = Assignment(
        name=prepared.work.model.name,
        source=checkpoint.source,
        revision=None,
        folder=checkpoint.folder,
        weights_sha256=checkpoint.weights_sha256,
        request=prepared.work.request,
        device="cpu",
        n_threads=1,
    )
    return dataclasses.replace(found, **other)


def opened(prepared: Prepared, task: Task) -> Worker:
    worker = Worker()
    assert worker.open(assignment(prepared)) is None
    assert worker.take_task(task, prepared.corpus) is None
    return worker


def texts(prepared: Prepared) -> Task:
    return Task({job.name: job.parameters() for job, _ in prepared.agenda.texts}, is_resident=True)


@pytest.fixture
def runs(prepared: Prepared, tmp_path: Path) -> list[StagedJob]:
    """The jobs that read text, each with an empty run."""
    found = []
    for job, identity in prepared.agenda.texts:
        manifest = RunManifest(identity.key, job.name, job.version, "opt", "text", {}, "float32", now())
        folder = tmp_path / identity.key
        folder.mkdir()
        found.append(StagedJob(job, StagedRun(folder, manifest)))
    return found


def parts_by_one_process(prepared: Prepared, jobs: list[StagedJob]) -> dict[tuple[str, str], pl.DataFrame]:
    """(job, shard) -> what each job's observer sees of each layer and chunk."""
    from neurothek.ingest.forward.sweep import sweep  # noqa: PLC0415 - the oracle

    found = {}
    work, text = prepared.work, prepared.corpus
    assert text is not None

    def sink(layer: int, chunk: int, results: list[pl.DataFrame]) -> None:
        for one, frame in zip(jobs, results, strict=True):
            found[one.job.name, f"layer-{layer:04d}.chunk-{chunk:06d}"] = frame

    sweep(
        work.transformer,
        text,
        observers_for=lambda layer, chunk: [one.job.observer(layer) for one in jobs],
        is_done=lambda layer, chunk: False,
        sink=sink,
        batch_tokens=work.request.batch_tokens,
    )
    return found


@pytest.mark.parametrize("row", STAGES)
def test_chunks_taken_through_stages_are_seen_as_in_one_process(
    prepared: Prepared, runs: list[StagedJob], row: str
) -> None:
    text = prepared.corpus
    assert text is not None
    expected = parts_by_one_process(prepared, runs)
    stages = STAGES[row]
    sweeping = Sweeping(text, runs, Placement(stages, 1, True, ""), n_layers=N_LAYERS)
    assert sweeping.n_left == len(expected)
    workers = [opened(prepared, texts(prepared)) for _ in stages]
    found, whole = {}, []
    while len(sweeping.waiting):
        for place, worker in enumerate(workers):
            unit = sweeping.waiting.next(place)
            if unit is None:
                continue
            assert isinstance(unit, ChunkUnit)
            is_passing_on = False
            for handed in worker.chunk(*unit.given()):
                if is_passing_on:
                    sweeping.keep(unit, handed)
                elif isinstance(handed, StreamsFollow):
                    is_passing_on = True
                else:
                    assert isinstance(handed, MeasuredPart)
                    found[handed.job, handed.shard] = unpacked_frames(handed.frames)[PARTIAL]
                    if sweeping.seen(handed.job, *layer_and_chunk(handed.shard)):
                        whole.append((handed.job, layer_and_chunk(handed.shard)[0]))
            sweeping.done(unit)
    assert found.keys() == expected.keys()
    assert all(found[key].equals(frame) for key, frame in expected.items())
    assert sorted(whole) == sorted((one.job.name, layer) for one in runs for layer in range(N_LAYERS))
    assert sweeping.n_left == 0


def test_only_what_is_missing_is_watched(prepared: Prepared, runs: list[StagedJob]) -> None:
    text = prepared.corpus
    assert text is not None
    chunks = range(len(text.chunks()))
    # The first job has seen all, the others all but one layer of the last chunk.
    for one in runs:
        for layer in range(N_LAYERS):
            for chunk in chunks:
                if one is runs[0] or (layer, chunk) != (2, chunks[-1]):
                    one.run.path(f"layer-{layer:04d}.chunk-{chunk:06d}", PARTIAL).touch()
    sweeping = Sweeping(text, runs, Placement((range(4),), 1, True, ""), n_layers=N_LAYERS)
    (unit,) = iter(lambda: sweeping.waiting.next(0), None)
    number, watched, streams, is_passed_on = unit.given()
    others = tuple(sorted(one.job.name for one in runs[1:]))
    assert (number, streams, is_passed_on) == (chunks[-1], None, False)
    assert watched == {0: (), 1: (), 2: others}
    handed = list(opened(prepared, texts(prepared)).chunk(*unit.given()))
    assert sorted((part.job, part.shard) for part in handed if isinstance(part, MeasuredPart)) == [
        (job, f"layer-0002.chunk-{chunks[-1]:06d}") for job in others
    ]


def test_shards_of_weights_are_those_of_one_process(prepared: Prepared) -> None:
    ((job, _),) = prepared.agenda.weights
    task = Task({job.name: job.parameters()}, is_resident=True)
    worker = opened(prepared, task)
    with job.open(Path(), lambda table: pl.LazyFrame()) as measure:
        for unit in shard_units(job.name, job.apart()):
            (part,) = worker.shards(*unit.given())
            assert isinstance(part, MeasuredPart)
            assert part.n_bytes > 0
            frames = unpacked_frames(part.frames)
            expected = measure(part.shard)
            assert frames.keys() == expected.keys()
            assert all(frames[name].equals(frame) for name, frame in expected.items())


def test_a_worker_writes_where_the_driver_looks_until_another_process_takes_up_the_run(
    prepared: Prepared, tmp_path: Path
) -> None:
    ((job, identity),) = prepared.agenda.weights
    manifest = RunManifest(identity.key, job.name, job.version, "opt", None, {}, "float32", now())
    shard = job.apart()[0]
    with staged_run(tmp_path, manifest) as run:
        task = Task({job.name: job.parameters()}, is_resident=True, outboxes={job.name: run})
        worker = opened(prepared, task)
        (part,) = worker.shards(job.name, (shard,))
        assert isinstance(part, MeasuredPart)
        assert part.n_bytes == 0
        assert run.has(shard, job.shards()[shard])
    with staged_run(tmp_path, manifest):
        (failure,) = worker.shards(job.name, (job.apart()[1],))
    assert isinstance(failure, Failure)
    assert failure.problem.startswith("another process has taken up the run of projections")
    run.discard()
    (failure,) = worker.shards(job.name, (shard,))
    assert isinstance(failure, Failure)
    assert not run.folder.exists()


def test_other_weights_and_other_parameters_are_refused(prepared: Prepared) -> None:
    worker = Worker()
    failure = worker.open(assignment(prepared, weights_sha256="0" * 64))
    assert failure is not None
    assert "has weights of opt with sha256" in failure.problem
    worker = Worker()
    assert worker.open(assignment(prepared)) is None
    parameters = texts(prepared).parameters
    changed = {**parameters, "activity": {**parameters["activity"], "activation_rule": "m > 7"}}
    failure = worker.take_task(Task(changed, is_resident=True), prepared.corpus)
    assert failure is not None
    assert "has for activity the activation_rule" in failure.problem


def test_a_worker_says_who_it_is(tmp_path: Path) -> None:
    (tmp_path / "witness").touch()
    found = Worker().info("cpu", tmp_path / "witness")
    assert found.sees_staging
    assert found.versions == versions()
    assert found.memory_bytes > 1 << 28
    assert not Worker().info("cpu", tmp_path / "elsewhere").sees_staging
