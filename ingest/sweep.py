"""One forward pass over a corpus, chunk by chunk and layer by layer, that shows every activation to its observers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from catalog.progress import Progress, Silent
from ingest.architectures import Block, Transformer
from ingest.corpora import Corpus
from ingest.streams import ChunkStreams, DiskStreams, Streams

Order = Literal["chunks", "layers"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Whole sequences of one chunk, right-padded.

    Attributes:
        first_sequence: number of the first sequence in the corpus.
        tokens: Int[batch time], ids; 0 where a sequence has ended.
        lengths: how many ids each sequence has.
        domains: index of each sequence's domain.
        first_counted: first counted position: 1 where a BOS was prepended, else 0.
    """

    first_sequence: int
    tokens: Int[Tensor, "batch time"]
    lengths: tuple[int, ...]
    domains: tuple[int, ...]
    first_counted: int


@runtime_checkable
class Observer(Protocol):
    """Watches one layer of one chunk."""

    def observe(self, batch: Batch, coefficients: Float[Tensor, "batch time d_ffn"]) -> None:
        """Take in the coefficients of one batch; batches come in the order of the corpus."""

    def result(self) -> pl.DataFrame:
        """What was seen, ready to be folded with the other chunks'."""


def batches(corpus: Corpus, chunk: range, *, batch_tokens: int) -> Iterator[Batch]:
    """Cut a chunk into batches: as many whole sequences as fit `batch_tokens` when padded to the longest, at least one.

    The cut depends on the corpus and on `batch_tokens` alone, never on free memory.
    """
    start = chunk.start
    while start < chunk.stop:
        end, longest = start, 0
        while end < chunk.stop:
            longest = max(longest, len(corpus.sequence(end)))
            if end > start and (end + 1 - start) * longest > batch_tokens:
                break
            end += 1
        yield _batch(corpus, range(start, end))
        start = end


def sweep(
    transformer: Transformer,
    corpus: Corpus,
    *,
    observers_for: Callable[[int, int], Sequence[Observer]],
    is_done: Callable[[int, int], bool],
    sink: Callable[[int, int, list[pl.DataFrame]], None],
    batch_tokens: int,
    order: Order = "chunks",
    folder: Path | None = None,
    progress: Progress | None = None,
) -> None:
    """Run the corpus through the model once and hand over what the observers of each (layer, chunk) saw.

    Both orders give the same bits: a batch is computed alone and always in the same shape.

    Args:
        transformer: the model.
        corpus: the text.
        observers_for: (layer, chunk) -> new observers.
        is_done: (layer, chunk) -> whether nothing is left to see there.
        sink: takes (layer, chunk, the observers' results).
        batch_tokens: padded ids a batch holds at most.
        order: chunks outside (the streams of one chunk stay in memory) or layers outside (those of the whole corpus
            lie in a file).
        folder: where that file lies.
        progress: counts (layer, chunk) pairs.
    """
    watcher = progress or Silent()
    chunks = corpus.chunks()
    n_layers = transformer.shape.n_layers
    pass_ = _Pass(transformer, corpus, observers_for, is_done, sink, batch_tokens)
    watcher.start("reading text", n_layers * len(chunks))
    with torch.inference_mode():
        if order == "chunks":
            for number, chunk in enumerate(chunks):
                streams: Streams = ChunkStreams()
                for layer in range(n_layers):
                    if pass_.is_needed(layer, [number]):
                        with transformer.block(layer) as block:
                            pass_.run(block, layer, number, chunk, streams)
                    watcher.advance()
        else:
            assert folder is not None
            with DiskStreams(folder, corpus, transformer) as on_disk:
                for layer in range(n_layers):
                    if not pass_.is_needed(layer, range(len(chunks))):
                        continue
                    with transformer.block(layer) as block:
                        for number, chunk in enumerate(chunks):
                            pass_.run(block, layer, number, chunk, on_disk)
                            watcher.advance()
    watcher.finish()


@dataclass(frozen=True, eq=False)
class _Pass:
    transformer: Transformer
    corpus: Corpus
    observers_for: Callable[[int, int], Sequence[Observer]]
    is_done: Callable[[int, int], bool]
    sink: Callable[[int, int, list[pl.DataFrame]], None]
    batch_tokens: int

    def is_needed(self, layer: int, chunks: Sequence[int]) -> bool:
        """Whether this layer or one above it has something left to see in one of the chunks."""
        layers = range(layer, self.transformer.shape.n_layers)
        return any(not self.is_done(above, chunk) for above in layers for chunk in chunks)

    def run(self, block: Block, layer: int, number: int, chunk: range, streams: Streams) -> None:
        """Take one chunk through one block and show it to the observers."""
        if not self.is_needed(layer, [number]):
            return
        observers = [] if self.is_done(layer, number) else list(self.observers_for(layer, number))
        for batch in batches(self.corpus, chunk, batch_tokens=self.batch_tokens):
            stream = self.transformer.embed(batch.tokens) if layer == 0 else streams.load(batch)
            output = block(stream)
            streams.save(batch, output.stream)
            for observer in observers:
                observer.observe(batch, output.coefficients)
        if observers:
            self.sink(layer, number, [observer.result() for observer in observers])


def _batch(corpus: Corpus, sequences: range) -> Batch:
    ids = [corpus.sequence(i) for i in sequences]
    tokens = np.zeros((len(ids), max(map(len, ids))), dtype=np.int64)
    for row, sequence in zip(tokens, ids, strict=True):
        row[: len(sequence)] = sequence
    return Batch(
        first_sequence=sequences.start,
        tokens=torch.from_numpy(tokens),
        lengths=tuple(map(len, ids)),
        domains=tuple(corpus.domain_of[sequences.start : sequences.stop].tolist()),
        first_counted=int(corpus.has_bos),
    )
