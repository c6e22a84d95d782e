"""The memory of a server that is asked for page after page."""

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.browser import server_of
from tests.support.visits import run_page

_VISITS = 8

_HEAP_BYTES = 64 << 20
"""Where the GNU C library puts the heap of a thread: at a multiple of this, and all up to the next is the heap's."""

_NAMELESS = 5
"""Fields of a line of /proc/PID/maps that names no file."""

_THREADS = """
import threading
both = threading.Barrier(2)
def allocate():
    blocks = [bytearray(1000) for _ in range(1000)]
    both.wait()
for thread in [threading.Thread(target=allocate) for _ in range(2)]:
    thread.start()
print(open("/proc/self/maps").read())
"""


def test_the_heaps_of_threads_are_noticed() -> None:
    """The control: without the setting, two threads have two."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC", "GLIBC"))}
    maps = subprocess.run([sys.executable, "-c", _THREADS], env=environment, capture_output=True, text=True, check=True)
    assert heaps_of_threads(maps.stdout) != []


def test_a_stack_at_such_an_address_is_no_heap() -> None:
    stack = "7f2bd3fff000-7f2bd4000000 ---p 00000000 00:00 0\n7f2bd4000000-7f2bd4800000 rw-p 00000000 00:00 0\n"
    assert heaps_of_threads(stack) == []
    assert heaps_of_threads(f"{stack}7f2bd4800000-7f2bd4801000 ---p 00000000 00:00 0\n") == []
    assert len(heaps_of_threads(f"{stack}7f2bd4800000-7f2bd8000000 ---p 00000000 00:00 0\n")) == 1


@pytest.mark.long
def test_threads_of_a_server_keep_no_freed_memory_of_their_own(whole_path: Path, tmp_path: Path) -> None:
    """A page runs in a thread; with a heap a thread, 50 pages left 290 MB of freed blocks that fitted no other."""
    with server_of(whole_path, tmp_path / "server.log") as (base, server):
        for number in range(_VISITS):
            page, asked = (
                ("neuron", {"neuron": f"tiny-2m/L1N{number % 4}"}),
                ("search", {"words": f"school {number}"}),
                ("layer", {"model": "tiny-2m", "layer": str(number // 4)}),
                ("", {}),
            )[number % 4]
            run_page(base, page, **asked)
        assert heaps_of_threads(Path(f"/proc/{server}/maps").read_text("utf-8")) == []


def heaps_of_threads(maps: str) -> list[str]:
    """Lines of /proc/PID/maps: what may be written at the start of a heap, followed by what is kept for the rest."""
    heaps, lines = [], [line for line in maps.splitlines() if line]
    for line, following in pairwise([*lines, ""]):
        mapping, rest = line.split(), following.split()
        (start, end), rights = _ends(mapping), mapping[1]
        if len(mapping) != _NAMELESS or not rights.startswith("rw") or start % _HEAP_BYTES != 0:
            continue
        is_kept = len(rest) == _NAMELESS and rest[1].startswith("---") and _ends(rest) == (end, start + _HEAP_BYTES)
        if is_kept or end == start + _HEAP_BYTES:
            heaps.append(line)
    return heaps


def _ends(mapping: list[str]) -> tuple[int, int]:
    start, _, end = mapping[0].partition("-")
    return int(start, 16), int(end, 16)
