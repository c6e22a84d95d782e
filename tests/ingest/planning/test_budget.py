"""A budget that forces one layer a sweep: the same rows, and no more memory than was allowed."""

import json
import random
import sys
from pathlib import Path

import polars as pl
import pytest

from neurothek.catalog.problems import LimitExceeded
from neurothek.ingest.forward.footprint import Extent
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import open_transformer
from neurothek.ingest.planning.sweep_plan import Budget, ModelSize, SweepPlan, choose, plan_weights
from neurothek.ingest.request import DEFAULT_JOBS
from tests.support import ingests
from tests.support.memory import peak_bytes
from tests.support.models import build

# The worker that has the server which children are forked from.
pytestmark = [
    pytest.mark.long,
    pytest.mark.xdist_group("crash"),
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts a process's anonymous memory"),
]

N_WORDS, CONTEXT_LENGTH, BATCH_TOKENS = 12_000, 256, 2_048


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small, but with neurons enough that what they take is most of what is taken."""
    folder = tmp_path_factory.mktemp("memory") / "tiny"
    return build(folder, "opt", n_layers=2, d_model=64, d_ffn=2048, context_length=CONTEXT_LENGTH)


def write(folder: Path) -> tuple[str, ...]:
    chosen = random.Random(0)
    for name in ("one", "two"):
        (folder / f"{name}.txt").write_text(" ".join(chosen.choice(ingests.WORDS) for _ in range(N_WORDS)))
    return tuple(f"{name}={folder / name}.txt" for name in ("one", "two"))


def smallest(model: Path, n_tokens: int) -> SweepPlan:
    """The plan that takes the least memory."""
    size = ModelSize.of(open_transformer(find(str(model))))
    extent = Extent.full(n_tokens, sequence_length=CONTEXT_LENGTH, n_domains=2)
    memory_bytes, found = 1 << 50, None
    while True:
        try:
            found = choose(
                size,
                extent,
                jobs=DEFAULT_JOBS[1:],
                weights_jobs=DEFAULT_JOBS[:1],
                batch_tokens=BATCH_TOKENS,
                budget=Budget(memory_bytes),
            )
        except LimitExceeded:
            assert found is not None
            return found
        memory_bytes = found.memory_bytes - 1


def test_one_layer_a_sweep_gives_the_same_rows_within_the_budget(model: Path, tmp_path: Path) -> None:
    corpora = write(tmp_path)
    roomy = ingests.open_warehouse(tmp_path / "roomy.duckdb")
    asked = ingests.request(corpora, jobs=DEFAULT_JOBS, batch_tokens=BATCH_TOKENS)
    report = ingests.measure(roomy, model, asked)
    found = smallest(model, report.n_tokens)
    assert found.order == "layers"
    tight = ingests.open_warehouse(tmp_path / "tight.duckdb")
    asked = ingests.request(corpora, jobs=DEFAULT_JOBS, batch_tokens=BATCH_TOKENS, memory_bytes=found.memory_bytes)
    assert peak_bytes(tight.path, model, asked) <= 1.1 * found.memory_bytes
    ingests.assert_same(ingests.everything(tight), ingests.everything(roomy))


def test_weights_alone_within_the_least_budget(tmp_path: Path) -> None:
    """A vocabulary and layers large enough for the blocks of scores and the vectors to show."""
    jobs = ("projections", "clusters")
    model = build(tmp_path / "tiny", "opt", n_layers=2, d_model=64, d_ffn=2048, vocab_size=4_000)
    shape = open_transformer(find(str(model))).shape
    needed = 0
    for job in jobs:
        with pytest.raises(LimitExceeded, match=f"measuring {job} needs at least") as caught:
            plan_weights(shape, [job], budget=Budget(0))
        needed = max(needed, int(caught.value.needed or 0))
    asked = ingests.request((), jobs=jobs, memory_bytes=needed)
    assert peak_bytes(tmp_path / "w.duckdb", model, asked) <= 1.1 * needed


@pytest.mark.parametrize(
    "sort",
    ["jsonl", "parquet", *(pytest.param(sort, marks=pytest.mark.series) for sort in ("one line", "short documents"))],
)
def test_reading_texts_stays_within_the_budget(sort: str, tmp_path: Path) -> None:
    """Thirty megabytes of text, of which a few thousand tokens are asked for."""
    text = "the old school near the river " * 1_000_000
    match sort:
        case "one line":
            (tmp_path / "x.txt").write_text(text)
        case "jsonl":
            # A line may take a 64th of the budget.
            rows = [text[:2_000_000]] * 15
            (tmp_path / "x.jsonl").write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
        case "parquet":
            pl.DataFrame({"text": [text[:3_000_000]] * 10}).write_parquet(tmp_path / "x.parquet")
        case "short documents":
            (tmp_path / "x.jsonl").write_text('{"text": "a"}\n' * 2_000_000)
    (path,) = tmp_path.glob("x.*")
    model = build(tmp_path / "tiny", "opt", d_ffn=8)
    budget = 150_000_000
    # Enough of them that the text is tokenized until batches have come and gone.
    text_asked = {"tokens_per_domain": 400_000}
    asked = ingests.request((f"x={path}",), jobs=("activity",), memory_bytes=budget, text=text_asked)
    assert peak_bytes(tmp_path / "w.duckdb", model, asked) <= budget
