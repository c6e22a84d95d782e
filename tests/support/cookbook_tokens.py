"""What the cookbook's questions on tokens and activity (1 to 12) must be answered."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from tests.support.cookbook import MOST, Row, Rows, Store, at, falling, first, layers_of, rising

POWERS = [base * 10**power for power in range(1, 10) for base in (1, 2, 5)]


def promoting(store: Store, word: str, side: str) -> list[Row]:
    return [row for row in store.postings if row["word"] == word and row["side"] == side]


def answer_1(store: Store) -> Rows:
    rows = [
        (*(row[name] for name in ("address", "text", "rank", "score", "z_score")), counted(store, row))
        for row in promoting(store, "school", "promoted")
    ]
    return first(rows, falling(4), rising(0, 2))


def counted(store: Store, row: Row) -> int | None:
    return store.count(row["model_id"], row["token_id"])


def answer_2(store: Store) -> Rows:
    neuron = (store.id_of("tiny-1m"), 0, 0)
    own, rows = store.projections[neuron], []
    for side, name in (("promoted", "top"), ("suppressed", "bottom")):
        listed = zip(own[f"{name}_token_ids"], own[f"{name}_scores"], strict=True)
        for rank, (token, score) in enumerate(listed, start=1):
            z = (score - own["score_mean"]) / own["score_sd"]
            rows.append((side, rank, store.token(neuron[0], token)["text"], score, z, store.count(neuron[0], token)))
    return rows[:MOST]


def answer_3(store: Store) -> Rows:
    rows = [
        (up["address"], up["z_score"], down["z_score"], up["z_score"] - down["z_score"], up["rank"], down["rank"])
        for up in promoting(store, "coffee", "promoted")
        for down in promoting(store, "school", "suppressed")
        if up["address"] == down["address"]
    ]
    return [row[:3] for row in first(rows, falling(3), rising(0, 4, 5))]


def among_ten(store: Store) -> dict[str, Counter[str]]:
    """Model -> token -> in how many neurons it is among the ten most promoted."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in store.postings:
        if row["side"] == "promoted" and row["rank"] <= 10:
            found[store.models[row["model_id"]]["name"]][row["text"]] += 1
    return found


def answer_4(store: Store) -> Rows:
    counts = {(row["model_id"], row["text"]): counted(store, row) for row in store.postings}
    rows = []
    for model, tokens in among_ten(store).items():
        of_model = [(model, token, n, counts[store.id_of(model), token]) for token, n in tokens.items()]
        rows += first(of_model, falling(2), rising(1), most=10)
    return first(rows, rising(0), falling(2), rising(1), most=len(rows))


def answer_5(store: Store) -> Rows:
    found = among_ten(store)
    small, large = (
        {token: n / n_neurons(store, model) for token, n in found[model].items()} for model in ("tiny-1m", "tiny-2m")
    )
    rows = [(token, small.get(token, 0.0), share, share - small.get(token, 0.0)) for token, share in large.items()]
    return first(rows, falling(3), rising(0))


def n_neurons(store: Store, model: str) -> int:
    row = store.models[store.id_of(model)]
    return int(row["n_layers"] * row["d_ffn"])


def answer_6(store: Store) -> Rows:
    listed: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(store.postings, key=lambda row: row["rank"]):
        if row["word"] in ("school", "schools") and row["side"] == "promoted":
            listed[row["address"]].append(row)
    rows = [
        (address, [row["text"] for row in own], math.fsum(row["z_score"] for row in own))
        for address, own in listed.items()
        if {row["word"] for row in own} == {"school", "schools"}
    ]
    return first(rows, falling(2), rising(0))


def answer_7(store: Store) -> Rows:
    rows = []
    for (model_id, layer), fired in layers_of(store).items():
        model = store.models[model_id]
        n_dead = sum(n_active == 0 for n_active, _ in fired) if model["has_exact_zeros"] else None
        share = None if n_dead is None else n_dead / len(fired)
        rows.append((model["name"], layer, store.depth(model_id, layer), n_dead, share, fired[0][1]))
    return first(rows, rising(0, 1), most=len(rows))


