"""What measuring shortcuts takes of memory and disk, estimated from above."""

from neurothek.ingest.forward.footprint import numbers_at_work
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.models.families.sub_modules import PARTS

_HEADER_BYTES = 200
"""Of a safetensors file, at most."""

_LONG = 64
"""Ids of a sentence, padding included, beyond which the estimate of memory does not look."""


def memory_bytes(
    shape: Shape,
    *,
    weights_bytes: int,
    itemsize: int,
    n_fit: int,
    n_validation: int,
    sentences_at_once: int,
    batch_tokens: int,
) -> int:
    """What measuring adds to the process's memory.

    Args:
        shape: the model's.
        weights_bytes: of the blocks that stay in memory: all, or one.
        itemsize: bytes of a number of its streams.
        n_fit: sentences to fit on.
        n_validation: sentences to validate on.
        sentences_at_once: those that are read through the head together.
        batch_tokens: padded ids a batch holds at most.
    """
    n_sentences, width = n_fit + n_validation, shape.d_model
    # A block over one batch, and the states it takes and leaves of all sentences.
    working = max(batch_tokens, shape.context_length) * numbers_at_work(shape) * 4
    # And what its parts read and return, where they are to be replaced.
    running = working + (4 + 2 * len(PARTS)) * n_sentences * width * 4
    # The states in double precision, their decomposition and its workspace, and targets in single precision.
    fitting = (6 * n_fit * width + 8 * width * width) * 8 + 8 * n_validation * width * 8
    # The unembedding, its logits of a shard and what is made of them.
    reading = shape.vocab_size * (width + 6 * sentences_at_once) * 4
    # The streams of a shard's sentences from every state on, at all positions.
    replacing = working + (shape.n_layers + 2) * sentences_at_once * _LONG * width * itemsize
    return weights_bytes + max(running, fitting, reading, replacing)


def disk_bytes(shape: Shape, *, itemsize: int, n_sentences: int, n_validation: int, n_ids: int) -> int:
    """What states, streams, substitutes and maps of sub-modules take at once.

    Args:
        shape: the model's.
        itemsize: bytes of a number of its streams.
        n_sentences: sentences to fit and to validate on.
        n_validation: those to validate on.
        n_ids: ids of all sentences.
    """
    states = (shape.n_layers + 1) * n_sentences + shape.n_layers * n_validation
    streams = 2 * n_ids * itemsize
    parts = shape.n_layers * len(PARTS) * shape.d_model
    return ((states + parts) * 4 + streams) * shape.d_model


def kept_bytes(n_matrices: int, d_model: int) -> int:
    """What matrices take that stay."""
    return n_matrices * (4 * d_model**2 + _HEADER_BYTES)
