"""The memory of a GPU: how much of it work may plan with, and a sentence where there is none left."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from neurothek.catalog.problems import LimitExceeded
from neurothek.ingest.amounts import in_words

OF_A_GPU = 0.9
"""Share of a GPU's memory that work plans with: its driver and the allocator take the rest."""


def planned_gpu_bytes(device: torch.device) -> int | None:
    """The memory of a GPU that work may plan with, of what nobody holds there; None where the device is none."""
    return int(OF_A_GPU * torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else None


@contextmanager
def gpu_memory_told(work: str) -> Iterator[None]:
    """Raise `LimitExceeded` where PyTorch finds no memory on a GPU; `work` says what for, as "measuring activity"."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise _used_up(work) from error


def _used_up(work: str) -> LimitExceeded:
    # The GPUs of other makers say nothing of theirs.
    free, total = torch.cuda.mem_get_info() if torch.cuda.is_available() else (0, None)
    available = "" if total is None else f": of its {in_words(total)}, {in_words(free)} are free"
    return LimitExceeded(
        f"{work} needs more memory than the GPU has{available}",
        "make --batch-tokens smaller, end what else runs there, or use --dtype bfloat16 or --device cpu",
        what="gpu memory",
        limit=total,
    )
