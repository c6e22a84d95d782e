"""Run the benchmarks, or those named: `python -m benchmarks projections sweep`."""

import importlib
import sys
from pathlib import Path

PREFIX = "bench_"


def main(names: list[str]) -> None:
    """Each benchmark writes its own block of docs/benchmarks.md."""
    known = sorted(path.stem.removeprefix(PREFIX) for path in Path(__file__).parent.glob(f"{PREFIX}*.py"))
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.exit(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
    for name in names or known:
        importlib.import_module(f"benchmarks.{PREFIX}{name}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
