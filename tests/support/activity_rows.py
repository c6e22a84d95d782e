"""Rows of activity and contexts, counted over coefficients that are drawn by lot."""

import math
import random

from tests.support.measurements import Measurements, add_run
from tests.support.tiny import BOS, CORPORA, DEAD, ONLY_AT_BOS, ModelPlan, Neuron, Row, neurons_of
from tests.support.window_rows import histogram, windows


def add_activity(data: Measurements, model_id: int, plan: ModelPlan, corpus_id: int, draw: random.Random) -> None:
    """Coefficients of a model on a corpus, their counts by domain, ten strongest contexts, windows and histograms."""
    run_id = add_run(data, model_id, "activity", corpus_id, plan)
    context_run = add_run(data, model_id, "contexts", corpus_id, plan)
    sequences = [row for row in data.rows["sequences"] if row["corpus_id"] == corpus_id]
    first_counted = 0 if BOS[plan.tokenizer_id] is None else 1
    for key in neurons_of(model_id):
        busy = draw.choice((0.05, 0.3, 0.9))
        run = {row["sequence_id"]: [_coefficient(key, plan, busy, draw) for _ in row["tokens"]] for row in sequences}
        if key in ONLY_AT_BOS:
            for line in run.values():
                line[0] = 1.5
        data.coefficients[corpus_id, key] = run
        ids = {"model_id": model_id, "corpus_id": corpus_id, "layer": key[1], "neuron": key[2]}
        for domain in CORPORA[corpus_id][3]:
            own = [run[row["sequence_id"]] for row in sequences if row["domain"] == domain]
            measured = domain_activity(own, first_counted)
            data.rows["activity"].append({**ids, "domain": domain, **measured, "run_id": run_id})
        best = [
            max(((abs(m), -position, m) for position, m in enumerate(line) if position >= first_counted), default=None)
            for line in run.values()
        ]
        found = [(-one[0], sequence, -one[1], one[2]) for sequence, one in enumerate(best) if one and one[0] > 0]
        for rank, (_, sequence, position, m) in enumerate(sorted(found)[:10], start=1):
            place = {"rank": rank, "activation": m, "sequence_id": sequence, "position": position}
            data.rows["contexts"].append({**ids, **place, "run_id": context_run})
        data.rows["context_windows"] += [{**ids, **row, "run_id": context_run} for row in windows(run, first_counted)]
        data.rows["activation_histograms"].append({**ids, **histogram(run, first_counted), "run_id": context_run})


def _coefficient(key: Neuron, plan: ModelPlan, busy: float, draw: random.Random) -> float:
    size = draw.randrange(1, 32) / 8
    if plan.is_relu:
        return 0.0 if key in DEAD or draw.random() >= busy else size
    return size if draw.random() < busy else -0.125


def domain_activity(lines: list[list[float]], first_counted: int) -> Row:
    """What a neuron's coefficients at the counted positions come to."""
    counted = [m for line in lines for m in line[first_counted:]]
    bos = [line[0] for line in lines] if first_counted else []
    # Positive is active under both rules: the ReLU coefficients here are never negative.
    active = [m > 0 for m in counted]
    return {
        "n_positions": len(counted),
        "n_active": sum(active),
        "n_active_bos": sum(m > 0 for m in bos),
        "activation_bos": math.fsum(bos) / len(bos) if bos else None,
        "activation_sum": math.fsum(counted),
        "activation_abs_sum": math.fsum(map(abs, counted)),
        "activation_square_sum": math.fsum(m * m for m in counted),
        "activation_min": min(counted),
        "activation_max": max(counted),
        "n_above": [sum(abs(m) > bound for m in counted) for bound in (0.1, 0.5, 1, 2)],
        "first_active": active.index(True) if any(active) else None,
    }
