"""What a sweep by many workers takes: sizes from the planner, ratios measured here, and machines that are assumed."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import torch
from transformers import OPTConfig, OPTForCausalLM
from transformers.utils import logging

from benchmarks import shapes
from catalog.publishing.staging import write_parquet
from ingest.corpora.corpus import CHUNK_TOKENS, Corpus
from ingest.forward.batches import batches
from ingest.forward.footprint import Extent
from ingest.jobs.job import JobContext, Partials, SweepJob, WeightsJob
from ingest.jobs.registry import job_class
from ingest.models.checkpoints import find
from ingest.models.families.shapes import Shape
from ingest.models.transformer import Transformer, open_transformer
from ingest.pipeline.cluster.assignment import packed_frames, unpacked_frames
from ingest.pipeline.cluster.placement import Placement, share_layers
from ingest.planning import model_plan
from ingest.planning.sweep_plan import Budget, ModelSize, SweepPlan, choose
from ingest.planning.timing import block_flops, forward_flops, projection_flops
from ingest.request import DEFAULT_BATCH_TOKENS, DEFAULT_JOBS, IngestRequest

SWEEP_JOBS = tuple(name for name in DEFAULT_JOBS if name != "projections")
PART_SECONDS = 1e-3
"""Of the driver for one part, whatever is in it: 0.6 to 0.8 ms on two cores with Ray's own streaming generators."""


@dataclass(frozen=True)
class Measured:
    """What was measured on one core: its own time, so that what else the machine does counts little.

    Attributes:
        product_flops: operations a second of a matrix product in float32.
        observing_seconds: of all observers, a neuron and token.
        packing_seconds: of that what the observer of n-grams packs into bits, which a GPU leaves to its host.
        fold_neuron_seconds: of the folds, a neuron, whatever the text.
        fold_token_seconds: of the folds, a neuron and token.
        taking_seconds: of unpacking and writing a part that is handed back, a byte.
    """

    product_flops: float
    observing_seconds: float
    packing_seconds: float
    fold_neuron_seconds: float
    fold_token_seconds: float
    taking_seconds: float


@dataclass(frozen=True)
class Machines:
    """Machines of a cluster, which nobody measured here.

    Attributes:
        flops: operations a second that a worker sustains.
        memory_bytes: what a worker may take.
        observing_ratio: on a GPU, a watched pass beside a bare one, but for what its host does.
        cores: of a worker's host and of the driver, each as the one that was measured.
        has_gpus: whether workers compute on GPUs.
        network_bytes: that a machine sends or takes a second.
        folder_bytes: that one machine reads or writes a second in the shared folder.
        all_folder_bytes: that all machines together do.
        start_seconds: until a worker has begun, without its weights.
    """

    flops: float = 67e12 / 2
    memory_bytes: int = int(0.9 * 80 * 2**30)
    observing_ratio: float = 1.05
    cores: int = 16
    has_gpus: bool = True
    network_bytes: float = 25e9 / 8
    folder_bytes: float = 2e9
    all_folder_bytes: float = 20e9
    start_seconds: float = 60.0

    @classmethod
    def without_gpus(cls, measured: Measured, *, cores: int = 16) -> "Machines":
        """Workers that compute on so many cores, each as the one that was measured."""
        return cls(flops=cores * measured.product_flops, memory_bytes=128 << 30, cores=cores, has_gpus=False)

    def folder_share(self, n_workers: int) -> float:
        """Bytes a second that each of so many workers reads or writes at once."""
        return min(self.folder_bytes, self.all_folder_bytes / n_workers)


