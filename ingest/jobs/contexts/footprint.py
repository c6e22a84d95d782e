"""What the job `contexts` takes of memory and disk, estimated from above."""

import torch

from neurothek.ingest.forward.footprint import Extent, Footprint
from neurothek.ingest.jobs.contexts.draws import KEPT, Amounts
from neurothek.ingest.jobs.contexts.histogram import N_BINS
from neurothek.ingest.jobs.contexts.windows import WIDTH
from neurothek.ingest.models.families.shapes import Shape

# Of ReLU's activations in a window at most about half are not 0: it is one of ten at all positions.
_SHARE_OF_RELU = 0.5

# Largest |m|, place, bits and ends of a window, and a place without one.
_WINDOW_BYTES, _PLACE_BYTES = 34, 16

# Counts from the first bin to the last: half of all bins, most of them small.
_HISTOGRAM_BYTES = N_BINS // 2 * 4


def footprint(shape: Shape, extent: Extent) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    amounts = Amounts.of(is_non_negative=shape.is_non_negative)
    share = _SHARE_OF_RELU if shape.is_non_negative else 1
    windows = amounts.n_windows * (_WINDOW_BYTES + int(WIDTH * share))
    rows = shape.d_ffn * (KEPT * _PLACE_BYTES + windows + _HISTOGRAM_BYTES)
    # The best of 80 sequences by neuron and a thread's search of one sequence; three times the windows as read;
    # and 2,048 positions of each neuron, twice, while a thread counts them.
    read = 3 * amounts.n_windows * WIDTH * 4
    observing = shape.d_ffn * (6_000 + read + (1_500 + 2 * 2_048 * 4) * torch.get_num_threads())
    parts = extent.n_chunks * shape.d_ffn * (KEPT * _PLACE_BYTES + windows + N_BINS * 8)
    return Footprint(observing=observing, folding=6 * rows + 2 * N_BINS * 8 * shape.d_ffn, parts=parts, rows=rows)
