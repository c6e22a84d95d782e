"""What the job `positions` takes of memory and disk, estimated from above."""

import torch

from neurothek.ingest.forward.footprint import FILE_BYTES, Extent, Footprint
from neurothek.ingest.models.families.shapes import Shape


def footprint(shape: Shape, extent: Extent) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    cells = shape.d_ffn * extent.sequence_length
    # Domains follow one another: a chunk holds counts of another one only where the next begins.
    parts = cells * 2 * min(extent.n_chunks + extent.n_domains - 1, extent.n_sequences)
    parts += extent.n_chunks * (FILE_BYTES + extent.sequence_length * extent.n_domains * 24)
    # A thread measures the profiles of 256 neurons at once, with a dozen arrays of 64 bits.
    block = min(256, shape.d_ffn) * extent.sequence_length * 8 * 12 * torch.get_num_threads()
    # Every count of every neuron is a row's only where the position tells much: here it is taken to be so.
    counts = (extent.n_domains + 1) * (cells + shape.d_ffn * 64) * 8
    return Footprint(
        observing=cells * extent.n_domains * 8 + (1 << 20),
        folding=cells * (4 * extent.n_domains + 6 * min(2, extent.n_domains)) + 2 * counts + block,
        parts=parts,
        rows=shape.d_ffn * 400 + counts // 8,
    )
