"""The job `clusters`: which value vectors of a model belong together, and which are nearest to each other ([G] 5.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Float
from torch import Tensor

from catalog.tables import CLUSTERINGS, CLUSTERS, NEIGHBOURS, Table
from ingest.errors import ClusterMemoryTooSmall, ClustersTooMany
from ingest.jobs.clusters import agglomeration, complete_linkage
from ingest.jobs.clusters.agglomeration import Cut, Method
from ingest.jobs.clusters.neighbours import all_directions, value_neighbours_frame
from ingest.models.tokenizer import Tokenizer
from ingest.models.transformer import Shape, Transformer

_CLUSTERS = "clusters"
_NEIGHBOURS = "neighbours-"


@dataclass(frozen=True)
class ClustersJob:
    """Agglomerative clusterings of all value vectors by cosine distance, complete linkage, and nearest neighbours.

    Attributes:
        sizes: how many clusters each clustering is asked for.
        most: how many vectors are linked at once: all of them by the exact method, else fewer.
        n_neurons: how many there are.
        neighbours: how many nearest vectors are kept of each.
    """

    sizes: tuple[int, ...]
    most: int
    n_neurons: int
    neighbours: int = 10
    name: str = "clusters"
    version: int = 1
    tables: tuple[Table, ...] = (CLUSTERINGS, CLUSTERS, NEIGHBOURS)

    @classmethod
    def of(cls, shape: Shape, *, sizes: Sequence[int] = (), memory_bytes: int) -> "ClustersJob":
        """The job for a model: exact where the distances of all pairs fit into memory.

        Raises:
            ClustersTooMany: more clusters than neurons are asked for, or fewer than one.
            ClusterMemoryTooSmall: not even the scalable method fits.
        """
        return cls.of_vectors(shape.n_layers * shape.d_ffn, shape.d_model, sizes=sizes, memory_bytes=memory_bytes)

    @classmethod
    def of_vectors(cls, n: int, d_model: int, *, sizes: Sequence[int] = (), memory_bytes: int) -> "ClustersJob":
        """The job for `n` vectors of so many coordinates; raises as `of`."""
        for size in sizes:
            if not 1 <= size <= n:
                raise ClustersTooMany(size, n)
        most = min(n, complete_linkage.most_within(memory_bytes - agglomeration.bytes_beside(n, d_model)))
        if most < min(n, agglomeration.LEAST_LINKED):
            raise ClusterMemoryTooSmall(agglomeration.least_bytes(n, d_model), memory_bytes)
        # Whole thousands, so that a little more memory changes no number.
        return cls(tuple(dict.fromkeys(sizes or default_sizes(n))), most if most == n else most // 1000 * 1000, n)

    @property
    def method(self) -> Method:
        """Whether all pairs are linked at once."""
        return "exact" if self.most >= self.n_neurons else "scalable"

    def parameters(self) -> dict[str, Any]:
        """The sizes, and how they are obtained."""
        how = {"method": self.method} | ({"linked_at_once": self.most} if self.method == "scalable" else {})
        return {"sizes": list(self.sizes), "linkage": "complete", "neighbours": self.neighbours, **how}

    def shards(self, shape: Shape) -> Mapping[str, tuple[str, ...]]:
        """One shard for all clusterings and one a layer for its neighbours."""
        layers = {f"{_NEIGHBOURS}{layer:04d}": (NEIGHBOURS.name,) for layer in range(shape.n_layers)}
        return {_CLUSTERS: (CLUSTERINGS.name, CLUSTERS.name), **layers}

    def measure(self, shard: str, transformer: Transformer, tokenizer: Tokenizer) -> dict[str, pl.DataFrame]:
        """The rows of one shard, by table."""
        if shard == _CLUSTERS:
            return self._clusterings(transformer)
        layer = int(shard.removeprefix(_NEIGHBOURS))
        return {NEIGHBOURS.name: value_neighbours_frame(transformer, layer, k=self.neighbours)}

    def cut(self, directions: Float[Tensor, "n d_model"]) -> Cut:
        """Link the directions by the job's method."""
        if self.method == "exact":
            return agglomeration.exact(directions)
        return agglomeration.scalable(directions, most=self.most)

    def _clusterings(self, transformer: Transformer) -> dict[str, pl.DataFrame]:
        directions = all_directions(transformer)
        cut = self.cut(directions)
        clusterings, clusters = [], []
        for number, size in enumerate(self.sizes):
            labels = cut(size)
            cosines = agglomeration.centre_cosines(directions, labels)
            clusters.append(_members_frame(number, labels, cosines, d_ffn=transformer.shape.d_ffn))
            clusterings.append((number, self.method, "complete", size, int(labels.max()) + 1))
        return {
            CLUSTERINGS.name: pl.DataFrame(clusterings, schema=dict(CLUSTERINGS.columns), orient="row"),
            CLUSTERS.name: pl.concat(clusters),
        }


def default_sizes(n_neurons: int) -> tuple[int, ...]:
    """A tenth of the neurons, at most the 10,000 of [G] 5.2, for what clusters mean; fewer for early exit (ours)."""
    many, few = min(10_000, n_neurons // 10), min(200, max(20, n_neurons // 100))
    return tuple(dict.fromkeys(max(1, min(n_neurons, size)) for size in (many, few)))


def _members_frame(clustering_id: int, labels: np.ndarray, cosines: np.ndarray, *, d_ffn: int) -> pl.DataFrame:
    places = np.arange(len(labels))
    columns = {
        "clustering_id": np.full(len(labels), clustering_id, dtype=np.int32),
        "layer": (places // d_ffn).astype(np.int16),
        "neuron": (places % d_ffn).astype(np.int32),
        "cluster_id": labels.astype(np.int32),
        "centre_cosine": cosines,
    }
    frame = pl.DataFrame(columns, schema=dict(CLUSTERS.columns))
    return frame.with_columns(pl.col("centre_cosine").fill_nan(None))
