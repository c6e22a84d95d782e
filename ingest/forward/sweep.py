"""One forward pass over a corpus, chunk by chunk and layer by layer, that shows every activation to its observers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl
import torch

from neurothek.catalog.files import temporary
from neurothek.catalog.progress import Progress, Silent
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.batches import batches
from neurothek.ingest.forward.chunk_pass import Observer, show
from neurothek.ingest.forward.stream_store import MemoryStreams, StreamFile, Streams
from neurothek.ingest.models.transformer import Block, Transformer

Order = Literal["chunks", "layers"]


def sweep(
    transformer: Transformer,
    corpus: Corpus,
    *,
    observers_for: Callable[[int, int], Sequence[Observer]],
    is_done: Callable[[int, int], bool],
    sink: Callable[[int, int, list[pl.DataFrame]], None],
    finish: Callable[[int], None] = lambda layer: None,
    batch_tokens: int,
    order: Order = "chunks",
    folder: Path | None = None,
    progress: Progress | None = None,
    label: str = "reading text",
) -> None:
    """Run the corpus through the model once and hand over what the observers of each (layer, chunk) saw.

    Both orders give the same bits: a batch is computed alone and always in the same shape.

    Args:
        transformer: the model.
        corpus: the text.
        observers_for: (layer, chunk) -> new observers.
        is_done: (layer, chunk) -> whether nothing is left to see there.
        sink: takes (layer, chunk, the observers' results).
        finish: takes every layer once all its chunks are done: at once with layers outside, else at the end.
        batch_tokens: padded ids a batch holds at most.
        order: chunks outside (the streams of one chunk stay in memory) or layers outside (those of the whole corpus
            lie in a file).
        folder: where that file lies.
        progress: counts (layer, chunk) pairs.
        label: what the progress is of.
    """
    watcher = progress or Silent()
    chunks = corpus.chunks()
    n_layers = transformer.shape.n_layers
    pass_ = _Pass(transformer, corpus, observers_for, is_done, sink, finish, batch_tokens, watcher)
    watcher.start(label, n_layers * len(chunks))
    with torch.inference_mode():
        if order == "chunks":
            pass_.chunks_outside(chunks)
        else:
            assert folder is not None
            pass_.layers_outside(chunks, folder)
    watcher.finish()


@dataclass(frozen=True, eq=False)
class _Pass:
    transformer: Transformer
    corpus: Corpus
    observers_for: Callable[[int, int], Sequence[Observer]]
    is_done: Callable[[int, int], bool]
    sink: Callable[[int, int, list[pl.DataFrame]], None]
    finish: Callable[[int], None]
    batch_tokens: int
    watcher: Progress

    def chunks_outside(self, chunks: Sequence[range]) -> None:
        """Take each chunk through all layers; layers are finished when all streams are gone."""
        for number, chunk in enumerate(chunks):
            streams = MemoryStreams()
            for layer in range(self.transformer.shape.n_layers):
                if self.is_needed(layer, [number]):
                    with self.transformer.block(layer) as block:
                        self.run(block, layer, number, chunk, streams)
                self.watcher.advance()
            del streams
        for layer in range(self.transformer.shape.n_layers):
            self.finish(layer)

    def layers_outside(self, chunks: Sequence[range], folder: Path) -> None:
        """Take all chunks through one layer and finish it, its weights gone again, before the next."""
        with temporary(folder / "streams") as path:
            streams = StreamFile(path, self.transformer)
            streams.reserve(self.corpus.n_tokens)
            for layer in range(self.transformer.shape.n_layers):
                if self.is_needed(layer, range(len(chunks))):
                    with self.transformer.block(layer) as block:
                        for number, chunk in enumerate(chunks):
                            self.run(block, layer, number, chunk, streams)
                            self.watcher.advance()
                self.finish(layer)

    def is_needed(self, layer: int, chunks: Sequence[int]) -> bool:
        """Whether this layer or one above it has something left to see in one of the chunks."""
        layers = range(layer, self.transformer.shape.n_layers)
        return any(not self.is_done(above, chunk) for above in layers for chunk in chunks)

    def run(self, block: Block, layer: int, number: int, chunk: range, streams: Streams) -> None:
        """Take one chunk through one block and show it to the observers."""
        if not self.is_needed(layer, [number]):
            return
        observers = [] if self.is_done(layer, number) else list(self.observers_for(layer, number))
        chosen = batches(self.corpus, chunk, batch_tokens=self.batch_tokens)
        results = show(self.transformer, block, chosen, layer=layer, streams=streams, observers=observers)
        if observers:
            self.sink(layer, number, results)
