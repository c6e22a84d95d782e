"""Rows of projections and postings: every neuron's scores, drawn by lot but for those that are planted."""

import math
import random

from tests.support.measurements import Measurements
from tests.support.tiny import (
    BYTE_TOKEN,
    FLAT,
    PLANTED,
    PROVABLY_DEAD,
    TEXTS,
    UNDERTRAINED_TOKEN,
    WITHOUT_HISTOGRAMS,
    ModelPlan,
    neurons_of,
)


def add_projections(data: Measurements, model_id: int, plan: ModelPlan, draw: random.Random) -> None:
    """Scores of every neuron of a model, its lists and its postings."""
    run_id = data.rows["runs"][-1]["run_id"]
    texts = TEXTS[plan.tokenizer_id]
    k = min(50, len(texts) // 2)
    if model_id != WITHOUT_HISTOGRAMS:
        data.rows["token_indicators"] += [_indicator(model_id, token, run_id) for token in range(len(texts))]
    for key in neurons_of(model_id):
        scores = [draw.randrange(-64, 65) / 8 for _ in texts]
        for text, score in PLANTED.get(key, {}).items():
            scores[texts.index(text)] = float(score)
        if key == FLAT:
            scores = [0.0] * len(texts)
        data.scores[key] = scores
        moments = _moments(scores)
        top = sorted(range(len(texts)), key=lambda token: (-scores[token], token))[:k]
        bottom = sorted(range(len(texts)), key=lambda token: (scores[token], token))[:k]
        bound = None if plan.norm_position == "post" else (-0.5 if key in PROVABLY_DEAD else 2.5)
        data.rows["projections"].append(
            {
                "model_id": model_id,
                "layer": key[1],
                "neuron": key[2],
                "value_norm": 0.0 if key == FLAT else 1.0 + key[2] / 8,
                "score_mean": moments[0],
                "score_sd": moments[1],
                "score_skewness": moments[2],
                "score_kurtosis": moments[3],
                "score_negative_share": sum(score < 0 for score in scores) / len(scores),
                "top_token_ids": top,
                "top_scores": [scores[token] for token in top],
                "bottom_token_ids": bottom,
                "bottom_scores": [scores[token] for token in bottom],
                "preactivation_bound": bound,
                "run_id": run_id,
            }
        )
        if model_id != WITHOUT_HISTOGRAMS:
            data.rows["logit_histograms"].append(
                {
                    "model_id": model_id,
                    "layer": key[1],
                    "neuron": key[2],
                    "counts": _counts(scores, moments[0], moments[1]),
                    "run_id": run_id,
                }
            )
        for side, tokens in (("promoted", top), ("suppressed", bottom)):
            for rank, token in enumerate(tokens, start=1):
                data.rows["postings"].append(
                    {
                        "model_id": model_id,
                        "token_id": token,
                        "side": side,
                        "layer": key[1],
                        "neuron": key[2],
                        "rank": rank,
                        "score": scores[token],
                        "z_score": (scores[token] - moments[0]) / moments[1] if moments[1] else 0.0,
                        "run_id": run_id,
                    }
                )


def _indicator(model_id: int, token: int, run_id: int) -> dict[str, object]:
    """Of a model with unused rows, all others further from them than allowed but for one."""
    has_unused = model_id != 1
    distance = 0.001 if token == UNDERTRAINED_TOKEN else 0.1 + token / 1024
    return {
        "model_id": model_id,
        "token_id": token,
        "row_norm": 1.0,
        "unused_distance": distance if has_unused else None,
        "unused_limit": 0.002 if has_unused else None,
        "is_unused": False,
        "is_byte": token == BYTE_TOKEN,
        "run_id": run_id,
    }


def _counts(scores: list[float], mean: float, sd: float) -> list[int]:
    """Scores in bins of a quarter of a standard deviation from -8 to 8, and what is beyond."""
    counts = [0] * 66
    for score in scores:
        z = (score - mean) / sd if sd else 0.0
        place = 0 if z < -8 else 65 if z >= 8 else 1 + math.floor((z + 8) / 0.25)
        counts[place] += 1
    return counts


def _moments(values: list[float]) -> tuple[float, float, float | None, float | None]:
    mean = math.fsum(values) / len(values)
    second, third, fourth = (
        math.fsum((value - mean) ** power for value in values) / len(values) for power in (2, 3, 4)
    )
    if second == 0:
        return mean, 0.0, None, None
    return mean, math.sqrt(second), third / second**1.5, fourth / second**2 - 3
