"""The job `clusters`: which value vectors of a model belong together, and which are nearest to each other ([G] 5.2)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.catalog.problems import Invalid
from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.weights import CLUSTER_CONTROLS, CLUSTERINGS, CLUSTERS, NEIGHBOURS
from neurothek.ingest.errors import not_enough_memory
from neurothek.ingest.forward.footprint import Footprint
from neurothek.ingest.jobs.clusters import agglomeration, complete_linkage
from neurothek.ingest.jobs.clusters.agglomeration import Cut, Method, least_bytes
from neurothek.ingest.jobs.job import Frames, JobContext, MeasureShard, ReadBack, WeightsJob
from neurothek.ingest.lens.scorer import Scorer, ScorerOptions, workspace_bytes
from neurothek.ingest.lens.top_k import Extremes, bound_groups_, group_count, select
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.models.units import Units, addresses
from neurothek.ingest.numerics.random_stream import Purpose, random_stream
from neurothek.ingest.numerics.unit_vectors import directions_of, without_self
from neurothek.ingest.request import IngestRequest


def _footprint(shape: Shape) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    # Of all neurons at once, whatever the layer: what more there is goes into distances.
    n = shape.n_layers * shape.d_ffn
    two_layers = 4 * shape.d_ffn * shape.d_model * 4 + workspace_bytes(shape.d_ffn)
    # Ten neighbours a neuron, and its place in two clusterings.
    return Footprint(folding=max(least_bytes(n, shape.d_model), two_layers), rows=shape.d_ffn * 200)


_CLUSTERS = "clusters"
_CONTROLS = "random-directions"
_NEIGHBOURS = "neighbours-"


@dataclass(frozen=True)
class Linking:
    """How vectors are linked: over all pairs where the distances of half of them fit into memory, else by parts."""

    n: int  # how many vectors there are
    most: int  # how many are linked at once

    @classmethod
    def of(cls, n: int, d_model: int, *, memory_bytes: int) -> "Linking":
        """For `n` vectors of so many coordinates."""
        most = min(n, complete_linkage.most_within(memory_bytes - agglomeration.bytes_beside(n, d_model)))
        if most < min(n, agglomeration.LEAST_LINKED):
            raise not_enough_memory("clustering", agglomeration.least_bytes(n, d_model), memory_bytes)
        # Whole thousands, so that a little more memory changes no number.
        return cls(n, most if most == n else most // 1000 * 1000)

    @property
    def method(self) -> Method:
        """Whether the linkage is that over all pairs.

        Where their distances do not fit into memory, rounds of merges come before, each of which looks through most
        pairs again: halving the groups takes three or four.
        """
        return "exact" if self.n <= 2 * self.most else "scalable"

    def parameters(self) -> dict[str, Any]:
        """What changes numbers."""
        how: dict[str, Any] = {"linkage": "complete", "method": self.method}
        # Of merges that tie, or nearly so, rounds may make another first.
        return how if self.most == self.n else how | {"linked_at_once": self.most}

    def cut(self, directions: Float[Tensor, "n d_model"], *, either_sign: bool = False) -> Cut:
        """Link the directions."""
        if self.method == "exact":
            return agglomeration.exact(directions, most=self.most, either_sign=either_sign)
        return agglomeration.scalable(directions, most=self.most, either_sign=either_sign)


@dataclass(frozen=True)
class ClustersJob(WeightsJob):
    """Agglomerative clusterings of all value vectors by cosine distance, complete linkage, and nearest neighbours.

    In a gated model a value vector and its negative are one: distances are 1 - |cosine| [ours]. As many random
    directions are clustered in the same way, after the vectors, so that both are never in memory together.
    """

    sizes: tuple[int, ...]  # how many clusters each clustering is asked for
    linking: Linking  # how
    neighbours: int = 10  # how many nearest vectors are kept of each
    name = "clusters"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (CLUSTERINGS, CLUSTERS, NEIGHBOURS, CLUSTER_CONTROLS)
    footprint = staticmethod(_footprint)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "ClustersJob":
        """With the numbers of clusters that were asked for, within the memory; raises as `of`."""
        return cls.of(context, sizes=request.clusters, memory_bytes=request.memory_bytes)

    @staticmethod
    def options(parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The numbers of clusters."""
        return {"clusters": tuple(parameters["sizes"])}

    @classmethod
    def of(cls, context: JobContext, *, sizes: Sequence[int] = (), memory_bytes: int) -> "ClustersJob":
        """The job for a model: exact where the distances of half of the neurons fit into memory."""
        n, d_model = sum(map(context.units.width, context.units.layers)), context.shape.d_model
        for size in sizes:
            if not 1 <= size <= n:
                raise Invalid(
                    f"cannot make {size:,} clusters from the model's {n:,} neurons",
                    f"choose a number from 1 to {n:,}",
                    option="--clusters",
                    value=size,
                )
        linking = Linking.of(n, d_model, memory_bytes=memory_bytes)
        return cls(context, tuple(dict.fromkeys(sizes or default_sizes(n))), linking)

    def parameters(self) -> dict[str, Any]:
        """The sizes, and how they are obtained."""
        signs = {"signs": "either"} if self.context.units.is_signed else {}
        return {"sizes": list(self.sizes), "neighbours": self.neighbours, **self.linking.parameters(), **signs}

    def shards(self) -> Mapping[str, tuple[str, ...]]:
        """One shard for all clusterings, one for those of random directions, one per layer for its neighbours."""
        layers = {f"{_NEIGHBOURS}{layer:04d}": (NEIGHBOURS.name,) for layer in self.context.units.layers}
        return {_CLUSTERS: (CLUSTERINGS.name, CLUSTERS.name), _CONTROLS: (CLUSTER_CONTROLS.name,), **layers}

    def apart(self) -> tuple[str, ...]:
        """All of its shards."""
        return tuple(self.shards())

    @contextmanager
    def open(self, folder: Path, read_back: ReadBack) -> Iterator[MeasureShard]:
        """What measures all clusterings, those of random directions, or a layer's neighbours."""
        units = self.context.units

        def measure(shard: str) -> Frames:
            if shard == _CLUSTERS:
                return self._clusterings(units)
            if shard == _CONTROLS:
                return {CLUSTER_CONTROLS.name: self._random_clusterings(units)}
            layer = int(shard.removeprefix(_NEIGHBOURS))
            return {NEIGHBOURS.name: value_neighbours_frame(units, layer, k=self.neighbours)}

        yield measure

    def _clusterings(self, units: Units) -> Frames:
        directions, unembedding = all_directions(units), self.context.transformer.unembedding()
        cut = self.linking.cut(directions, either_sign=units.is_signed)
        clusterings, clusters = [], []
        for number, size in enumerate(self.sizes):
            labels = cut(size)
            signs = agglomeration.turned(directions, labels, unembedding) if units.is_signed else None
            cosines = agglomeration.centre_cosines(directions, labels, signs=signs)
            clusters.append(_members_frame(number, labels, cosines, units))
            clusterings.append((number, self.linking.method, "complete", size, int(labels.max()) + 1))
        return {
            CLUSTERINGS.name: pl.DataFrame(clusterings, schema=CLUSTERINGS.schema, orient="row"),
            CLUSTERS.name: pl.concat(clusters),
        }

    def _random_clusterings(self, units: Units) -> pl.DataFrame:
        """Rows of `cluster_controls`: directions without a model, linked and cut as its vectors are."""
        directions = random_directions(self.linking.n, self.context.shape.d_model)
        directions = directions.to(self.context.transformer.device)
        cut = self.linking.cut(directions, either_sign=units.is_signed)
        rows = []
        for size in self.sizes:
            labels = cut(size)
            several = agglomeration.cohesions(directions, labels, either_sign=units.is_signed)
            middle, high, largest = np.quantile(several, (0.5, 0.95, 1)).tolist() if len(several) else (None,) * 3
            rows.append((size, int(labels.max()) + 1, len(several), middle, high, largest))
        return pl.DataFrame(rows, schema=CLUSTER_CONTROLS.schema, orient="row")


