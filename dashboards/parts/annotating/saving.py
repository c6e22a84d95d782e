"""A separate process saves what people write on a page: a page never opens a writer."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_WAIT_SECONDS = 10
"""A person waits so long for a page; an ingest publishes in less."""

_PATIENCE_SECONDS = 120
"""On a very busy machine the process may take long to end."""


def save_annotations(warehouse: Path, annotations: Sequence[Mapping[str, Any]]) -> str | None:
    """Publish annotations as `neurothek annotate --stdin` does.

    Args:
        warehouse: the DuckDB file.
        annotations: the fields of each, as the command takes them.

    Returns:
        None when all is saved; else why nothing is, in a sentence.
    """
    request = {"warehouse": str(warehouse), "wait_seconds": _WAIT_SECONDS, "annotations": list(annotations)}
    path = os.pathsep.join(entry for entry in sys.path if entry)
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-m", "neurothek.queries.annotate.child"],
            input=json.dumps(request).encode(),
            capture_output=True,
            env={**os.environ, "PYTHONPATH": path},
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"the process that saves did not answer within {_PATIENCE_SECONDS} s; save again"
    if child.returncode != 0:
        return "the process that saves ended without an answer; save again"
    problem: str | None = json.loads(child.stdout)["problem"]
    return None if problem is None else problem.replace("repeat the command", "save again")
