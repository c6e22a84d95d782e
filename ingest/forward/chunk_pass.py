"""One chunk of a corpus taken through blocks, and shown to observers on the way."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

import polars as pl
import torch

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.batches import Batch, batches
from neurothek.ingest.forward.stream_store import Streams
from neurothek.ingest.models.transformer import Block, BlockOutput, Transformer


@runtime_checkable
class Observer(Protocol):
    """Watches one layer of one chunk."""

    def observe(self, batch: Batch, output: BlockOutput) -> None:
        """Take in what the block did with one batch; batches come in the order of the corpus."""

    def result(self) -> pl.DataFrame:
        """What was seen, ready to be folded with the other chunks'."""


def show(
    transformer: Transformer,
    block: Block,
    chosen: Iterable[Batch],
    *,
    layer: int,
    streams: Streams,
    observers: Sequence[Observer],
) -> list[pl.DataFrame]:
    """Take batches through one block, and return what the observers saw there.

    Args:
        transformer: the model.
        block: its block `layer`.
        chosen: the batches; each is computed alone and always in the same shape.
        layer: which block it is; the first reads the embeddings.
        streams: what entered the block, which what leaves it takes the place of.
        observers: who watches.
    """
    for batch in chosen:
        stream = transformer.embed(batch.tokens) if layer == 0 else streams.load(batch)
        output = block(stream)
        streams.save(batch, output.stream)
        for observer in observers:
            observer.observe(batch, output)
    return [observer.result() for observer in observers]


def take_through(
    transformer: Transformer,
    corpus: Corpus,
    number: int,
    watched: Iterable[tuple[int, Sequence[Observer]]],
    *,
    streams: Streams,
    batch_tokens: int,
) -> Iterator[tuple[int, list[pl.DataFrame]]]:
    """Take one chunk through neighbouring blocks; (layer, what its observers saw) for each.

    Args:
        transformer: the model.
        corpus: the text.
        number: which chunk of it.
        watched: the layers in their order, each with its observers.
        streams: what entered the first of these blocks, unless that is the model's first; holds what left the last.
        batch_tokens: padded ids a batch holds at most.
    """
    chunk = corpus.chunks()[number]
    for layer, observers in watched:
        with transformer.block(layer) as block:
            chosen = batches(corpus, chunk, batch_tokens=batch_tokens)
            with torch.inference_mode():
                results = show(transformer, block, chosen, layer=layer, streams=streams, observers=observers)
        yield layer, results
