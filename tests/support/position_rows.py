"""Rows of positions: profiles of nine shapes over made-up long sequences."""

import math
import random

from tests.support.measurements import Measurements, add_run
from tests.support.profiles import by_the_definition
from tests.support.tiny import BOS, DEAD, LENGTH, MODELS, POSITION_SEQUENCES, ModelPlan, Neuron, neurons_of


def add_positions(data: Measurements, model_id: int, plan: ModelPlan, corpus_id: int) -> None:
    """Profiles over made-up long sequences: the warehouse's own are too short and too few for any label."""
    run_id = add_run(data, model_id, "positions", corpus_id, plan)
    for key in neurons_of(model_id):
        counts = {domain: _profile(key, corpus_id, domain, n) for domain, n in POSITION_SEQUENCES[corpus_id].items()}
        pooled = [sum(column) for column in zip(*counts.values(), strict=True)]
        whole = by_the_definition(pooled, sum(POSITION_SEQUENCES[corpus_id].values()), LENGTH)
        domains = {"all": pooled} | (counts if whole["mutual_information_corrected"] >= 0.01 else {})
        for domain, own in sorted(domains.items()):
            n = POSITION_SEQUENCES[corpus_id].get(domain, sum(POSITION_SEQUENCES[corpus_id].values()))
            measured = by_the_definition(own, n, LENGTH)
            data.rows["positions"].append(
                {"model_id": model_id, "corpus_id": corpus_id, "layer": key[1], "neuron": key[2], "domain": domain}
                | {"n_sequences": n, "first_position": 0 if BOS[plan.tokenizer_id] is None else 1}
                | measured
                | {"counts_64": own, "counts": own if measured["mutual_information_corrected"] >= 0.01 else None}
                | {"run_id": run_id}
            )


def _profile(key: Neuron, corpus_id: int, domain: str, n: int) -> list[int]:
    """Counts of n sequences at every position, of the shape that is the neuron's turn."""
    plan = MODELS[key[0]]
    n_positions = LENGTH - (BOS[plan.tokenizer_id] is not None)
    if key in DEAD:
        return [0] * n_positions
    draw = random.Random(f"{key} {corpus_id} {domain}")
    turn = (key[1] * plan.d_ffn + key[2]) % 9
    # On code, neurons with both extremes do not care about the position.
    shares = [0.5 if turn == 1 and domain == "code" else _share(turn, p, draw) for p in range(n_positions)]
    return [sum(draw.random() < share for _ in range(n)) for share in shares]


def _share(turn: int, position: int, draw: random.Random) -> float:
    """How often a neuron fires at a position, for nine shapes of profiles."""
    return (
        float(position // 8 % 2 == 0),
        float(position < 20),
        0.5 if position < 32 else 0.0,
        0.3,
        float(position // 12 % 2 == 1),
        0.5 + 0.4 * math.sin(position / 8),
        0.96 if position // 8 % 2 == 0 else 0.04,
        0.97 if position < 30 else 0.05,
        0.5 + draw.choice((-0.35, 0.35)),
    )[turn]
