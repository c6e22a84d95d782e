"""Which order a sweep takes, and whether weights stay in memory, for a memory budget; neither changes a number."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from neurothek.ingest.corpora import corpus as corpora
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.errors import not_enough_disk, not_enough_memory
from neurothek.ingest.forward.footprint import Extent, Footprint, numbers_at_work
from neurothek.ingest.forward.sweep import Order
from neurothek.ingest.jobs.job import SweepJob, WeightsJob
from neurothek.ingest.jobs.registry import job_class
from neurothek.ingest.models.transformer import Shape, Transformer

# Thread pools, the tokenizer, buffers of the Parquet writer and of DuckDB, small blocks that nobody counts.
PROCESS_BYTES = 128 << 20
# Beyond so many times what is needed, freed memory need not go back to the system at once.
ROOMY = 3


@dataclass(frozen=True)
class WeightsPlan:
    """What jobs that read only weights take, where no text is swept."""

    is_tight: bool  # whether freed memory has to go back to the system at once to keep within the budget
    memory_bytes: int  # what is added to the process's memory, estimated from above
    disk_bytes: int  # what lies in the staging folder at once, estimated from above
    growth_bytes: int  # about how much the warehouse grows


@dataclass(frozen=True)
class SweepPlan(WeightsPlan):
    """How a sweep keeps within its memory, and what it takes with the jobs that read only weights."""

    order: Order  # chunks outside (one chunk's streams in memory) or layers outside (all streams in a file)
    is_resident: bool  # whether a block's weights stay in memory after their first use
    why: str  # why this order was chosen and not another, in a few words


@dataclass(frozen=True)
class ModelSize:
    """What a model's blocks take."""

    shape: Shape  # what it is like
    itemsize: int  # bytes of a number of its streams
    block_bytes: int  # weights of its largest block
    all_bytes: int  # weights of all blocks

    @classmethod
    def of(cls, transformer: Transformer) -> "ModelSize":
        """The sizes of a model that is there."""
        blocks = [transformer.block_bytes(layer) for layer in range(transformer.shape.n_layers)]
        return cls(transformer.shape, transformer.dtype.itemsize, max(blocks), sum(blocks))

    @classmethod
    def published(cls, shape: Shape, *, itemsize: int) -> "ModelSize":
        """The sizes of a model of which only the shape is known."""
        weights = (shape.n_parameters - shape.n_parameters_embedding) * itemsize
        return cls(shape, itemsize, -(-weights // shape.n_layers), weights)


@dataclass(frozen=True)
class Budget:
    """What a sweep may take."""

    memory_bytes: int  # what it may add to the process's memory
    staging: Path | None = None  # folder of the staging files; None: its disk is not looked at
    free_bytes: int = 0  # free space there
    is_of_gpu: bool = False  # whether the memory is that of a GPU, which has less than a person allows


def plan_sweep(
    transformer: Transformer,
    corpus: Corpus,
    *,
    batch_tokens: int,
    memory_bytes: int,
    jobs: Sequence[str] = (),
    weights_jobs: Sequence[str] = (),
    staging: Path | None = None,
    free_bytes: int = 0,
    is_of_gpu: bool = False,
) -> SweepPlan:
    """How to sweep a corpus; see `choose`."""
    return choose(
        ModelSize.of(transformer),
        Extent.of(corpus),
        jobs=jobs,
        weights_jobs=weights_jobs,
        batch_tokens=batch_tokens,
        budget=Budget(memory_bytes, staging, free_bytes, is_of_gpu),
    )


def plan_weights(shape: Shape, jobs: Sequence[str], *, budget: Budget) -> WeightsPlan:
    """What such jobs take, one after the other."""
    takes = {job: _of_weights(job, shape) for job in jobs}
    needed = {job: PROCESS_BYTES + footprint.folding + footprint.stored for job, footprint in takes.items()}
    for job, size in needed.items():
        if size > budget.memory_bytes:
            raise not_enough_memory(f"measuring {job}", size, budget.memory_bytes, is_of_gpu=budget.is_of_gpu)
    growth = _rows_bytes(list(takes.values()), shape)
    if budget.staging is not None and 2 * growth > budget.free_bytes:
        raise not_enough_disk(budget.staging, 2 * growth, budget.free_bytes)
    memory = max(needed.values(), default=0)
    return WeightsPlan(budget.memory_bytes < ROOMY * memory, memory, 2 * growth, growth)


def _of_weights(name: str, shape: Shape) -> Footprint:
    job = job_class(name)
    assert issubclass(job, WeightsJob)
    return job.footprint(shape)


def _of_text(name: str, shape: Shape, extent: Extent) -> Footprint:
    job = job_class(name)
    assert issubclass(job, SweepJob)
    return job.footprint(shape, extent)


def _rows_bytes(jobs: Sequence[Footprint], shape: Shape) -> int:
    return sum(job.rows * shape.n_layers + job.shared_rows for job in jobs)


def choose(
    model: ModelSize,
    extent: Extent,
    *,
    jobs: Sequence[str],
    weights_jobs: Sequence[str],
    batch_tokens: int,
    budget: Budget,
) -> SweepPlan:
    """The best that fits: chunks outside with resident weights, else what reads and writes least.

    With chunks outside and streamed weights every chunk reads all weights; with layers outside they are read once, but
    the streams of the whole corpus are written and read for every layer.
    """
    request = _SweepRequest(
        model,
        extent,
        [_of_text(job, model.shape, extent) for job in jobs],
        [_of_weights(job, model.shape) for job in weights_jobs],
        max(batch_tokens, extent.sequence_length),
    )
    resident = request.estimate("chunks", is_resident=True, why="all weights fit beside the streams of one chunk")
    streams = request.stream_bytes * 2 * model.shape.n_layers
    once, by_chunk = model.all_bytes + streams, model.all_bytes * extent.n_chunks
    moved = f"{min(once, by_chunk) / 1e9:.1f} GB to read and write instead of {max(once, by_chunk) / 1e9:.1f} GB"
    rest = f"the weights of all layers do not fit beside the rest, which takes {_gb(resident.memory_bytes)}; {moved}"
    streamed = [
        request.estimate("chunks", is_resident=False, why=rest),
        request.estimate("layers", is_resident=False, why=rest),
    ]
    if once < by_chunk:
        streamed.reverse()
    return _first_that_fits([resident, *streamed], budget)


def _first_that_fits(plans: Sequence[SweepPlan], budget: Budget) -> SweepPlan:
    in_memory = [candidate for candidate in plans if candidate.memory_bytes <= budget.memory_bytes]
    if not in_memory:
        raise not_enough_memory(
            "measuring",
            min(candidate.memory_bytes for candidate in plans),
            budget.memory_bytes,
            instead=" or make --batch-tokens smaller",
            is_of_gpu=budget.is_of_gpu,
        )
    if budget.staging is not None:
        on_disk = [candidate for candidate in in_memory if candidate.disk_bytes <= budget.free_bytes]
        if not on_disk:
            raise not_enough_disk(
                budget.staging, min(candidate.disk_bytes for candidate in in_memory), budget.free_bytes
            )
        in_memory = on_disk
    chosen = in_memory[0]
    return replace(chosen, is_tight=budget.memory_bytes < ROOMY * chosen.memory_bytes)


@dataclass(frozen=True)
class _SweepRequest:
    """A model, a text, and what the jobs take of both."""

    model: ModelSize
    extent: Extent
    texts: Sequence[Footprint]
    weights: Sequence[Footprint]
    batch_tokens: int

    @property
    def stream_bytes(self) -> int:
        """Streams of the whole corpus."""
        return self.extent.n_tokens * self.model.shape.d_model * self.model.itemsize

    def estimate(self, order: Order, *, is_resident: bool, why: str) -> SweepPlan:
        """What one way of sweeping takes; weights jobs come first and leave nothing behind."""
        stored = sum(job.stored for job in self.texts)
        folding = max((job.folding for job in self.texts), default=0)
        seen = self._block_at_work() + sum(job.observing for job in self.texts)
        if order == "chunks":
            # Folds come last, when streams and observers are gone; weights that stay are still there.
            sweeping = max(seen + self._chunk_stream_bytes(), stored + folding)
            weights = self.model.all_bytes if is_resident else self.model.block_bytes
        else:
            sweeping, weights = stored + max(seen, folding), self.model.block_bytes
        measured = max((job.folding + job.stored for job in self.weights), default=0)
        return SweepPlan(
            order=order,
            is_resident=is_resident,
            is_tight=False,
            memory_bytes=PROCESS_BYTES + max(sweeping + weights, measured),
            disk_bytes=self._disk_bytes(order),
            growth_bytes=self._growth_bytes(),
            why=why,
        )

    def _block_at_work(self) -> int:
        return self.batch_tokens * numbers_at_work(self.model.shape) * max(self.model.itemsize, 4)

    def _chunk_stream_bytes(self) -> int:
        tokens = max(corpora.CHUNK_TOKENS, self.extent.sequence_length)
        return tokens * self.model.shape.d_model * self.model.itemsize

    def _disk_bytes(self, order: Order) -> int:
        """Parts of one layer or of all, rows twice where they are sorted at the end, and streams."""
        parts = sum(job.parts for job in self.texts) * (self.model.shape.n_layers if order == "chunks" else 1)
        return parts + 2 * self._growth_bytes() + (self.stream_bytes if order == "layers" else 0)

    def _growth_bytes(self) -> int:
        return _rows_bytes([*self.texts, *self.weights], self.model.shape)


def _gb(size: int) -> str:
    return f"{size / 1e9:.2f} GB"
