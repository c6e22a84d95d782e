"""The whole OPT family's size: how much a warehouse of 574 million made-up postings takes, and how fast it answers.

The environment variable SCALE builds a fraction of every model's neurons (default 1: the full size); FAMILY names a
warehouse that was built so before, which is then only measured.
"""

import mmap
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import duckdb

import neurothek
from benchmarks.timing import machine, publish_block, table
from neurothek.catalog.publishing.summaries import add_neurons, rebuild_facts
from neurothek.catalog.store.connections import BLOCK_BYTES
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.registry import JOB_TABLES
from neurothek.catalog.tables.weights import POSTINGS
from neurothek.ingest.request import DEFAULT_JOBS
from neurothek.queries.ask.statements import frame_of
from neurothek.queries.neuron.page import neuron_page
from neurothek.queries.search.by_likeness import alike
from neurothek.queries.search.by_trigger import triggered
from neurothek.queries.search.by_word import search
from neurothek.queries.search.question import Question
from neurothek.queries.views import install

SHAPES: Mapping[str, tuple[int, int, int]] = {
    "opt-125m": (12, 768, 3_072),
    "opt-350m": (24, 1_024, 4_096),
    "opt-1.3b": (24, 2_048, 8_192),
    "opt-2.7b": (32, 2_560, 10_240),
    "opt-6.7b": (32, 4_096, 16_384),
    "opt-13b": (40, 5_120, 20_480),
    "opt-30b": (48, 7_168, 28_672),
    "opt-66b": (64, 9_216, 36_864),
}
"""Layers, width of the residual stream and neurons a layer of the family (Zhang et al. 2022, table 1)."""

T = TypeVar("T")

SCALE = float(os.environ.get("SCALE", "1"))
FAMILY = os.environ.get("FAMILY", "")
VOCABULARY, SEQUENCES = 50_265, 294
ROUNDS, FEW = 200, 10
_SCALING = "select * from scaling where list_contains($models::varchar[], model) order by size"
MEMORY = "13GB"
CORE = ("projections", "postings", "neuron_facts")
FOLDER = Path(__file__).parent
ORDER_MARK = "/* the order of postings */ token_id"


def main() -> None:
    """Take the figures and publish them."""
    with TemporaryDirectory() as folder:
        if FAMILY:
            report(Path(FAMILY), Path(folder))
            return
        path = Path(folder) / "family.duckdb"
        started = time.perf_counter()
        build(path)
        report(path, Path(folder), minutes=(time.perf_counter() - started) / 60)


def report(path: Path, folder: Path, *, minutes: float | None = None) -> None:
    """Measure a warehouse and publish the figures.

    Args:
        path: the warehouse.
        folder: takes what the alternatives need.
        minutes: how long it took to build; None if it was built before.
    """
    opening = [_opening_seconds(path) for _ in range(FEW)]
    sizes = table_bytes(path)
    forget(path)
    bare = bare_seconds(path)
    with neurothek.open(path).reader() as connection:
        times = answers(connection)
    times["opening a file"] = Times(opening)
    publish_block("scale", _text(_size_rows(sizes), _time_rows(times, bare), alternatives(path, folder), minutes))


def build(path: Path) -> None:
    """Write the warehouse, a model at a time."""
    assert POSTINGS.order[0] == "side"
    script = FOLDER.joinpath("opt_family.sql").read_text("utf-8").replace(ORDER_MARK, ", ".join(POSTINGS.order))
    text = FOLDER.joinpath("opt_family_text.sql").read_text("utf-8")
    values: dict[str, int | str] = {"vocabulary": VOCABULARY, "sequences": SEQUENCES}
    with Warehouse(path, views=install).writer() as connection:
        connection.execute("set enable_progress_bar = false")
        connection.execute(f"set memory_limit = '{MEMORY}'")
        connection.execute(f"set temp_directory = '{path.parent / 'spilled'}'")
        _run(connection, text, values)
        for model, (name, (layers, d_model, d_ffn)) in enumerate(SHAPES.items()):
            shape: dict[str, int | str] = {
                "model": model,
                "name": name,
                "layers": layers,
                "d_model": d_model,
                "d_ffn": _scaled(d_ffn),
            }
            _run(connection, script, {**values, **shape})
            add_neurons(connection)
            rebuild_facts(connection, model)
            connection.execute("checkpoint")
            print(f"{name} built, {path.stat().st_size / 1e9:.2f} GB", file=sys.stderr, flush=True)


