"""What the job `contexts` takes of memory and disk, estimated from above."""

import torch

from ingest.forward.footprint import Extent, Footprint
from ingest.models.families.shapes import Shape


def footprint(shape: Shape, extent: Extent) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    # The best of 80 sequences by neuron, sorted, and a thread's search of one sequence.
    observing = shape.d_ffn * (6_000 + 1_500 * torch.get_num_threads())
    rows = shape.d_ffn * 10 * 16
    return Footprint(observing=observing, folding=10 * rows, parts=extent.n_chunks * rows, rows=rows)
