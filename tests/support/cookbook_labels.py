"""What the cookbook's questions on labels, sizes, counterparts and exits (13 to 23) must be answered."""

import json
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from itertools import pairwise

from tests.support.cookbook import MOST, Row, Rows, Store, at, falling, first, layers_of, rising, wilson


def answer_13(store: Store) -> Rows:
    rows = []
    for neuron, detected in store.detectors.items():
        texts = [store.token(neuron[0], row["token_ids"][0])["text"] for row in detected]
        recalls = [row["n_active"] / row["n_occurrences"] for row in detected]
        own = store.unigrams[neuron]
        ranks = {row["rank"] for row in detected}
        is_strict = set(range(1, own["n_covering_95"] + 1)) <= ranks
        rows.append((store.address(neuron), texts, recalls, own["n_covering_95"], own["n_active"], is_strict))
    return sorted(rows, key=lambda row: (-len(row[1]), row[0]))[:MOST]


def answer_14(store: Store) -> Rows:
    rows = []
    for neuron, detected in store.detectors.items():
        if statistics.fmean(row["score"] for row in detected) < 0:
            texts = [store.token(neuron[0], row["token_ids"][0])["text"] for row in detected]
            five = store.triggers[neuron][:5]
            n_active = sum(row["n_active"] for row in five)
            share = n_active / store.unigrams[neuron]["n_active"]
            recall = n_active / sum(row["n_occurrences"] for row in five)
            rows.append((store.address(neuron), texts, share, recall, statistics.fmean(row["z_score"] for row in five)))
    return first(rows, rising(4, 0))


def answer_15(store: Store) -> Rows:
    suppressing: dict[str, list[tuple[bool, float]]] = defaultdict(list)
    for neuron, detected in store.detectors.items():
        is_so = statistics.fmean(row["score"] for row in detected) < 0
        draws = [math.fsum(scores) < 0 for scores in zip(*(row["control_scores"] for row in detected), strict=True)]
        suppressing[store.models[neuron[0]]["name"]].append((is_so, sum(draws) / len(draws)))
    rows = []
    for model, found in suppressing.items():
        n, n_so = len(found), sum(is_so for is_so, _ in found)
        expected = math.fsum(share for _, share in found) / n
        rows.append((model, n, n_so / n, *wilson(n_so, n), expected, n_so / n - expected))
    return first(rows, rising(0), most=len(rows))


def answer_16(store: Store) -> Rows:
    rows = []
    frequent = Counter[int]()
    for row in store.of_shown("ngram_spectrum"):
        frequent[row["model_id"]] += row["n_distinct"] if row["n"] == 1 and row["n_occurrences"] >= 10 else 0
    for model_id in frequent:
        below: set[int] = set()
        for layer in range(store.models[model_id]["n_layers"]):
            own = [one for neuron, one in store.detectors.items() if neuron[:2] == (model_id, layer)]
            detected = {row["token_ids"][0] for rows_of_one in own for row in rows_of_one}
            new = detected - below
            below |= detected
            place = (store.models[model_id]["name"], layer, store.depth(model_id, layer))
            rows.append(
                (*place, len(detected), len(new), len(new) / frequent[model_id], len(below) / frequent[model_id])
            )
    return first(rows, rising(0, 1), most=len(rows))


def answer_17(store: Store) -> Rows:
    counts = Counter((store.models[neuron[0]]["name"], *kind) for neuron, kind in store.kinds.items())
    rows = [(*key, n) for key, n in counts.items()]
    return first(rows, rising(0), falling(3), rising(1, 2), most=len(rows))


def answer_18(store: Store) -> Rows:
    rows = []
    for neuron, (kind, _) in store.kinds.items():
        n_active, n_seen = store.fired(neuron) or (0, 1)
        if kind == "not positional" and 0 < n_active / n_seen < 0.05:
            kurtosis = store.projections[neuron]["score_kurtosis"]
            rows.append((store.address(neuron), n_active / n_seen, kurtosis, store.top_tokens(neuron)))
    return first(rows, falling(2), rising(0))


def answer_19(store: Store) -> Rows:
    reasons = why_not_compared(store)
    layers = layers_of(store)
    rows = []
    for model_id, model in store.models.items():
        whole = model["n_layers"] * model["d_ffn"]
        fired = [one for (owner, _), own in layers.items() if owner == model_id for one in own]
        n_dead = sum(n_active == 0 for n_active, _ in fired)
        has_dead = bool(fired) and model["has_exact_zeros"]
        n_detectors = sum(neuron[0] == model_id for neuron in store.detectors)
        kinds = [kind for neuron, (kind, _) in store.kinds.items() if neuron[0] == model_id]
        n_positional = sum(kind not in ("not positional", "too few sequences") for kind in kinds)
        is_judged = bool(kinds) and "too few sequences" not in kinds
        kurtoses = [row["score_kurtosis"] for neuron, row in store.projections.items() if neuron[0] == model_id]
        known = [one for one in kurtoses if one is not None]
        rows.append(
            (
                model["name"],
                store.size(model_id),
                reasons[model_id] is None,
                reasons[model_id],
                n_dead / len(fired) if has_dead else None,
                n_detectors / whole if any(neuron[0] == model_id for neuron in store.unigrams) else None,
                n_positional / len(kinds) if is_judged else None,
                statistics.median(known) if known else None,
            )
        )
    return first(rows, rising(1, 0), most=len(rows))


