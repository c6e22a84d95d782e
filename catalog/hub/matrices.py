"""Matrices of shortcuts of a published catalog: fetched when a question needs them, and kept in the cache folder."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from neurothek.catalog.advice import command_line
from neurothek.catalog.files import written
from neurothek.catalog.hub.published import MOST_MATRIX_BYTES, invalid_catalog
from neurothek.catalog.problems import Unavailable
from neurothek.catalog.spelling import one_line

if TYPE_CHECKING:
    from pathlib import Path

    from neurothek.catalog.hub.catalog import Opened
    from neurothek.catalog.store.matrices import StoredMatrix

FOLDER = PurePosixPath("shortcuts")
"""Where matrices lie in a catalog."""


def published_matrix(opened: Opened, one: StoredMatrix, kept: Path) -> bytes:
    """The file of a matrix, which is the one that the catalog's table names.

    Args:
        opened: the catalog.
        one: what its table says of the matrix.
        kept: the folder that keeps what was fetched.
    """
    path = str(one.path(FOLDER))
    if path not in opened.published.manifest.maps:
        copy = command_line("copy", str(opened.address), "FILE")
        raise Unavailable(
            f"the matrix of {one_line(one.model)} from state {one.source_state} to state {one.target_state} was not"
            f" published at {one_line(str(opened.address))}",
            f"trace without the lens mat, or bring the catalog into a file with `{copy}` and measure shortcuts there",
            what="matrix",
            name=path,
        )
    here = one.path(kept)
    with contextlib.suppress(OSError):
        content = here.read_bytes()
        if _is(content, one):
            return content
    size, _ = opened.origin.tag(path)
    if one.n_bytes > MOST_MATRIX_BYTES or size not in (None, one.n_bytes):
        raise invalid_catalog(opened.address, f"its {path} is not as long as its table says")
    content = opened.origin.read(path, 0, one.n_bytes)
    if not _is(content, one):
        raise invalid_catalog(opened.address, f"its {path} is not the matrix that its table names")
    with contextlib.suppress(OSError):
        here.parent.mkdir(parents=True, exist_ok=True)
        with written(here) as hidden:
            hidden.write_bytes(content)
    return content


def _is(content: bytes, one: StoredMatrix) -> bool:
    return len(content) == one.n_bytes and hashlib.sha256(content).hexdigest() == one.sha256
