"""Children that measure a small model or run a command, and are killed by the clock or at a call, or lack disk."""

import json
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    # The test that starts children imports neither torch nor what needs it.
    from neurothek.ingest.forward.sweep import Order

# What a child imports is imported once, by the server that all children are forked from.
PRELOADED = (
    "torch",
    "neurothek.ingest.pipeline.ingest_model",
    "neurothek.catalog.exchange.imports",
    "neurothek.catalog.exchange.merging",
    "neurothek.queries.annotate.annotations",
    "neurothek.queries.views.install",
    "pandas",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.opt.modeling_opt",
    "tests.support.ingests",
    "tests.support.crash",
)

OURS = tuple(
    str(Path(__file__).parents[2] / "neurothek" / package) for package in ("catalog", "cli", "ingest", "queries")
)

CHUNK_TOKENS = 300
POLL_SECONDS = 0.001
PATIENCE_SECONDS = 60.0

Arena = Literal["measuring", "publish", "_create", "command", "writing", "committed"]
"""Between the first staged shard and the end; inside a publishing; inside the making of the empty warehouse; all of a
command; from its first lease of a writer to the end; from its commit to the end."""

BEGINNINGS: dict[str, Arena] = {
    **dict.fromkeys(("annotate", "import_", "merge"), "command"),
    "writer": "writing",
    "tidy": "committed",
}
"""Functions with whose first call an arena begins that lasts to the end."""


@dataclass(frozen=True)
class Task:
    """What a child is to do: one `ingest` of one model, its text swept in this order."""

    warehouse: Path
    model: Path
    corpora: tuple[str, ...]
    order: "Order" = "chunks"


@dataclass(frozen=True)
class Command:
    """What a child is to do: one command, `stdin` being the file that it reads."""

    arguments: tuple[str, ...]
    stdin: Path


@dataclass(frozen=True)
class Moment:
    """When a child kills itself: at the call number `call` within the arena, and `delay` seconds after it."""

    arena: Arena
    call: int
    delay_seconds: float = 0.0


@dataclass
class _Profile:
    """Counts by arena what our functions call, begin and end, and kills at the moment chosen."""

    moment: Moment | None
    calls: Counter[str] = field(default_factory=Counter)
    inside: Counter[str] = field(default_factory=Counter)
    begun: dict[Arena, float] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if not frame.f_code.co_filename.startswith(OURS):
            return
        name = frame.f_code.co_name
        if event in ("call", "return") and name in ("publish", "_create"):
            self.inside[name] += 1 if event == "call" else -1
        arena = _begun_by(event, name)
        if arena is not None:
            self.begun.setdefault(arena, time.monotonic())
        for here in (*self.begun, *(name for name, depth in self.inside.items() if depth)):
            self.calls[here] += 1
            self._kill_if_due(here)

    def tell(self, counts: Path | None) -> None:
        """Write how many calls each arena had, and for how many seconds those went on that last to the end."""
        ended = time.monotonic()
        seconds = {arena: ended - started for arena, started in self.begun.items()}
        if counts is not None:
            counts.write_text(json.dumps({"calls": self.calls, "seconds": seconds}))

    def _kill_if_due(self, arena: str) -> None:
        moment = self.moment
        if moment is None or (arena, self.calls[arena]) != (moment.arena, moment.call):
            return
        if not moment.delay_seconds:
            os.kill(os.getpid(), signal.SIGKILL)
        # The libraries let other threads run while they work: this one strikes in the middle of it.
        timer = threading.Timer(moment.delay_seconds, os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()


def _begun_by(event: str, name: str) -> Arena | None:
    """The arena that lasts from here to the end."""
    if event == "return":
        return "measuring" if name == "write" else None
    return BEGINNINGS.get(name) if event == "call" else None


def _measure(task: Task, moment: Moment | None, counts: Path | None) -> None:
    # Here, because the test that starts children needs none of it.
    import pytest  # noqa: PLC0415
    import torch  # noqa: PLC0415

    from neurothek.ingest.corpora import corpus  # noqa: PLC0415
    from neurothek.ingest.request import DEFAULT_JOBS  # noqa: PLC0415
    from tests.support import ingests  # noqa: PLC0415

    torch.set_num_threads(1)
    corpus.CHUNK_TOKENS = CHUNK_TOKENS
    profile = _Profile(moment)
    if moment is not None or counts is not None:
        sys.setprofile(profile)
    asked = ingests.request(task.corpora, jobs=DEFAULT_JOBS)
    with pytest.MonkeyPatch.context() as patch:
        ingests.force(patch, task.order, is_resident=task.order == "chunks")
        ingests.measure(ingests.open_warehouse(task.warehouse), task.model, asked)
    sys.setprofile(None)
    profile.tell(counts)


def _obey(command: Command, moment: Moment | None, counts: Path | None) -> None:
    import neurothek  # noqa: PLC0415

    profile = _Profile(moment)
    with command.stdin.open() as sys.stdin:
        sys.setprofile(profile)
        try:
            neurothek.main(list(command.arguments))
        finally:
            sys.setprofile(None)
            profile.tell(counts)


def start(task: Task | Command, *, moment: Moment | None = None, counts: Path | None = None) -> ForkServerProcess:
    """Start a child; it kills itself at `moment`, or writes what `_Profile.tell` does to `counts`."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    work = _measure if isinstance(task, Task) else _obey
    child = context.Process(target=work, args=(task, moment, counts), daemon=True)
    child.start()
    return child


def finish(child: ForkServerProcess) -> int:
    """The exit code of a child that is left alone."""
    child.join(PATIENCE_SECONDS)
    assert child.exitcode is not None, "the child does not end"
    return child.exitcode


def kill_after(child: ForkServerProcess, task: Task, seconds: float) -> None:
    """Kill a child so long after its first staged shard."""
    _wait(lambda: _has_shards(task), child)
    time.sleep(seconds)
    child.kill()


def seconds_from_first_shard(child: ForkServerProcess, task: Task) -> float:
    """How long a child that is left alone goes on after its first staged shard."""
    _wait(lambda: _has_shards(task), child)
    started = time.monotonic()
    assert finish(child) == 0
    return time.monotonic() - started


def _has_shards(task: Task) -> bool:
    return any(task.warehouse.with_name(f"{task.warehouse.name}.staging").glob("*/*.parquet"))


def _wait(condition: Callable[[], bool], child: ForkServerProcess) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition() and child.is_alive():
        assert time.monotonic() < deadline, "the child stages nothing"
        time.sleep(POLL_SECONDS)


def _command(arguments: Sequence[str], file_bytes: int | None, stderr: Path) -> None:
    import neurothek  # noqa: PLC0415

    if file_bytes is not None:
        # No file may grow beyond this: what a full disk looks like to a process.
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    # Opened before the limit would matter, and short.
    with stderr.open("w") as file:
        sys.stderr = file
        neurothek.main(list(arguments))


def run_command(arguments: Sequence[str], *, file_bytes: int | None, stderr: Path) -> int:
    """The exit code of a command in a child, on a disk that holds no file larger than `file_bytes`."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    child = context.Process(target=_command, args=(arguments, file_bytes, stderr), daemon=True)
    child.start()
    return finish(child)
