"""The job `output_scores`: what becomes of what a neuron promotes when it is turned up (Arad et al. 2025)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from neurothek.catalog.tables.output_scores import N_OTHERS, OUTPUT_SCORES
from neurothek.catalog.tables.table import Table
from neurothek.ingest.errors import empty_prompt
from neurothek.ingest.interventions.chosen import packed, unpacked
from neurothek.ingest.jobs.activity.job import ActivityJob
from neurothek.ingest.jobs.additive import AdditiveJob
from neurothek.ingest.jobs.job import Files, JobContext, MeasureShard, ReadBack
from neurothek.ingest.lens.logit_lens import Lens, top_rows
from neurothek.ingest.models.transformer import Change, Transformer
from neurothek.ingest.numerics.random_stream import Purpose, random_stream
from neurothek.ingest.request import DEFAULT_SCORED, IngestRequest

PROMPT = "In my experience,"
"""What the model reads: a beginning that any text may follow."""

TIMES = 10
"""A neuron is set to so many times its largest activation."""

N_LISTED = 20
"""Tokens that a neuron promotes most."""

_SLICE = 1 << 22
"""Logits that are looked at at once."""

_TOKENS = 2_048
"""Positions that a block is given at once."""

_EXTREMES = """
    select layer, neuron, max(activation_max) as most, min(activation_min) as least
    from store.activity
    where run_id = $run_id
    group by layer, neuron
    order by layer, neuron
