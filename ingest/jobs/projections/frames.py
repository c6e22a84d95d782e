"""Scored value vectors as rows of the tables `projections`, `postings` and `logit_histograms`."""

import numpy as np
import polars as pl
from jaxtyping import Float
from torch import Tensor

from neurothek.catalog.tables.weights import LOGIT_HISTOGRAMS, POSTINGS, PROJECTIONS
from neurothek.ingest.lens.moments import CENTRE, Moments
from neurothek.ingest.lens.scorer import Scored
from neurothek.ingest.lens.top_k import Extremes
from neurothek.ingest.lens.vocabulary import Vocabulary

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
    return pl.DataFrame(columns).cast(pl.Schema(PROJECTIONS.columns)).with_columns(shapes)


def postings_frame(scored: Scored, vocabulary: Vocabulary, *, layer: int) -> pl.DataFrame:
    """One row per neuron, side and rank; z = (score - mean) / sd over the neuron's scores, 0 where all are equal."""
    largest, smallest, moments = scored.all
    frames = [
        _side_frame(side, extremes, moments, _sd(scored), vocabulary)
        for side, extremes in zip(SIDES, (largest, smallest), strict=True)
    ]
    return pl.concat(frames).with_columns(pl.lit(layer, pl.Int16).alias("layer")).select(*POSTINGS.columns)


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
    return pl.DataFrame(columns).cast(pl.Schema(LOGIT_HISTOGRAMS.columns))


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
