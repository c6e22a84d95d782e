"""kill -9 while annotations, an import or a merge are written: all of it is there or nothing; once more is enough."""

import json
import random
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pytest

from neurothek.catalog.exchange.exports import export
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.upkeep.changes import remove
from neurothek.catalog.upkeep.checks import check
from tests.support import crash, ingests
from tests.support.crash import Arena, Command, Moment
from tests.support.models import build

# One worker makes the situations, beside the one whose children measure.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("crash commands")]

N_KILLS, N_MANY_KILLS = 2, 22
PATIENCE = 10
WAREHOUSE = "w.duckdb"

JOBS = {"a": ("projections",), "b": ("projections", "activity", "shortcuts")}
"""Model -> what is measured: rows of weights, rows of texts, and matrices beside the warehouse."""

ANNOTATED = 8

# By a call, from the opening of the writer to the end, or after the commit; by the clock, anywhere in the command.
ARENAS: tuple[Arena, ...] = ("writing", "committed", "command", "writing")

SITUATIONS = {
    "annotate": ("annotate",),
    # The making of a warehouse takes most of the calls: it has a situation to itself.
    "import": ("import", "import", "import into none"),
    "merge": ("merge", "merge of what is missing", "merge into none"),
}
"""Command -> what it finds, in turns."""


