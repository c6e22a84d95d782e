"""kill -9 at any moment: the warehouse opens, holds whole publications only, and the repeated command completes it."""

import json
import random
import shutil
import signal
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pytest

from neurothek.catalog.tables.registry import JOB_TABLES
from neurothek.catalog.upkeep.checks import check
from neurothek.ingest.forward.sweep import Order
from tests.support import crash, ingests
from tests.support.crash import Arena, Moment, Task
from tests.support.models import build

# One worker makes the references and keeps the server that the children are forked from.
pytestmark = pytest.mark.xdist_group("crash")

N_KILLS, N_MANY_KILLS = 8, 46
PATIENCE = 10

# Half of the moments are taken from the clock, between the first staged shard and the end; the others are a call that
# is chosen at random, most of them within a publishing, which is too short for the clock to hit it often.
ARENAS: tuple[Arena | None, ...] = (None, "publish", None, "publish", None, "_create", None, "measuring")

# The order of sweep of the child that is killed, of the one that is killed while it takes that up, and of the last one:
# five against eight arenas, so that every arena meets every one of them.
ORDERS: tuple[tuple[Order, Order, Order], ...] = (
    ("chunks", "layers", "chunks"),
    ("layers", "layers", "layers"),
    ("layers", "chunks", "chunks"),
    ("chunks", "layers", "layers"),
    ("layers", "layers", "chunks"),
)


@dataclass(frozen=True)
class Reference:
    """What an uninterrupted child publishes, and how long that takes."""

    start: Path  # the folder as children find it: empty, or with a warehouse that holds another model
    model: Path  # the model that they measure
    corpora: tuple[str, ...]  # the text that they read
    earlier: dict[str, pl.DataFrame]  # every table before
    tables: dict[str, pl.DataFrame]  # every table afterwards
    seconds: float  # from the first staged shard to the end
    calls: dict[Arena, int]  # how many calls each arena had

    def fresh(self, folder: Path) -> Task:
        """The task in a new folder."""
        return Task(shutil.copytree(self.start, folder) / "w.duckdb", self.model, self.corpora)


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reference]:
    folder = tmp_path_factory.mktemp("crash")
    model = build(folder / "tiny", "opt", d_ffn=16, n_layers=3, vocab_size=330)
    other = build(folder / "other", "opt", d_ffn=8, vocab_size=330, seed=1)
    corpora = ingests.write_corpus(folder)
    starts = {name: folder / name for name in ("empty", "used")}
    for start in starts.values():
        start.mkdir()
    assert crash.finish(crash.start(Task(starts["used"] / "w.duckdb", other, corpora))) == 0
    return {name: uninterrupted(start, model, corpora) for name, start in starts.items()}


def uninterrupted(start: Path, model: Path, corpora: tuple[str, ...]) -> Reference:
    before = ingests.open_warehouse(start / "w.duckdb")
    earlier = ingests.everything(before) if before.exists() else {}
    reference = Reference(start, model, corpora, earlier, {}, 0, {})
    task, counts = reference.fresh(start.with_name(f"{start.name}-done")), start.with_suffix(".json")
    seconds = crash.seconds_from_first_shard(crash.start(task, counts=counts), task)
    tables = ingests.everything(ingests.open_warehouse(task.warehouse))
    return replace(reference, tables=tables, seconds=seconds, calls=json.loads(counts.read_text())["calls"])


def kill(reference: Reference, task: Task, chosen: random.Random, arena: Arena | None, attempt: int = 0) -> bool:
    """Run a child and kill it at a random moment; False if it was done before."""
    if arena is None:
        child = crash.start(task)
        # The machine may have become quicker since the reference was timed.
        crash.kill_after(child, task, chosen.uniform(0, reference.seconds) / 2**attempt)
    else:
        delay_seconds = chosen.choice([0.0, chosen.uniform(0, 0.03)])
        moment = Moment(arena, chosen.randint(1, reference.calls[arena]), delay_seconds)
        child = crash.start(task, moment=moment)
    status = crash.finish(child)
    assert status in (-signal.SIGKILL, 0)
    return status == -signal.SIGKILL


def assert_consistent(task: Task, reference: Reference) -> None:
    """If there is a warehouse, it breaks no law, and holds what was there before and whole publications of the rest."""
    warehouse = ingests.open_warehouse(task.warehouse)
    if not warehouse.exists():
        assert not reference.earlier
        return
    assert check(warehouse) == []
    found = ingests.everything(warehouse)
    published = found["runs"]["run_key"].to_list()
    assert set(reference.earlier["runs"]["run_key"] if reference.earlier else ()) <= set(published)
    whole = reference.tables["runs"]
    assert found["runs"].equals(whole.filter(pl.col("run_key").is_in(published)))
    run_ids = found["runs"]["run_id"].to_list()
    for table in (table.name for tables in JOB_TABLES.values() for table in tables):
        assert found[table].equals(reference.tables[table].filter(pl.col("run_id").is_in(run_ids)))
    for job, tables in JOB_TABLES.items():
        for row in found["runs"].filter(pl.col("job") == job).iter_rows(named=True):
            n_rows = sum(found[table.name].filter(pl.col("run_id") == row["run_id"]).height for table in tables)
            assert n_rows == row["n_rows"] > 0
    # The text jobs of a model are published together.
    jobs = found["runs"].group_by("model_id").agg(pl.col("job").n_unique())["job"]
    assert set(jobs) <= {1, reference.tables["runs"]["job"].n_unique()}


def assert_complete(task: Task, reference: Reference) -> None:
    ingests.assert_same(ingests.everything(ingests.open_warehouse(task.warehouse)), reference.tables)
    assert {path.name for path in task.warehouse.parent.iterdir()} <= {"w.duckdb", "w.duckdb.lock"}


@pytest.mark.parametrize(
    "seed",
    [
        *(pytest.param(n, marks=pytest.mark.long) for n in range(N_KILLS)),
        *(pytest.param(N_KILLS + n, marks=pytest.mark.crash) for n in range(N_MANY_KILLS)),
    ],
)
def test_killed_and_repeated_is_uninterrupted(references: dict[str, Reference], tmp_path: Path, seed: int) -> None:
    chosen = random.Random(seed)
    arena, (begun, taken_up, completed) = ARENAS[seed % len(ARENAS)], ORDERS[seed % len(ORDERS)]
    # Where the making of the warehouse is to be hit there must be none.
    reference = references["empty" if arena == "_create" else chosen.choice(["empty", "used"])]
    for attempt in range(PATIENCE):
        task = replace(reference.fresh(tmp_path / str(attempt)), order=begun)
        if kill(reference, task, chosen, arena, attempt):
            break
    else:
        pytest.fail("every child was done before it was killed")
    assert_consistent(task, reference)
    if seed % 4 == 0:
        # Once more, while it takes up what the first left.
        kill(reference, replace(task, order=taken_up), chosen, None)
        assert_consistent(task, reference)
    assert crash.finish(crash.start(replace(task, order=completed))) == 0
    assert_complete(task, reference)
