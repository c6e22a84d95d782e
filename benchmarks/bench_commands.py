"""How long commands compute that people wait for: of a small model, from starting Python to the end of the process."""

import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.timing import machine, publish_block, table

MODEL = "mini-opt-2m"
PROMPT = "The school opened in"
TOKENS = "5000"
ROUNDS = 5
UNIT = "importing torch"

INGEST = ("ingest", MODEL, "--job", "activity", "--job", "projections", "--tokens", TOKENS)

COMMANDS: Mapping[str, tuple[Sequence[str], int]] = {
    "`--help`": (("--help",), 0),
    "an argument that is wrong": (("ingest", "./nowhere"), 2),
    "a model that is not supported": (("ingest", "./experts"), 2),
    "a text that is measured already": (INGEST, 0),
    "`search school`": (("search", "school"), 0),
    "`search school --score`": (("search", "school", "--score", "--model", MODEL), 0),
    "`neuron`": (("neuron", f"{MODEL}/L1N3"), 0),
    "`switch`": (("switch", MODEL, PROMPT, "L1N3"), 0),
    "`trace`": (("trace", MODEL, PROMPT), 0),
}
"""What is asked, and how it ends."""


def main() -> None:
    """Take the figures and publish them."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "experts").mkdir()
        (Path(folder) / "experts" / "config.json").write_text('{"model_type": "phimoe"}')
        _cpu_seconds(_command(*INGEST), Path(folder))
        best = dict.fromkeys((UNIT, *COMMANDS), float("inf"))
        for _ in range(ROUNDS):
            best[UNIT] = min(best[UNIT], _cpu_seconds([sys.executable, "-c", "import torch"], Path(folder)))
            for name, (arguments, status) in COMMANDS.items():
                best[name] = min(best[name], _cpu_seconds(_command(*arguments), Path(folder), status=status))
    rows: list[tuple[str, ...]] = [
        (name, f"{seconds:.2f}", f"{seconds / best[UNIT]:.2f}") for name, seconds in best.items()
    ]
    text = f"""## Commands that people wait for

Seconds of one thread, from starting Python to the end of the process, of {MODEL} measured on {TOKENS} tokens a domain;
the least of {ROUNDS}. Whatever runs a model imports torch, so that is the unit. `tests/test_quick_answers.py` and
`tests/test_told_at_once.py` say which libraries a command may load.

{table(("what", "seconds", f"x {UNIT}"), rows)}

{machine()}
"""
    publish_block("commands", text)


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "import neurothek; neurothek.main()", *arguments]


def _cpu_seconds(command: Sequence[str], folder: Path, *, status: int = 0) -> float:
    """What a process computes, by the user's and the system's clock: others on the machine add less to it."""
    environment = {**os.environ, "NEUROTHEK_WAREHOUSE": str(folder / "w.duckdb"), "OMP_NUM_THREADS": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert found.returncode == status, found.stderr
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