@dataclass(frozen=True)
class Situation:
    """A command, and what it does if nobody kills it."""

    start: Path  # the folder as the command finds it
    words: tuple[str, ...]  # its words, but for the warehouse
    stdin: Path  # the file that it reads
    earlier: dict[str, pl.DataFrame]  # every table before
    tables: dict[str, pl.DataFrame]  # every table afterwards
    names: frozenset[str]  # what lies in the folder afterwards
    seconds: float  # how long the command takes
    calls: dict[Arena, int]  # how many calls each arena had

    def command(self, warehouse: Path) -> Command:
        """The command on a warehouse."""
        return Command((*self.words, "--warehouse", str(warehouse)), self.stdin)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Warehouses of one model, `a`, of another, `b`, of half of `b`, of none and of nothing; and an export of `b`."""
    folder = tmp_path_factory.mktemp("crash-commands")
    corpora = [part for source in ingests.write_corpus(folder) for part in ("--corpus", source)]
    for seed, (name, measured) in enumerate(JOBS.items()):
        jobs = [part for job in measured for part in ("--job", job)]
        model = build(folder / f"model-{name}", "opt", d_ffn=12, seed=seed)
        (folder / name).mkdir()
        words = (
            "ingest",
            f"{name}={model}",
            *(corpora if len(measured) > 1 else ()),
            *jobs,
            "--warehouse",
            str(folder / name / WAREHOUSE),
        )
        assert crash.run_command(words, file_bytes=None, stderr=folder / "stderr") == 0
    shutil.copytree(folder / "b", folder / "half")
    remove(opened(folder / "half"), "b", job="shortcuts")
    for name in ("none", "empty"):
        (folder / name).mkdir()
    with opened(folder / "empty").writer():
        pass
    export(opened(folder / "b"), folder / "out")
    (folder / "nothing").touch()
    return folder


def opened(folder: Path) -> Warehouse:
    return ingests.open_warehouse(folder / WAREHOUSE)


@pytest.fixture(scope="module")
def situations(folder: Path) -> Callable[[str], Situation]:
    """Situations by name; each is tried out when it is asked for."""
    lines = [
        {"address": f"a/L{number % 2}N{number // 2}", "concept": "words", "class": "semantic", "ranks": [1, 2, 3, 4]}
        for number in range(ANNOTATED)
    ]
    text = folder / "lines.jsonl"
    text.write_text("".join(json.dumps(line | {"annotator": "anna"}) + "\n" for line in lines))
    merging, importing = ("merge", str(folder / "b" / WAREHOUSE)), ("import", str(folder / "out"))
    asked = {
        "annotate": ("a", ("annotate", "--stdin")),
        "import": ("empty", importing),
        "import into none": ("none", importing),
        "merge": ("a", merging),
        "merge of what is missing": ("half", merging),
        "merge into none": ("none", merging),
    }
    known: dict[str, Situation] = {}

    def found(name: str) -> Situation:
        if name not in known:
            start, words = asked[name]
            stdin = text if name == "annotate" else folder / "nothing"
            plan = Situation(folder / start, words, stdin, {}, {}, frozenset(), 0, {})
            known[name] = uninterrupted(folder / f"{name} done", plan)
        return known[name]

    return found


def uninterrupted(folder: Path, asked: Situation) -> Situation:
    warehouse = shutil.copytree(asked.start, folder) / WAREHOUSE
    earlier, counts = everything(warehouse), folder.with_suffix(".json")
    assert crash.finish(crash.start(asked.command(warehouse), counts=counts)) == 0
    told, names = json.loads(counts.read_text()), frozenset(path.name for path in folder.iterdir())
    tables, seconds = everything(warehouse), told["seconds"]["command"]
    assert not earlier or any(not frame.equals(earlier[name]) for name, frame in tables.items())
    assert check(ingests.open_warehouse(warehouse)) == []
    return replace(asked, earlier=earlier, tables=tables, names=names, seconds=seconds, calls=told["calls"])


def everything(warehouse: Path) -> dict[str, pl.DataFrame]:
    """Every table but what differs from one time to the next; none where there is no warehouse, or an empty one."""
    if not warehouse.exists():
        return {}
    tables = ingests.everything(ingests.open_warehouse(warehouse))
    tables["annotations"] = tables["annotations"].drop("annotation_id", "created_at")
    return tables if tables["runs"].height else {}


def kill(situation: Situation, warehouse: Path, chosen: random.Random, arena: Arena, attempt: int) -> bool:
    """Run the command and kill it at a random moment; False if it was done before."""
    if arena == "command":
        # The machine may have become quicker since the reference was timed.
        moment = Moment("command", 1, chosen.uniform(0.001, situation.seconds) / 2**attempt)
    else:
        delay_seconds = chosen.choice([0.0, chosen.uniform(0, 0.03)])
        moment = Moment(arena, chosen.randint(1, situation.calls[arena]), delay_seconds)
    status = crash.finish(crash.start(situation.command(warehouse), moment=moment))
    assert status in (-signal.SIGKILL, 0)
    return status == -signal.SIGKILL


def assert_whole(situation: Situation, warehouse: Path) -> None:
    """The warehouse opens, breaks no law, and holds what was there before, or all."""
    if not warehouse.exists():
        assert not situation.earlier
        return
    assert check(ingests.open_warehouse(warehouse)) == []
    found = everything(warehouse)
    is_done = found.keys() == situation.tables.keys() and all(
        found[name].equals(frame) for name, frame in situation.tables.items()
    )
    ingests.assert_same(found, situation.tables if is_done else situation.earlier)


@pytest.mark.parametrize("name", SITUATIONS)
@pytest.mark.parametrize(
    "seed",
    [*range(N_KILLS), *(pytest.param(N_KILLS + n, marks=pytest.mark.crash) for n in range(N_MANY_KILLS))],
)
def test_killed_and_repeated_is_uninterrupted(
    situations: Callable[[str], Situation], tmp_path: Path, seed: int, name: str
) -> None:
    chosen = random.Random(seed)
    arena = ARENAS[seed % len(ARENAS)]
    situation = situations(SITUATIONS[name][seed % len(SITUATIONS[name])])
    for attempt in range(PATIENCE):
        warehouse = shutil.copytree(situation.start, tmp_path / str(attempt)) / WAREHOUSE
        if kill(situation, warehouse, chosen, arena, attempt):
            break
    else:
        pytest.fail("every child was done before it was killed")
    assert_whole(situation, warehouse)
    if seed % 4 == 0:
        # Once more, while it takes up what the first left.
        kill(situation, warehouse, chosen, "command", 0)
        assert_whole(situation, warehouse)
    assert crash.finish(crash.start(situation.command(warehouse))) == 0
    ingests.assert_same(everything(warehouse), situation.tables)
    assert {path.name for path in warehouse.parent.iterdir()} == situation.names