def default_sizes(n_neurons: int) -> tuple[int, ...]:
    """A tenth of the neurons, at most the 10,000 of [G] 5.2, for what clusters mean; fewer for early exit (ours).

    Which vectors the authors' clusters for early exit were made of is open.
    """
    many, few = min(10_000, n_neurons // 10), min(200, max(20, n_neurons // 100))
    return tuple(dict.fromkeys(max(1, min(n_neurons, size)) for size in (many, few)))


def _members_frame(clustering_id: int, labels: np.ndarray, cosines: np.ndarray, units: Units) -> pl.DataFrame:
    layers, numbers = addresses(units)
    columns = {
        "clustering_id": np.full(len(labels), clustering_id, dtype=np.int32),
        "layer": layers,
        "neuron": numbers,
        "cluster_id": labels.astype(np.int32),
        "centre_cosine": cosines,
    }
    frame = pl.DataFrame(columns, schema=CLUSTERS.schema)
    return frame.with_columns(pl.col("centre_cosine").fill_nan(None))


_BLOCK = 512
"""Neurons whose cosines with a whole layer are held at once."""


def value_neighbours_frame(units: Units, layer: int, *, k: int) -> pl.DataFrame:
    """Rows of `neighbours`: for each unit of the layer the `k` others of the set with the largest cosine.

    In a gated model, where signs are a convention, with the largest |cosine|. Ties go to the lower layer, then the
    lower unit. Two layers are in memory at once.
    """
    layers, numbers = addresses(units)
    n_kept, width = min(k, len(layers) - 1), units.width(layer)
    if n_kept < 1:
        return NEIGHBOURS.empty()
    mine = directions_of(units.write_vectors(layer))
    cosines: np.ndarray = np.empty((width, 0), dtype=np.float32)
    places: np.ndarray = np.empty((width, 0), dtype=np.int64)
    for other in units.layers:
        theirs = mine if other == layer else directions_of(units.write_vectors(other))
        # One more than asked for among its own layer, where a unit is usually its own nearest.
        n_nearest = min(n_kept + (other == layer), len(theirs))
        nearest = _aligned(theirs, mine, k=n_nearest) if units.is_signed else _nearest(theirs, mine, k=n_nearest)
        rows, values = nearest.rows.cpu().numpy(), nearest.values.cpu().numpy()
        if other == layer:
            chosen = without_self(rows)
            rows, values = (part[chosen].reshape(width, -1) for part in (rows, values))
        cosines = np.concatenate([cosines, values], axis=1)
        places = np.concatenate([places, np.searchsorted(layers, other) + rows], axis=1)
        sizes = np.abs(cosines) if units.is_signed else cosines
        best = np.argsort(-sizes, axis=1, kind="stable")[:, :n_kept]
        cosines, places = (np.take_along_axis(part, best, axis=1) for part in (cosines, places))
    return _frame(layer, layers[places], numbers[places], cosines)


def _nearest(theirs: Float[Tensor, "n d_model"], mine: Float[Tensor, "m d_model"], *, k: int) -> Extremes:
    """Of each of mine the `k` with the largest cosine."""
    nearest = Scorer(theirs, keep=ScorerOptions(largest=k)).score(mine).largest
    assert nearest is not None
    return nearest


@torch.inference_mode()
def _aligned(theirs: Float[Tensor, "n d_model"], mine: Float[Tensor, "m d_model"], *, k: int) -> Extremes:
    """Of each of mine the `k` with the largest |cosine|, and their cosines."""
    parts = []
    for block in torch.split(mine, _BLOCK):
        cosines = theirs @ block.T
        sizes = cosines.abs()
        bounds = sizes.new_empty(group_count(len(sizes)), len(block))
        bound_groups_(bounds, sizes, first_row=0, side="largest")
        rows = select(sizes, bounds, k=k, side="largest").rows
        parts.append(Extremes(rows, cosines.T.gather(1, rows)))
    return Extremes.joined(parts)


def _frame(layer: int, layers: np.ndarray, numbers: np.ndarray, cosines: np.ndarray) -> pl.DataFrame:
    n, width = cosines.shape
    columns = {
        "layer": np.full(n * width, layer, dtype=np.int16),
        "neuron": np.repeat(np.arange(n, dtype=np.int32), width),
        "rank": np.tile(np.arange(1, width + 1, dtype=np.int16), n),
        "other_layer": layers.ravel(),
        "other_neuron": numbers.ravel(),
        "cosine": np.clip(cosines.ravel(), -1, 1),
    }
    return pl.DataFrame(columns, schema=NEIGHBOURS.schema)


_ROWS_AT_ONCE = 1024
"""Random directions that are drawn at once, in float64."""


def random_directions(n: int, d_model: int, *, seed: int = 0) -> Float[Tensor, "n d_model"]:
    """[n d_model] float32 directions, evenly from the sphere: normal coordinates, scaled to length 1 [ours].

    They depend on their number, their coordinates and the seed alone: models of one shape are held against the same.
    """
    generator = random_stream(seed, Purpose.RANDOM_DIRECTIONS, n, d_model)
    directions = torch.empty(n, d_model)
    for start in range(0, n, _ROWS_AT_ONCE):
        rows = generator.standard_normal((min(_ROWS_AT_ONCE, n - start), d_model))
        directions[start : start + len(rows)] = directions_of(torch.from_numpy(rows)).float()
    return directions


def all_directions(units: Units) -> Float[Tensor, "units d_model"]:
    """[units d_model] the directions of all that is written, by layer, then unit."""
    filled: Tensor | None = None
    n, start = sum(map(units.width, units.layers)), 0
    for layer in units.layers:
        directions = directions_of(units.write_vectors(layer))
        if filled is None:
            filled = directions.new_empty(n, directions.shape[1])
        filled[start : start + len(directions)] = directions
        start += len(directions)
    assert filled is not None
    return filled
