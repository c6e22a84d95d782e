"""Events from end to end: interrupted, resumed and streamed ingests publish the same bits; finished ones are kept."""

import dataclasses
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from neurothek.catalog.problems import Conflict, Invalid, LimitExceeded
from neurothek.catalog.publishing.staging import StagedRun
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.jobs.events.job import EventsJob
from neurothek.ingest.jobs.job import JobContext
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import load
from neurothek.ingest.models.transformer import open_transformer
from neurothek.ingest.request import IngestRequest
from tests.support import ingests
from tests.support.models import build

pytestmark = pytest.mark.xdist_group("event_ingest")

JOBS = ("events",)
N_SHARDS = 4
SENTENCES = "The school is near the river. It has a new roof! Is it old? One two three four five six."


def small_job(context: JobContext, asked: IngestRequest, *, seed: int = 0) -> EventsJob:
    return EventsJob(context, n_examples=asked.examples, n_event_examples=9, shard_examples=8, seed=seed)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EventsJob, "from_options", small_job)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("model") / "tiny", "opt", n_layers=2, d_ffn=32)


@pytest.fixture
def asked(tmp_path: Path) -> IngestRequest:
    (tmp_path / "prose").mkdir()
    for number in range(8):
        (tmp_path / "prose" / f"{number}.txt").write_text(SENTENCES)
    return ingests.request((f"prose={tmp_path / 'prose'}",), jobs=JOBS, examples=22)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return ingests.open_warehouse(tmp_path / "w.duckdb")


def test_an_ingest_publishes_every_table(warehouse: Warehouse, model: Path, asked: IngestRequest) -> None:
    report = ingests.measure(warehouse, model, asked)
    assert report.jobs == JOBS
    assert report.rows["examples"] == 22
    assert report.rows["streams"] == 22 * 2 * 2
    # Of 32 neurons fewer than twenty may be active.
    kinds = ingests.table(warehouse, "sub_updates")["kind"].value_counts()
    counts = dict(zip(kinds["kind"], kinds["count"], strict=True))
    assert (counts["dominant"], counts["random"]) == (22 * 10 * 2, 9 * 10 * 2)
    assert 0 < counts["random_active"] <= counts["random"]
    assert report.rows["event_samples"] == 1
    assert ingests.table(warehouse, "examples")["example_id"].to_list() == list(range(22))
    assert ingests.measure(warehouse, model, asked).up_to_date == JOBS
    assert not warehouse.staging.exists()


def test_facts_count_dominant_neurons_and_those_that_saturate(
    warehouse: Warehouse, model: Path, asked: IngestRequest
) -> None:
    ingests.measure(warehouse, model, asked)
    examples = {row["example_id"]: row for row in ingests.table(warehouse, "examples").to_dicts()}
    rows = ingests.table(warehouse, "sub_updates", "kind = 'dominant' and coefficient <> 0").to_dicts()
    for fact in ingests.table(warehouse, "neuron_facts").to_dicts():
        mine = [row for row in rows if (row["layer"], row["neuron"]) == (fact["layer"], fact["neuron"])]
        saturating = [
            row
            for row in mine
            if examples[row["example_id"]]["saturation_by_ffn"]
            and examples[row["example_id"]]["saturation_layer"] == row["layer"]
            and row["score_final"] > 0
        ]
        assert (fact["times_dominant"], fact["times_saturating"]) == (len(mine), len(saturating))


def test_interrupted_after_every_shard_is_uninterrupted(
    tmp_path: Path, model: Path, asked: IngestRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    whole = ingests.open_warehouse(tmp_path / "whole.duckdb")
    ingests.measure(whole, model, asked)
    written: list[str] = []
    original = StagedRun.write

    def write(self: StagedRun, shard: str, frames: dict[str, pl.DataFrame], *, is_passing: bool = False) -> None:
        original(self, shard, frames, is_passing=is_passing)
        written.append(shard)
        raise KeyboardInterrupt

    monkeypatch.setattr(StagedRun, "write", write)
    for _ in range(N_SHARDS):
        with pytest.raises(KeyboardInterrupt):
            ingests.measure(warehouse, model, asked)
    ingests.measure(warehouse, model, asked)
    assert len(written) == len(set(written)) == N_SHARDS
    ingests.assert_same(ingests.everything(warehouse), ingests.everything(whole))


def test_a_small_budget_streams_the_weights_and_gives_the_same_rows(
    tmp_path: Path, warehouse: Warehouse, model: Path, asked: IngestRequest
) -> None:
    whole = ingests.open_warehouse(tmp_path / "whole.duckdb")
    ingests.measure(whole, model, asked)
    context = JobContext(open_transformer(find(str(model))), load(model), batch_tokens=asked.batch_tokens)
    needed = small_job(context, asked).memory_bytes(is_resident=False)
    with pytest.raises(LimitExceeded, match="of memory, but --memory allows"):
        ingests.measure(warehouse, model, dataclasses.replace(asked, memory_bytes=needed - 1))
    assert not warehouse.exists()
    ingests.measure(warehouse, model, dataclasses.replace(asked, memory_bytes=needed))
    ingests.assert_same(ingests.everything(warehouse), ingests.everything(whole))


def test_another_seed_is_another_run(
    warehouse: Warehouse, model: Path, asked: IngestRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingests.measure(warehouse, model, asked)
    monkeypatch.setattr(EventsJob, "from_options", partial(small_job, seed=1))
    with pytest.raises(Conflict, match="seed: 0 in the warehouse, 1 requested"):
        ingests.measure(warehouse, model, asked)
    ingests.measure(warehouse, model, dataclasses.replace(asked, force=True))
    assert ingests.table(warehouse, "event_samples")["seed"].to_list() == [1]


def test_fewer_examples_are_the_first_ones(
    tmp_path: Path, warehouse: Warehouse, model: Path, asked: IngestRequest
) -> None:
    whole = ingests.open_warehouse(tmp_path / "whole.duckdb")
    ingests.measure(whole, model, asked)
    ingests.measure(warehouse, model, dataclasses.replace(asked, examples=8))
    first = ingests.table(whole, "examples", "example_id < 8")
    # The same shard of eight examples: the same bits.
    assert ingests.table(warehouse, "examples").equals(first)
    with pytest.raises(Invalid, match="--examples 0 is too few"):
        ingests.measure(warehouse, model, dataclasses.replace(asked, examples=0))


def test_a_corpus_without_sentences_writes_nothing(tmp_path: Path, warehouse: Warehouse, model: Path) -> None:
    (tmp_path / "blank.txt").write_text("\n \n\n")
    with pytest.raises(Invalid, match="choose another --corpus"):
        ingests.measure(warehouse, model, ingests.request((f"blank={tmp_path / 'blank.txt'}",), jobs=JOBS))
    assert not warehouse.exists()
