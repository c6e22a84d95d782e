"""The job `massive`: the largest activations around the FFN's second matrix, and the weight that joins them."""

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.traits import MASSIVE_ACTIVATIONS
from neurothek.ingest.forward.batches import Batch
from neurothek.ingest.forward.chunk_pass import Observer
from neurothek.ingest.forward.footprint import FILE_BYTES, Extent, Footprint
from neurothek.ingest.jobs.job import Frames, JobContext, Partials, SweepJob
from neurothek.ingest.models.families.blocks import BlockOutput
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.request import IngestRequest


def _footprint(shape: Shape, extent: Extent) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    place = 8 * (shape.d_ffn + shape.d_model)
    return Footprint(
        observing=4 * extent.sequence_length * (shape.d_ffn + shape.d_model) + place + 4 * shape.d_ffn * shape.d_model,
        folding=extent.n_chunks * 1_000,
        parts=extent.n_chunks * FILE_BYTES,
        rows=200,
    )


@dataclass(frozen=True)
class MassiveJob(SweepJob):
    """The largest input and output of every layer's second matrix, wherever it is: at a prepended BOS, too."""

    name = "massive"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (MASSIVE_ACTIVATIONS,)
    footprint = staticmethod(_footprint)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "MassiveJob":
        """It has no options."""
        return cls(context)

    def parameters(self) -> dict[str, Any]:
        """It has none."""
        return {}

    def observer(self, layer: int) -> Observer:
        """What watches the layer over one chunk."""
        return MassiveObserver(self.context.units.write_vectors(layer))

    def fold(self, layer: int, partials: Partials) -> Frames:
        """One row: of equal numbers the first, so that every run gives the same."""
        parts = pl.concat([pl.DataFrame(schema=PARTIAL), *partials])
        inputs, outputs = (
            parts.sort(pl.col(f"{what}_largest").abs(), descending=True, maintain_order=True).head(1) for what in _ENDS
        )
        sums = parts.select(pl.col("n", "input_sum", "output_sum").sum())
        widths = {"input": self.context.shape.d_ffn, "output": self.context.shape.d_model}
        values = self.context.units.write_vectors(layer)
        neuron, channel = inputs.item(0, "input_place"), outputs.item(0, "output_place")
        weight = float(values[neuron, channel])
        written, output = outputs.item(0, "written"), outputs.item(0, "output_largest")
        coefficient = float(torch.frombuffer(bytearray(written), dtype=torch.float32)[neuron])
        row = {
            "layer": layer,
            "input_neuron": neuron,
            "output_channel": channel,
            "weight": weight,
            "weight_share": coefficient * weight / output if output else None,
        }
        for what, part in zip(_ENDS, (inputs, outputs), strict=True):
            row |= {
                f"{what}_largest": part.item(0, f"{what}_largest"),
                f"{what}_sequence_id": part.item(0, f"{what}_sequence_id"),
                f"{what}_position": part.item(0, f"{what}_position"),
                f"{what}_mean": sums.item(0, f"{what}_sum") / (widths[what] * sums.item(0, "n")),
            }
        return {MASSIVE_ACTIVATIONS.name: pl.DataFrame([row], schema=MASSIVE_ACTIVATIONS.schema)}


_ENDS = ("input", "output")

PARTIAL = {
    "n": pl.Int64(),
    **{
        f"{what}_{name}": kind
        for what in _ENDS
        for name, kind in {
            "largest": pl.Float32(),
            "place": pl.Int32(),
            "sequence_id": pl.Int32(),
            "position": pl.Int32(),
            "sum": pl.Float64(),
        }.items()
    },
    "written": pl.Binary(),
}
"""One row a chunk: `n` positions; `place` is a neuron or a channel, `sum` of sizes; `written` what every value
vector is multiplied by at the output's place, float32."""


class MassiveObserver:
    """Keeps one layer's largest input and output over one chunk; nothing is asked of a device before the end."""

    def __init__(self, values: Float[Tensor, "d_ffn d_model"]) -> None:
        """Watch a layer with these value vectors."""
        self._n = 0
        device = values.device
        self._sums = {what: torch.zeros((), dtype=torch.float64, device=device) for what in _ENDS}
        self._largest = {what: torch.zeros((), device=device) for what in _ENDS}
        # Sequence, position, and neuron or channel.
        self._places = {what: torch.zeros(3, dtype=torch.int64, device=device) for what in _ENDS}
        self._written = torch.zeros(len(values), device=device)

    def observe(self, batch: Batch, output: BlockOutput) -> None:
        """Take in what a block did with a batch, every id of a sequence."""
        for row, length in enumerate(batch.lengths):
            self._n += length
            for what, numbers in zip(_ENDS, (output.coefficients, output.added), strict=True):
                of_sequence = numbers[row, :length].float()
                sizes = of_sequence.abs()
                self._sums[what] += sizes.sum(dtype=torch.float64)
                size, flat = sizes.flatten().max(0)
                is_larger = size > self._largest[what].abs()
                position = flat // of_sequence.shape[1]
                place = torch.stack(
                    [torch.full_like(flat, batch.first_sequence + row), position, flat % sizes.shape[1]]
                )
                value = of_sequence.flatten().gather(0, flat[None])[0]
                self._largest[what] = torch.where(is_larger, value, self._largest[what])
                self._places[what] = torch.where(is_larger, place, self._places[what])
                if what == "output":
                    written = output.written[row].index_select(0, position[None])[0].float()
                    self._written = torch.where(is_larger, written, self._written)

    def result(self) -> pl.DataFrame:
        """What was seen, with the columns of `PARTIAL`."""
        row: dict[str, Any] = {"n": self._n, "written": self._written.cpu().numpy().tobytes()}
        for what in _ENDS:
            sequence, position, place = self._places[what].cpu().numpy().tolist()
            row |= {
                f"{what}_largest": float(self._largest[what].cpu().numpy()),
                f"{what}_place": place,
                f"{what}_sequence_id": sequence,
                f"{what}_position": position,
                f"{what}_sum": float(self._sums[what].cpu().numpy()),
            }
        return pl.DataFrame([row], schema=PARTIAL)
