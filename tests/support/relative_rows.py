"""Rows of clusters, neighbours, controls and counterparts of the hand-made warehouse."""

from tests.support.measurements import Measurements, add_run
from tests.support.overlaps import counterparts
from tests.support.tiny import MODELS, ModelPlan, made_up_null, plane


def add_relatives(data: Measurements, model_id: int, plan: ModelPlan) -> None:
    """Clusters and neighbours of a model, its controls on every corpus and the overlaps of norms on its first."""
    mine = plane(model_id)
    run = {"run_id": add_run(data, model_id, "clusters", None, plan)}
    data.rows["clusterings"] += [row | run for row in mine.clustering_rows()]
    data.rows["clusters"] += [row | run for row in mine.cluster_rows()]
    data.rows["cluster_controls"] += [row | run for row in mine.cluster_control_rows()]
    data.rows["neighbours"] += [row | run for row in mine.neighbour_rows()]
    for number, corpus_id in enumerate(plan.corpora):
        run = {"run_id": add_run(data, model_id, "controls", corpus_id, plan)}
        data.rows["coherences"] += [row | run for row in mine.coherence_rows(corpus_id)]
        data.rows["control_coherences"] += [row | run for row in mine.control_coherence_rows(corpus_id)]
        if number == 0:
            data.rows["norm_overlaps"] += [row | run for row in mine.overlap_rows()]
            data.rows["controls"] += [row | run for row in mine.control_rows()]


def add_counterparts(data: Measurements, model_id: int, other_id: int) -> None:
    """What is most alike in the other model, for every neuron of this one."""
    run_id = add_run(data, model_id, "counterparts", None, MODELS[model_id], other_model_id=other_id)
    one, other = (_lists(data, number) for number in (model_id, other_id))
    for (layer, neuron, rank), found in counterparts(one, other).items():
        data.rows["counterparts"].append(
            {"model_id": model_id, "layer": layer, "neuron": neuron, "other_model_id": other_id, "rank": rank}
            | found
            | {"null_99": made_up_null(model_id, layer), "run_id": run_id}
        )


def _lists(data: Measurements, model_id: int) -> dict[tuple[int, int], tuple[list[int], list[int]]]:
    return {
        (row["layer"], row["neuron"]): (row["top_token_ids"], row["bottom_token_ids"])
        for row in data.rows["projections"]
        if row["model_id"] == model_id
    }