def why_not_compared(store: Store) -> dict[int, str | None]:
    """Model -> how it was measured otherwise than most; None where it was measured as they were."""
    ways: dict[int, tuple[int, int, str, str, str]] = {}
    for row in store["runs"]:
        corpus = store.shown.get(row["model_id"])
        if row["job"] == "activity" and corpus is not None and row["corpus_id"] == corpus["corpus_id"]:
            rule = json.loads(row["parameters"]).get(
                "activation_rule", store.models[row["model_id"]]["activation_rule"]
            )
            way = (corpus["n_tokens"], corpus["sequence_length"], rule, row["dtype"], corpus["text_sha256"])
            ways[row["model_id"]] = way
    shared = Counter(way[1:] for way in ways.values())
    most = max(shared.values(), default=0)
    common = {way for way, n in shared.items() if n == most}
    # One way is the commonest of the hand-made warehouse; ties by tokens.
    reference = max((way for way in ways.values() if way[1:] in common), default=None)
    found: dict[int, str | None] = dict.fromkeys(store.models, "its activity was not measured")
    for model_id, way in ways.items():
        assert reference is not None
        told = [
            "another text" if way[4] != reference[4] else None,
            f"sequences of {way[1]} ids instead of {reference[1]}" if way[1] != reference[1] else None,
            f"active means {way[2]} instead of {reference[2]}" if way[2] != reference[2] else None,
            f"computed in {way[3]} instead of {reference[3]}" if way[3] != reference[3] else None,
        ]
        if way[4] == reference[4] and 2 * way[0] < reference[0]:
            told.append(f"{way[0]} tokens of the text instead of {reference[0]}")
        found[model_id] = "; ".join(one for one in told if one) or None
    return found


def answer_20(store: Store) -> Rows:
    layers = layers_of(store)
    small, large = (
        {layer: sum(n == 0 for n, _ in own) / len(own) for (model_id, layer), own in layers.items() if model_id == of}
        for of in (store.id_of("tiny-1m"), store.id_of("tiny-2m"))
    )
    rows = []
    for layer, share in sorted(small.items()):
        depth = store.depth(store.id_of("tiny-1m"), layer)
        under = [one for one in large if store.depth(store.id_of("tiny-2m"), one) <= depth]
        if under:
            depth_of_it = store.depth(store.id_of("tiny-2m"), max(under))
            rows.append((layer, depth, max(under), depth_of_it, share, large[max(under)]))
    return rows


def pairs(store: Store) -> list[Row]:
    """Counterparts of the larger model in the smaller one."""
    large, small = store.id_of("tiny-2m"), store.id_of("tiny-1m")
    return [row for row in store["counterparts"] if (row["model_id"], row["other_model_id"]) == (large, small)]


def answer_21(store: Store) -> Rows:
    rows = []
    for row in pairs(store):
        other = (row["other_model_id"], row["other_layer"], row["other_neuron"])
        if row["is_mutual"] and row["overlap"] > row["null_99"]:
            tokens = (store.top_tokens(at(row)), store.top_tokens(other))
            rows.append((store.address(at(row)), store.address(other), row["overlap"], row["null_99"], *tokens))
    return first(rows, falling(2), rising(0))


def answer_22(store: Store) -> Rows:
    found: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for row in pairs(store):
        found[row["layer"]][row["overlap"] <= row["null_99"]] += row["is_mutual"]
    large = store.id_of("tiny-2m")
    d_ffn = store.models[large]["d_ffn"]
    return [
        (layer, store.depth(large, layer), n_above / d_ffn, n_below / d_ffn)
        for layer, (n_above, n_below) in sorted(found.items())
    ]


def answer_23(store: Store) -> Rows:
    curves: dict[tuple[int, str], list[tuple[float, float, float]]] = defaultdict(list)
    for row in store.of_shown("exits"):
        if row["method"] in ("mat", "id", "fixed_mat", "fixed_id"):
            curves[row["model_id"], row["method"]].append((row["layers_run"], row["parameter"], row["accuracy"]))
    rows = []
    for (model_id, method), points in curves.items():
        model, crossing = store.models[model_id], None
        points.sort()
        for (run_before, _, before), (run, _, precision) in pairwise(points):
            if crossing is None and before < 0.95 <= precision:
                crossing = run_before + (run - run_before) * (0.95 - before) / (precision - before)
        saved = None if crossing is None else model["n_layers"] - crossing
        share = None if saved is None else saved / model["n_layers"]
        rows.append((model["name"], method, model["n_layers"], saved, share))
    return first(rows, rising(0), falling(3), rising(1), most=len(rows))


ANSWERS: Mapping[int, Callable[[Store], Rows]] = {
    int(name.removeprefix("answer_")): answer for name, answer in globals().items() if name.startswith("answer_")
}
"""Number of the question -> its rows in order."""
