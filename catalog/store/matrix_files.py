"""A kept matrix as a file: written, and read once it is proven to be the one that was kept."""

from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from neurothek.catalog.errors import NeurothekError
from neurothek.catalog.files import sha256_of
from neurothek.catalog.store.matrices import KeptMap, is_there

TENSOR = "matrix"
"""Name of the matrix within its file."""


class MapMissing(NeurothekError):
    """A matrix that the warehouse knows of is not beside it."""

    def __init__(self, path: Path, again: str) -> None:
        folder = path.parent.parent
        super().__init__(
            f"the matrix {path} is missing: a copied warehouse needs its folder {folder.name} beside it; copy that"
            f" folder to {folder}, or make it again with `{again}`"
        )


class MapChanged(NeurothekError):
    """A file beside the warehouse is not the one that was kept."""

    def __init__(self, path: Path, again: str) -> None:
        super().__init__(
            f"{path} is not the matrix that was kept: it was changed or damaged; delete it and make it again with"
            f" `{again}`"
        )


def as_file(matrix: np.ndarray, *, source: int, target: int) -> bytes:
    """A matrix in the format safetensors."""
    # One entry alone: the order of several would change with every process, and the fingerprint with it.
    content: bytes = save({TENSOR: matrix}, {"states": f"{source} to {target}"})
    return content


def matrix_of(one: KeptMap, folder: Path) -> np.ndarray:
    """float32 [d_model d_model], A: a state h becomes A h.

    Raises:
        MapMissing, MapChanged: the file is not there, or is not the one that was kept.
    """
    path = one.path(folder)
    if not is_there(one, folder):
        raise MapMissing(path, one.again())
    if sha256_of(path) != one.sha256:
        raise MapChanged(path, one.again())
    try:
        matrix: np.ndarray = load(path.read_bytes())[TENSOR]
    except (SafetensorError, KeyError) as error:
        raise MapChanged(path, one.again()) from error
    return matrix
