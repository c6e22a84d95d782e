"""What a plan says in bytes, against sums worked out by hand for a model, a text and jobs of round sizes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from neurothek.catalog.problems import LimitExceeded
from neurothek.ingest.forward.footprint import Extent, Footprint
from neurothek.ingest.jobs.job import Job, SweepJob, WeightsJob
from neurothek.ingest.models.transformer import Shape
from neurothek.ingest.planning import sweep_plan
from neurothek.ingest.planning.sweep_plan import Budget, ModelSize, SweepPlan, WeightsPlan, choose, plan_weights

PROCESS = 134_217_728
GENEROUS = 10**15

SHAPE = Shape(
    architecture="opt",
    activation="relu",
    norm_position="pre",
    position_encoding="learned",
    n_layers=3,
    d_model=10,
    d_ffn=20,
    n_heads=1,
    vocab_size=100,
    context_length=100_000,
    n_parameters=2_101,
    n_parameters_embedding=1_000,
    has_exact_zeros=True,
)
# While a block runs it has 10 * 10 + 3 * 20 = 160 numbers an id.
MODEL = ModelSize(SHAPE, itemsize=2, block_bytes=12_000_000_000, all_bytes=30_000_000_000)
# Its streams: 2,000,000,000 ids of 10 numbers of 2 bytes.
TEXT = Extent(n_sequences=40_000_000, n_tokens=2_000_000_000, sequence_length=50, n_domains=1, n_chunks=4)
STREAMS = 40_000_000_000
# The streams of one chunk: 65,536 ids of 10 numbers of 2 bytes.
CHUNK_STREAMS = 1_310_720

FOOTPRINTS = {
    "one": Footprint(
        observing=10**6, folding=5 * 10**6, stored=2 * 10**5, parts=7_000, rows=11_000, shared_rows=13_000
    ),
    "two": Footprint(
        observing=2 * 10**6, folding=3 * 10**6, stored=4 * 10**5, parts=1_000, rows=2_000, shared_rows=500
    ),
    "watching": Footprint(observing=70 * 10**6, folding=10**6, stored=3 * 10**5),
}
OF_WEIGHTS = {
    "weights": Footprint(folding=6 * 10**6, stored=5 * 10**5, rows=100 * 10**6, shared_rows=10 * 10**6),
    "more weights": Footprint(folding=2 * 10**6, stored=10**5, rows=7 * 10**6),
    "heavy": Footprint(folding=90 * 10**9, stored=7 * 10**9),
}


@pytest.fixture(autouse=True)
def _jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs that take what is written above."""
    jobs: dict[str, type[Job[Any]]] = {name: made(SweepJob, takes) for name, takes in FOOTPRINTS.items()}
    jobs |= {name: made(WeightsJob, takes) for name, takes in OF_WEIGHTS.items()}
    monkeypatch.setattr(sweep_plan, "job_class", jobs.__getitem__)


def made(kind: type, takes: Footprint) -> type[Job[Any]]:
    return type("Made", (kind,), {"footprint": staticmethod(lambda *_: takes)})


def chosen(
    memory_bytes: int,
    *,
    jobs: Sequence[str] = ("one", "two"),
    weights_jobs: Sequence[str] = (),
    batch_tokens: int = 100,
    extent: Extent = TEXT,
    model: ModelSize = MODEL,
) -> SweepPlan:
    budget = Budget(memory_bytes)
    return choose(model, extent, jobs=jobs, weights_jobs=weights_jobs, batch_tokens=batch_tokens, budget=budget)


def all_ways(
    jobs: Sequence[str], *, batch_tokens: int = 100, extent: Extent = TEXT, model: ModelSize = MODEL
) -> list[int]:
    """Memory of resident chunks, streamed chunks, and layers outside, whichever of them are chosen for some budget."""
    sizes: list[int] = []
    memory_bytes = GENEROUS
    while True:
        try:
            found = chosen(memory_bytes, jobs=jobs, batch_tokens=batch_tokens, extent=extent, model=model)
        except LimitExceeded:
            return sizes
        sizes.append(found.memory_bytes)
        memory_bytes = found.memory_bytes - 1


