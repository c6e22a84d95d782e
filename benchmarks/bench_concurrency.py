"""Eight readers in a loop beside publishes of the OPT-125m shape: how long each side waits at most."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bench_publishing import D_FFN, N_LAYERS, K, made_up
from benchmarks.timing import machine, publish_block, table
from neurothek.catalog.publishing.publish import publish
from neurothek.catalog.store.warehouse import Warehouse

N_READERS, N_PUBLISHES = 8, 6
PAUSE_SECONDS = 1.0

READER = """
import json, sys, time
from pathlib import Path
from neurothek.catalog.store.warehouse import Warehouse

warehouse, stop, waits, wrong = Warehouse(Path(sys.argv[1])), Path(sys.argv[2]), [], 0
print("ready", flush=True)
while not stop.exists():
    started = time.monotonic()
    with warehouse.reader() as connection:
        waits.append(time.monotonic() - started)
        (rows,) = connection.execute("select count(*), count(distinct run_id) from store.postings").fetchall()
        wrong += rows != (int(sys.argv[3]), 1)
print(json.dumps({"waits": waits, "wrong": wrong}))
"""


def main() -> None:
    """Take the figures and publish them."""
    publishes, reads, wrong = _measure()
    ordered = sorted(reads)
    rows: list[tuple[str, ...]] = [
        ("publishes, from asking to done", str(len(publishes)), f"{_median(publishes):.2f}", f"{max(publishes):.2f}"),
        ("reads, from asking to reading", f"{len(reads):,}", f"{_median(ordered):.2f}", f"{max(reads):.2f}"),
    ]
    text = f"""## Readers beside publishes

{N_READERS} processes that open the warehouse, count {N_LAYERS * D_FFN * 2 * K:,} postings and close it, in a loop,
beside publishes, a second apart, that replace those postings. No publish and no read failed; reads that saw anything
but one whole publication: {wrong}.

{table(("what", "how many", "median wait, seconds", "longest, seconds"), rows)}

{machine()}
"""
    publish_block("concurrency", text)


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def _measure() -> tuple[list[float], list[float], int]:
    with TemporaryDirectory() as folder:
        warehouse, stop = Warehouse(Path(folder) / "w.duckdb"), Path(folder) / "stop"
        with made_up(warehouse) as publication:
            publish(warehouse, publication)
            count = str(N_LAYERS * D_FFN * 2 * K)
            command = [sys.executable, "-c", READER, str(warehouse.path), str(stop), count]
            readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(N_READERS)]
            try:
                for reader in readers:
                    assert reader.stdout is not None
                    assert reader.stdout.readline() == "ready\n"
                publishes = []
                for _ in range(N_PUBLISHES):
                    time.sleep(PAUSE_SECONDS)
                    started = time.monotonic()
                    publish(warehouse, publication)
                    publishes.append(time.monotonic() - started)
            finally:
                stop.touch()
                reports = [json.loads(reader.communicate(timeout=120)[0]) for reader in readers]
    assert all(reader.returncode == 0 for reader in readers)
    waits = [wait for report in reports for wait in report["waits"]]
    return publishes, waits, sum(report["wrong"] for report in reports)


if __name__ == "__main__":
    main()
