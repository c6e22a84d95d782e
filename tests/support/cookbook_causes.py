"""What the cookbook's questions on domains, causes and words (24 to 29) must be answered."""

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from tests.support.cookbook import Row, Rows, Store, at, first


def answer_24(store: Store) -> Rows:
    rows = [
        (
            store.address(at(row)),
            row["domain"],
            row["domain_share"],
            row["entropy"],
            row["p"],
            row["n_shuffled_selective"] / 20,
        )
        for row in store.of_shown("selectivity")
        if row["p"] is not None and row["p"] <= 0.01
    ]
    return first(rows, lambda row: (row[3], -row[2], row[0]))


def answer_25(store: Store) -> Rows:
    lengths: dict[tuple[int, int], list[float]] = defaultdict(list)
    for neuron, row in store.projections.items():
        lengths[neuron[:2]].append(row["value_norm"])
    rows = []
    for row in store.of_shown("entropy"):
        norm = store.projections[at(row)]["value_norm"]
        of_layer = lengths[at(row)[:2]]
        is_long = sum(norm >= other for other in of_layer) >= len(of_layer) / 2
        if row["null_share_percentile"] == 100 and is_long:
            rows.append((store.address(at(row)), row["null_share"], row["logit_variance"], norm))
    return first(rows, lambda row: (-row[1], row[0]))


def answer_26(store: Store) -> Rows:
    rows = []
    for row in store.of_shown("contrast_neurons"):
        by_domain = store.activity.get(at(row), {}).values()
        squares = sum(one["activation_square_sum"] for one in by_domain)
        n = sum(one["n_positions"] for one in by_domain)
        sizes = sum(one["activation_abs_sum"] for one in by_domain)
        is_always_on = squares > 0 and sizes**2 / (n * squares) > 0.5
        if row["q"] is not None and row["q"] <= 0.05 and not is_always_on:
            difference = row["mean_a"] - row["mean_b"]
            rows.append((row["contrast"], store.address(at(row)), difference, row["z"], row["q"]))
    return first(rows, lambda row: (-abs(row[3]), row[0], row[1]))


def answer_27(store: Store) -> Rows:
    best = {(at(row), row["other_set"], row["corpus_id"]): row for row in map(_with_other, store["universality"])}
    rows = []
    for (neuron, other_set, corpus_id), row in best.items():
        other = (other_set, row["other_layer"], row["other_neuron"])
        back = best.get((other, neuron[0], corpus_id))
        excess = row["correlation"] - row["null_correlation"]
        is_mutual = back is not None and (back["other_layer"], back["other_neuron"]) == neuron[1:]
        is_shown = store.shown[neuron[0]]["corpus_id"] == corpus_id
        if excess > 0.5 and is_mutual and is_shown:
            addresses = (store.address(neuron), store.address(other))
            rows.append((*addresses, row["correlation"], row["null_correlation"], excess))
    return first(rows, lambda row: (-row[4], row[0], row[1]))


def _with_other(row: Row) -> dict[str, Any]:
    """The other model's number under a name that does not end as the model's own does."""
    return {"other_set": row["other_model_id"], **row}


def answer_28(store: Store) -> Rows:
    answers: dict[str, dict[str, list[tuple[bool, bool | None]]]] = defaultdict(lambda: defaultdict(list))
    for row in store["explanation_judgements"]:
        if row["method"] == "detection":
            answers[row["explanation_id"]][row["condition"]].append((row["is_true"], row["answer"]))
    rows = []
    for row in {row["explanation_id"]: row for row in store["explanations"]}.values():
        judged = answers[row["explanation_id"]]
        scores = {condition: _balanced(found) for condition, found in judged.items()}
        control = max(score for condition, score in scores.items() if condition != "explanation")
        failed = sum(answer is None for _, answer in judged["explanation"])
        rows.append(
            (store.address(at(row)), row["pole"], row["text"], scores["explanation"], control, failed),
        )
    return first(rows, lambda row: (-row[3], row[0], row[1]))


def _balanced(found: list[tuple[bool, bool | None]]) -> float:
    sides = [
        [answer == truth for truth, answer in found if truth is side and answer is not None] for side in (True, False)
    ]
    return statistics.fmean(sum(side) / len(side) for side in sides)


def answer_29(store: Store) -> Rows:
    rules = {row["catalog"]: row["active_when"] for row in store["foreign_catalogs"]}
    rows = []
    for row in store["foreign_neurons"]:
        by_domain = store.activity.get(at(row), {}).values()
        n_active, n = (sum(one[name] for one in by_domain) for name in ("n_active", "n_positions"))
        if not n_active or not row["frequency"]:
            continue
        model, other = store.models[row["model_id"]], (*at(row)[:2], row["other_neuron"])
        shares = [_shared(row, store.projections[neuron], model) for neuron in (at(row), other)]
        ratio = math.log2(row["frequency"] / (n_active / n))
        is_same_rule = rules[row["catalog"]] == model["activation_rule"]
        said = (store.address(at(row)), row["catalog"], row["frequency"], n_active / n, ratio)
        rows.append((*said, *shares, is_same_rule))
    return first(rows, lambda row: (-abs(row[4]), row[0], row[1]))


def _shared(row: Row, ours: Row, model: Row) -> float:
    """The better share of the first ten tokens of two lists, of gated models at opposite signs as well."""
    lists = row["promoted_token_ids"], row["suppressed_token_ids"]
    sides = ours["top_token_ids"], ours["bottom_token_ids"]
    turns = [sides, sides[::-1]] if model["activation_rule"].startswith("gate") else [sides]
    n = sum(min(10, len(one), len(other)) for one, other in zip(lists, sides, strict=True))
    return (
        max(
            sum(
                len(set(one[: min(10, len(other))]) & set(other[: min(10, len(one))]))
                for one, other in zip(lists, turn, strict=True)
            )
            for turn in turns
        )
        / n
    )


ANSWERS: Mapping[int, Callable[[Store], Rows]] = {
    24: answer_24,
    25: answer_25,
    26: answer_26,
    27: answer_27,
    28: answer_28,
    29: answer_29,
}