"""


@dataclass(frozen=True)
class OutputScoresJob(AdditiveJob):
    """Turns random neurons of every layer up, one after the other, and those that a person chose."""

    n_neurons: int = DEFAULT_SCORED  # random ones of each layer, if so many are ever active
    chosen: tuple[tuple[int, int], ...] = ()  # layer and neuron of each that was chosen, sorted, none twice
    seed: int = 0  # of the draws
    # the chosen neurons as the parameters of a run state them, where it is one that is measured again
    stated: tuple[str, ...] = ()
    name = "output_scores"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (OUTPUT_SCORES,)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "OutputScoresJob":
        """As many as were asked for, or as a layer has, and those that were chosen."""
        return cls(context, n_neurons=min(request.scored, context.shape.d_ffn), chosen=request.scored_neurons)

    @classmethod
    def from_parameters(cls, context: JobContext, parameters: Mapping[str, Any]) -> "OutputScoresJob":
        """The job that a run with such parameters was, which copies nothing from that run."""
        return replace(super().from_parameters(context, parameters), stated=tuple(parameters.get("chosen", ())))

    @staticmethod
    def options(parameters: Mapping[str, Any]) -> dict[str, Any]:
        """How many neurons of each layer, and the chosen ones of all requests."""
        chosen = {pair for text in parameters.get("chosen", ()) for pair in unpacked(text)}
        return {"scored": int(parameters["neurons"]), "scored_neurons": tuple(sorted(chosen))}

    def parameters(self) -> dict[str, Any]:
        """Which neurons are drawn or chosen, what they are set to, and what the model reads."""
        before = self.before.get("chosen", {})
        new = [pair for pair in self.chosen if pair not in self._chosen_before]
        requests = self.stated or ((packed(new),) if new else ())
        chosen = {**before, **{text: len(unpacked(text)) for text in requests}}
        # Stated only where there are any: all other runs stay the same runs.
        return {"neurons": self.n_neurons, **({"chosen": chosen} if chosen else {}), **self._settings()}

    def _settings(self) -> dict[str, Any]:
        """What changes the numbers of a neuron."""
        return {"seed": self.seed, "prompt": PROMPT, "times": TIMES, "tokens": N_LISTED, **self.runs_worked_on()}

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
        n_ids = len(self.prompt_ids) * max(map(self._n_scored, range(shape.n_layers)))
        streams = 3 * n_ids * shape.d_model * 4
        working = max(_TOKENS, len(self.prompt_ids)) * (10 * shape.d_model + 4 * shape.d_ffn) * 4
        values = 2 * shape.d_ffn * shape.d_model * 4
        # In float64, twice, and sorted with places.
        logits = 5 * max(_SLICE, shape.vocab_size) * 8
        return weights + 3 * table + streams + working + values + logits

    def files(self) -> Files | None:
        """It keeps none."""
        return None

    def extent(self) -> str | None:
        """How many neurons are turned up, and what running the layers above them comes to."""
        n_layers = self.context.shape.n_layers
        n_runs = sum(self._n_scored(layer) * (n_layers - layer) for layer in range(n_layers))
        chosen = f" and {len(self.all_chosen):,} chosen ones" if self.all_chosen else ""
        read = f"as much as reading {n_runs * len(self.prompt_ids) // n_layers:,} tokens"
        return f"{self.n_neurons:,} neurons a layer{chosen}, {read}"

    @cached_property
    def all_chosen(self) -> frozenset[tuple[int, int]]:
        """Layer and neuron of those that were ever chosen."""
        return self._chosen_before | set(self.chosen)

    def stored(self, layer: int) -> pl.DataFrame:
        """Rows of a layer that were measured before, in the same way."""
        if not self.is_current or any(self.before.get(name) != value for name, value in self._settings().items()):
            return OUTPUT_SCORES.empty()
        return self.copied(layer=layer)[OUTPUT_SCORES.name]

    @cached_property
    def _chosen_before(self) -> frozenset[tuple[int, int]]:
        return frozenset(pair for text in self.before.get("chosen", {}) for pair in unpacked(text))

    def _n_scored(self, layer: int) -> int:
        """Neurons of a layer that are turned up, at most."""
        n_chosen = Counter(of_layer for of_layer, _ in self.all_chosen)[layer]
        return min(self.n_neurons + n_chosen, self.context.shape.d_ffn)

    @cached_property
    def prompt_ids(self) -> list[int]:
        """Ids of the prompt, as many as the model reads."""
        tokenizer = self.context.tokenizer
        bos = [] if tokenizer.bos_id is None else [tokenizer.bos_id]
        ids = [*bos, *tokenizer.encode([PROMPT])[0].tolist()][: self.context.shape.context_length]
        if not ids:
            raise empty_prompt(PROMPT)
        return ids


def pieces(tensor: Shaped[Tensor, "rows ..."], n: int) -> list[Tensor]:
    """A tensor's rows, at most `n` at a time."""
    return [tensor[start : start + n] for start in range(0, len(tensor), n)]


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
    at_once = max(1, _SLICE // len(rows))
    return torch.cat([top_rows(part @ rows.T, N_LISTED) for part in pieces(turned, at_once)])


def skewed(
    vectors: Float[Tensor, "neurons d_model"], rows: Float[Tensor, "vocab d_model"]
) -> Int[np.ndarray, " neurons"]:
    """[neurons] sign of the skewness of each value vector's scores; 1 where there is none."""
    signs = [1] * len(vectors)
    for place, vector in enumerate(vectors):
        scores = (rows @ vector).double()
        if (scores - scores.mean()).pow(3).sum() < 0:
            signs[place] = -1
    return np.array(signs, dtype=np.int64)


def turned_up_streams(
    transformer: Transformer,
    entered: Float[Tensor, "1 time d_model"],
    layer: int,
    neurons: Sequence[int],
    values: Sequence[float],
) -> Float[Tensor, "neurons d_model"]:
    """[neurons d_model] what leaves the last block at the last position, with each neuron set there alone.

    Args:
        transformer: the model.
        entered: what enters the neurons' block.
        layer: the layer of the neurons.
        neurons: the neurons.
        values: what each is set to.
    """
    n_positions, device = entered.shape[1], entered.device
    at_last = range(n_positions - 1, n_positions)
    left = []
    # Not in inference: weights that are let go of are no tensors of one.
    with transformer.block(layer) as block:
        for neuron, value in zip(neurons, values, strict=True):
            change = Change(
                torch.tensor([neuron], device=device), torch.tensor([value], device=device), positions=at_last
            )
            with block.changed(change):
                left.append(block(entered).stream)
    parts = pieces(torch.cat(left), max(1, _TOKENS // n_positions))
    for above in range(layer + 1, transformer.shape.n_layers):
        with transformer.block(above) as block:
            parts = [block(part).stream for part in parts]
    return torch.cat([part[:, -1] for part in parts])


@dataclass(frozen=True)
class ListScores:
    """[rows lists] of lists of tokens in predictions; not a number where a prediction is none."""

    ranks: Int[np.ndarray, "rows lists"]  # tokens more probable than the most probable listed one
    probabilities: Float[np.ndarray, "rows lists"]  # of that one
    output: Float[np.ndarray, "rows lists"]  # (1 - rank / vocabulary) * probability


def scored(log_probabilities: Float[Tensor, "rows vocab"], best: Float[Tensor, "rows lists"]) -> ListScores:
    """Scores of lists whose most probable tokens are `best`."""
    n_tokens = log_probabilities.shape[1]
    ordered = log_probabilities.sort(dim=1).values
    ranks = n_tokens - torch.searchsorted(ordered, best.contiguous(), right=True)
    probabilities = best.exp()
    output = (1 - ranks / n_tokens) * probabilities
    return ListScores(*(numbers.cpu().numpy() for numbers in (ranks, probabilities, output)))


def beside(
    own_scores: Float[np.ndarray, " rows"],
    others: Float[np.ndarray, "rows lists"],
    is_other: Bool[np.ndarray, "rows lists"],
) -> tuple[Float[np.ndarray, " rows"], Float[np.ndarray, " rows"]]:
    """([rows], [rows]) mean of each row's other scores, and the percentage below its own, equal ones counting half."""
    n = np.maximum(is_other.sum(1), 1)
    below = (others < own_scores[:, None]) + 0.5 * (others == own_scores[:, None])
    means, percentiles = (np.where(is_other, one, 0).sum(1) / n for one in (others, 100 * below))
    is_told = is_other.any(1) & ~np.isnan(own_scores)
    return np.where(is_told, means, np.nan), np.where(is_told, percentiles, np.nan)


@dataclass(frozen=True, eq=False)
class _Layers:
    """Measures the layers of one model, with what they share made for the first of them."""

    job: OutputScoresJob

    @cached_property
    def lens(self) -> Lens:
        return Lens.of(self.job.context.transformer, self.job.context.tokenizer)

    @cached_property
    def extremes(self) -> pl.DataFrame:
        """The neurons that are ever active, with their largest activation of either sign."""
        assert self.job.context.runs is not None
        rows = self.job.context.runs.rows(_EXTREMES, ActivityJob.name)
        return rows.filter(
            pl.max_horizontal("most", -pl.col("least") if self.job.context.shape.is_gated else "most") > 0
        )

    @cached_property
    def streams(self) -> list[Float[Tensor, "1 time d_model"]]:
        """[1 time d_model] what enters each block as the model is, and what leaves the last one."""
        transformer = self.job.context.transformer
        ids = torch.tensor([self.job.prompt_ids], device=transformer.device)
        streams = [transformer.embed(ids)]
        for layer in range(transformer.shape.n_layers):
            with transformer.block(layer) as block:
                streams.append(block(streams[-1]).stream)
        return streams

    def rows(self, layer: int) -> pl.DataFrame:
        """Rows of one layer: those that were measured before, and of the other neurons new ones."""
        active = self.extremes.filter(layer=layer)
        if active.is_empty():
            return OUTPUT_SCORES.empty()
        seed, neurons = self.job.seed, active["neuron"].to_numpy()
        # More of them are these and others; those beside them are the same, however many are asked for.
        sampled = neurons[_drawn(seed, layer, 0, active.height)[: self.job.n_neurons]]
        chosen = [neuron for of_layer, neuron in self.job.all_chosen if of_layer == layer]
        scored_now = np.union1d(sampled, np.intersect1d(neurons, np.array(chosen, dtype=neurons.dtype)))
        stored = self.job.stored(layer).filter(pl.col("neuron").is_in(scored_now.tolist()))
        is_missing = np.isin(neurons, np.setdiff1d(scored_now, stored["neuron"].to_numpy()))
        rows = pl.concat([stored, self._measured(active, np.flatnonzero(is_missing), layer)])
        return rows.with_columns(is_sampled=pl.col("neuron").is_in(sampled.tolist())).sort("neuron")

    def _measured(self, active: pl.DataFrame, places: Int[np.ndarray, " _"], layer: int) -> pl.DataFrame:
        """Rows of the neurons at some places among the active ones of a layer."""
        if not len(places):
            return OUTPUT_SCORES.empty()
        others = np.sort(_drawn(self.job.seed, layer, 1, active.height)[:N_OTHERS])
        neurons = active["neuron"].to_numpy()
        vectors = self.job.context.units.write_vectors(layer)
        signs = self._signs(active, vectors)
        lists, other_lists = (
            promoted(vectors[torch.from_numpy(neurons[at]).to(vectors.device).long()], signs[at], self._rows)
            for at in (places, others)
        )
        strongest = np.where(signs < 0, active["least"].to_numpy(), active["most"].to_numpy())
        values = (TIMES * strongest[places]).tolist()
        last = turned_up_streams(
            self.job.context.transformer, self.streams[layer], layer, neurons[places].tolist(), values
        )
        scores, other_scores = self._scored(last, lists, other_lists)
        is_other = neurons[places][:, None] != neurons[others]
        other_means, percentiles = beside(scores.output[:, 0], other_scores, is_other)
        is_number = ~np.isnan(scores.output[:, 0])
        columns = {
            "layer": [layer] * len(places),
            "neuron": neurons[places],
            "pole": np.where(signs[places] < 0, "negative", "positive"),
            "value": values,
            "rank_best": pl.Series(scores.ranks[:, 0]).set(pl.Series(~is_number), None),
            "max_probability": pl.Series(scores.probabilities[:, 0], nan_to_null=True),
            "output_score": pl.Series(scores.output[:, 0], nan_to_null=True),
            "untouched_score": self._untouched(lists),
            "n_others": is_other.sum(1),
            "other_score": pl.Series(other_means, nan_to_null=True),
            "other_percentile": pl.Series(percentiles, nan_to_null=True),
            "is_sampled": [True] * len(places),
        }
        return pl.DataFrame(columns).cast(pl.Schema(OUTPUT_SCORES.schema))

    @property
    def _rows(self) -> Float[Tensor, "vocab d_model"]:
        return self.lens.vocabulary.rows

    def _signs(self, active: pl.DataFrame, vectors: Float[Tensor, "d_ffn d_model"]) -> Int[np.ndarray, " active"]:
        """[active] sign of each neuron's largest activation; of two equal ones that of its scores' skewness."""
        signs = np.ones(active.height, dtype=np.int64)
        if not self.job.context.shape.is_gated:
            return signs
        surplus = (active["most"] + active["least"]).to_numpy()
        signs[surplus < 0] = -1
        (tied,) = np.nonzero(surplus == 0)
        at = torch.from_numpy(active["neuron"].to_numpy()[tied]).to(vectors.device).long()
        signs[tied] = skewed(vectors[at], self._rows)
        return signs

    def _scored(
        self,
        last: Float[Tensor, "neurons d_model"],
        lists: Int[Tensor, "neurons listed"],
        other_lists: Int[Tensor, "others listed"],
    ) -> tuple[ListScores, Float[np.ndarray, "neurons others"]]:
        """Scores of each neuron's own list, and the output scores of the lists of others."""
        parts = []
        at_once = max(1, _SLICE // len(self._rows))
        for streams, own_lists in zip(pieces(last, at_once), pieces(lists, at_once), strict=True):
            log_probabilities = self._log_probabilities(streams)
            best = log_probabilities.gather(1, own_lists).amax(dim=1, keepdim=True)
            best_others = log_probabilities[:, other_lists].amax(dim=2)
            parts.append(scored(log_probabilities, torch.cat([best, best_others], dim=1)))
        ranks, probabilities, output = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("ranks", "probabilities", "output")
        )
        return ListScores(ranks[:, :1], probabilities[:, :1], output[:, :1]), output[:, 1:]

    def _untouched(self, lists: Int[Tensor, "neurons listed"]) -> Float[np.ndarray, " neurons"]:
        """[neurons] output score of each list in the model as it is."""
        log_probabilities = self._log_probabilities(self.streams[-1][:, -1])
        scores: np.ndarray = scored(log_probabilities, log_probabilities[0][lists].amax(dim=1)[None]).output[0]
        return scores

    def _log_probabilities(self, streams: Float[Tensor, "rows d_model"]) -> Float[Tensor, "rows vocab"]:
        with torch.inference_mode():
            return self.lens.logits(streams).double().log_softmax(1)


def _drawn(seed: int, layer: int, of: int, n: int) -> Int[np.ndarray, " n"]:
    """[n] places in a random order."""
    order: np.ndarray = random_stream(seed, Purpose.OUTPUT_SCORES, layer, of).permutation(n)
    return order
