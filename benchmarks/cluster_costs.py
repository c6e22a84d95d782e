"""What a sweep by many workers takes: sizes from the planner, ratios measured here, and machines that are assumed."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from neurothek.catalog.publishing.staging import write_parquet
from neurothek.ingest.corpora.corpus import CHUNK_TOKENS, Corpus
from neurothek.ingest.forward.batches import batches
from neurothek.ingest.forward.footprint import Extent
from neurothek.ingest.jobs.job import JobContext, Partials, SweepJob
from neurothek.ingest.jobs.ngrams.index import number_ngrams
from neurothek.ingest.jobs.ngrams.job import LONGEST
from neurothek.ingest.jobs.registry import job_class
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.models.transformer import Transformer, open_transformer
from neurothek.ingest.pipeline.cluster.assignment import packed_frames, unpacked_frames
from neurothek.ingest.pipeline.cluster.placement import Placement, share_layers
from neurothek.ingest.planning import model_plan
from neurothek.ingest.planning.sweep_plan import Budget, ModelSize, SweepPlan, choose
from neurothek.ingest.planning.timing import block_flops, forward_flops, projection_flops
from neurothek.ingest.request import DEFAULT_BATCH_TOKENS, DEFAULT_JOBS, IngestRequest
from tests.support.coefficients import output_of

SWEEP_JOBS = tuple(name for name in DEFAULT_JOBS if name != "projections")
PART_SECONDS = 1e-3
"""Of the driver for one part, whatever is in it: 0.6 to 0.8 ms on two cores with Ray's own streaming generators."""

LISTENING_SECONDS = 1.5e-6
"""Of the driver for one part and worker, all of which it listens to: `ray.wait` takes 0.9 microseconds a worker."""


@dataclass(frozen=True)
class Measured:
    """What was measured on one core: its own time, so that what else the machine does counts little."""

    product_flops: float  # operations a second of a matrix product in float32
    observing_seconds: float  # of all observers, a neuron and token
    packing_seconds: float  # of that packing bits for n-grams; counted as its host's of a GPU, too: a bound from above
    fold_neuron_seconds: Mapping[str, float]  # job -> of its fold, a neuron, whatever the text
    fold_token_seconds: Mapping[str, float]  # job -> of its fold, a neuron and token
    opening_seconds: float  # of numbering the n-grams of the text, a token, which whoever folds does once
    taking_seconds: float  # of unpacking and writing a part that is handed back, a byte


@dataclass(frozen=True)
class Machines:
    """Machines of a cluster, which nobody measured here."""

    flops: float = 67e12 / 2  # operations a second that a worker sustains
    memory_bytes: int = int(0.9 * 80 * 2**30)  # what a worker may take
    observing_ratio: float = 1.05  # on a GPU, a watched pass beside a bare one, but for what its host does
    cores: int = 16  # of a worker's host and of the driver, each as the one that was measured
    has_gpus: bool = True  # whether workers compute on GPUs
    network_bytes: float = 25e9 / 8  # that a machine sends or takes a second
    folder_bytes: float = 2e9  # that one machine reads or writes a second in the shared folder
    all_folder_bytes: float = 20e9  # that all machines together do
    looking_seconds: float = 5e-4  # of looking for a file in the shared folder, or deleting one
    start_seconds: float = 60.0  # until a worker has begun, without its weights

    @classmethod
    def without_gpus(cls, measured: Measured, *, cores: int = 16) -> "Machines":
        """Workers that compute on so many cores, each as the one that was measured."""
        return cls(flops=cores * measured.product_flops, memory_bytes=128 << 30, cores=cores, has_gpus=False)

    def beside_folder(self, n_bytes: float, n_workers: int, *, seconds: float = 0.0) -> float:
        """How long each of so many workers takes that reads or writes the shared folder, and computes so long, too.

        Where all together want more than the folder gives, it alone decides.
        """
        return max(seconds + n_bytes / self.folder_bytes, n_workers * n_bytes / self.all_folder_bytes)


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
        return self.shape.n_layers * sum(self.seen_bytes.values())

    @cached_property
    def seen_bytes(self) -> dict[str, int]:
        """Job -> of the parts of one layer."""
        found = {name: job_class(name) for name in SWEEP_JOBS}
        return {
            name: job.footprint(self.shape, self.extent).parts
            for name, job in found.items()
            if issubclass(job, SweepJob)
        }

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

    def fold_seconds(self, job: str, *, readers: int = 1, is_here: bool = False) -> float:
        """Of one layer of one job.

        What is a neuron's is done by one core, what grows with the text by all. N-grams take a product, too: a worker's
        GPU does that, and the driver's cores. Parts and value vectors are read first.

        Args:
            job: the job.
            readers: how many machines read at once.
            is_here: whether the driver folds.
        """
        shape, cores = self.shape, self.machines.cores
        work = self.measured.fold_token_seconds[job] * shape.d_ffn * self.extent.n_tokens / cores
        read = self.seen_bytes[job]
        if job == "ngrams":
            flops = cores * self.measured.product_flops if is_here else self.machines.flops
            work += 2 * shape.vocab_size * shape.d_model * shape.d_ffn / flops
            read += shape.d_ffn * shape.d_model * self.itemsize
        work += self.measured.fold_neuron_seconds[job] * shape.d_ffn
        # Jobs are folded side by side: what all of them read at once is so many times the mean.
        mean = self.parts_bytes / shape.n_layers / len(SWEEP_JOBS)
        return max(work + read / self.machines.folder_bytes, readers * mean / self.machines.all_folder_bytes)

    def opening_seconds(self) -> float:
        """Of whoever folds n-grams, before the first layer: one core numbers those of the whole text."""
        return self.measured.opening_seconds * self.extent.n_tokens

    @property
    def n_parts(self) -> int:
        """One a job, layer and chunk."""
        return len(SWEEP_JOBS) * self.shape.n_layers * self.extent.n_chunks

    def looking_seconds(self) -> float:
        """Of the driver in a shared folder: for each part it looks twice before the sweep, and deletes once after."""
        return 3 * self.n_parts * self.machines.looking_seconds

    def projection_seconds(self) -> list[float]:
        """Of the shards of projections: the tokens, then each layer."""
        ratio = model_plan._PROJECTIONS_RATIO / self.machines.flops
        token, vectors = 2 * self.shape.vocab_size * self.shape.d_model, self.shape.d_ffn
        return [token * self.shape.vocab_size * ratio, *[token * vectors * ratio] * self.shape.n_layers]

    def publishing_seconds(self) -> float:
        """Of the driver, as the plan has it."""
        return model_plan._PUBLISHING_SECONDS + self.plan.growth_bytes / model_plan._PUBLISHED_BYTES_A_SECOND


