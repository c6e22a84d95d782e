"""A kept matrix as a file: written, and read once it is proven to be the one that was kept."""

from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from neurothek.catalog.files import sha256_of
from neurothek.catalog.problems import Damaged, Unavailable
from neurothek.catalog.store.matrices import StoredMatrix, is_there

TENSOR = "matrix"
"""Name of the matrix within its file."""


def as_file(matrix: np.ndarray, *, source: int, target: int) -> bytes:
    """A matrix in the format safetensors."""
    # One entry alone: the order of several would change with every process, and the fingerprint with it.
    content: bytes = save({TENSOR: matrix}, {"states": f"{source} to {target}"})
    return content


def matrix_of(one: StoredMatrix, folder: Path) -> np.ndarray:
    """float32 [d_model d_model], A: a state h becomes A h."""
    path = one.path(folder)
    if not is_there(one, folder):
        beside = path.parent.parent
        raise Unavailable(
            f"the matrix {path} is missing: a copied warehouse needs its folder {beside.name} beside it",
            f"copy that folder to {beside}, or recreate it with `{one.again()}`",
            what="matrix",
            name=path,
        )
    if sha256_of(path) != one.sha256:
        raise _changed(path, one)
    try:
        matrix: np.ndarray = load(path.read_bytes())[TENSOR]
    except (SafetensorError, KeyError) as error:
        raise _changed(path, one) from error
    return matrix


def _changed(path: Path, one: StoredMatrix) -> Damaged:
    """A file beside the warehouse is not the one that was kept."""
    return Damaged(
        f"{path} is not the stored matrix: it was changed or damaged",
        f"delete it and recreate it with `{one.again()}`",
        path=path,
        why="changed or damaged",
    )
