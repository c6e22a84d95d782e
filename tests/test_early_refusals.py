"""What no model can make right is refused before one is opened, or the libraries that would open it."""

import subprocess
import sys
from pathlib import Path

from tests.support.ingests import measure, open_warehouse, request

ASKED = {
    "''": "has no tokens",
    "'the sea', position=40": "position=40 is not valid; the prompt has at most 9 positions",
    "'the sea', position=-10": "position=-10 is not valid",
    "'d\u00e9j\u00e0', position=9999": "position=9999 is not valid; the prompt has at most 68 positions",
}


def test_no_engine_is_loaded_for_a_prompt_that_cannot_be_read(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    warehouse = open_warehouse(tmp_path / "w.duckdb")
    measure(warehouse, tiny_models["opt"], request((), jobs=("projections",)))
    calls = "".join(
        f"""
try:
    door.trace('tiny-opt', {arguments})
except neurothek.NeurothekError as error:
    print(error, 'torch' in sys.modules)
"""
        for arguments in ASKED
    )
    text = f"import sys, neurothek\ndoor = neurothek.open({str(warehouse.path)!r})\n{calls}"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(ASKED)
    for line, sentence in zip(lines, ASKED.values(), strict=True):
        assert sentence in line
        assert line.endswith("False"), line
