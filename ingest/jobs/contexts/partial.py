"""What one chunk leaves of a layer: rows of several sorts in one frame, told apart by `sort`."""

from typing import Literal

import numpy as np
import polars as pl
import pyarrow as pa
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.ingest.jobs.contexts.draws import Draws
from neurothek.ingest.jobs.contexts.kept_places import KeptPlaces
from neurothek.ingest.jobs.contexts.windows import N_BEFORE, WIDTH, Windows

Sort = Literal["strongest", "quantile", "random", "counts"]

PARTIAL = {
    "sort": pl.String(),
    "neuron": pl.Int32(),
    "priority": pl.Int64(),
    "activation": pl.Float32(),
    "sequence_id": pl.Int32(),
    "position": pl.Int32(),
    "n_before": pl.Int16(),
    "n_after": pl.Int16(),
    "nonzero": pl.Int64(),
    "activations": pl.List(pl.Int8()),
    "counts": pl.List(pl.Int64()),
}
"""Columns of a partial.

`priority` is what they are ranked by, the highest first; `activation` is m at the
place, and of a random one the largest |m| of the window; `nonzero` says by bits at which positions of the window m is
not 0, and `activations` are the integers there, null where no window is kept; `counts` are those of a histogram.
"""


def kept_frame(kept: KeptPlaces, draws: Draws, sort: Sort) -> pl.DataFrame:
    """A row for each neuron and sequence that is kept, those with windows first."""
    has_window = kept.has_window
    others = (kept.ranks > 0) & ~has_window
    columns = [_columns(kept, sort, some) for some in (has_window, others)]
    positions = kept.positions[has_window].cpu()
    lengths = torch.from_numpy(draws.lengths[kept.sequences[has_window].cpu().numpy()])
    windows = Windows.of(kept.windows().cpu(), positions, lengths, first_counted=draws.first_counted)
    return _complete(pl.concat([columns[0].hstack(_windows_frame(windows)), columns[1]], how="diagonal"))


def _columns(kept: KeptPlaces, sort: Sort, some: Tensor) -> pl.DataFrame:
    _, neurons = some.nonzero(as_tuple=True)
    return pl.DataFrame(
        {
            "sort": pl.repeat(sort, len(neurons), dtype=pl.String, eager=True),
            "neuron": neurons.cpu().numpy().astype(np.int32),
            "priority": kept.ranks[some].cpu().numpy(),
            "activation": kept.activations[some].cpu().numpy(),
            "sequence_id": kept.sequences[some].cpu().numpy().astype(np.int32),
            "position": kept.positions[some].cpu().numpy().astype(np.int32),
        }
    )


def random_frame(number: int, values: Float[Tensor, "d_ffn width"], draws: Draws) -> pl.DataFrame:
    """A row for each neuron: its window around the random place of that number, from what was read there."""
    sequence, position = draws.places[number]
    positions = torch.full((len(values),), position)
    lengths = torch.full((len(values),), int(draws.lengths[sequence]))
    windows = Windows.of(values.cpu(), positions, lengths, first_counted=draws.first_counted)
    frame = pl.DataFrame(
        {
            "sort": pl.repeat("random", len(values), eager=True),
            "neuron": np.arange(len(values), dtype=np.int32),
            "activation": windows.largest.numpy(),
        }
    ).with_columns(
        pl.lit(-number, pl.Int64).alias("priority"),
        pl.lit(sequence).alias("sequence_id"),
        pl.lit(position).alias("position"),
    )
    return _complete(frame.hstack(_windows_frame(windows)))


def counts_frame(counts: Int[Tensor, "d_ffn bins"]) -> pl.DataFrame:
    """A row for each neuron: its histogram."""
    lists = pl.Series(counts.cpu().numpy()).arr.to_list()
    neurons = np.arange(len(lists), dtype=np.int32)
    return _complete(pl.DataFrame({"sort": "counts", "neuron": neurons, "counts": lists}))


def _windows_frame(windows: Windows) -> pl.DataFrame:
    """The windows without what lies beyond the ends of their sequences, and only the integers where m is not 0."""
    is_nonzero = windows.is_nonzero.numpy()
    ends = np.cumsum([0, *is_nonzero.sum(axis=1)], dtype=np.int64)
    # From the buffers themselves: to convert an array Arrow would load pandas first, lest it be one of its own.
    flat = np.ascontiguousarray(windows.integers.numpy()[is_nonzero])
    integers = pa.Array.from_buffers(pa.int8(), len(flat), [None, pa.py_buffer(flat.data)])
    starts = [None, pa.py_buffer(ends.data)]
    lists = pa.Array.from_buffers(pa.large_list(pa.int8()), len(is_nonzero), starts, children=[integers])
    bits = (is_nonzero.astype(np.int64) << np.arange(WIDTH)).sum(axis=1)
    n_before = windows.n_before.numpy()
    return pl.DataFrame(
        {
            "n_before": n_before.astype(np.int16),
            "n_after": windows.n_after.numpy().astype(np.int16),
            "nonzero": bits >> (N_BEFORE - n_before),
            "activations": pl.Series(lists),
        }
    )


def _complete(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns of `PARTIAL`; what the frame has not is null."""
    return frame.select(
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in PARTIAL.items()
    )
