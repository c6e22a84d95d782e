"""Verdicts on Geva et al. 2022 and Din et al. 2023 from the tables of a warehouse and the words of the papers alone.

Plain loops over rows of `store`: no view, no statement, no interval of `queries`. What was written (6.1) and lists that
people judged are left out.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import duckdb
import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.registry import OWNERS
from neurothek.queries.annotate.by_rules import annotate_by_rules
from neurothek.queries.papers.family import POSITIONAL, Family
from neurothek.queries.papers.findings import Outcome
from neurothek.queries.papers.verdicts import judge_claims
from neurothek.queries.papers.voita import VOITA
from tests.support import event_warehouse, ingests
from tests.support.models import build
from tests.support.plain_intervals import Ends, bootstrap, less, pool, several, welch, wilson
from tests.support.shortcuts import WORDS, write_sentences
from tests.support.tokenizers import make_tokenizer

Row = dict[str, Any]
Numbers = Mapping[int, float]
"""Example or sentence -> a number."""

Judged = tuple[Sequence[Ends], Ends]
"""What was found at each of several places, and over all of them."""

EDGE = 0.15
"""Ends of 300 draws and of 2,000 lie within so much of the interval's length of each other."""


class Nothing(Exception):
    """There is nothing to judge: the claim is neither held nor denied."""


