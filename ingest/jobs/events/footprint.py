"""What the job `events` takes of memory, estimated from above."""

from neurothek.ingest.forward.footprint import numbers_at_work
from neurothek.ingest.models.families.shapes import Shape

_LONG = 64
"""Ids of an example, padding included, beyond which the estimate does not look."""


def events_bytes(shape: Shape, *, weights_bytes: int, itemsize: int, shard_examples: int, batch_tokens: int) -> int:
    """What measuring adds to the process's memory.

    Args:
        shape: the model's.
        weights_bytes: of the blocks that stay in memory: all, or one.
        itemsize: bytes of a number of its streams.
        shard_examples: examples that are measured together.
        batch_tokens: padded ids a batch holds at most.
    """
    unembedding = shape.vocab_size * shape.d_model * 4
    # Two streams per layer and example, and three times the logits of a hundred examples.
    kept = shard_examples * shape.n_layers * 2 * shape.d_model * 4
    logits = 3 * 128 * shape.vocab_size * 4
    # Streams of a whole shard wait between two layers; a block works on one batch.
    waiting = shard_examples * min(shape.context_length, _LONG) * shape.d_model * itemsize
    working = max(batch_tokens, shape.context_length) * numbers_at_work(shape) * 4
    return weights_bytes + unembedding + kept + logits + waiting + working
