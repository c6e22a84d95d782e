"""Counterparts between two models of the OPT-125m shape: made-up lists, against the same question as a join."""

import subprocess
import sys
import time
from collections.abc import Sequence

import duckdb
import numpy as np

from benchmarks.bench_projections import _high_water_mark
from benchmarks.shapes import D_FFN, N_LAYERS, TOKENS
from benchmarks.timing import machine, publish_block, table
from neurothek.ingest.jobs.counterparts.job import CounterpartsJob, Side, compare

K = 50
N_JOINED = 256
CASES = {"all alike": 0.0, "some crowd the lists": 0.8, "few crowd the lists": 1.2}
"""How unevenly tokens come: the token of rank r as often as 1 / r to this power."""

JOIN = """
with shared as (
    select one.neuron, other.neuron as found, sum(1 / log2(1 + greatest(one.rank, other.rank))) as weight
    from one inner join other on other.token = one.token
    group by one.neuron, other.neuron
)
select neuron, found, weight from shared qualify row_number() over (partition by neuron order by weight desc) <= 5
"""


def main(cases: Sequence[str] = tuple(CASES)) -> None:
    """Take the figures and publish them."""
    rows: list[tuple[str, ...]] = []
    for name in cases:
        command = [sys.executable, "-m", "benchmarks.bench_counterparts", name]
        measured = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        shared, seconds, memory, joined = map(float, measured)
        rows.append((name, f"{shared:.1f}", f"{seconds:.0f}", f"{memory / 1e9:.2f}", f"{joined:.0f}"))
    n = N_LAYERS * D_FFN
    text = f"""## Counterparts

Two models of the OPT-125m shape: {n:,} x {n:,} pairs of neurons with {K} of {TOKENS:,} tokens at either end, and 500
random vectors a layer of both. Lists are made up: *shared* is how many tokens two of them have in common, which depends
on how unevenly tokens come (mini-opt-2m and mini-opt-5m: 5.5). Seconds are those of comparing all pairs from either
side; memory is the process's peak, Python and PyTorch included. *As a join* is the same for one side and without random
vectors, as DuckDB does it for {N_JOINED} neurons, times {n // N_JOINED}. The goal is minutes.

{table(("tokens", "shared", "seconds", "GB", "seconds, as a join"), rows)}

{machine()}
"""
    publish_block("counterparts", text)


def _side(skew: float, seed: int) -> Side:
    random = np.random.default_rng(seed)
    shares = np.cumsum(1 / np.arange(1, TOKENS + 1) ** skew)

    def lists(n: int) -> np.ndarray:
        found = np.empty((N_LAYERS * n * 2, K), dtype=np.int32)
        for row in found:
            drawn = np.searchsorted(shares, random.random(20 * K) * shares[-1])
            _, first = np.unique(drawn, return_index=True)
            row[:] = drawn[np.sort(first)[:K]]
        return found.reshape(N_LAYERS, n, 2, K)

    return Side(lists(D_FFN), lists(CounterpartsJob.n_random))


def _shared(one: Side, other: Side) -> float:
    """Mean number of tokens that a pair has in common."""
    counts = [
        [np.bincount(side.all_neurons[:, end].ravel(), minlength=TOKENS).astype(np.float64) for end in (0, 1)]
        for side in (one, other)
    ]
    total = sum(float(mine @ theirs) for mine, theirs in zip(*counts, strict=True))
    return total / len(one.all_neurons) / len(other.all_neurons)


def _joined_seconds(one: Side, other: Side) -> float:
    with duckdb.connect() as connection:
        for name, lists in (("one", one.all_neurons[:N_JOINED]), ("other", other.all_neurons)):
            n = len(lists)
            columns = {
                "neuron": np.repeat(np.arange(n, dtype=np.int32), 2 * K),
                "token": (2 * lists + np.array([0, 1])[:, None]).astype(np.int32).ravel(),
                "rank": np.tile(np.arange(1, K + 1, dtype=np.int16), 2 * n),
            }
            connection.register("handed_over", columns)
            connection.execute(f"create table {name} as select * from handed_over")
        started = time.perf_counter()
        connection.execute(JOIN).fetchall()
        return (time.perf_counter() - started) * N_LAYERS * D_FFN / N_JOINED


def _measure(name: str) -> tuple[float, float, int, float]:
    one, other = (_side(CASES[name], seed) for seed in (1, 2))
    started = time.perf_counter()
    for layer in range(N_LAYERS):
        compare(one, other, layer=layer, n_best=CounterpartsJob.n_best)
    seconds = time.perf_counter() - started
    memory = _high_water_mark()
    return _shared(one, other), seconds, memory, _joined_seconds(one, other)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(*_measure(sys.argv[1]))
    else:
        main()
