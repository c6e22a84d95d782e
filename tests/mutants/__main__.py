"""Do the tests notice? `python -m tests.mutants [--sample N] [--seed N] [MODULE ...]` tries mutants, one at a time."""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.mutants import Mutant, sample
from tests.mutants.tables import EQUIVALENT, ROOT, equivalents, mirrors
from tests.mutants.trial import TestsFail, Trial, copy_tree, limit_memory, load_libraries

LEAST_RATE = 0.9


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
    sys.exit(_judge(mutants, survivors))


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
            print(f"{number}/{len(mutants)} {outcome} in {seconds:.0f} s: {_told(mutant)}", flush=True)
            if outcome == "survived":
                survivors.append(mutant)
    return survivors


def _judge(mutants: Sequence[Mutant], survivors: Sequence[Mutant]) -> int:
    listed = equivalents()
    unlisted = [mutant for mutant in survivors if mutant.change not in listed]
    rate = 1 - len(survivors) / len(mutants)
    print(
        f"\n{len(mutants)} mutants: {len(mutants) - len(survivors)} killed ({rate:.1%}), {len(survivors)} survived, "
        f"{len(survivors) - len(unlisted)} of them listed as equivalent"
    )
    for mutant in survivors:
        print(f"- {_told(mutant)}\n  {listed.get(mutant.change, 'NOT LISTED')}")
    if unlisted:
        print(f"\nMake a test fail for each that is not listed, or list it in {EQUIVALENT.relative_to(ROOT)}.")
    if rate < LEAST_RATE:
        print(f"\nThe tests notice too little: at least {LEAST_RATE:.0%} of the mutants have to be killed.")
    return int(bool(unlisted) or rate < LEAST_RATE)


def _told(mutant: Mutant) -> str:
    change = mutant.change
    return f"{change.module}:{mutant.line}: {change.before}  ->  {change.after or '(nothing)'}"


if __name__ == "__main__":
    main(sys.argv[1:])
