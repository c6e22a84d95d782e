"""Files of numbers in a run's folder: whole or not there, and mapped into memory rather than read."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from catalog.staging import StagingFull


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A temporary name to write to, which becomes `path` when it is full.

    Raises:
        StagingFull: the disk refuses.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise StagingFull(path.parent, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def keep(path: Path, array: np.ndarray) -> None:
    """Write an array.

    Raises:
        StagingFull: the disk refuses.
    """
    with written(path) as temporary, temporary.open("wb") as file:
        np.save(file, array)


def mapped(path: Path) -> Float[Tensor, "rows columns"]:
    """[rows columns] what `keep` wrote; nothing is read before it is used."""
    # Copied where it is written to, which never happens: torch takes no array that cannot be.
    return torch.from_numpy(np.load(path, mmap_mode="c"))