def answer_8(store: Store) -> Rows:
    watched: dict[tuple[int, str], list[tuple[int | None, int]]] = defaultdict(list)
    for neuron, domains in store.activity.items():
        starts = store.starts(store.shown[neuron[0]]["corpus_id"])
        firsts = {name: row["first_active"] for name, row in domains.items()}
        for name, row in domains.items():
            watched[neuron[0], name].append((firsts[name], row["n_positions"]))
        of_all = [starts[name] + one for name, one in firsts.items() if one is not None]
        watched[neuron[0], "all"].append(
            (min(of_all, default=None), sum(row["n_positions"] for row in domains.values()))
        )
    rows = []
    for (model_id, domain), neurons in watched.items():
        model, n_seen = store.models[model_id], neurons[0][1]
        for n_tokens in [*(n for n in POWERS if n < n_seen), n_seen]:
            silent = sum(when is None or when >= n_tokens for when, _ in neurons)
            share = silent / len(neurons) if model["has_exact_zeros"] else None
            rows.append((model["name"], domain, n_tokens, silent, len(neurons), share))
    return first(rows, rising(0, 1, 2), most=len(rows))


def answer_9(store: Store) -> Rows:
    rows = []
    for neuron in store.neurons():
        fired, bound = store.fired(neuron), store.projections[neuron]["preactivation_bound"]
        if fired is None or fired[0] or not store.models[neuron[0]]["has_exact_zeros"]:
            continue
        if bound is None or bound >= 0:
            rows.append((store.address(neuron), bound, fired[1], store.top_tokens(neuron)))
    return first(rows, falling(1), rising(0))


def answer_10(store: Store) -> Rows:
    rows = []
    for neuron, domains in store.activity.items():
        if {"code", "prose"} <= domains.keys():
            code, prose = (domains[name]["n_active"] / domains[name]["n_positions"] for name in ("code", "prose"))
            rows.append((store.address(neuron), code, prose, abs(code - prose)))
    return [row[:3] for row in first(rows, falling(3), rising(0))]


def places(store: Store) -> list[Row]:
    """The places of strongest activation in the shown corpora, with the text around."""
    lines = {(row["corpus_id"], row["sequence_id"]): row for row in store["sequences"]}
    found = []
    for row in store.of_shown("contexts"):
        line, place = lines[row["corpus_id"], row["sequence_id"]], row["position"]
        texts = [store.token(row["model_id"], token)["text"] for token in line["tokens"]]
        around = {"before": "".join(texts[max(0, place - 12) : place]), "after": "".join(texts[place + 1 : place + 7])}
        found.append(row | around | {"domain": line["domain"], "token": texts[place]})
    return found


def answer_11(store: Store) -> Rows:
    neuron = (store.id_of("tiny-1m"), 0, 0)
    own = sorted((row for row in places(store) if at(row) == neuron), key=lambda row: row["rank"])
    return [tuple(row[name] for name in ("rank", "activation", "domain", "before", "token", "after")) for row in own]


def answer_12(store: Store) -> Rows:
    rows = set()
    for row in places(store):
        own = store.projections[at(row)]
        for rank, (token, score) in enumerate(zip(own["top_token_ids"], own["top_scores"], strict=True), start=1):
            if row["rank"] == 1 and store.token(row["model_id"], token)["text"] == row["token"]:
                z = (score - own["score_mean"]) / own["score_sd"]
                rows.add((store.address(at(row)), row["token"], row["activation"], rank, z))
    return first(rows, falling(4), rising(0, 3))


ANSWERS: Mapping[int, Callable[[Store], Rows]] = {
    int(name.removeprefix("answer_")): answer for name, answer in globals().items() if name.startswith("answer_")
}
"""Number of the question -> its rows in order."""
