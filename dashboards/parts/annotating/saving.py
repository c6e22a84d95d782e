"""A separate process saves what people write on a page: a page never opens a writer."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neurothek.catalog.advice import about
from neurothek.catalog.problems import Busy, NeurothekError

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
    fields: dict[str, Any] | None = json.loads(child.stdout)["error"]
    if fields is None:
        return None
    error = NeurothekError.from_dict(fields)
    # Who waits for another process has no command to repeat here.
    sentence = f"{error.message}; wait for that, then save again" if isinstance(error, Busy) else str(error)
    return about(sentence, warehouse)
