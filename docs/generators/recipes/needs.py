"""What measuring a published model takes, computed as `ingest --plan` computes it, and how a recipe says it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from neurothek.catalog.problems import LimitExceeded
from neurothek.ingest.forward.footprint import Extent
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.planning.sweep_plan import Budget, ModelSize, SweepPlan, choose
from neurothek.ingest.planning.timing import forward_flops
from neurothek.ingest.request import DEFAULT_BATCH_TOKENS, LONGEST_SEQUENCE

# Estimates count what each thread holds.
THREADS = 8

ITEMSIZE = 4
"""Of float32, which all recipes measure in."""

IDS = 64
"""Ids of a sentence that estimates reckon with: sentences of prose have about half as many."""

FLOPS_A_SECOND = 1e13
"""The speed at which recipes say hours: about what a graphics card sustains in float32."""

OVERHEAD = 1.25
"""Watching and folding beside the bare forward pass: the middle of 1.1 to 1.4 (docs/benchmarks.md)."""


@dataclass(frozen=True)
class Text:
    """How much text is read."""

    n_domains: int  # domains
    tokens: int  # ids of each

    @property
    def n_tokens(self) -> int:
        """Ids of all domains."""
        return self.n_domains * self.tokens

    @property
    def extent(self) -> Extent:
        """Its extent in sequences of full length."""
        return Extent.full(self.n_tokens, sequence_length=LONGEST_SEQUENCE, n_domains=self.n_domains)


def plans(
    shape: Shape, extent: Extent, *, jobs: Sequence[str], weights_jobs: Sequence[str] = ()
) -> tuple[SweepPlan, SweepPlan]:
    """The plan of a machine with all the memory one could want, and the one that takes the least."""
    found, budget = [], 1 << 60
    while True:
        try:
            found.append(
                choose(
                    ModelSize.published(shape, itemsize=ITEMSIZE),
                    extent,
                    jobs=jobs,
                    weights_jobs=weights_jobs,
                    batch_tokens=DEFAULT_BATCH_TOKENS,
                    budget=Budget(budget),
                )
            )
        except LimitExceeded:
            return found[0], found[-1]
        budget = found[-1].memory_bytes - 1


def weights_bytes(shape: Shape) -> tuple[int, int]:
    """Bytes of all blocks, and of one."""
    size = ModelSize.published(shape, itemsize=ITEMSIZE)
    return size.all_bytes, size.block_bytes


def sentences_flops(shape: Shape, n_sentences: int) -> int:
    """Operations of one pass of so many sentences through all blocks."""
    return forward_flops(shape, Extent(n_sentences, n_sentences * IDS, IDS, 1, 1))


@contextmanager
def threads() -> Iterator[None]:
    """As many threads as the estimates are for, whatever the machine has."""
    found = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    try:
        yield
    finally:
        torch.set_num_threads(found)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, words: Sequence[int] = (0,)) -> str:
    """A table whose columns hold numbers, but for those of `words`."""
    rule = "|".join("---" if column in words else "---:" for column in range(len(header)))
    return "\n".join([f"| {' | '.join(header)} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in rows)])


def gb(size: int) -> str:
    """A size as a table says it."""
    return f"{size / 1e9:,.1f} GB"


def flops(operations: int) -> str:
    """A number of operations as a table says it."""
    return f"{operations:.1e} FLOPs"


def hours(operations: float) -> str:
    """How long so many operations take at `FLOPS_A_SECOND`."""
    seconds = operations / FLOPS_A_SECOND
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:,.1f} h"
