"""Do the tests notice? `python -m tests.mutants [--sample N] [--seed N] [MODULE ...]` tries mutants, one at a time."""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.mutants import sample
from tests.mutants.tables import Mutant, mirrors
from tests.mutants.trial import TestsFail, Trial, copy_tree, limit_memory, load_libraries
from tests.mutants.verdict import Verdict, told


def main(arguments: Sequence[str]) -> None:
    """Try the mutants; the exit status is 1 where too many survive, or one that is not listed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", help="paths, or the beginnings of paths; all of modules.toml if none")
    parser.add_argument("--sample", type=int, default=200, help="how many mutants to try [200]")
    parser.add_argument("--seed", type=int, default=0, help="which of them [0]")
    asked = parser.parse_args(arguments)
    chosen = [module for module in mirrors() if not asked.modules or module.startswith(tuple(asked.modules))]
    if not chosen:
        parser.error(f"no module of modules.toml begins with {' or '.join(asked.modules)}")
    limit_memory()
    load_libraries()
    # Whoever ends this ends the tests that run, and the copy goes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    mutants = sample(chosen, size=asked.sample, seed=asked.seed)
    try:
        survivors = _survivors(mutants)
    except TestsFail as failed:
        sys.exit(str(failed))
    verdict = Verdict(len(mutants), survivors)
    print(f"\n{verdict.told()}")
    sys.exit(verdict.status)


def _survivors(mutants: Sequence[Mutant]) -> list[Mutant]:
    survivors = []
    trials: dict[str, Trial] = {}
    with tempfile.TemporaryDirectory(prefix="neurothek-mutants-") as folder:
        root = copy_tree(Path(folder))
        for number, mutant in enumerate(mutants, 1):
            module = mutant.change.module
            if module not in trials:
                trials[module] = Trial.of(root, mirrors()[module])
            start = time.monotonic()
            outcome = trials[module].outcome(mutant)
            seconds = time.monotonic() - start
            print(f"{number}/{len(mutants)} {outcome} in {seconds:.0f} s: {told(mutant)}", flush=True)
            if outcome == "survived":
                survivors.append(mutant)
    return survivors


if __name__ == "__main__":
    main(sys.argv[1:])
