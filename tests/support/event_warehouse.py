"""The warehouse made by hand with examples, streams, sub-updates, events and exits added, all of them random."""

import random
from pathlib import Path

import duckdb

from neurothek.catalog.publishing.summaries import rebuild_facts
from neurothek.queries.views import install
from tests.support import continuation_rows, exit_rows, intervention_rows, tiny
from tests.support import warehouse as made
from tests.support.templates import copy_of
from tests.support.tiny import Row

N_EXAMPLES, N_EVENTS = 40, 25
EXTREME = 4.0
EXTREME_GPT2 = 10.0
MEASURED = ((0, 0), (1, 1), (3, 2))
"""(model, corpus) whose events were measured, each model's shown corpus."""

UNSHOWN = (1, 0)
"""Measured too, and shown nowhere."""

KINDS = ("dominant", "random", "random_active")
Rows = dict[str, list[Row]]


def rows() -> Rows:
    """The rows of the tables of events and exits; the same at every call."""
    draw = random.Random(8)
    found: Rows = {name: [] for name in ("examples", "streams", "sub_updates", "events", "event_samples")}
    for run_id, (model_id, corpus_id) in enumerate((*MEASURED, UNSHOWN), start=900):
        ids = {"model_id": model_id, "corpus_id": corpus_id, "run_id": run_id}
        found["event_samples"].append(
            ids
            | {"seed": 0, "n_sentences": 50, "n_examples": N_EXAMPLES, "n_event_examples": N_EVENTS}
            | {"extreme_score": EXTREME}
        )
        for number in range(N_EXAMPLES):
            _add_example(found, ids, number, tiny.MODELS[model_id], draw)
    found["exits"] = exit_rows.rows((*MEASURED, UNSHOWN))
    found |= intervention_rows.rows((*MEASURED, UNSHOWN))
    found |= continuation_rows.rows((*MEASURED, UNSHOWN))
    return found


def create(path: Path) -> None:
    """A warehouse file that holds them."""
    copy_of("events", _create, path)


def _create(path: Path) -> None:
    made.create(path)
    with duckdb.connect(str(path)) as connection:
        for table, some in rows().items():
            made.insert(connection, table, some)
        # Clusters are another job's; four of each model are enough to join with.
        connection.execute("delete from store.clusters")
        connection.execute("delete from store.clusterings")
        for model_id, plan in enumerate(tiny.MODELS):
            clusters = [
                {"clustering_id": model_id, "model_id": model_id, "layer": layer, "neuron": neuron}
                | {"cluster_id": (layer + neuron) % 4, "centre_cosine": 0.5, "run_id": 1}
                for layer in range(plan.n_layers)
                for neuron in range(plan.d_ffn)
            ]
            made.insert(connection, "clusters", clusters)
            clustering = {"clustering_id": model_id, "model_id": model_id, "method": "exact", "linkage": "complete"}
            made.insert(connection, "clusterings", [clustering | {"n_clusters_asked": 4, "n_clusters": 4, "run_id": 1}])
            rebuild_facts(connection, model_id)
        install.install(connection)


def _add_example(found: Rows, ids: Row, number: int, plan: tiny.ModelPlan, draw: random.Random) -> None:
    n_tokens = len(tiny.TEXTS[plan.tokenizer_id])
    layers = range(plan.n_layers)
    saturation = draw.randrange(plan.n_layers)
    by_ffn = saturation < plan.n_layers - 1 and draw.random() < 0.7
    elimination = draw.choice([None, *layers])
    final, target = draw.randrange(1, n_tokens), draw.choice([None, *range(1, n_tokens)])
    n_prefix = draw.randint(1, 6)
    example = {
        "example_id": number,
        "domain": "prose",
        "tokens": [draw.randrange(1, n_tokens) for _ in range(n_prefix)],
        "n_prefix_tokens": n_prefix,
        "final_token": final,
        "final_probability": draw.random(),
        "target_token": target,
        "target_probability": None if target is None else draw.random(),
        "saturation_layer": saturation,
        "saturation_by_ffn": by_ffn,
        "elimination_layer": elimination,
        "in_event_sample": number < N_EVENTS,
    }
    found["examples"].append(ids | example)
    for layer in layers:
        _add_layer(found, ids | {"layer": layer}, example, plan, draw)
    if number >= N_EVENTS:
        return
    event = {"example_id": number, "token_id": final, "rank_before": 2, "rank_after": 1}
    found["events"].append(ids | event | {"kind": "saturation", "layer": saturation, "by_ffn": by_ffn})
    if elimination is not None:
        found["events"].append(ids | event | {"kind": "elimination", "layer": elimination, "by_ffn": True})


def _add_layer(found: Rows, ids: Row, example: Row, plan: tiny.ModelPlan, draw: random.Random) -> None:
    place = {"example_id": example["example_id"]}
    has_sum = False
    for moment in ("pre", "post"):
        read = {"top_token": 1, "top_probability": 0.5, "final_token_rank": 3, "norm": 1.0}
        # Once in a while no neuron of a layer is active.
        has_sum = moment == "post" and draw.random() < 0.9
        spread = {
            name: draw.random() if has_sum else None
            for name in ("dominant_share", "leading_share", "effective_neurons")
        }
        after = {"candidate_rank": 2, "contribution_sum": 1.0} if moment == "post" else {}
        empty = {"candidate_rank": None, "contribution_sum": None}
        found["streams"].append(ids | place | {"moment": moment} | read | empty | after | spread)
    for kind in KINDS if example["in_event_sample"] else KINDS[:1]:
        for rank, neuron in enumerate(draw.sample(range(plan.d_ffn), 3), start=1):
            scores = ("score_candidate", "score_final", "score_logit_candidate", "score_logit_final")
            update = {
                "kind": kind,
                "rank": rank,
                "neuron": neuron,
                "coefficient": draw.choice([0.0, 0.5, 1.5] if plan.is_relu else [-1.0, 0.5, 1.5]),
                "contribution": 1.0,
                "share": (1 + rank + neuron) / 64 if has_sum else None,
                # GPT-2 has a bound of its own.
                **{name: draw.randint(-48, 48) / (8 if plan.is_relu else 2) for name in scores},
            }
            found["sub_updates"].append(ids | place | update)