def table_bytes(path: Path) -> dict[str, float]:
    """Bytes of the blocks that each table lies in, and of the whole file."""
    with duckdb.connect(str(path), read_only=True) as connection:
        (block,) = connection.execute("select block_size from pragma_database_size()").fetchall()[0]
        names = [
            row[0]
            for row in connection.execute(
                "select table_name from duckdb_tables() where schema_name = 'store'"
            ).fetchall()
        ]
        sizes = {name: block * _n_blocks(connection, name) for name in names}
    return {**sizes, "file": path.stat().st_size}


def forget(path: Path) -> None:
    """Have the operating system forget what it holds of a file, where it can be told to."""
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def bare_seconds(path: Path) -> float:
    """Median seconds of reading one block at a place drawn at random into new memory, as a database must."""
    drawn = random.Random(1)
    places = [drawn.randrange(path.stat().st_size // BLOCK_BYTES) for _ in range(ROUNDS)]
    held = []
    with path.open("rb", buffering=0) as file:

        def read(place: int) -> None:
            held.append(mmap.mmap(-1, BLOCK_BYTES))
            file.seek(place * BLOCK_BYTES)
            file.readinto(held[-1])

        return statistics.median(_each(read, places))


def answers(connection: duckdb.DuckDBPyConnection) -> dict[str, "Times"]:
    """Seconds of each kind of question, every one about something else, and of the same ones once all were asked."""
    drawn = random.Random(0)
    uniform = drawn.sample(range(4, VOCABULARY), ROUNDS)
    # By frequency as Zipf's law gives it: the frequent tokens are those that most neurons list.
    frequent = drawn.choices(range(4, VOCABULARY), [1 / (i + 1) for i in range(4, VOCABULARY)], k=ROUNDS)
    addresses = [_address(drawn) for _ in range(ROUNDS)]
    # Most tokens fire no neuron in the made-up text, which is told at once.
    query = "select distinct token_ids[1] from store.triggers where set_id = 0 and n = 1 order by 1"
    firing = drawn.sample([token for (token,) in connection.execute(query).fetchall()], FEW)
    return {
        "one token's best 20 postings, tokens drawn uniformly": _twice(lambda t: _best(connection, t), uniform),
        "the same, drawn by frequency": _twice(lambda t: _best(connection, t), frequent),
        "search with the facts of the top 20, uniformly": _twice(lambda t: _search(connection, t), uniform),
        "the same, by frequency": _twice(lambda t: _search(connection, t), frequent),
        "the page of a neuron": _twice(lambda a: neuron_page(connection, a), addresses),
        "neurons like one, in all models": _twice(lambda a: alike(connection, a), addresses[:FEW]),
        "neurons that fire on a token": _twice(lambda t: _triggered(connection, t), firing),
        "`scaling`": _twice(lambda _: frame_of(connection, _SCALING, {"models": list(SHAPES)}), range(3)),
    }


def alternatives(path: Path, folder: Path) -> dict[str, float]:
    """Median seconds of counting the neurons that promote one token: by the postings, and by looking through lists."""
    with duckdb.connect(str(folder / "texts.duckdb")) as connection:
        connection.execute(f"attach '{path}' as family (read_only)")
        connection.execute(
            "create table texts as select set_id as model_id, layer, neuron, "
            "' ' || array_to_string(list_transform(top_token_ids, lambda i: 'token' || i), ' ') || ' ' as tokens "
            "from family.store.projections"
        )
        connection.execute("checkpoint")
        contenders = {
            "the postings": "family.store.postings where side = 'promoted' and token_id = $token",
            "`list_contains` over the lists": "family.store.projections where list_contains(top_token_ids, $token)",
            "`LIKE` over the lists as text": "texts where tokens like '% token' || $token || ' %'",
        }
        return {
            name: statistics.median(
                _each(
                    lambda token, text=text: connection.execute(  # type: ignore[misc]
                        f"select count(*) from {text}", {"token": token}
                    ).fetchall(),
                    (777, 7_777, 47_777),
                )
            )
            for name, text in contenders.items()
        }


def _best(connection: duckdb.DuckDBPyConnection, token: int) -> object:
    # As a search asks: without `materialized` DuckDB finds the places of the best first, and reads their rows apart.
    return connection.execute(
        "with postings as materialized ("
        "select set_id, layer, neuron, z_score from store.postings where token_id = ? and side = 'promoted'"
        ") select set_id as model_id, layer, neuron, z_score from postings order by z_score desc limit 20",
        [token],
    ).fetchall()


def _triggered(connection: duckdb.DuckDBPyConnection, token: int) -> object:
    return triggered(connection, Question(words=(), triggered_by=(f"token{token}",)))


def _search(connection: duckdb.DuckDBPyConnection, token: int) -> object:
    found = search(connection, Question(words=(f"token{token}",)))
    assert found.neurons.height, token
    return found


def _address(drawn: random.Random) -> str:
    """A neuron drawn uniformly among all: larger models have more."""
    sizes = [layers * d_ffn for layers, _, d_ffn in SHAPES.values()]
    (name,) = drawn.choices(list(SHAPES), sizes)
    layers, _, d_ffn = SHAPES[name]
    return f"{name}/L{drawn.randrange(layers)}N{drawn.randrange(_scaled(d_ffn))}"


def _twice(run: Callable[[T], object], things: Sequence[T]) -> "Times":
    before = _bytes_read()
    first = _each(run, things)
    after = _bytes_read()
    blocks = None if before is None or after is None else (after - before) / BLOCK_BYTES / len(things)
    return Times(first, _each(run, things), blocks)


def _bytes_read() -> int | None:
    """Bytes that this process has read until now; None where the operating system does not tell."""
    counts = Path("/proc/self/io")
    return int(counts.read_text().split()[1]) if counts.exists() else None


def _each(run: Callable[[T], object], things: Sequence[T]) -> list[float]:
    seconds = []
    for thing in things:
        started = time.perf_counter()
        run(thing)
        seconds.append(time.perf_counter() - started)
    return seconds


def _opening_seconds(path: Path) -> float:
    """From asking for the file to the first row, in a process that has imported all it needs."""
    program = (
        "import sys, time, neurothek, neurothek.queries.names.models\n"
        "import neurothek.catalog.store.warehouse, neurothek.queries.views.install\n"
        "started = time.perf_counter()\n"
        "with neurothek.open(sys.argv[1]).reader() as connection:\n"
        "    neurothek.queries.names.models.choose_models(connection)\n"
        "print(time.perf_counter() - started)"
    )
    command = [sys.executable, "-c", program, str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _n_blocks(connection: duckdb.DuckDBPyConnection, name: str) -> int:
    query = f"""
        select count(distinct block) from (
            select block_id as block from pragma_storage_info('store.{name}')
            union all
            select unnest(additional_block_ids) from pragma_storage_info('store.{name}')
        ) where block >= 0
    """
    return int(connection.execute(query).fetchall()[0][0])


@dataclass(frozen=True)
class Times:
    """Seconds of questions about different things, and of the same ones again, whose rows lie in memory by then."""

    first: Sequence[float]  # of every question once
    again: Sequence[float] = ()  # of the same questions
    blocks: float | None = None  # how many blocks a question reads the first time; None where that is not known

    def cells(self, bare: float) -> tuple[str, ...]:
        """Blocks, what reading them takes at `bare` seconds a block, medians and 95th percentiles; milliseconds."""
        read = ("", "") if self.blocks is None else (f"{self.blocks:.0f}", f"{1000 * bare * self.blocks:.1f}")
        return (*read, *_spread(self.first), *_spread(self.again))


def _spread(seconds: Sequence[float]) -> tuple[str, str]:
    if not seconds:
        return "", ""
    late = statistics.quantiles(seconds, n=20, method="inclusive")[-1]
    return f"{1000 * statistics.median(seconds):.1f}", f"{1000 * late:.1f}"


def _size_rows(sizes: Mapping[str, float]) -> list[tuple[str, ...]]:
    core = sum(sizes[name] for name in CORE)
    jobs = {job: sum(sizes[table.name] for table in JOB_TABLES[job]) for job in DEFAULT_JOBS}
    bytes_each = sizes["postings"] / (100 * _n_neurons())
    used = sum(size for name, size in sizes.items() if name != "file")
    rows: list[tuple[str, ...]] = [
        ("bytes a posting", f"{bytes_each:.2f}", "9"),
        ("projections, postings and facts, GB", f"{core / 1e9:.2f}", f"{10 * SCALE:g}"),
        ("all tables, GB", f"{used / 1e9:.2f}", f"{15 * SCALE:g}"),
        ("the file, with the blocks that building it left free, GB", f"{sizes['file'] / 1e9:.2f}", ""),
    ]
    return rows + [(f"of all tables, the job {job}, GB", f"{size / 1e9:.2f}", "") for job, size in jobs.items()]


GOALS: Mapping[str, float] = {
    "one token's best 20 postings, tokens drawn uniformly": 10,
    "the same, drawn by frequency": 10,
    "search with the facts of the top 20, uniformly": 25,
    "the same, by frequency": 25,
    "the page of a neuron": 25,
    "neurons like one, in all models": 500,
    "`scaling`": 1000,
    "opening a file": 100,
}
"""Most milliseconds, of 95% of the questions."""


def _time_rows(times: Mapping[str, Times], bare: float) -> list[tuple[str, ...]]:
    return [(name, *found.cells(bare), f"{GOALS[name]:g}" if name in GOALS else "") for name, found in times.items()]


def _text(
    sizes: list[tuple[str, ...]], times: list[tuple[str, ...]], others: Mapping[str, float], minutes: float | None
) -> str:
    whole = "The whole size of the OPT family" if SCALE == 1 else f"A fraction of {SCALE:g} of the OPT family's neurons"
    caveat = (
        "" if SCALE == 1 else "\nThe goals of times are the whole size's: a fraction that meets one does not prove it."
    )
    built = "before" if minutes is None else f"in {minutes:.0f} minutes"
    unit = others["the postings"]
    compared: list[tuple[str, ...]] = [
        (name, f"{1000 * seconds:.1f}", f"{seconds / unit:.0f}") for name, seconds in others.items()
    ]
    return f"""## Scale

{whole}, {len(SHAPES)} models from 125m to 66b:
{_n_neurons():,} made-up neurons, {100 * _n_neurons():,} postings, and every table of the default jobs, built
{built}. Goals of gigabytes are scaled.{caveat}

{table(("what", "figure", "goal"), sizes)}

Milliseconds of questions asked in this process of a file that is open: {ROUNDS} words, {ROUNDS} neurons' pages, {FEW}
neurons to compare. Every question is about something else, so that it reads what none before it has read, from a file
that the operating system was told to forget: so many blocks, and what a bare read of as many at random places takes,
one after another, each into memory that is new as well. When all were asked they are asked again, out of memory. Goals
are the 95th percentile's.

{table(("what", "blocks", "bare", "first", "p95", "again", "p95 again", "goal"), times)}

How many neurons promote one token, as told by

{table(("what", "ms", "x the postings"), compared)}

{machine()}
"""


def _n_neurons() -> int:
    return sum(layers * _scaled(d_ffn) for layers, _, d_ffn in SHAPES.values())


def _scaled(d_ffn: int) -> int:
    return round(d_ffn * SCALE)


def _run(connection: duckdb.DuckDBPyConnection, script: str, values: Mapping[str, int | str]) -> None:
    """Run each statement with those of the values that it names."""
    for statement in connection.extract_statements(script):
        named = {name: value for name, value in values.items() if name in statement.named_parameters}
        connection.execute(statement, named)


if __name__ == "__main__":
    main()