def test_where_folding_takes_most() -> None:
    # What both keep, 600,000, and the larger fold, 5,000,000, beside all weights or the largest block; layers outside
    # take as much as streamed chunks and are never needed.
    assert all_ways(["one", "two"]) == [PROCESS + 5_600_000 + 30_000_000_000, PROCESS + 5_600_000 + 12_000_000_000]


def test_where_watching_takes_most() -> None:
    # A batch of 100 ids at work: 100 * 160 numbers of 4 bytes, although streams have 2; all observers, 71,000,000.
    at_work = 64_000 + 71_000_000
    assert all_ways(["watching", "one"]) == [
        PROCESS + at_work + CHUNK_STREAMS + 30_000_000_000,
        PROCESS + at_work + CHUNK_STREAMS + 12_000_000_000,
        # Layers outside: no streams, but what is kept of the layers before.
        PROCESS + at_work + 500_000 + 12_000_000_000,
    ]


def test_without_jobs_a_sweep_takes_its_streams() -> None:
    assert all_ways([])[0] == PROCESS + 64_000 + CHUNK_STREAMS + 30_000_000_000


def test_wider_numbers_longer_sequences_and_larger_batches_take_more() -> None:
    double = replace(MODEL, itemsize=8)
    assert all_ways([], model=double)[0] == PROCESS + 2 * 64_000 + 4 * CHUNK_STREAMS + 30_000_000_000
    assert all_ways([], batch_tokens=200)[0] == PROCESS + 2 * 64_000 + CHUNK_STREAMS + 30_000_000_000
    # A batch holds a sequence, and so does a chunk: 100,000 ids, more than a batch of 100 and a chunk of 65,536.
    long = replace(TEXT, sequence_length=100_000)
    assert all_ways([], extent=long)[0] == PROCESS + 1_000 * 64_000 + 2_000_000 + 30_000_000_000


def test_jobs_on_weights_come_before_the_sweep_and_leave_nothing() -> None:
    alone = chosen(GENEROUS).memory_bytes
    assert chosen(GENEROUS, weights_jobs=["weights", "more weights"]).memory_bytes == alone
    assert chosen(GENEROUS, weights_jobs=["heavy", "weights"]).memory_bytes == PROCESS + 97 * 10**9


def test_disk_holds_parts_rows_twice_and_streams() -> None:
    # Rows: 3 * 11,000 + 13,000 of one, 3 * 2,000 + 500 of the other, 3 * 100,000,000 + 10,000,000 of the weights.
    growth = 46_000 + 6_500 + 310_000_000
    by_chunk = chosen(GENEROUS, weights_jobs=["weights"])
    assert by_chunk.growth_bytes == growth
    # Chunks outside stage the parts of all three layers before the first fold.
    assert by_chunk.disk_bytes == 3 * 8_000 + 2 * growth
    cheaper = replace(TEXT, n_chunks=100)
    by_layer = chosen(15 * 10**9, weights_jobs=["weights"], extent=cheaper)
    assert by_layer.order == "layers"
    assert by_layer.growth_bytes == growth
    assert by_layer.disk_bytes == 8_000 + 2 * growth + STREAMS


@pytest.mark.parametrize(
    ("n_chunks", "order", "moved"),
    [
        # Layers outside read 30 GB of weights, and write and read 40 GB of streams for each of 3 layers: 270 GB.
        (4, "chunks", "120.0 GB to read and write instead of 270.0 GB"),
        (9, "chunks", "270.0 GB to read and write instead of 270.0 GB"),
        (10, "layers", "270.0 GB to read and write instead of 300.0 GB"),
    ],
)
def test_where_weights_do_not_fit_the_way_is_taken_that_moves_least(n_chunks: int, order: str, moved: str) -> None:
    found = chosen(15 * 10**9, extent=replace(TEXT, n_chunks=n_chunks))
    assert (found.order, found.is_resident) == (order, False)
    # 30 GB of weights, 0.13 GB of the process and 0.0056 GB of jobs.
    taken = "the weights of all layers do not fit beside the rest, which takes 30.14 GB"
    assert found.why == f"{taken}; {moved}"


def test_where_weights_fit_they_stay() -> None:
    found = chosen(GENEROUS)
    assert (found.order, found.is_resident) == ("chunks", True)
    assert found.why == "all weights fit beside the streams of one chunk"


