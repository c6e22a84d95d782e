"""Rows of neuron facts: what a publish derives, derived here by loops."""

import math
from collections import defaultdict

from tests.support.activity_rows import domain_activity
from tests.support.measurements import Measurements
from tests.support.tiny import BOS, MODELS, TEXTS, ModelPlan, Neuron, Row, address, plane


def add_facts(data: Measurements, model_id: int, plan: ModelPlan) -> None:
    """Facts of every neuron of a model, on the corpus that views show."""
    texts = TEXTS[plan.tokenizer_id]
    corpus_id = data.shown.get(model_id)
    counts: dict[int, int] = defaultdict(int)
    for row in data.rows["token_counts"]:
        if row["corpus_id"] == corpus_id:
            counts[row["token_id"]] += row["n_occurrences"]
    for row in [row for row in data.rows["projections"] if row["model_id"] == model_id]:
        key = (model_id, row["layer"], row["neuron"])
        top = row["top_token_ids"]
        logs = [math.log(1 + counts[token]) for token in top]
        copied = ("value_norm", "score_mean", "score_sd", "score_skewness", "score_kurtosis")
        data.rows["neuron_facts"].append(
            {
                "model_id": model_id,
                "layer": key[1],
                "neuron": key[2],
                "corpus_id": corpus_id,
                "address": address(key),
                "depth": (key[1] + 0.5) / plan.n_layers,
                **{name: row[name] for name in (*copied, "score_negative_share", "preactivation_bound")},
                "top_tokens": [texts[token] for token in top[:10]],
                "bottom_tokens": [texts[token] for token in row["bottom_token_ids"][:10]],
                "top_token_log_frequency": None if corpus_id is None else math.fsum(logs) / len(logs),
                **_fact_activity(data, key, corpus_id),
                **_fact_positions(data, key, corpus_id),
                "contribution_max": None,
                "promoted_z": (
                    (row["top_scores"][0] - row["score_mean"]) / row["score_sd"] if row["score_sd"] else None
                ),
                **_fact_inputs(data, key, corpus_id),
                **plane(model_id).facts(key[1:], corpus_id),
            }
        )


def _fact_activity(data: Measurements, key: Neuron, corpus_id: int | None) -> Row:
    names = ("n_positions", "n_active", "n_active_bos", "activation_sum", "activation_min", "activation_max")
    if corpus_id is None:
        return dict.fromkeys((*names, "first_active", "effective_frequency"))
    first_counted = 0 if BOS[MODELS[key[0]].tokenizer_id] is None else 1
    lines = list(data.coefficients[corpus_id, key].values())
    measured = domain_activity(lines, first_counted)
    return {
        **{name: measured[name] for name in (*names, "first_active")},
        "effective_frequency": _effective_frequency([abs(m) for line in lines for m in line[first_counted:]]),
    }


def _fact_inputs(data: Measurements, key: Neuron, corpus_id: int | None) -> Row:
    """How often the strongest contexts above 0 are at tokens of its own list, and of its layer's other lists."""
    texts = {row["sequence_id"]: row["tokens"] for row in data.rows["sequences"] if row["corpus_id"] == corpus_id}
    own = [
        texts[row["sequence_id"]][row["position"]]
        for row in data.rows["contexts"]
        if row["corpus_id"] == corpus_id and _neuron_of(row) == key and row["activation"] >= 0
    ]
    if not own:
        return dict.fromkeys(("n_strongest_contexts", "input_score", "input_other_score"))
    lists = {
        _neuron_of(row): row["top_token_ids"][:20] for row in data.rows["projections"] if _neuron_of(row)[:2] == key[:2]
    }
    shares = {neuron: sum(token in listed for token in own) / len(own) for neuron, listed in lists.items()}
    mine = shares.pop(key)
    others = sum(shares.values()) / len(shares) if shares else None
    return {"n_strongest_contexts": len(own), "input_score": mine, "input_other_score": others}


def _neuron_of(row: Row) -> Neuron:
    return (row["model_id"], row["layer"], row["neuron"])


def _effective_frequency(magnitudes: list[float]) -> float | None:
    """(sum |m|)^2 / (N * sum m^2) [Treves and Rolls 1991]; None where all are 0."""
    squares = math.fsum(m * m for m in magnitudes)
    return math.fsum(magnitudes) ** 2 / (len(magnitudes) * squares) if squares else None


def _fact_positions(data: Measurements, key: Neuron, corpus_id: int | None) -> Row:
    names = ("mutual_information", "mutual_information_corrected", "n_switches", "n_on_runs", "n_off_runs")
    copied = (*names, "weakest_on", "weakest_off", "roughness")
    for row in data.rows["positions"]:
        place = (row["model_id"], row["layer"], row["neuron"])
        if place == key and row["corpus_id"] == corpus_id and row["domain"] == "all":
            return {"n_position_sequences": row["n_sequences"], **{name: row[name] for name in copied}}
    return dict.fromkeys(("n_position_sequences", *copied))
