"""A text cut into units: each takes one chunk through the layers of one stage, and hands its streams to the next."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.pipeline.cluster.placement import LANE_CHUNKS, Placement
from neurothek.ingest.pipeline.cluster.waiting import Unit, Waiting
from neurothek.ingest.pipeline.engines.engine import StagedJob


@dataclass(frozen=True, eq=False, kw_only=True)
class ChunkUnit(Unit):
    """One chunk in one stage."""

    chunk: int  # number of the chunk
    stage: int  # number of the stage


class Sweeping:
    """The units of one sweep, and what is left to see of it.

    Attributes:
        waiting: the units that can be done now.
        n_left: parts that are left to see, one a job, layer and chunk.
    """

    def __init__(self, corpus: Corpus, jobs: Sequence[StagedJob], placement: Placement, *, n_layers: int) -> None:
        self._placement, self._layers = placement, range(n_layers)
        chunks = range(len(corpus.chunks()))
        self._left = {
            (layer, chunk): {one.job.name for one in jobs if not one.has(layer, chunk)}
            for layer in self._layers
            for chunk in chunks
        }
        self._n_chunks_left = {
            (one.job.name, layer): sum(one.job.name in self._left[layer, chunk] for chunk in chunks)
            for one in jobs
            for layer in self._layers
        }
        self._streams: dict[int, Any] = {}
        self._next = iter([chunk for chunk in chunks if self._is_needed(0, chunk)])
        self.waiting = Waiting(dropped=lambda unit: self._begin_another())
        for _ in range(LANE_CHUNKS * placement.n_workers):
            self._begin_another()

    @property
    def n_left(self) -> int:
        """How many parts are left to see."""
        return sum(self._n_chunks_left.values())

    def is_whole(self, job: str, layer: int) -> bool:
        """Whether a job has seen all chunks of a layer."""
        return self._n_chunks_left[job, layer] == 0

    def seen(self, job: str, layer: int, chunk: int) -> bool:
        """Note that a part is there; whether it was the last that the job had to see of the layer."""
        left = self._left[layer, chunk]
        if job not in left:
            return False
        left.remove(job)
        self._n_chunks_left[job, layer] -= 1
        return self.is_whole(job, layer)

    def keep(self, unit: Unit, streams: object) -> None:
        """Keep the reference to the streams that left a stage, for the next."""
        assert isinstance(unit, ChunkUnit)
        self._streams[unit.chunk] = streams

    def done(self, unit: Unit) -> None:
        """Go on with the chunk of a unit that is done, or begin another chunk."""
        if not isinstance(unit, ChunkUnit):
            return
        later = self._placement.stages[unit.stage + 1 :]
        if later and self._is_needed(later[0].start, unit.chunk):
            self.waiting.add(self._unit(unit.chunk, unit.stage + 1))
            return
        self._streams.pop(unit.chunk, None)
        self._begin_another()

    def _begin_another(self) -> None:
        chunk = next(self._next, None)
        if chunk is not None:
            self.waiting.add(self._unit(chunk, 0))

    def _is_needed(self, layer: int, chunk: int) -> bool:
        """Whether this layer or one above it has something left to see in a chunk."""
        return any(self._left[above, chunk] for above in self._layers[layer:])

    def _unit(self, chunk: int, stage: int) -> ChunkUnit:
        stages = self._placement.stages
        layers = stages[stage]
        where = f" in layers {layers.start} to {layers.stop - 1}" if len(stages) > 1 else ""

        def given() -> tuple[Any, ...]:
            watched = {
                layer: tuple(sorted(self._left[layer, chunk])) for layer in layers if self._is_needed(layer, chunk)
            }
            is_passed_on = stage + 1 < len(stages) and self._is_needed(layers.stop, chunk)
            return (chunk, watched, self._streams.get(chunk) if stage else None, is_passed_on)

        return ChunkUnit(
            name=f"chunk {chunk}{where}",
            method="chunk",
            given=given,
            place=stage,
            # The streams that it began with may be gone with the worker that made them.
            restart=self._unit(chunk, 0) if stage else None,
            chunk=chunk,
            stage=stage,
        )


def fold_unit(job: str, layer: int) -> Unit:
    """A unit that folds a layer of a job, for any worker, also one without a place."""
    return Unit(f"the fold of layer {layer} of {job}", "fold", partial(tuple, (job, layer)))


def layer_and_chunk(shard: str) -> tuple[int, int]:
    """What a part is of, by the name of its shard."""
    layer, chunk = shard.split(".")
    return int(layer.removeprefix("layer-")), int(chunk.removeprefix("chunk-"))


def shard_units(job: str, shards: Sequence[str]) -> Iterator[Unit]:
    """A unit for each shard of a job."""
    return (Unit(f"{shard} of {job}", "shards", partial(tuple, (job, (shard,)))) for shard in shards)