def test_what_does_not_fit_on_the_disk_is_passed_over(tmp_path: Path) -> None:
    def on(free_bytes: int) -> SweepPlan:
        # Layers outside move less here, but need 40 GB for streams; rows are 52,500 bytes and are there twice.
        cheaper, budget = replace(TEXT, n_chunks=100), Budget(15 * 10**9, tmp_path, free_bytes)
        return choose(MODEL, cheaper, jobs=["one", "two"], weights_jobs=[], batch_tokens=100, budget=budget)

    layers, chunks = 8_000 + 105_000 + STREAMS, 24_000 + 105_000
    assert on(layers).order == "layers"
    assert on(layers - 1).order == "chunks"
    assert on(chunks).order == "chunks"
    with pytest.raises(LimitExceeded, match=r"needs about 0\.13 MB under .*, but only 0\.13 MB are free") as caught:
        on(chunks - 1)
    assert str(tmp_path) in str(caught.value)


def test_the_least_memory_is_what_is_asked_for() -> None:
    with pytest.raises(LimitExceeded, match=r"needs at least 12\.14 GB of memory, but --memory allows 12\.00 GB"):
        chosen(12 * 10**9)


def test_a_budget_of_three_times_what_is_needed_is_roomy() -> None:
    needed = chosen(GENEROUS).memory_bytes
    budgets = (needed, 3 * needed - 1, 3 * needed, 3 * needed + 1)
    assert [chosen(budget).is_tight for budget in budgets] == [True, True, False, False]


def test_a_published_model_has_blocks_of_the_mean_size() -> None:
    # 1,101 weights of 2 bytes beside the embeddings, in 3 blocks; and 4 more bytes make no whole number a block.
    assert ModelSize.published(SHAPE, itemsize=2) == ModelSize(SHAPE, 2, 734, 2_202)
    larger = replace(SHAPE, n_parameters=2_103)
    assert ModelSize.published(larger, itemsize=2) == ModelSize(larger, 2, 736, 2_206)


def test_jobs_on_weights_alone_take_the_largest_of_them() -> None:
    found = plan_weights(SHAPE, ["weights", "more weights"], budget=Budget(GENEROUS))
    growth = 310_000_000 + 21_000_000
    assert found == WeightsPlan(False, PROCESS + 6_500_000, 2 * growth, growth)


def test_jobs_on_weights_alone_fit_exactly() -> None:
    needed = PROCESS + 6_500_000
    assert plan_weights(SHAPE, ["weights"], budget=Budget(needed)).is_tight
    assert plan_weights(SHAPE, ["weights"], budget=Budget(3 * needed - 1)).is_tight
    assert not plan_weights(SHAPE, ["weights"], budget=Budget(3 * needed)).is_tight
    assert not plan_weights(SHAPE, ["weights"], budget=Budget(3 * needed + 1)).is_tight
    with pytest.raises(LimitExceeded, match=r"needs at least 0\.15 GB of memory, but --memory allows 0\.14") as caught:
        plan_weights(SHAPE, ["more weights", "weights"], budget=Budget(needed - 1))
    assert caught.value.needed == needed


def test_the_disk_of_jobs_on_weights_alone_holds_their_rows_twice(tmp_path: Path) -> None:
    assert plan_weights(SHAPE, ["weights"], budget=Budget(GENEROUS, tmp_path, 620_000_000)).disk_bytes == 620_000_000
    assert plan_weights(SHAPE, ["weights"], budget=Budget(GENEROUS, tmp_path, 10**12)).disk_bytes == 620_000_000
    with pytest.raises(LimitExceeded, match=r"needs about 0\.62 GB under .*, but only 0\.62 GB are free"):
        plan_weights(SHAPE, ["weights"], budget=Budget(GENEROUS, tmp_path, 619_999_999))
    # Without a folder no disk is looked at.
    assert plan_weights(SHAPE, ["weights"], budget=Budget(GENEROUS)).growth_bytes == 310_000_000


def test_a_disk_that_nobody_looked_at_has_nothing_free(tmp_path: Path) -> None:
    with pytest.raises(LimitExceeded, match="are free"):
        plan_weights(SHAPE, ["weights"], budget=Budget(GENEROUS, tmp_path))
