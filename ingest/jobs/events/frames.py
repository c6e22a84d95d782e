"""Measured examples as rows of the tables `examples`, `streams`, `sub_updates` and `events`."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from torch import Tensor

from neurothek.catalog.tables.events import EVENTS, EXAMPLES, STREAMS, SUB_UPDATES
from neurothek.ingest.corpora.prompts import Prompt
from neurothek.ingest.jobs.events.readings import KINDS, PLACES, Events, Layer, Readings
from neurothek.ingest.jobs.events.scores import LayerScores

MOMENTS = ("pre", "post")


def examples_frame(
    examples: Sequence[Prompt], readings: Readings, events: Events, ids: np.ndarray, *, n_sampled: int
) -> pl.DataFrame:
    """One row per example."""
    has_target = [example.target is not None for example in examples]
    numbers = _numbers(examples)
    columns = {
        "example_id": numbers,
        "domain": [example.domain for example in examples],
        "tokens": [example.tokens.tolist() for example in examples],
        "n_prefix_tokens": [example.n_prefix for example in examples],
        "final_token": ids[_array(readings.final)],
        "final_probability": _array(readings.probabilities)[:, -1, 1],
        "target_token": [example.target for example in examples],
        "target_probability": _where(np.array(has_target), _array(readings.targets)),
        "saturation_layer": events.saturation,
        "saturation_by_ffn": events.by_ffn,
        "elimination_layer": _where(events.elimination >= 0, events.elimination),
        "in_event_sample": numbers < n_sampled,
    }
    return pl.DataFrame(columns, schema=EXAMPLES.schema)


def streams_frame(
    examples: Sequence[Prompt], readings: Readings, layers: Sequence[Layer], ids: np.ndarray
) -> pl.DataFrame:
    """One row per example, layer and moment."""
    shape = tuple(readings.tops.shape)
    after_only = {
        "candidate_rank": _array(readings.candidate_ranks),
        "contribution_sum": _stacked([one.total for one in layers]),
        "dominant_share": _stacked([one.dominant for one in layers]),
        "leading_share": _stacked([one.leading for one in layers]),
        "effective_neurons": _stacked([one.effective for one in layers]),
    }
    columns = {
        "example_id": _spread(_numbers(examples), shape, axis=0),
        "layer": _spread(np.arange(shape[1]), shape, axis=1),
        "moment": _spread(np.array(MOMENTS), shape, axis=2),
        "top_token": ids[_array(readings.tops).ravel()],
        "top_probability": _array(readings.probabilities).ravel(),
        "final_token_rank": _array(readings.final_ranks).ravel(),
        "norm": _array(readings.norms).ravel(),
        **{name: np.stack([values, values], axis=2).ravel() for name, values in after_only.items()},
    }
    is_after = pl.col("moment") == MOMENTS[1]
    return pl.DataFrame(columns).select(
        # A share of a sum of 0 is not a number.
        (pl.when(is_after).then(pl.col(name).cast(dtype).fill_nan(None)) if name in after_only else pl.col(name))
        .cast(dtype)
        .alias(name)
        for name, dtype in STREAMS.schema.items()
    )


def sub_updates_frame(
    examples: Sequence[Prompt], layers: Sequence[Layer], scores: Sequence[LayerScores]
) -> pl.DataFrame:
    """One row per example, layer and picked neuron."""
    is_there = _stacked([layer.is_there for layer in layers])
    shape = is_there.shape
    contributions = _stacked([layer.contributions for layer in layers])
    totals = _stacked([layer.total for layer in layers])[:, :, None]
    coefficients, written = (
        _stacked([layer.coefficients for layer in layers]),
        _stacked([layer.written for layer in layers]),
    )
    values = {
        "neuron": _stacked([layer.neurons for layer in layers]),
        "coefficient": coefficients,
        "contribution": contributions,
        "share": np.divide(contributions, totals, out=np.full(shape, np.nan), where=totals > 0),
        "score_candidate": _stacked([one.candidate.raw for one in scores]),
        "score_final": _stacked([one.final.raw for one in scores]),
        "score_logit_candidate": _stacked([one.candidate.logit for one in scores]),
        "score_logit_final": _stacked([one.final.logit for one in scores]),
        "multiplier": np.where(written == coefficients, np.nan, written),
    }
    kinds = np.repeat(np.array(KINDS), PLACES)
    places = np.concatenate([np.arange(1, n + 1) for n in PLACES])
    grid = {
        "example_id": _spread(_numbers(examples), shape, axis=0),
        "layer": _spread(np.arange(shape[1]), shape, axis=1),
        "kind": _spread(kinds, shape, axis=2),
        "rank": _spread(places, shape, axis=2),
    }
    mask = is_there.ravel()
    columns = {name: column.ravel()[mask] for name, column in (grid | values).items()}
    return pl.DataFrame(columns).select(
        (pl.col(name).fill_nan(None) if name in ("share", "multiplier") else pl.col(name)).cast(dtype)
        for name, dtype in SUB_UPDATES.schema.items()
    )


def events_frame(
    examples: Sequence[Prompt], readings: Readings, events: Events, ids: np.ndarray, *, n_sampled: int
) -> pl.DataFrame:
    """One row an example of the event sample and kind."""
    tops, final_ranks = _array(readings.tops), _array(readings.final_ranks)
    candidate_ranks = _array(readings.candidate_ranks)
    rows = []
    for place, example in enumerate(examples):
        if example.number >= n_sampled:
            continue
        if events.elimination[place] >= 0:
            layer = int(events.elimination[place])
            rows.append(
                {
                    "example_id": example.number,
                    "kind": "elimination",
                    "layer": layer,
                    "token_id": int(ids[tops[place, layer, 0]]),
                    "rank_before": 1,
                    "rank_after": int(candidate_ranks[place, layer]),
                    "by_ffn": True,
                }
            )
        layer = int(events.saturation[place])
        rows.append(
            {
                "example_id": example.number,
                "kind": "saturation",
                "layer": layer,
                "token_id": int(ids[tops[place, -1, 1]]),
                "rank_before": int(final_ranks[place, layer, 0]),
                "rank_after": int(final_ranks[place, layer, 1]),
                "by_ffn": bool(events.by_ffn[place]),
            }
        )
    return pl.DataFrame(rows, schema=EVENTS.schema)


def _numbers(examples: Sequence[Prompt]) -> np.ndarray:
    return np.array([example.number for example in examples], dtype=np.int32)


def _array(tensor: Tensor) -> np.ndarray:
    array: np.ndarray = tensor.cpu().numpy()
    return array


def _stacked(layers: Sequence[Tensor]) -> np.ndarray:
    """[examples n_layers ...] one tensor a layer side by side."""
    return np.stack([_array(layer) for layer in layers], axis=1)


def _spread(values: np.ndarray, shape: tuple[int, ...], *, axis: int) -> np.ndarray:
    """Values along one axis of a grid, as a column of all its cells."""
    along = [1] * len(shape)
    along[axis] = len(values)
    return np.broadcast_to(values.reshape(along), shape).ravel()


def _where(condition: np.ndarray, values: np.ndarray) -> list[float | int | None]:
    return [value if is_true else None for is_true, value in zip(condition.tolist(), values.tolist(), strict=True)]
