"""Where a model's layers are: all of them with every worker, or some with each of a row of workers."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.planning.sweep_plan import plan_sweep
from neurothek.ingest.planning.work import ModelWork

LANE_CHUNKS = 2
"""Chunks on their way for each worker of a pipeline: one that it works on, one that waits."""


@dataclass(frozen=True)
class Placement:
    """How workers share the layers of a model."""

    # the layers of each worker of a pipeline, in their order; one stage: every worker has all layers
    stages: tuple[range, ...]
    n_lanes: int  # how many such pipelines run beside each other
    is_resident: bool  # whether a worker's blocks stay in its memory
    why: str  # why it is so, in a few words

    @property
    def n_workers(self) -> int:
        """Workers that have something to do."""
        return len(self.stages) * self.n_lanes

    def places(self) -> list[int]:
        """The stage of each worker."""
        return [stage for _ in range(self.n_lanes) for stage in range(len(self.stages))]


def share_layers(block_bytes: Sequence[int], *, beside_bytes: int, memory_bytes: int, n_workers: int) -> Placement:
    """Share the layers so that a worker's fit into its memory.

    Chunks outside where the whole model fits: workers then need nothing of each other. Else layers outside, in so many
    stages that fit as leave the fewest workers idle, and of these as few as possible. Where there are too few workers
    for that, each reads the weights of every layer anew.

    Args:
        block_bytes: what the weights of each layer take.
        beside_bytes: what a worker takes beside its layers.
        memory_bytes: what a worker may take.
        n_workers: how many there are.
    """
    n_layers, room = len(block_bytes), memory_bytes - beside_bytes
    whole = (range(n_layers),)
    if sum(block_bytes) <= room:
        return Placement(whole, n_workers, True, "all weights fit beside the streams of one chunk")
    rows = [_evenly(n_layers, n_stages) for n_stages in range(2, min(n_workers, n_layers) + 1)]
    fitting = [row for row in rows if all(sum(block_bytes[layer] for layer in stage) <= room for stage in row)]
    if fitting:
        stages = max(fitting, key=lambda row: n_workers // len(row) * len(row))
        why = f"no worker holds all layers, and {len(stages)} hold them together"
        return Placement(stages, n_workers // len(stages), True, why)
    return Placement(whole, n_workers, False, f"{n_workers} workers do not hold all layers together")


def share_for_sweep(
    work: ModelWork, corpus: Corpus, jobs: Sequence[str], *, memory_bytes: int, n_workers: int
) -> Placement:
    """Share the layers of a model for a sweep.

    Args:
        work: the model.
        corpus: the text.
        jobs: names of the jobs that watch it.
        memory_bytes: what a worker may take.
        n_workers: how many there are.
    """
    transformer = work.transformer
    blocks = [transformer.block_bytes(layer) for layer in range(transformer.shape.n_layers)]
    # Chunks outside with all weights, whatever that takes.
    whole = plan_sweep(
        transformer,
        corpus,
        batch_tokens=work.request.batch_tokens,
        memory_bytes=sys.maxsize,
        jobs=jobs,
    )
    beside = whole.memory_bytes - sum(blocks)
    return share_layers(blocks, beside_bytes=beside, memory_bytes=memory_bytes, n_workers=n_workers)


def _evenly(n: int, parts: int) -> tuple[range, ...]:
    """Neighbouring numbers below `n`, in so many parts of nearly one size."""
    bounds = [n * part // parts for part in range(parts + 1)]
    return tuple(range(start, stop) for start, stop in pairwise(bounds))