class Stored:
    """The tables' rows about one model on its shown corpus, as loops find them; those of later positions alone."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str, *, later: bool = False) -> None:
        self.connection, self.later = connection, later
        (self.model,) = self._rows("models", "name", name)
        self.id, self.n_layers = self.model["model_id"], self.model["n_layers"]
        ran: dict[int | None, set[str]] = {}
        for row in self._rows("runs", "model_id", self.id):
            ran.setdefault(row["corpus_id"], set()).add(row["job"])
        pinned = {row["corpus_id"] for row in self._rows("pins", "model_id", self.id)}
        size = {row["corpus_id"]: row["n_tokens"] for row in self._rows("corpora", "true", True)}
        of = {one: (one in pinned, "activity" in jobs, size[one], one) for one, jobs in ran.items() if one is not None}
        self.corpus = max(of, key=lambda one: of[one], default=None)
        self.jobs = {job for one in (None, self.corpus) for job in ran.get(one, ())}
        self.at_first = {row["example_id"] for row in self.rows("examples") if len(row["tokens"]) == 1}

    def _rows(self, table: str, column: str, value: object) -> list[Row]:
        cursor = self.connection.execute(f"select * from store.{table} where {column} = $value", {"value": value})
        names = [column[0] for column in cursor.description or []]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def rows(self, table: str, **of: object) -> list[Row]:
        """Those that are so; of the shown corpus where the table knows corpora."""
        found = [
            row for row in self._rows(table, OWNERS[table], self.id) if row.get("corpus_id", self.corpus) == self.corpus
        ]
        if self.later and table in ("sub_updates", "events"):
            found = [row for row in found if row["example_id"] not in self.at_first]
        return [row for row in found if all(row[name] == one for name, one in of.items())]

    def ten(self, of: str, kind: str) -> dict[tuple[int, int], list[float]]:
        """Example and layer -> what ten neurons of a kind say of a token there."""
        found: dict[tuple[int, int], list[float]] = {}
        for row in self.rows("sub_updates", kind=kind):
            if row[of] is not None:
                found.setdefault((row["example_id"], row["layer"]), []).append(row[of])
        return found

    def events(self, event: str, kind: str = "dominant") -> dict[int, list[float]]:
        """Example -> what ten neurons say of the token of its event, where an FFN caused it."""
        scores = self.ten("score_final" if event == "saturation" else "score_candidate", kind)
        places = [(row["example_id"], row["layer"]) for row in self.rows("events", kind=event) if row["by_ffn"]]
        return {place[0]: scores[place] for place in places if place in scores}

    def both(self) -> list[tuple[list[float], list[float]]]:
        """The ten at the saturation and at the elimination of examples that have both."""
        return common(self.events("saturation"), self.events("elimination"))

    def judged(self, condition: str, *, by_rules: bool) -> list[tuple[float, float]]:
        """Of each list and annotator: the share under concepts, and their number, without stop words."""
        said: dict[tuple[Any, ...], dict[Any, list[Row]]] = {}
        for row in self.rows("annotations", condition=condition):
            if (row["annotator"] == "rules") == by_rules:
                number = row["control_id"] if row["neuron"] is None else row["neuron"]
                key = (row["layer"], number, row["annotator"], tuple(row["shown_token_ids"]))
                said.setdefault(key, {}).setdefault(row["created_at"], []).append(row)
        lists: list[tuple[float, float]] = []
        for key, by_time in said.items():
            kept = [row for row in by_time[max(by_time)] if row["concept"] and row["class"] != "stopwords-punctuation"]
            tied = {token for row in kept for token in row["token_ids"]}
            lists.append((len(tied) / len(key[-1]), len(kept)))
        return lists

    def readings(self, method: str, of: str) -> dict[int, dict[int, float]]:
        """State below the last -> sentence -> a number."""
        found: dict[int, dict[int, float]] = {}
        for row in self.rows("shortcut_readings", method=method):
            if row["state"] < self.n_layers:
                number = float(row["rank_in_model"] == 1) if of == "first" else row[of]
                found.setdefault(row["state"], {})[row["sentence_id"]] = number
        return found


def common(first: Mapping[int, Any], second: Mapping[int, Any]) -> list[tuple[Any, Any]]:
    return [(first[one], second[one]) for one in sorted(first.keys() & second.keys())]


def mean(values: Iterable[float]) -> float:
    found = [*values]
    return sum(found) / len(found)


def interval(values: Iterable[float]) -> Ends:
    """One value says nothing of others; with none there is nothing."""
    found = [*values]
    if not found:
        raise Nothing
    return bootstrap(found) if len(found) > 1 else (found[0], -float("inf"), float("inf"))


def surely(is_so: bool) -> Ends:
    """What has no interval."""
    return (1.0, 1.0, 1.0) if is_so else (-1.0, -1.0, -1.0)


def least(*found: Ends) -> Ends:
    return min(found, key=lambda one: one[0])


def everywhere(found: Iterable[Ends]) -> Ends:
    """Above 0 where all are, and below where one is."""
    values, lows, highs = zip(*found, strict=True)
    return min(values), min(lows), min(highs)


def each(of: Callable[[Stored], Ends]) -> Callable[[Sequence[Stored]], Judged]:
    """A quantity that is above 0 in every model."""

    def judge(models: Sequence[Stored]) -> Judged:
        parts = [of(model) for model in models]
        return parts, pool(parts)

    return judge


# Section 4 and A.1 of Geva et al.


def concepts(control: str, of: int, *, by_rules: bool) -> Callable[[Sequence[Stored]], Judged]:
    def judge(model: Stored) -> Ends:
        sides = [[one[of] for one in model.judged(side, by_rules=by_rules)] for side in ("value", control)]
        if min(map(len, sides)) < 2:
            raise Nothing
        return welch(*sides)

    return each(judge)


def overlaps(model: Stored, kind: str) -> dict[int, Row]:
    return {row["layer"]: row for row in model.rows("norm_overlaps", kind=kind) if row["norm_overlap"] is not None}


def norm_keeps(model: Stored) -> Ends:
    rows = overlaps(model, "value").values()
    if not rows:
        raise Nothing
    return surely(sum(row["n"] * row["norm_overlap"] for row in rows) > 0.5 * sum(row["n"] for row in rows))


def norm_keeps_more(model: Stored) -> Ends:
    pairs = common(overlaps(model, "value"), overlaps(model, "random"))
    return interval(own["norm_overlap"] - other["norm_overlap"] for own, other in pairs)


# A.3, 5.1 and 5.2.


def dominance(model: Stored) -> Ends:
    held: dict[str, dict[int, list[float]]] = {"dominant": {}, "random": {}}
    for kind, examples in held.items():
        for (example, _), ten in model.ten("share", kind).items():
            examples.setdefault(example, []).extend(ten)
    return interval(10 * (mean(own) - mean(other)) for own, other in common(held["dominant"], held["random"]))


def upper_half(model: Stored) -> Ends:
    layers = [row["saturation_layer"] for row in model.rows("examples") if row["saturation_layer"] is not None]
    return less(wilson(sum((one + 0.5) / model.n_layers > 0.5 for one in layers), len(layers)), 0.5)


def promoted(model: Stored) -> Ends:
    return interval(mean(ten) for ten in model.events("saturation").values())


def far_above(model: Stored) -> Ends:
    return interval(max(ten) - 1.25 * abs(min(ten)) for ten in model.events("saturation").values())


def alike(model: Stored) -> Ends:
    ends = [(max(ten), abs(min(ten))) for ten in model.events("elimination").values()]
    return least(interval(1.25 * low - high for high, low in ends), interval(1.25 * high - low for high, low in ends))


def promoted_more(model: Stored) -> Ends:
    return interval(max(settled) - max(gone) for settled, gone in model.both())


def near_zero(model: Stored) -> Ends:
    sides = ((0.1 * max(settled) + side * mean(gone) for settled, gone in model.both()) for side in (1, -1))
    return least(*map(interval, sides))


def far_below(kind: str) -> Callable[[Stored], Ends]:
    def of(model: Stored) -> Ends:
        pairs = common(model.events("saturation"), model.events("saturation", kind))
        return interval(0.2 * mean(map(abs, own)) - mean(map(abs, other)) for own, other in pairs)

    return of


def by_layer(model: Stored) -> tuple[list[dict[int, list[float]]], list[dict[int, list[float]]]]:
    """Example -> scores for the candidate, of each layer before the last eighth, and of each of these."""
    layers: dict[int, dict[int, list[float]]] = {}
    for (example, layer), ten in model.ten("score_candidate", "dominant").items():
        layers.setdefault(layer, {})[example] = ten
    found, n_last = [layers[layer] for layer in sorted(layers)], -(-len(layers) // 8)
    if len(found) <= n_last:
        raise Nothing
    return found[:-n_last], found[-n_last:]


def averaged(layers: list[dict[int, list[float]]], of: Callable[[list[float]], float]) -> Numbers:
    return {one: mean(of(layer[one]) for layer in layers if one in layer) for one in sorted(set().union(*layers))}


def not_negative(models: Sequence[Stored]) -> Judged:
    earlier = [by_layer(model)[0] for model in models]
    parts = [interval(averaged([layer], mean).values()) for layers in earlier for layer in layers]
    return parts, pool([interval(averaged(layers, mean).values()) for layers in earlier])


def spreading(models: Sequence[Stored]) -> Judged:
    parts, wholes = [], []
    for model in models:
        earlier, last = by_layer(model)
        parts += [one for layer in earlier for one in wider_and_lower(last, [layer])]
        wholes.append(wider_and_lower(last, earlier))
    return parts, least(*(pool(found) for found in zip(*wholes, strict=True)))


def wider_and_lower(last: list[dict[int, list[float]]], layers: list[dict[int, list[float]]]) -> tuple[Ends, Ends]:
    (high, low), (other_high, other_low) = ((averaged(some, max), averaged(some, min)) for some in (last, layers))
    return (
        interval(high[one] - low[one] - other_high[one] + other_low[one] for one in high),
        interval(other_low[one] - low[one] for one in low),
    )


def few_clusters(model: Stored) -> Ends:
    facts = {(row["layer"], row["neuron"]): row["cluster_id"] for row in model.rows("neuron_facts")}
    of = {place: cluster for place, cluster in facts.items() if cluster is not None}
    (sample,) = model.rows("event_samples")
    bound = 10 if model.model["architecture"] == "gpt2" else sample["extreme_score"]
    if model.later and model.model["architecture"] != "gpt2":
        scores = [abs(row["score_candidate"]) for row in model.rows("sub_updates", kind="dominant")]
        bound = float(np.quantile(scores, 0.999))
    fired: dict[int, int] = {}
    for row in model.rows("sub_updates", kind="dominant"):
        place = (row["layer"], row["neuron"])
        if abs(row["score_candidate"]) >= bound and place in of:
            fired[of[place]] = fired.get(of[place], 0) + 1
    total, made, neurons = sum(fired.values()), 0, 0
    if total < 10:
        raise Nothing
    for cluster in sorted(fired, key=lambda one: (-fired[one], one)):
        made += fired[cluster]
        neurons += [*of.values()].count(cluster)
        if 2 * made >= total:
            break
    return less(wilson(made, total), 10 * neurons / model.model["n_neurons"])


# 6.2, and Din et al.


def stops_early(models: Sequence[Stored]) -> Judged:
    seeds = [
        [row for row in model.rows("exits", method="cluster_ranks") if row["seed"] is not None] for model in models
    ]
    saved = [interval(row["layers_saved"] for row in rows) for rows in seeds]
    right = [interval(row["accuracy"] - 0.9 for row in rows) for rows in seeds]
    found = everywhere([*saved, *right])
    return [found], found


def differences(model: Stored, first: str, second: str, of: str) -> dict[int, Numbers]:
    """State -> sentence -> the first method's number minus the second's."""
    states = common(model.readings(first, of), model.readings(second, of))
    if not states:
        raise Nothing
    return {place: {one: a[one] - b[one] for one in sorted(a.keys() & b.keys())} for place, (a, b) in enumerate(states)}


def over_sentences(states: Iterable[Numbers]) -> Ends:
    some = [*states]
    return interval(mean(state[one] for state in some if one in state) for one in sorted(set().union(*some)))


def at_every_state(first: str, second: str, of: str) -> Callable[[Sequence[Stored]], Judged]:
    def judge(models: Sequence[Stored]) -> Judged:
        found = [differences(model, first, second, of) for model in models]
        parts = [interval(state.values()) for states in found for state in states.values()]
        return parts, pool([over_sentences(states.values()) for states in found])

    return judge


def parts_beat(models: Sequence[Stored]) -> Judged:
    parts, wholes = [], []
    for model in models:
        found = [differences(model, part, "mat", "first") for part in ("mat_attn", "mat_ffn", "mat_ln1_ln2")]
        last = [states[max(states)] for states in found]
        parts += [interval(one.values()) for one in last]
        wholes.append(over_sentences(last))
    return parts, pool(wholes)


def fits(model: Stored) -> Ends:
    r2 = {(row["method"], row["source_state"], row["target_state"]): row["r2"] for row in model.rows("shortcuts")}
    return surely(all(found > r2["id", *states] for (method, *states), found in r2.items() if method == "mat"))


def saved_at_95(model: Stored, method: str) -> float:
    """Layers: where the curve, by layers run, first comes from below 95% to it, on the straight line between."""
    rows = sorted(model.rows("exits", method=method), key=lambda row: (row["layers_run"], row["parameter"]))
    for one, other in pairwise(rows):
        if one["accuracy"] < 0.95 <= other["accuracy"]:
            way = (0.95 - one["accuracy"]) / (other["accuracy"] - one["accuracy"])
            saved: float = model.n_layers - one["layers_run"] - way * (other["layers_run"] - one["layers_run"])
            return saved
    raise Nothing


def saves_more(method: str, other: str) -> Callable[[Sequence[Stored]], Judged]:
    return each(lambda model: surely(saved_at_95(model, method) > saved_at_95(model, other)))


PLAIN: Mapping[tuple[str, ...], Mapping[str, Callable[[Sequence[Stored]], Judged]]] = {
    ("projections", "controls"): {
        "of random vectors, as people judge.": concepts("random", 0, by_rules=False),
        "of random vectors, as rules judge.": concepts("random", 0, by_rules=True),
        "of whole FFN updates, as rules judge.": concepts("ffn_update", 0, by_rules=True),
        "more concepts than a random vector, as people judge.": concepts("random", 1, by_rules=False),
        "more concepts than a random vector, as rules judge.": concepts("random", 1, by_rules=True),
    },
    ("controls",): {
        "leaves most of the highest tokens": each(norm_keeps),
        "leaves more of them in place": each(norm_keeps_more),
    },
    ("events",): {
        "Ten dominant sub-updates hold": each(dominance),
        "settled in the upper half": each(upper_half),
        "promote the token that saturates": each(promoted),
        "far above the smallest": each(far_above),
        "the smallest score for it are alike": each(alike),
        "more than they promote a token that is eliminated": each(promoted_more),
        "its own mean score is near 0": each(near_zero),
        "Random sub-updates promote": each(far_below("random")),
        "Random sub-updates of active": each(far_below("random_active")),
        "mean that is not negative": not_negative,
        "In the last layers the scores spread": spreading,
    },
    ("clusters", "events"): {"Few clusters of neurons": each(few_clusters)},
    ("shortcuts",): {
        "mat tells a later state": each(fits),
        "From every layer mat": at_every_state("mat", "id", "first"),
        "The predictions of mat surprise": at_every_state("id", "mat", "surprisal"),
        "From some layer on": parts_beat,
        "better than the FFN.": at_every_state("mat_attn", "mat_ffn", "first"),
        "better than the norms.": at_every_state("mat_attn", "mat_ln1_ln2", "first"),
    },
    ("exits",): {
        "clusters of dominant neurons saves": stops_early,
        "confidence of mat saves more": saves_more("mat", "id"),
        "where mat is confident": saves_more("mat", "fixed_mat"),
        "where id is confident": saves_more("id", "fixed_id"),
    },
}
"""Jobs that have to be on record -> words of a claim -> what the stored rows say of it."""

DECIDED = ("holds", "does not hold")


def said_of(models: Sequence[Stored], jobs: Iterable[str], of: Callable[[Sequence[Stored]], Judged]) -> set[str]:
    """What comes out of all rows; of events only what comes out without those at position 0, too, is decided."""
    said = said_of_rows(models, jobs, of)
    if "events" not in jobs or not any(model.at_first for model in models):
        return said
    later = said_of_rows([Stored(model.connection, model.model["name"], later=True) for model in models], jobs, of)
    return {one if one == other else "undecided" for one in said for other in later}


def said_of_rows(models: Sequence[Stored], jobs: Iterable[str], of: Callable[[Sequence[Stored]], Judged]) -> set[str]:
    """Every verdict that comes out with ends a little further in and out; of nothing, all that decide nothing.

    Rows of which no run is on record are not measured.
    """
    try:
        if not all(model.jobs.issuperset(jobs) for model in models):
            return {"not measured"}
        if models:
            return {several(*of(models), edge) for edge in (-EDGE, 0.0, EDGE)}
    except Nothing:
        pass
    return {*get_args(Outcome)} - {*DECIDED}


def disagreements(path: Path, *asked: Sequence[str]) -> tuple[list[object], Counter[str]]:
    """Where the module says of some models what plain loops do not; how often plain loops say what."""
    wrong: list[object] = []
    named = {*DECIDED, "undecided"}
    said = Counter[str]()
    with Warehouse(path).reader() as connection:
        for models in asked:
            judged = judge_claims(connection, models, papers=("geva", "din"))
            stored = [Stored(connection, model) for model in judged.models]
            for jobs, claims in PLAIN.items():
                for words, plain in claims.items():
                    (one,) = [one for one in judged.judged if words in one.claim.text]
                    expected = said_of(stored, jobs, plain)
                    said[" or ".join(sorted(expected)) if expected <= named else "nothing"] += 1
                    if one.finding.outcome not in expected:
                        wrong.append((models, words, expected, one.finding))
    return wrong, said


@pytest.mark.long
def test_random_rows_give_the_verdicts_of_plain_loops(tmp_path: Path) -> None:
    """Of a family and of single models; nothing of rows of which no run is on record."""
    path = tmp_path / "events.duckdb"
    event_warehouse.create(path)
    wrong, _ = disagreements(path, ["gelu-1m"])
    assert wrong == []
    with duckdb.connect(str(path)) as connection:
        for number, (model, corpus) in enumerate(event_warehouse.MEASURED):
            for job in ("events", "exits"):
                connection.execute(
                    "insert into store.runs select * replace ($run as run_id, $job as job, $job as run_key)"
                    " from store.runs where model_id = $model and corpus_id = $corpus and job = 'activity'",
                    {"run": 9_000 + 10 * number + len(job), "job": job, "model": model, "corpus": corpus},
                )
    wrong, said = disagreements(path, ["tiny-1m", "tiny-2m"], ["gelu-1m"])
    assert wrong == []
    assert said.keys() > {*DECIDED, "undecided"}


@pytest.mark.long
def test_a_measured_model_has_the_verdicts_of_plain_loops(tmp_path: Path) -> None:
    build(tmp_path / "tiny", "opt", n_layers=3, d_ffn=40, d_model=16, context_length=32)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    jobs = ("projections", "clusters", "controls", "events", "shortcuts")
    asked = ingests.request((write_sentences(tmp_path),), jobs=jobs, examples=80, batch_tokens=4096)
    ingests.measure(warehouse, tmp_path / "tiny", asked)
    annotate_by_rules(warehouse)
    wrong, said = disagreements(warehouse.path, ["tiny"])
    assert wrong == []
    assert said["nothing"] < 8


@pytest.mark.long
def test_an_untrained_model_is_no_evidence_of_positional_neurons(tmp_path: Path) -> None:
    """Two GPT-2 as transformers initialises them, one of them called untrained: counted alone, the claim would hold."""
    draw = random.Random(6)
    (tmp_path / "long.txt").write_text(" ".join(draw.choice(WORDS) for _ in range(4_000)))
    text = (f"long={tmp_path / 'long.txt'}",)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    for seed, variant in enumerate((None, "step 0")):
        torch.manual_seed(seed)
        shape = GPT2Config(n_embd=32, n_layer=4, n_head=4, n_positions=32, bos_token_id=0, eos_token_id=0)
        shape.activation_function = "relu"
        shape.vocab_size = 400
        GPT2LMHeadModel(shape).save_pretrained(tmp_path / f"fresh-{seed}")
        make_tokenizer("gpt2", 392).save_pretrained(tmp_path / f"fresh-{seed}")
        asked = ingests.request(text, jobs=("activity", "positions"), batch_tokens=4096)
        ingests.measure(warehouse, tmp_path / f"fresh-{seed}", replace(asked, family="fresh", variant=variant))
    with warehouse.reader() as connection:
        (claim,) = [one for one in VOITA.claims if one.text.startswith("Some neurons fire by position")]
        alone, beside = (Family.of(connection, models, family="fresh") for models in (["fresh-0"], []))
        assert claim.on(alone).outcome == "needs another model"
        assert "an untrained model has positional neurons too" in claim.on(alone).numbers
        n_positional, n = alone.count("fresh-0", POSITIONAL)
        assert (n, n_positional > n / 2) == (512, True)
        assert claim.on(beside).outcome in ("does not hold", "undecided")
        assert beside.untrained() == {"fresh-0": "fresh-1"}