N_NEURONS, FEW_TOKENS, MANY_TOKENS, ACTIVE_SHARE, ROUNDS = 256, 131_072, 1_048_576, 0.05, 3


def measure() -> Measured:
    """Take the figures, on one core, with made-up coefficients of which one in twenty is above 0."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with _tiny_model() as transformer, torch.inference_mode():
            few, many = (_figures(transformer, n // shapes.CONTEXT_LENGTH) for n in (FEW_TOKENS, MANY_TOKENS))
            more = MANY_TOKENS - FEW_TOKENS
            slopes = {job: max(0.0, (many.folds[job] - few.folds[job]) / more / N_NEURONS) for job in SWEEP_JOBS}
            return Measured(
                product_flops=_product_rate(),
                observing_seconds=few.observing,
                packing_seconds=few.packing,
                fold_neuron_seconds={
                    job: max(0.0, few.folds[job] / N_NEURONS - slope * FEW_TOKENS) for job, slope in slopes.items()
                },
                fold_token_seconds=slopes,
                opening_seconds=many.opening / MANY_TOKENS,
                taking_seconds=few.taking,
            )
    finally:
        torch.set_num_threads(n_threads)


@dataclass(frozen=True)
class _Figures:
    """Of one layer of one text: seconds of each fold and of opening; the others a neuron and token, and a byte."""

    observing: float
    packing: float
    folds: Mapping[str, float]
    opening: float
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
        # The second layer: with the first comes what is about the text alone.
        folds={job.name: _best_seconds(partial(job.fold, 1, parts[job.name])) for job in watching},
        opening=_best_seconds(lambda: list(number_ngrams(text, longest=LONGEST))),
        taking=_taking_seconds(parts["ngrams"].scans[0].collect()),
    )


def _observed(text: Corpus, jobs: Sequence[SweepJob], spent: dict[str, float]) -> dict[str, Partials]:
    """What each job's observers leave of every chunk; `spent` grows by the seconds that this took."""
    drawn = torch.Generator().manual_seed(0)
    bound = float(torch.special.ndtri(torch.tensor(1 - ACTIVE_SHARE)))
    parts: dict[str, list[pl.LazyFrame]] = {job.name: [] for job in jobs}
    for chunk in text.chunks():
        observers = {job.name: job.observer(0) for job in jobs}
        for batch in batches(text, chunk, batch_tokens=DEFAULT_BATCH_TOKENS):
            coefficients = torch.relu(torch.randn(*batch.tokens.shape, N_NEURONS, generator=drawn) - bound)
            for name, observer in observers.items():
                started = time.process_time()
                observer.observe(batch, output_of(coefficients))
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
    """Two narrow layers, of which only the value vectors and the unembedding are read."""
    torch.manual_seed(0)
    logging.disable_progress_bar()
    config = OPTConfig(
        num_hidden_layers=2, hidden_size=64, word_embed_proj_dim=64, num_attention_heads=1, ffn_dim=N_NEURONS
    )
    with TemporaryDirectory() as folder:
        OPTForCausalLM(config).save_pretrained(folder)
        yield open_transformer(find(folder))
