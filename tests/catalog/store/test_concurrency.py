"""Eight readers in a loop beside publishes: no error, no mixture of two publications, and every publish gets in."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from neurothek.catalog.store.warehouse import Warehouse
from tests.support import publications as made

N_READERS, N_PUBLISHES = 8, 6
LONGEST_WAIT_SECONDS = 30

READER = """
import json, sys, time
from pathlib import Path
from neurothek.catalog.store.warehouse import Warehouse

warehouse, stop = Warehouse(Path(sys.argv[1])), Path(sys.argv[2])
reads, longest, mixtures = 0, 0.0, 0
print("ready", flush=True)
while not stop.exists():
    started = time.monotonic()
    with warehouse.reader() as connection:
        longest = max(longest, time.monotonic() - started)
        rows = connection.execute(
            "select count(*), count(distinct run_id), min(run_id), (select min(run_id) from store.projections),"
            " (select max(run_id) from store.runs) from store.postings"
        ).fetchall()
    reads += 1
    count, runs, posted, projected, latest = rows[0]
    mixtures += not (count == 96 and runs == 1 and posted == projected == latest)
print(json.dumps({"reads": reads, "longest": longest, "mixtures": mixtures}))
"""


@pytest.mark.long
def test_readers_and_publishers_do_not_starve_each_other(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    made.publish_job(warehouse, "projections", made.weights_frames())
    stop = tmp_path / "stop"
    command = [sys.executable, "-c", READER, str(warehouse.path), str(stop)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(N_READERS)]
    try:
        for reader in readers:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "ready\n"
        waits = []
        for number in range(N_PUBLISHES):
            started = time.monotonic()
            made.publish_job(warehouse, "projections", made.weights_frames(number), key=f"run {number}")
            waits.append(time.monotonic() - started)
    finally:
        stop.touch()
        outputs = [reader.communicate(timeout=60)[0] for reader in readers]
    reports = [json.loads(output) for output in outputs]
    assert [reader.returncode for reader in readers] == [0] * N_READERS
    assert all(report["mixtures"] == 0 and report["reads"] > 0 for report in reports)
    print(f"longest publish {max(waits):.2f} s, longest read {max(report['longest'] for report in reports):.2f} s")
    assert max(waits) < LONGEST_WAIT_SECONDS