@dataclass(frozen=True)
class Sweep:
    """One model, one text, and what both take."""

    shape: Shape
    n_tokens: int
    measured: Measured
    machines: Machines
    itemsize: int = 4

    @cached_property
    def extent(self) -> Extent:
        """Of the text, in two domains."""
        return Extent.full(self.n_tokens, sequence_length=shapes.CONTEXT_LENGTH, n_domains=2)

    @cached_property
    def size(self) -> ModelSize:
        """Of the blocks."""
        return ModelSize.published(self.shape, itemsize=self.itemsize)

    @cached_property
    def plan(self) -> SweepPlan:
        """Chunks outside with all weights, whatever that takes."""
        return choose(
            self.size,
            self.extent,
            jobs=SWEEP_JOBS,
            weights_jobs=["projections"],
            batch_tokens=DEFAULT_BATCH_TOKENS,
            budget=Budget(1 << 60),
        )

    @property
    def forward_flops(self) -> int:
        """Of one pass over the text."""
        return forward_flops(self.shape, self.extent)

    @property
    def projection_flops(self) -> int:
        """Of the job projections."""
        return projection_flops(self.shape)

    @cached_property
    def parts_bytes(self) -> int:
        """Of all parts, which are written and read once."""
        found = [job_class(name) for name in SWEEP_JOBS]
        footprints = [job.footprint(self.shape, self.extent) for job in found if issubclass(job, SweepJob)]
        return self.shape.n_layers * sum(one.parts for one in footprints)

    @property
    def stream_bytes(self) -> int:
        """Of the streams of one chunk, which one stage hands to the next."""
        return CHUNK_TOKENS * self.shape.d_model * self.itemsize

    def placement(self, n_workers: int) -> Placement:
        """As the engine places the layers."""
        blocks = [self.size.block_bytes] * self.shape.n_layers
        beside = self.plan.memory_bytes - self.size.all_bytes
        return share_layers(blocks, beside_bytes=beside, memory_bytes=self.machines.memory_bytes, n_workers=n_workers)

    def forward_seconds(self) -> float:
        """Of a chunk in a layer, with nobody watching."""
        return CHUNK_TOKENS * block_flops(self.shape, self.extent.sequence_length) / self.machines.flops

    def watching_seconds(self) -> float:
        """What observing adds to that, writing left out."""
        n = self.shape.d_ffn * CHUNK_TOKENS
        if not self.machines.has_gpus:
            return self.measured.observing_seconds * n / self.machines.cores
        packing = self.measured.packing_seconds * n
        return (self.machines.observing_ratio - 1) * self.forward_seconds() + packing

    def part_bytes(self) -> float:
        """Of what all jobs saw of one layer in one chunk."""
        return self.parts_bytes / self.shape.n_layers / self.extent.n_chunks

    def fold_seconds(self) -> float:
        """Of one layer by all jobs, on the driver.

        What is a neuron's is done by one core, what grows with the text and the products by all; parts are read first.
        """
        d_ffn, cores = self.shape.d_ffn, self.machines.cores
        products = 2 * self.shape.vocab_size * self.shape.d_model * d_ffn / self.measured.product_flops
        counted = self.measured.fold_token_seconds * d_ffn * self.extent.n_tokens
        reading = self.parts_bytes / self.shape.n_layers / self.machines.folder_bytes
        return self.measured.fold_neuron_seconds * d_ffn + (products + counted) / cores + reading

    def projection_seconds(self) -> list[float]:
        """Of the shards of projections: the tokens, then each layer."""
        ratio = model_plan._PROJECTIONS_RATIO / self.machines.flops
        token, vectors = 2 * self.shape.vocab_size * self.shape.d_model, self.shape.d_ffn
        return [token * self.shape.vocab_size * ratio, *[token * vectors * ratio] * self.shape.n_layers]

    def publishing_seconds(self) -> float:
        """Of the driver, as the plan has it."""
        return model_plan._PUBLISHING_SECONDS + self.plan.growth_bytes / model_plan._PUBLISHED_BYTES_A_SECOND

    def rows_bytes(self) -> int:
        """Of the rows of projections, which are handed back or written by the workers."""
        job = job_class("projections")
        assert issubclass(job, WeightsJob)
        found = job.footprint(self.shape)
        return found.rows * self.shape.n_layers + found.shared_rows


N_NEURONS, FEW_TOKENS, MANY_TOKENS, ACTIVE_SHARE, ROUNDS = 256, 131_072, 1_048_576, 0.05, 3


