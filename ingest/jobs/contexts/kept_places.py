"""What is kept of a text for each neuron, as rows: places and the windows around them."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int, Int8
from torch import Tensor

from neurothek.ingest.forward.strongest_places import N_AFTER, N_BEFORE, WIDTH, KeptPlaces
from neurothek.ingest.jobs.contexts.draws import Draws

STEPS = 127
"""The largest |m| of a window as an integer: an activation is `integer * largest / 127`, right to half of a 127th."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows around places, cut at the ends of the sequence and before its first counted position."""

    integers: Int8[Tensor, "windows width"]  # from -127 to 127, the place itself at `N_BEFORE`
    is_nonzero: Bool[Tensor, "windows width"]  # where m is not 0; False beyond the ends
    largest: Float[Tensor, " windows"]  # the largest |m| of each window
    n_before: Int[Tensor, " windows"]  # positions of each before its place
    n_after: Int[Tensor, " windows"]  # positions of each after it

    @classmethod
    def of(
        cls,
        values: Float[Tensor, "windows width"],
        positions: Int[Tensor, " windows"],
        lengths: Int[Tensor, " windows"],
        *,
        first_counted: int,
    ) -> "Windows":
        """The windows of what `read_around` read at positions of sequences that are so long."""
        steps = torch.arange(-N_BEFORE, N_AFTER + 1, device=values.device)
        n_before = (positions - first_counted).clamp(max=N_BEFORE)
        n_after = (lengths - 1 - positions).clamp(max=N_AFTER)
        is_inside = (steps >= -n_before[:, None]) & (steps <= n_after[:, None])
        inside = values.double().masked_fill(~is_inside, 0)
        largest = inside.abs().amax(1)
        # In float64 the largest is exactly 127; a window of zeros stays one.
        scaled = inside * (STEPS / torch.where(largest > 0, largest, 1.0))[:, None]
        return cls(scaled.round().to(torch.int8), inside != 0, largest.float(), n_before, n_after)


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


def kept_frame(places: KeptPlaces, draws: Draws, sort: Sort) -> pl.DataFrame:
    """A row for each neuron and sequence that is kept, those with windows first."""
    has_window = places.has_window
    others = (places.ranks > 0) & ~has_window
    columns = [places.frame(mask).with_columns(sort=pl.lit(sort)) for mask in (has_window, others)]
    positions = places.positions[has_window].cpu()
    lengths = torch.from_numpy(draws.lengths[places.sequences[has_window].cpu().numpy()])
    windows = Windows.of(places.windows().cpu(), positions, lengths, first_counted=draws.first_counted)
    return _complete(pl.concat([columns[0].hstack(_windows_frame(windows)), columns[1]], how="diagonal"))


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
