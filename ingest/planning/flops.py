"""Floating-point operations, counted from sizes: a multiplication and an addition are two."""

from ingest.forward.footprint import Extent
from ingest.models.families.shapes import Shape


def block_flops(shape: Shape, sequence_length: int) -> int:
    """Of one id through one block: four projections of attention, scores and sums over the sequence, the FFN's maps.

    Every id is taken to look at the whole sequence, as the usual kernels compute it before they mask; embeddings, norms
    and biases are left out, which are below one percent. Every head is taken to have keys and values of its own.
    """
    maps = 3 if shape.is_gated else 2
    projections = 4 * shape.d_model * shape.d_model + maps * shape.d_model * shape.d_ffn
    attention = 2 * sequence_length * shape.d_model
    return 2 * (projections + attention)


def forward_flops(shape: Shape, extent: Extent) -> int:
    """Of the whole text through all blocks, without the vocabulary head, which no sweep computes."""
    return extent.n_tokens * shape.n_layers * block_flops(shape, extent.sequence_length)


def projection_flops(shape: Shape) -> int:
    """Of the job `projections`: every value vector and every token against the whole vocabulary."""
    vectors = shape.n_layers * shape.d_ffn + shape.vocab_size
    return 2 * shape.vocab_size * shape.d_model * vectors