def measure() -> Measured:
    """Take the figures, on one core, with made-up coefficients of which one in twenty is above 0."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with _tiny_model() as transformer, torch.inference_mode():
            few, many = (_figures(transformer, n // shapes.CONTEXT_LENGTH) for n in (FEW_TOKENS, MANY_TOKENS))
            slope = max(0.0, (many.fold - few.fold) / (MANY_TOKENS - FEW_TOKENS) / N_NEURONS)
            return Measured(
                product_flops=_product_rate(),
                observing_seconds=few.observing,
                packing_seconds=few.packing,
                fold_neuron_seconds=max(0.0, few.fold / N_NEURONS - slope * FEW_TOKENS),
                fold_token_seconds=slope,
                taking_seconds=few.taking,
            )
    finally:
        torch.set_num_threads(n_threads)


@dataclass(frozen=True)
class _Figures:
    """Of one layer of one text: seconds of all folds; the others a neuron and token, and a byte."""

    observing: float
    packing: float
    fold: float
    taking: float


def _figures(transformer: Transformer, n_sequences: int) -> _Figures:
    text = shapes.zipfian_text(n_sequences)
    context = JobContext(transformer, shapes.tokenizer(), text, batch_tokens=DEFAULT_BATCH_TOKENS)
    jobs = [job_class(name).from_options(context, IngestRequest()) for name in SWEEP_JOBS]
    watching = [job for job in jobs if isinstance(job, SweepJob)]
    spent = dict.fromkeys(SWEEP_JOBS, 0.0)
    parts = _observed(text, watching, spent)
    n = N_NEURONS * text.n_tokens
    return _Figures(
        observing=sum(spent.values()) / n,
        packing=spent["ngrams"] / n,
        fold=sum(_best_seconds(partial(job.fold, 0, parts[job.name])) for job in watching),
        taking=_taking_seconds(parts["ngrams"].scans[0].collect()),
    )


def _observed(text: Corpus, jobs: Sequence[SweepJob], spent: dict[str, float]) -> dict[str, Partials]:
    """What each job's observers leave of every chunk; `spent` grows by the seconds that this took."""
    drawn = torch.Generator().manual_seed(0)
    bound = float(torch.special.ndtri(torch.tensor(1 - ACTIVE_SHARE)))
    parts: dict[str, list[pl.LazyFrame]] = {job.name: [] for job in jobs}
    for chunk in text.chunks():
        observers = {job.name: job.observer() for job in jobs}
        for batch in batches(text, chunk, batch_tokens=DEFAULT_BATCH_TOKENS):
            coefficients = torch.relu(torch.randn(*batch.tokens.shape, N_NEURONS, generator=drawn) - bound)
            for name, observer in observers.items():
                started = time.process_time()
                observer.observe(batch, coefficients)
                spent[name] += time.process_time() - started
        for name, observer in observers.items():
            started = time.process_time()
            parts[name].append(observer.result().lazy())
            spent[name] += time.process_time() - started
    return {name: Partials(tuple(frames)) for name, frames in parts.items()}


def _taking_seconds(part: pl.DataFrame) -> float:
    """What the driver takes for a byte of a part that is handed back."""
    handed = packed_frames({"partial": part})
    with TemporaryDirectory() as folder:

        def take() -> None:
            for name, frame in unpacked_frames(handed).items():
                write_parquet(frame, Path(folder) / name, is_passing=True)

        return _best_seconds(take) / part.estimated_size()


def _product_rate() -> float:
    rows, columns = torch.ones(4096, 1024), torch.ones(1024, 1024)
    return 2 * 4096 * 1024 * 1024 / _best_seconds(lambda: rows @ columns)


def _best_seconds(run: Callable[[], object]) -> float:
    """The shortest of some rounds, in seconds of a core, after one that makes what all of them share."""
    run()
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        run()
        best = min(best, time.process_time() - started)
    return best


@contextmanager
def _tiny_model() -> Iterator[Transformer]:
    """One narrow layer, of which only the value vectors and the unembedding are read."""
    torch.manual_seed(0)
    logging.disable_progress_bar()
    config = OPTConfig(
        num_hidden_layers=1, hidden_size=64, word_embed_proj_dim=64, num_attention_heads=1, ffn_dim=N_NEURONS
    )
    with TemporaryDirectory() as folder:
        OPTForCausalLM(config).save_pretrained(folder)
        yield open_transformer(find(folder))
