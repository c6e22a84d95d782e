"""The job `output_scores`: what becomes of what a neuron promotes when it is turned up (Arad et al. 2025)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.catalog.tables.output_scores import OUTPUT_SCORES
from neurothek.catalog.tables.table import Table
from neurothek.ingest.jobs.activity.job import ActivityJob
from neurothek.ingest.jobs.job import Files, JobContext, MeasureShard, PassJob, ReadBack
from neurothek.ingest.lens.logit_lens import Lens
from neurothek.ingest.models.transformer import Change, Transformer
from neurothek.ingest.numerics.random_stream import Purpose, random_stream
from neurothek.ingest.request import DEFAULT_SCORED, IngestRequest
from neurothek.ingest.runs.identity import OTHER_RUN

PROMPT = "In my experience,"
"""What the model reads: a beginning that any text may follow."""

TIMES = 10
"""A neuron is set to so many times its largest activation."""

N_LISTED = 20
"""Tokens that a neuron promotes most."""

_SLICE = 1 << 24
"""Logits that are looked at at once."""

_EXTREMES = """
    select layer, neuron, max(activation_max) as most, min(activation_min) as least
    from store.activity
    where run_id = $run_id
    group by layer, neuron
    order by layer, neuron
"""


@dataclass(frozen=True)
class OutputScoresJob(PassJob):
    """Turns some neurons of every layer up, one after the other."""

    n_neurons: int = DEFAULT_SCORED  # of each layer, if so many are ever active
    seed: int = 0  # of the draws
    name = "output_scores"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (OUTPUT_SCORES,)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "OutputScoresJob":
        """As many as were asked for."""
        return cls(context, n_neurons=request.scored)

    @staticmethod
    def options(parameters: Any) -> dict[str, Any]:  # noqa: ANN401 - a run's own
        """How many neurons of each layer."""
        return {"scored": int(parameters["neurons"])}

    def parameters(self) -> dict[str, Any]:
        """Which neurons are drawn, what they are set to, and what the model reads."""
        keys = {} if self.context.runs is None else self.context.runs.keys
        return {
            "neurons": self.n_neurons,
            "seed": self.seed,
            "prompt": PROMPT,
            "times": TIMES,
            "tokens": N_LISTED,
            **{f"{job}{OTHER_RUN}": key for job, key in keys.items() if job in self.needed},
        }

    @property
    def needed(self) -> dict[str, int]:
        """How large activations are."""
        return {ActivityJob.name: ActivityJob.version}

    def shards(self) -> dict[str, tuple[str, ...]]:
        """One a layer."""
        return {f"layer-{layer:04d}": (OUTPUT_SCORES.name,) for layer in range(self.context.shape.n_layers)}

    @contextmanager
    def open(self, folder: Path, read_back: ReadBack) -> Iterator[MeasureShard]:
        """What measures the neurons of one layer."""
        layers = _Layers(self)
        yield lambda shard: {OUTPUT_SCORES.name: layers.rows(int(shard.rpartition("-")[2]))}

    def memory_bytes(self, *, is_resident: bool) -> int:
        """What measuring adds to the process's memory, estimated from above."""
        transformer, shape = self.context.transformer, self.context.shape
        weights = transformer.blocks_bytes(is_resident=is_resident)
        table = 4 * shape.vocab_size * shape.d_model
        n_ids = (1 + len(PROMPT.encode())) * min(self.n_neurons, shape.d_ffn)
        working = n_ids * (10 * shape.d_model + 4 * shape.d_ffn) * 4
        values = 2 * shape.d_ffn * shape.d_model * 4
        return weights + 3 * table + working + values + 4 * max(_SLICE, shape.vocab_size) * 8

    def files(self) -> Files | None:
        """It keeps none."""
        return None

    def extent(self) -> str | None:
        """How many neurons are turned up."""
        return f"{min(self.n_neurons, self.context.shape.d_ffn):,} neurons a layer"


