"""Matrices of shortcuts of a published catalog: fetched when a question needs them, and kept in the cache folder."""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from neurothek.catalog.advice import command_line
from neurothek.catalog.files import written
from neurothek.catalog.hub.published import MOST_MATRIX_BYTES, invalid_catalog
from neurothek.catalog.problems import Unavailable
from neurothek.catalog.spelling import one_line
from neurothek.catalog.store.matrices import is_unchanged

if TYPE_CHECKING:
    from pathlib import Path

    from neurothek.catalog.hub.catalog import Opened
    from neurothek.catalog.store.matrices import StoredMatrix

FOLDER = PurePosixPath("shortcuts")
"""Where matrices lie in a catalog."""


def fetch_matrix(opened: Opened, one: StoredMatrix, folder: Path) -> None:
    """Fetch the file of a matrix, unless it is there and the one that the catalog's table names.

    Args:
        opened: the catalog.
        one: what its table says of the matrix.
        folder: where matrices that were fetched lie.
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
    if is_unchanged(one, folder):
        return
    size, _ = opened.origin.tag(path)
    if one.n_bytes > MOST_MATRIX_BYTES or size not in (None, one.n_bytes):
        raise invalid_catalog(opened.address, f"its {path} is not as long as its table says")
    content = opened.origin.read(path, 0, one.n_bytes)
    if len(content) != one.n_bytes or hashlib.sha256(content).hexdigest() != one.sha256:
        raise invalid_catalog(opened.address, f"its {path} is not the matrix that its table names")
    target = one.path(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    with written(target) as hidden:
        hidden.write_bytes(content)
