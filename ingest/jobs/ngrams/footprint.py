"""What the job `ngrams` takes of memory and disk, estimated from above."""

import torch

from neurothek.ingest.forward.footprint import FILE_BYTES, Extent, Footprint
from neurothek.ingest.jobs.ngrams.trigger_scores import BLOCK
from neurothek.ingest.models.families.shapes import Shape

READ_BYTES = 32 << 20
"""Bits that the fold of n-grams reads at a time."""


def footprint(shape: Shape, extent: Extent) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    chunk_bits = shape.d_ffn * extent.chunk_tokens // 8
    n_distinct = min(shape.vocab_size, extent.n_tokens) + 2 * extent.n_tokens
    index = extent.n_tokens * 28 + n_distinct * 24
    numbering = extent.n_tokens * 64
    unembedding = shape.vocab_size * shape.d_model * 4
    bits = shape.d_ffn * extent.n_tokens // 8
    scores = shape.vocab_size * min(BLOCK, shape.d_ffn) * 4 + shape.d_ffn * shape.d_model * 4 * 2
    counting = extent.n_tokens * 80 * torch.get_num_threads() + 3 * min(bits, READ_BYTES)
    triggers = shape.d_ffn * 8_000
    return Footprint(
        observing=4 * chunk_bits,
        folding=max(numbering, counting + scores + triggers),
        kept=index + unembedding,
        parts=bits + extent.n_chunks * (FILE_BYTES + shape.d_ffn * 4),
        rows=shape.d_ffn * 900,
        shared_rows=100_000,
    )
