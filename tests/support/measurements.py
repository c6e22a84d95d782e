"""Everything that the hand-made warehouse holds, and the runs that are said to have measured it."""

import json
from dataclasses import dataclass, field
from datetime import datetime

from tests.support.tiny import ModelPlan, Neuron, Row


@dataclass(frozen=True)
class Measurements:
    """Everything in the warehouse: table name -> rows, and the scores and coefficients behind them."""

    rows: dict[str, list[Row]]
    scores: dict[Neuron, list[float]]
    coefficients: dict[tuple[int, Neuron], dict[int, list[float]]]
    """(corpus_id, neuron) -> sequence_id -> coefficient at every position, BOS included."""

    shown: dict[int, int] = field(default_factory=dict)
    """model_id -> corpus_id that views show."""


def add_run(
    data: Measurements,
    model_id: int,
    job: str,
    corpus_id: int | None,
    plan: ModelPlan,
    *,
    other_model_id: int | None = None,
) -> int:
    """A run that measured this model, and its number."""
    run_id = len(data.rows["runs"])
    rule = {} if corpus_id is None else {"activation_rule": "m != 0" if plan.is_relu else "m > 0"}
    data.rows["runs"].append(
        {
            "run_id": run_id,
            "run_key": f"run-{run_id}",
            "job": job,
            "job_version": 1,
            "model_id": model_id,
            "corpus_id": corpus_id,
            "other_model_id": other_model_id,
            "parameters": json.dumps({"k": 50} if corpus_id is None else rule),
            "dtype": "float32",
            "started_at": datetime(2026, 1, 1, 12, run_id),
            "finished_at": datetime(2026, 1, 1, 12, run_id, 30),
            "n_rows": 1,
            "versions": "{}",
        }
    )
    return run_id
