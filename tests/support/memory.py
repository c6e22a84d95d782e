"""The anonymous memory that a process adds to its own after its imports, as the system counts it."""

import multiprocessing
import time
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest

from neurothek.ingest.request import IngestRequest
from tests.support.crash import PATIENCE_SECONDS, PRELOADED

_SAMPLE_SECONDS = 0.002


def _measure(ready: Connection, warehouse: Path, model: Path, asked: IngestRequest) -> None:
    # Here, because the parent needs none of it.
    import torch  # noqa: PLC0415

    from tests.support import ingests  # noqa: PLC0415

    torch.set_num_threads(1)
    ready.send("ready")
    ready.recv()
    ingests.measure(ingests.open_warehouse(warehouse), model, asked)


def peak_bytes(warehouse: Path, model: Path, asked: IngestRequest) -> int:
    """Measure a model in a child, and return the most that it added to its anonymous memory."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    ours, theirs = context.Pipe()
    child = context.Process(target=_measure, args=(theirs, warehouse, model, asked), daemon=True)
    child.start()
    # Else a child that dies would leave its end open here, and be waited for without end.
    theirs.close()
    _await(ours, child)
    assert child.pid is not None
    before = peak = _anonymous_bytes(child.pid)
    ours.send("go")
    while child.is_alive():
        peak = max(peak, _anonymous_bytes(child.pid))
        time.sleep(_SAMPLE_SECONDS)
    child.join()
    assert child.exitcode == 0
    return peak - before


def _await(ours: Connection, child: ForkServerProcess) -> None:
    """Wait until the child is ready; a child that ends before is told with its exit code."""
    try:
        assert ours.poll(PATIENCE_SECONDS), "the child does not begin"
        assert ours.recv() == "ready"
    except EOFError:
        child.join(PATIENCE_SECONDS)
        pytest.fail(f"the child ended with {child.exitcode} before it began")


def _anonymous_bytes(pid: int) -> int:
    """RssAnon of /proc/PID/status; 0 of a process that just ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon")), 0)
