"""Notes in the user's cache folder; a cache that cannot be read or written is ignored."""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from neurothek.catalog.files import written


def read_notes(name: str) -> dict[str, Any]:
    """What a file of the cache folder holds; nothing where it is not there, or no JSON object."""
    try:
        notes = json.loads(_path(name).read_bytes())
    except (OSError, ValueError):
        return {}
    return notes if isinstance(notes, dict) else {}


def write_notes(name: str, notes: Mapping[str, Any]) -> None:
    """Put a whole file in the place of the one before."""
    path = _path(name)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with written(path) as hidden:
            hidden.write_text(json.dumps(notes))


def _path(name: str) -> Path:
    return user_cache_path("neurothek", appauthor=False) / name
