"""Notes in the user's cache folder; a cache that cannot be read or written is ignored."""

import contextlib
import hashlib
import json
import os
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


def read_content(name: str) -> bytes | None:
    """What `write_content` put there, and nothing else; it counts as used from now on."""
    try:
        digest, _, content = _path(name).read_bytes().partition(b"\n")
    except OSError:
        return None
    with contextlib.suppress(OSError):
        os.utime(_path(name))
    return content if digest == _digest(content) else None


def write_content(name: str, content: bytes, *, most: int) -> None:
    """Put a whole file into a folder of the cache, of which only the `most` files stay that were used last."""
    path = _path(name)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with written(path) as hidden:
            hidden.write_bytes(_digest(content) + b"\n" + content)
        for other in sorted(path.parent.iterdir(), key=lambda other: other.stat().st_mtime_ns)[:-most]:
            other.unlink(missing_ok=True)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _path(name: str) -> Path:
    return user_cache_path("neurothek", appauthor=False) / name
