"""Files of numbers in a run's folder: whole or not there, and mapped into memory rather than read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.catalog.files import written
from neurothek.catalog.publishing.staging import unwritable_staging


@contextmanager
def refusals_told(folder: Path) -> Iterator[None]:
    """Says of files that are written into a run's folder that the disk does not take them."""
    try:
        yield
    except OSError as error:
        raise unwritable_staging(folder, error) from error


@contextmanager
def staged(path: Path) -> Iterator[Path]:
    """A temporary name to write to, which becomes `path` when it is full."""
    with refusals_told(path.parent), written(path) as temporary:
        yield temporary


def keep(path: Path, array: np.ndarray) -> None:
    """Write an array."""
    with staged(path) as temporary, temporary.open("wb") as file:
        np.save(file, array)


def mapped_array(path: Path) -> Float[Tensor, "rows columns"]:
    """[rows columns] what `keep` wrote; nothing is read before it is used."""
    # Copied where it is written to, which never happens: torch takes no array that cannot be.
    return torch.from_numpy(np.load(path, mmap_mode="c"))
