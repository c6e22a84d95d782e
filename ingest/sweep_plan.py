"""Which order a sweep takes, and whether weights stay in memory, for a memory budget; neither changes a number."""

from dataclasses import dataclass

from ingest.architectures import Transformer
from ingest.corpora import CHUNK_TOKENS, Corpus
from ingest.errors import MemoryTooSmall
from ingest.streams import DiskStreams
from ingest.sweep import Order

# Streams, attention's inputs and outputs and the norms' results that exist at once, in units of batch x d_model.
_STREAMS = 10
# Pre-activation, activation, and what observers copy of it, in units of batch x d_ffn.
_ACTIVATIONS = 3
# Tallies and best contexts of the observers: float64 and int64 numbers a neuron.
_OBSERVER_BYTES = 8 * 256
# The activations of a chunk as bits, kept three times while they are handed over.
_BIT_COPIES = 3


@dataclass(frozen=True)
class SweepPlan:
    """How a sweep keeps within its memory.

    Attributes:
        order: chunks outside (one chunk's streams in memory) or layers outside (all streams in a file).
        is_resident: whether a block's weights stay in memory after their first use.
        memory_bytes: what the sweep adds to the process's memory, estimated from above.
        disk_bytes: what it writes to the staging folder besides measurements.
    """

    order: Order
    is_resident: bool
    memory_bytes: int
    disk_bytes: int


def plan(transformer: Transformer, corpus: Corpus, *, batch_tokens: int, memory_bytes: int) -> SweepPlan:
    """The first of these that fits: chunks outside with resident weights, with streamed ones, layers outside.

    Raises:
        MemoryTooSmall: not even one layer at a time fits; says how much is needed.
    """
    plans = [
        _estimate(transformer, corpus, batch_tokens, "chunks", is_resident=True),
        _estimate(transformer, corpus, batch_tokens, "chunks", is_resident=False),
        _estimate(transformer, corpus, batch_tokens, "layers", is_resident=False),
    ]
    for candidate in plans:
        if candidate.memory_bytes <= memory_bytes:
            return candidate
    raise MemoryTooSmall(plans[-1].memory_bytes, memory_bytes)


def _estimate(
    transformer: Transformer, corpus: Corpus, batch_tokens: int, order: Order, *, is_resident: bool
) -> SweepPlan:
    shape, itemsize = transformer.shape, transformer.dtype.itemsize
    batch = max(batch_tokens, corpus.sequence_length)
    working = batch * (_STREAMS * shape.d_model + _ACTIVATIONS * shape.d_ffn) * max(itemsize, 4)
    bits = shape.d_ffn * max(CHUNK_TOKENS, corpus.sequence_length) * _BIT_COPIES // 8
    observers = shape.d_ffn * _OBSERVER_BYTES + bits
    layers = range(shape.n_layers if is_resident else 1)
    weights = sum(transformer.block_bytes(layer) for layer in layers)
    chunk = max(CHUNK_TOKENS, corpus.sequence_length) if order == "chunks" else 0
    streams = chunk * shape.d_model * itemsize
    return SweepPlan(
        order=order,
        is_resident=is_resident,
        memory_bytes=working + observers + weights + streams,
        disk_bytes=DiskStreams.bytes_needed(corpus, transformer) if order == "layers" else 0,
    )
