"""Run the benchmarks, or those named: `python -m benchmarks projections sweep`, `... models --shape gemma3-270m`."""

import argparse
import importlib
import sys
from pathlib import Path

PREFIX = "bench_"
SHAPED = "models"
"""The benchmark that takes a shape."""


def main(arguments: list[str]) -> None:
    """Each benchmark writes its own block of docs/benchmarks.md."""
    known = sorted(path.stem.removeprefix(PREFIX) for path in Path(__file__).parent.glob(f"{PREFIX}*.py"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(known)}")
    parser.add_argument("--shape", choices=("smollm2", "gemma3-270m", "opt-125m", "opt-1.3b"))
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.names) - set(known))
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
    if given.shape and given.names not in ([], [SHAPED]):
        parser.error(f"only the benchmark {SHAPED} takes a shape")
    for name in [SHAPED] if given.shape else given.names or known:
        module = importlib.import_module(f"benchmarks.{PREFIX}{name}")
        if given.shape:
            module.main(given.shape)
        else:
            module.main()


if __name__ == "__main__":
    main(sys.argv[1:])
