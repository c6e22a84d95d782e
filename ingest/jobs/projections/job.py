"""The job `projections`: what each value vector promotes and suppresses, and what its tokens are like ([G] 3, 4)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.weights import LOGIT_HISTOGRAMS, POSTINGS, PROJECTIONS, TOKEN_INDICATORS, TOKEN_NEIGHBOURS
from neurothek.ingest.forward.footprint import Footprint
from neurothek.ingest.jobs.job import Frames, JobContext, MeasureShard, ReadBack, WeightsJob
from neurothek.ingest.lens.moments import CENTRE, Moments
from neurothek.ingest.lens.scorer import Scored, Scorer, ScorerOptions, workspace_bytes
from neurothek.ingest.lens.top_k import Extremes
from neurothek.ingest.lens.vocabulary import LEAST_UNUSED, BytePieces, Vocabulary
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.numerics.unit_vectors import unit_rows, without_self
from neurothek.ingest.request import DEFAULT_NEIGHBOURS, IngestRequest


def _footprint(shape: Shape) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    table = shape.vocab_size * shape.d_model * 4
    values = shape.d_ffn * (shape.d_model * 4 * 3 + 8_000)
    nearest = shape.vocab_size * 21 * 12
    # Rows of neighbours are made when the buffers of the scorer are gone.
    at_once = max(workspace_bytes(shape.vocab_size) + max(values, nearest), 4 * nearest)
    return Footprint(
        folding=3 * table + at_once,
        # 50 ids and scores at either end, in rows and again as postings; 66 counts.
        rows=shape.d_ffn * 2_600,
        shared_rows=shape.vocab_size * 20 * 10,
    )


_TOKENS = "tokens"
_LAYER = "layer-"


@dataclass(frozen=True)
class ProjectionsJob(WeightsJob):
    """Scores of every neuron against the unmasked vocabulary: moments, histogram, highest and lowest tokens."""

    k: int = 50  # tokens kept at either end, at most half of the unmasked vocabulary
    neighbours: int = DEFAULT_NEIGHBOURS  # tokens nearest to each token that are kept
    name = "projections"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (
        PROJECTIONS,
        POSTINGS,
        TOKEN_NEIGHBOURS,
        LOGIT_HISTOGRAMS,
        TOKEN_INDICATORS,
    )
    footprint = staticmethod(_footprint)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "ProjectionsJob":
        """With so many nearest tokens."""
        return cls(context, neighbours=request.neighbours)

    @staticmethod
    def options(parameters: Mapping[str, Any]) -> dict[str, Any]:
        """How many nearest tokens are kept."""
        return {"neighbours": parameters.get("neighbours", DEFAULT_NEIGHBOURS)}

    def parameters(self) -> dict[str, Any]:
        """How many tokens are kept."""
        return {"k": self.k, "neighbours": self.neighbours}

    def shards(self) -> Mapping[str, tuple[str, ...]]:
        """One shard for the tokens and one per layer."""
        of_layer = (PROJECTIONS.name, POSTINGS.name, LOGIT_HISTOGRAMS.name)
        layers = [f"{_LAYER}{layer:04d}" for layer in self.context.units.layers]
        return {_TOKENS: (TOKEN_NEIGHBOURS.name, TOKEN_INDICATORS.name), **dict.fromkeys(layers, of_layer)}

    def apart(self) -> tuple[str, ...]:
        """All of its shards."""
        return tuple(self.shards())

    @contextmanager
    def open(self, folder: Path, read_back: ReadBack) -> Iterator[MeasureShard]:
        """What measures the tokens, or a layer."""
        layers = _Layers(self.context, self.k)

        def measure(shard: str) -> Frames:
            if shard == _TOKENS:
                return self._of_tokens()
            return layers.measure(int(shard.removeprefix(_LAYER)))

        yield measure

    def _of_tokens(self) -> Frames:
        unembedding, tokenizer = self.context.transformer.unembedding(), self.context.tokenizer
        vocabulary = Vocabulary.of(unembedding, tokenizer.ids)
        is_masked = np.ones(len(unembedding), dtype=bool)
        is_masked[tokenizer.ids] = False
        masked = unembedding[torch.from_numpy(is_masked).to(unembedding.device)]
        pieces = BytePieces.of(tokenizer.pieces, tokenizer.contents())
        return {
            TOKEN_NEIGHBOURS.name: neighbours_frame(vocabulary, k=self.neighbours),
            TOKEN_INDICATORS.name: indicators_frame(vocabulary, pieces, masked),
        }


@dataclass(frozen=True, eq=False)
class _Layers:
    """Measures the layers of one model, which share the vocabulary and the scorer's memory."""

    context: JobContext
    k: int

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of(self.context.transformer.unembedding(), self.context.tokenizer.ids)

    @cached_property
    def scorer(self) -> Scorer:
        k = min(self.k, len(self.vocabulary.ids) // 2)
        return Scorer(self.vocabulary.rows, keep=ScorerOptions(largest=k, smallest=k, moments=True, histogram=True))

    def measure(self, layer: int) -> Frames:
        units = self.context.units
        values = units.write_vectors(layer)
        scored = self.scorer.score(values)
        norms = torch.linalg.vector_norm(values.double(), dim=1)
        bounds = units.bound(layer)
        return {
            PROJECTIONS.name: projections_frame(scored, self.vocabulary, layer=layer, norms=norms, bounds=bounds),
            POSTINGS.name: postings_frame(scored, self.vocabulary, layer=layer),
            LOGIT_HISTOGRAMS.name: histograms_frame(scored, layer=layer),
        }


_ROWS_AT_ONCE = 16_384
"""Of the vocabulary, in float64: all 262,144 of Gemma's would take five gigabytes with what is made of them."""

MARGIN = 2.0
"""How many times as far as unused rows a row may be, and still be called undertrained ([ours])."""

LARGEST_SHARE = 0.5
"""Of the median distance: unused rows that lie apart say nothing of others ([ours])."""


def indicators_frame(vocabulary: Vocabulary, pieces: BytePieces, masked: Float[Tensor, "rows d_model"]) -> pl.DataFrame:
    """One row a token of `token_indicators`.

    The indicator is that of Land and Bartolo 2024, Fishing for Magikarp, for output embeddings: the cosine distance of
    a row from the mean of unused ones, here without taking off a common component; they look at the nearest by hand or
    test them with prompts, where we have a limit.

    Args:
        vocabulary: the tokens' rows.
        pieces: which of them are bytes or unused.
        masked: rows of the unembedding without a token, which stand in where too few tokens are unused.
    """
    rows = vocabulary.rows
    norms = torch.cat([torch.linalg.vector_norm(part.double(), dim=1) for part in torch.split(rows, _ROWS_AT_ONCE)])
    unused = torch.from_numpy(pieces.is_unused).to(rows.device)
    is_own = int((unused & (norms > 0)).sum()) >= LEAST_UNUSED
    reference = (rows[unused & (norms > 0)] if is_own else masked[masked.abs().sum(1) > 0]).double()
    distances, limit = torch.full_like(norms, torch.nan), None
    if len(reference) >= LEAST_UNUSED:
        among = _distances_among(reference)
        centre = reference.sum(0)
        distances = torch.cat([_distances(part.double(), centre) for part in torch.split(rows, _ROWS_AT_ONCE)])
        if is_own:
            distances[unused & (norms > 0)] = among
        median = float(distances[norms > 0].median())
        limit = min(MARGIN * float(among.max()), LARGEST_SHARE * median)
    columns = {
        "token_id": vocabulary.ids,
        "row_norm": norms.cpu().numpy(),
        "unused_distance": torch.where(norms > 0, distances, torch.nan).cpu().numpy(),
        "unused_limit": np.full(len(norms), np.nan if limit is None else limit),
        "is_unused": pieces.is_unused,
        "is_byte": pieces.is_byte,
    }
    frame = pl.DataFrame(columns).cast(pl.Schema(TOKEN_INDICATORS.schema))
    return frame.with_columns(pl.col("unused_distance", "unused_limit").fill_nan(None))


def _distances(rows: Float[Tensor, "rows d_model"], centre: Float[Tensor, "*_ d_model"]) -> Float[Tensor, " rows"]:
    return 1 - torch.nn.functional.cosine_similarity(rows, centre.expand_as(rows), dim=1)


def _distances_among(rows: Float[Tensor, "rows d_model"]) -> Float[Tensor, " rows"]:
    """Of each row from the mean of the others, whose length says nothing of its direction."""
    return _distances(rows, rows.sum(0) - rows)


def neighbours_frame(vocabulary: Vocabulary, *, k: int) -> pl.DataFrame:
    """Rows of `token_neighbours`: for each token the `k` others of largest cosine, ties by id [ours].

    A token whose row is zero has cosine 0 with all others.
    """
    n_tokens = len(vocabulary.ids)
    n_kept = min(k, n_tokens - 1)
    if n_kept < 1:
        return TOKEN_NEIGHBOURS.empty()
    directions = unit_rows(vocabulary.rows)
    # One more than asked for, since a token is usually its own nearest.
    nearest = Scorer(directions, keep=ScorerOptions(largest=n_kept + 1)).score(directions).largest
    assert nearest is not None
    rows, cosines = nearest.rows.cpu().numpy(), nearest.values.cpu().numpy()
    chosen = without_self(rows)
    columns = {
        "token_id": np.repeat(vocabulary.ids, n_kept),
        "rank": np.tile(np.arange(1, n_kept + 1, dtype=np.int16), n_tokens),
        "neighbour_id": vocabulary.ids[rows[chosen]],
        "cosine": cosines[chosen],
    }
    return pl.DataFrame(columns, schema=TOKEN_NEIGHBOURS.schema)


SIDES = ("promoted", "suppressed")


def projections_frame(
    scored: Scored,
    vocabulary: Vocabulary,
    *,
    layer: int,
    norms: Float[Tensor, " d_ffn"],
    bounds: Float[Tensor, " d_ffn"] | None,
) -> pl.DataFrame:
    """One row a neuron of the layer.

    Args:
        scored: with both sides and the moments.
        vocabulary: what was scored against.
        layer: the layer.
        norms: [d_ffn] float64, lengths of the value vectors.
        bounds: [d_ffn] float64 preactivation bounds; None where a layer has none.
    """
    largest, smallest, moments = scored.all
    n_neurons = norms.shape[0]
    columns = {
        "layer": np.full(n_neurons, layer, dtype=np.int16),
        "neuron": np.arange(n_neurons, dtype=np.int32),
        "value_norm": norms.cpu().numpy(),
        "score_mean": moments.mean.cpu().numpy(),
        "score_sd": _sd(scored),
        "score_skewness": moments.skewness.cpu().numpy(),
        "score_kurtosis": moments.kurtosis.cpu().numpy(),
        "score_negative_share": moments.negative_share.cpu().numpy(),
        "top_token_ids": _tokens(largest, vocabulary),
        "top_scores": largest.values.cpu().numpy(),
        "bottom_token_ids": _tokens(smallest, vocabulary),
        "bottom_scores": smallest.values.cpu().numpy(),
        "preactivation_bound": [None] * n_neurons if bounds is None else bounds.cpu().numpy(),
    }
    is_constant = pl.lit(pl.Series(_is_constant(scored)))
    shapes = [pl.when(~is_constant).then(pl.col(name)).alias(name) for name in ("score_skewness", "score_kurtosis")]
    return pl.DataFrame(columns).cast(pl.Schema(PROJECTIONS.schema)).with_columns(shapes)


def postings_frame(scored: Scored, vocabulary: Vocabulary, *, layer: int) -> pl.DataFrame:
    """One row per neuron, side and rank; z = (score - mean) / sd over the neuron's scores, 0 where all are equal."""
    largest, smallest, moments = scored.all
    frames = [
        _side_frame(side, extremes, moments, _sd(scored), vocabulary)
        for side, extremes in zip(SIDES, (largest, smallest), strict=True)
    ]
    return pl.concat(frames).with_columns(pl.lit(layer, pl.Int16).alias("layer")).select(*POSTINGS.schema)


def histograms_frame(scored: Scored, *, layer: int) -> pl.DataFrame:
    """One row a neuron of the layer; where all its scores are equal, all are in the central bin."""
    assert scored.histogram is not None
    counts = scored.histogram.cpu().numpy()
    n_neurons, n_bins = counts.shape
    constant = np.zeros(n_bins, dtype=counts.dtype)
    constant[CENTRE] = counts[:1].sum()
    counts = np.where(_is_constant(scored)[:, None], constant, counts)
    columns = {
        "layer": np.full(n_neurons, layer, dtype=np.int16),
        "neuron": np.arange(n_neurons, dtype=np.int32),
        "counts": counts,
    }
    return pl.DataFrame(columns).cast(pl.Schema(LOGIT_HISTOGRAMS.schema))


def _side_frame(
    side: str, extremes: Extremes, moments: Moments, sd: np.ndarray, vocabulary: Vocabulary
) -> pl.DataFrame:
    scores = extremes.values.cpu().numpy()
    n_neurons, k = scores.shape
    # Scores that overflow are refused when the rows are checked.
    with np.errstate(invalid="ignore", over="ignore"):
        deviations = scores - moments.mean.cpu().numpy()[:, None]
        z_scores = np.divide(deviations, sd[:, None], out=np.zeros_like(deviations), where=sd[:, None] > 0)
    columns = {
        "token_id": _tokens(extremes, vocabulary).ravel(),
        "neuron": np.repeat(np.arange(n_neurons, dtype=np.int32), k),
        "rank": np.tile(np.arange(1, k + 1, dtype=np.int16), n_neurons),
        "score": scores.ravel(),
        "z_score": z_scores.astype(np.float32).ravel(),
    }
    return pl.DataFrame(columns).with_columns(pl.lit(side).alias("side"))


def _tokens(extremes: Extremes, vocabulary: Vocabulary) -> np.ndarray:
    tokens: np.ndarray = vocabulary.ids[extremes.rows.cpu().numpy()]
    return tokens


def _is_constant(scored: Scored) -> np.ndarray:
    """Where all scores of a neuron are one number: rounding must not decide what its moments are divided by."""
    largest, smallest, _ = scored.all
    return (largest.values[:, 0] == smallest.values[:, 0]).cpu().numpy()


def _sd(scored: Scored) -> np.ndarray:
    return np.where(_is_constant(scored), 0.0, scored.all[2].sd.cpu().numpy())
