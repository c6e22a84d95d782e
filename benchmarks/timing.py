"""Interleaved timing: every contender runs once a round, so that a busy moment of the machine meets all of them."""

import platform
import re
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"

INTRODUCTION = """# Benchmarks

Written by `make bench`: ratios taken in one run on one machine. Each contender runs once a round, and the best of its
rounds counts, since whatever else the machine does only ever adds time.
"""


def best_seconds(
    contenders: Mapping[str, Callable[[], object]], *, rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """The shortest time of each contender by the clock."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, run in contenders.items():
            started = clock()
            run()
            best[name] = min(best[name], clock() - started)
    return best


def median_seconds(
    contenders: Mapping[str, Callable[[], object]], *, rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """The median time of each contender by the clock, after a round that does not count."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, run in contenders.items():
            started = clock()
            run()
            if number:
                taken[name].append(clock() - started)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table whose first column is text and whose others are numbers."""
    lines = [f"| {' | '.join(header)} |", "|---|" + "---:|" * (len(header) - 1)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


_SIDE, _PRODUCTS = 2_048, 5


def machine() -> str:
    """What the figures were taken on, and how fast it multiplied matrices at the end: one name is not one speed."""
    factor, product = torch.randn(_SIDE, _SIDE), torch.empty(_SIDE, _SIDE)
    seconds = best_seconds({"product": lambda: torch.mm(factor, factor, out=product)}, rounds=_PRODUCTS)["product"]
    return (
        f"{_processor()}, {_threads(torch.get_num_threads())}, {2 * _SIDE**3 / seconds / 1e9:,.0f} GFLOP/s in a bare "
        f"product, Python {platform.python_version()}, PyTorch {torch.__version__}, {platform.system()}"
    )


def _threads(number: int) -> str:
    return "1 thread" if number == 1 else f"{number} threads"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        found = re.search(r"model name\s*: (.*)", info.read_text())
        if found:
            return found[1].strip()
    return platform.processor() or platform.machine()


def publish_block(name: str, text: str, *, path: Path = PAGE) -> None:
    """Put `text` in place of the block `name` of docs/benchmarks.md or another page, or at its end."""
    page = path.read_text("utf-8") if path.exists() else INTRODUCTION
    block = f"<!-- {name} -->\n{text.strip()}\n<!-- end of {name} -->"
    pattern = re.compile(rf"<!-- {name} -->.*?<!-- end of {name} -->", re.DOTALL)
    page = pattern.sub(lambda _: block, page) if pattern.search(page) else f"{page.rstrip()}\n\n{block}\n"
    path.write_text(page, "utf-8")
    print(text, flush=True)