def promoted(
    vectors: Float[Tensor, "neurons d_model"],
    signs: Int[np.ndarray, " neurons"],
    rows: Float[Tensor, "vocab d_model"],
) -> Int[Tensor, "neurons listed"]:
    """[neurons listed] rows of the vocabulary with the largest scores of each value vector, or the smallest ones.

    Args:
        vectors: the value vectors.
        signs: 1 for the largest, -1 for the smallest.
        rows: the unmasked rows of the unembedding.
    """
    turned = vectors * torch.from_numpy(signs).to(vectors)[:, None]
    # In slices, as only the first are wanted; ties by id, which is the order of rows.
    at_once = max(1, _SLICE // len(rows))
    lists = [
        (turned[start : start + at_once] @ rows.T).sort(dim=1, descending=True, stable=True).indices[:, :N_LISTED]
        for start in range(0, len(turned), at_once)
    ]
    return torch.cat(lists)


def last_logits(
    transformer: Transformer,
    streams: Sequence[Float[Tensor, "1 time d_model"]],
    layer: int,
    neurons: Sequence[int],
    values: Sequence[float],
) -> Float[Tensor, "neurons d_model"]:
    """[neurons d_model] what leaves the last block at the last position, with each neuron set there alone.

    Args:
        transformer: the model.
        streams: what enters each of its blocks.
        layer: the layer of the neurons.
        neurons: the neurons.
        values: what each is set to.
    """
    entered = streams[layer]
    last, device = entered.shape[1] - 1, entered.device
    left = []
    with transformer.block(layer) as block:
        for neuron, value in zip(neurons, values, strict=True):
            at_last = range(last, last + 1)
            change = Change(
                torch.tensor([neuron], device=device), torch.tensor([value], device=device), positions=at_last
            )
            with block.changed(change):
                left.append(block(entered).stream)
    stream = torch.cat(left)
    for above in range(layer + 1, transformer.shape.n_layers):
        with transformer.block(above) as block:
            stream = block(stream).stream
    return stream[:, -1]


def scored(
    log_probabilities: Float[Tensor, "rows vocab"], lists: Int[Tensor, "rows listed"]
) -> tuple[Int[np.ndarray, " rows"], Float[np.ndarray, " rows"], Float[np.ndarray, " rows"]]:
    """([rows], [rows], [rows]) rank of the most probable listed token from 0, its probability, and the output score."""
    best = log_probabilities.gather(1, lists).amax(dim=1)
    ranks = (log_probabilities > best[:, None]).sum(dim=1)
    probabilities = best.exp()
    scores = (1 - ranks / log_probabilities.shape[1]) * probabilities
    return ranks.cpu().numpy(), probabilities.cpu().numpy(), scores.cpu().numpy()


@dataclass(frozen=True, eq=False)
class _Layers:
    """Measures the layers of one model, with what they share made for the first of them."""

    job: OutputScoresJob

    @cached_property
    def lens(self) -> Lens:
        return Lens.of(self.job.context.transformer, self.job.context.tokenizer)

    @cached_property
    def extremes(self) -> pl.DataFrame:
        """The neurons that are ever active, with their activation of largest size."""
        assert self.job.context.runs is not None
        rows = self.job.context.runs.rows(_EXTREMES, ActivityJob.name)
        is_negative = pl.lit(value=self.job.context.shape.is_gated) & (-pl.col("least") > pl.col("most"))
        strongest = pl.when(is_negative).then("least").otherwise("most")
        return rows.select("layer", "neuron", strongest=strongest, is_negative=is_negative).filter(
            pl.when("is_negative").then(pl.col("strongest") < 0).otherwise(pl.col("strongest") > 0)
        )

    @cached_property
    def streams(self) -> list[Float[Tensor, "1 time d_model"]]:
        """[1 time d_model] what enters each block as the model is, and what leaves the last one."""
        context = self.job.context
        bos = [] if context.tokenizer.bos_id is None else [context.tokenizer.bos_id]
        ids = torch.tensor([[*bos, *context.tokenizer.encode([PROMPT])[0].tolist()]])
        with torch.inference_mode():
            streams = [context.transformer.embed(ids.to(context.transformer.device))]
            for layer in range(context.shape.n_layers):
                with context.transformer.block(layer) as block:
                    streams.append(block(streams[-1]).stream)
        return streams

    def rows(self, layer: int) -> pl.DataFrame:
        """Rows of one layer."""
        active = self.extremes.filter(layer=layer)
        n = min(self.job.n_neurons, active.height)
        if n == 0:
            return OUTPUT_SCORES.empty()
        draw = random_stream(self.job.seed, Purpose.OUTPUT_SCORES, layer)
        places = np.sort(draw.choice(active.height, size=n, replace=False))
        # Any other, each as likely: as many places on as are drawn.
        steps = draw.integers(1, max(2, active.height), size=n)
        others = (places + steps) % active.height
        with torch.inference_mode():
            vectors = self.job.context.units.write_vectors(layer)
            signs = np.where(active["is_negative"].to_numpy(), -1, 1)
            neurons = active["neuron"].to_numpy()
            lists, other_lists = (
                promoted(vectors[torch.from_numpy(neurons[at].astype(np.int64))], signs[at], self.lens.vocabulary.rows)
                for at in (places, others)
            )
            values = (TIMES * active["strongest"].to_numpy()[places]).tolist()
            transformer = self.job.context.transformer
            last = last_logits(transformer, self.streams, layer, neurons[places].tolist(), values)
            untouched = self._log_probabilities(self.streams[-1][:, -1])
            parts = []
            at_once = max(1, _SLICE // len(self.lens.vocabulary.ids))
            for start in range(0, n, at_once):
                rows = slice(start, start + at_once)
                log_probabilities = self._log_probabilities(last[rows])
                ranks, probabilities, scores = scored(log_probabilities, lists[rows])
                before = scored(untouched.expand(len(log_probabilities), -1), lists[rows])[2]
                parts.append((ranks, probabilities, scores, before, scored(log_probabilities, other_lists[rows])[2]))
        ranks, probabilities, scores, before, beside = map(np.concatenate, zip(*parts, strict=True))
        is_alone = pl.Series([active.height == 1] * n)
        columns = {
            "layer": [layer] * n,
            "neuron": neurons[places],
            "pole": np.where(signs[places] < 0, "negative", "positive"),
            "value": values,
            "rank_best": ranks,
            "max_probability": probabilities,
            "output_score": scores,
            "untouched_score": before,
            "other_neuron": pl.Series(neurons[others]).set(is_alone, None),
            "other_score": pl.Series(beside).set(is_alone, None),
        }
        return pl.DataFrame(columns).cast(pl.Schema(OUTPUT_SCORES.schema))

    def _log_probabilities(self, streams: Float[Tensor, "rows d_model"]) -> Float[Tensor, "rows vocab"]:
        return self.lens.logits(streams).double().log_softmax(1)
