"""The interpreter that runs the tests: every module can be imported on it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("neurothek", "neurothek/catalog", "neurothek/ingest", "neurothek/queries", "neurothek/dashboards")

IMPORTING = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in ("ray", "datasets", "pyspark"):  # extras
            print(name, repr(error))
    except Exception as error:
        print(name, repr(error))
"""


def test_every_module_can_be_imported() -> None:
    """But for pages of the dashboard, which Streamlit runs, and what starts when it is imported."""
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.name != "__main__.py" and "screens" not in path.parts and path.name != "app.py"
    ]
    assert len(names) > 100
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING, *names],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
