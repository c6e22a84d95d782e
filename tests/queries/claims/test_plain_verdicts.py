"""Verdicts on Geva et al. 2022 and Din et al. 2023 worked out again by slow loops over made-up rows.

Intervals and the rule for several places are written here from their definitions: Wilson 1927, Newcombe 1998 (method
10), the percentile bootstrap with another generator, and "none against, most in favour, and so together". Rows are
planted so that no interval ends near 0: other draws give the same verdict.

`disagreements` does the same for a whole warehouse, from its tables and the words of the papers: no view, no statement.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import duckdb
import polars as pl
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from catalog.store.warehouse import Warehouse
from ingest.request import DEFAULT_JOBS
from queries.annotate.by_rules import annotate_by_rules
from queries.ask.statements import ask
from queries.claims.claim import Outcome
from queries.claims.din_shortcuts import SHORTCUTS
from queries.claims.family import POSITIONAL, Family
from queries.claims.geva_events import EVENTS
from queries.claims.geva_vectors import VECTORS
from queries.claims.verdicts import CLAIMS, judge_claims
from tests.support import event_warehouse, ingests
from tests.support.claims import family
from tests.support.models import Kind, build
from tests.support.shortcuts import WORDS, write_sentences
from tests.support.tokenizers import make_tokenizer

Row = dict[str, Any]
Ends = tuple[float, float, float]
"""An estimate and the ends of its interval."""

MODELS = ("made-a", "made-b")


def bootstrap(values: Sequence[float]) -> Ends:
    draw = random.Random(7)
    means = sorted(math.fsum(draw.choices(values, k=len(values))) / len(values) for _ in range(300))
    return math.fsum(values) / len(values), means[7], means[292]


def wilson(k: int, n: int) -> Ends:
    z, p = 1.96, k / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return p, (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def newcombe(first: tuple[int, int], second: tuple[int, int]) -> Ends:
    (p, p_low, p_high), (q, q_low, q_high) = wilson(*first), wilson(*second)
    return p - q, p - q - math.hypot(p - p_low, q_high - q), p - q + math.hypot(p_high - p, q - q_low)


def welch(first: Sequence[float], second: Sequence[float]) -> Ends:
    means = [math.fsum(some) / len(some) for some in (first, second)]
    errors = [
        math.fsum((one - mean) ** 2 for one in some) / (len(some) - 1) / len(some)
        for some, mean in zip((first, second), means, strict=True)
    ]
    apart, half = means[0] - means[1], 1.96 * math.sqrt(sum(errors))
    return apart, apart - half, apart + half


def sign(found: Ends) -> str:
    return "holds" if found[1] > 0 else "does not hold" if found[2] < 0 else "undecided"


def pool(parts: Sequence[Ends]) -> Ends:
    value = sum(one[0] for one in parts) / len(parts)
    below = math.sqrt(sum((one[0] - one[1]) ** 2 for one in parts)) / len(parts)
    above = math.sqrt(sum((one[2] - one[0]) ** 2 for one in parts)) / len(parts)
    return value, value - below, value + above


def several(parts: Sequence[Ends], whole: Ends) -> str:
    signs = [sign(one) for one in parts]
    if "does not hold" in (*signs, sign(whole)):
        return "does not hold"
    return sign(whole) if 2 * signs.count("holds") > len(parts) else "undecided"


def outcome(text: str, rows: dict[str, list[Row]]) -> str:
    """What the module says."""
    claims = [one for one in (*EVENTS, *VECTORS, *SHORTCUTS) if one.text.startswith(text)]
    found = {
        one.on(family({name: pl.DataFrame(some) for name, some in rows.items()}, MODELS)).outcome for one in claims
    }
    assert len(found) == 1, text
    return found.pop()


def of_model(rows: Sequence[Row], model: str, **of: object) -> list[Row]:
    return [row for row in rows if row["model"] == model and all(row[name] == value for name, value in of.items())]


# The level of each model: for, against, or neither; what one is sure of and the other leaves open holds together
# only where more than half are sure.
LEVELS = {"for": (1.0, 1.0), "against": (1.0, -1.0), "open": (0.0, 0.0), "one open": (1.0, 0.0)}


def test_the_largest_score_against_the_smallest() -> None:
    """5.1: promoted, the largest is far above; eliminated, both are alike, on either side."""
    found = {}
    for case, levels in LEVELS.items():
        rows: list[Row] = []
        for model, level in zip(MODELS, levels, strict=True):
            for number in range(160):
                event, noise = ("saturation", "elimination")[number % 2], 0.2 * (-1) ** (number // 2)
                largest, smallest = 1.25 + 0.5 * level + noise, -1.0
                if event == "elimination":
                    # Alike, twice as far down, or on the bound itself.
                    largest, smallest = {1: (1.0, -1.1), -1: (1.0, -2.0), 0: (1.25, -1.0)}[int(level)]
                    largest += noise
                rows.append(
                    {"model": model, "event": event, "kind": "dominant", "example_id": number, "size": 1.0}
                    | {"max": largest, "min": smallest, "mean": 0.0}
                )
        far = [
            bootstrap([row["max"] - 1.25 * abs(row["min"]) for row in of_model(rows, model, event="saturation")])
            for model in MODELS
        ]
        alike = []
        for model in MODELS:
            events = of_model(rows, model, event="elimination")
            ends = [(row["max"], abs(row["min"])) for row in events]
            sides = [bootstrap([1.25 * b - a for a, b in ends]), bootstrap([1.25 * a - b for a, b in ends])]
            alike.append(min(sides))
        expected = (several(far, pool(far)), several(alike, pool(alike)))
        asked = {"claimed_event_scores": rows}
        found[case] = (outcome("Where a token is promoted", asked), outcome("Where a token is eliminated", asked))
        assert found[case] == expected, case
    assert found["for"] == ("holds", "holds")
    assert found["against"] == ("does not hold", "does not hold")
    assert found["open"] == ("undecided", "undecided")
    assert found["one open"][0] == "undecided"


def test_the_last_eighth_of_the_layers_is_exempt() -> None:
    """5.2, in nine layers: two are the last ones, whatever they do."""
    found = {}
    for case, levels in LEVELS.items():
        draw = random.Random(2)
        rows: list[Row] = []
        for model, level in zip(MODELS, levels, strict=True):
            for layer in range(9):
                for example_id in range(60):
                    is_last = layer >= 7
                    # The last ones are far below 0 in the mean, and spread where the claims hold.
                    spread = (3 if is_last and level > 0 else 0.5 if is_last and level < 0 else 1) + draw.gauss(0, 0.1)
                    mean = -5.0 if is_last else 0.3 * level + draw.gauss(0, 0.1)
                    rows.append(
                        {"model": model, "layer": layer, "example_id": example_id, "mean": mean}
                        | {"largest": spread, "smallest": -spread}
                    )
        parts, wholes, wider, lower = [], [], [], []
        whole_of: dict[str, list[Ends]] = {"wide": [], "low": []}
        for model in MODELS:
            layers = [of_model(rows, model, layer=layer) for layer in range(9)]
            parts += [bootstrap([row["mean"] for row in layer]) for layer in layers[:7]]
            wholes.append(bootstrap([sum(layer[one]["mean"] for layer in layers[:7]) / 7 for one in range(60)]))

            def averaged(some: list[list[Row]], name: str) -> list[float]:
                return [sum(layer[one][name] for layer in some) / len(some) for one in range(60)]

            last = {name: averaged(layers[7:], name) for name in ("largest", "smallest")}
            for some in [[layer] for layer in layers[:7]] + [layers[:7]]:
                own = {name: averaged(some, name) for name in ("largest", "smallest")}
                spreads = [
                    last["largest"][one] - last["smallest"][one] - own["largest"][one] + own["smallest"][one]
                    for one in range(60)
                ]
                minima = [own["smallest"][one] - last["smallest"][one] for one in range(60)]
                if len(some) == 1:
                    wider.append(bootstrap(spreads))
                    lower.append(bootstrap(minima))
                else:
                    whole_of["wide"].append(bootstrap(spreads))
                    whole_of["low"].append(bootstrap(minima))
        expected = (
            several(parts, pool(wholes)),
            several([*wider, *lower], min(pool(some) for some in whole_of.values())),
        )
        asked = {"claimed_candidates": rows}
        found[case] = (outcome("Until the last layers", asked), outcome("In the last layers", asked))
        assert found[case] == expected, case
    assert found["for"] == ("holds", "holds")
    assert found["against"] == ("does not hold", "does not hold")
    assert set(found["open"]) == {"undecided"} or "holds" not in found["open"]
    single = [row for row in rows if row["layer"] == 0]
    assert outcome("Until the last layers", {"claimed_candidates": single}) == "does not apply"


@pytest.mark.parametrize("annotator", ["rules", "a person"])
def test_lists_and_concepts_against_random_vectors(annotator: str) -> None:
    by = "rules" if annotator == "rules" else "people"
    for levels in LEVELS.values():
        draw = random.Random(3)
        rows: list[Row] = []
        for model, level in zip(MODELS, levels, strict=True):
            for condition, n in (("value", 60), ("random", 400)):
                more = level if condition == "value" else 0
                rows += [
                    {"model": model, "condition": condition, "annotator": annotator, "n_shown": 30}
                    | {"n_tokens": int(10 + 4 * more + draw.gauss(0, 2)), "n_concepts": int(3 + more + draw.random())}
                    for _ in range(n)
                ]
        for text, number in (
            ("The highest tokens of value vectors fall", "n_tokens"),
            ("A value vector has", "n_concepts"),
        ):
            parts = []
            for model in MODELS:
                own, control = (
                    [row[number] / (30 if number == "n_tokens" else 1) for row in of_model(rows, model, condition=of)]
                    for of in ("value", "random")
                )
                parts.append(welch(own, control))
            claim = next(one for one in VECTORS if one.text.startswith(text) and one.text.endswith(f"as {by} judge."))
            made = family({"claimed_concepts": pl.DataFrame(rows)}, MODELS)
            assert claim.on(made).outcome == several(parts, pool(parts)), (text, levels)


def test_what_is_unwanted_becomes_rarer() -> None:
    """6.1: against untouched texts by Newcombe's interval, beyond every random set; the baselines beside it."""
    draw = random.Random(4)
    seen = set()
    for _ in range(60):
        n = draw.choice((60, 100))
        counts = {
            method: draw.randint(0, n) for method in ("untouched", "changed", "word_filter", "self_debiasing", "random")
        }
        parameters = '{"continuations": {"i": {"unwanted": "t"}}}'
        rows = [
            {"model": "made-a", "intervention": "i", "scorer": "s", "attribute": "t", "method": method}
            | {"n_sets": 20, "n_continuations": n, "share": k / n, "share_least": k / n, "share_most": 1.0}
            | {"parameters": parameters, "perplexity_untouched": 21.7, "perplexity": 25.3}
            for method, k in counts.items()
        ]
        of = {method: (k, n) for method, k in counts.items()}
        is_beyond = counts["changed"] < counts["random"]
        value, low, high = newcombe(of["self_debiasing"], of["changed"])
        expected = (
            sign(newcombe(of["untouched"], of["changed"])) if is_beyond else "does not hold",
            sign(newcombe(of["word_filter"], of["changed"])),
            sign((value + 0.1, low + 0.1, high + 0.1)),
            "holds",
        )
        asked = {"claimed_steering": rows}
        texts = ("Turning on", "It does so more than a word", "It does so nearly", "The language is kept")
        assert tuple(outcome(text, asked) for text in texts) == expected, counts
        seen.add(expected[0])
    assert seen == {"holds", "does not hold", "undecided"}


def test_shortcuts_at_every_state_and_parts_at_the_last() -> None:
    methods = {"id": 10, "mat": 30, "mat_attn": 48, "mat_ffn": 44, "mat_ln1_ln2": 58}
    cases: dict[str, Callable[[int, int], int]] = {
        "as planted": lambda right, state: right,
        "turned": lambda right, state: 60 - right,
        "against at one state": lambda right, state: 60 - right if state == 1 else right,
    }
    found = {}
    for case, of in cases.items():
        draw = random.Random(5)
        rows: list[Row] = []
        for model, n_states in zip(MODELS, (2, 3), strict=True):
            for state in range(n_states):
                for method, right in methods.items():
                    chosen = set(draw.sample(range(60), of(right, state)))
                    rows += [
                        {"model": model, "state": state, "method": method, "sentence_id": one}
                        | {"is_first": float(one in chosen), "surprisal": 2.0 - (one in chosen)}
                        for one in range(60)
                    ]

        def apart(place: tuple[str, int], *pair: str, name: str, rows: list[Row] = rows) -> list[float]:
            sides = [of_model(rows, place[0], state=place[1], method=method) for method in pair]
            return [a[name] - b[name] for a, b in zip(*sides, strict=True)]

        def judged(first: str, second: str, name: str) -> str:
            parts, wholes = [], []
            for model, n_states in zip(MODELS, (2, 3), strict=True):
                states = [apart((model, state), first, second, name=name) for state in range(n_states)]
                parts += [bootstrap(one) for one in states]
                wholes.append(bootstrap([sum(one[place] for one in states) / n_states for place in range(60)]))
            return several(parts, pool(wholes))

        parts, wholes = [], []
        for model, last in zip(MODELS, (1, 2), strict=True):
            own = [
                apart((model, last), part, "mat", name="is_first") for part in ("mat_attn", "mat_ffn", "mat_ln1_ln2")
            ]
            parts += [bootstrap(one) for one in own]
            wholes.append(bootstrap([sum(one[place] for one in own) / 3 for place in range(60)]))
        asked = {"claimed_readings": rows}
        expected = {
            "From every layer mat": judged("mat", "id", "is_first"),
            "What mat says surprises": judged("id", "mat", "surprisal"),
            "Attention tolerates a linear map better than the norms": judged("mat_attn", "mat_ln1_ln2", "is_first"),
            "From some layer on": several(parts, pool(wholes)),
        }
        found[case] = {text: outcome(text, asked) for text in expected}
        assert found[case] == expected, case
    assert {text: one[:5] for text, one in found["turned"].items()}["From every layer mat"] == "does "
    assert found["as planted"]["From every layer mat"] == "holds"
    assert found["against at one state"]["From every layer mat"] == "does not hold"


def test_judgements_are_read_without_the_concepts_of_stop_words(full: duckdb.DuckDBPyConnection) -> None:
    """`claimed_concepts` against a loop over the annotations that count."""
    names = [row[0] for row in full.execute("select name from store.models order by name").fetchall()]
    found = ask(full, "claimed_concepts", {"models": names})
    query = (
        "select model, condition, annotator, layer, coalesce(neuron, control_id), n_shown, created_at, class, token_ids"
        " from annotations where is_latest"
    )
    expected: dict[tuple[Any, ...], tuple[set[int], int]] = {}
    for *key, concept_class, token_ids in full.execute(query).fetchall():
        tokens, n = expected.setdefault(tuple(key), (set(), 0))
        if concept_class not in (None, "stopwords-punctuation"):
            expected[tuple(key)] = (tokens | set(token_ids), n + 1)
    rows = sorted((*key[:3], key[5], len(tokens), n) for key, (tokens, n) in expected.items())
    columns = ("model", "condition", "annotator", "n_shown", "n_tokens", "n_concepts")
    assert sorted(found.select(columns).rows()) == rows
    assert {row[2] for row in rows} > {"rules"} or len(rows) > 3


class Nothing(Exception):
    """There is nothing to judge: the claim is neither held nor denied."""


class Stored:
    """What the tables of a warehouse hold of one model on its shown corpus, as rows."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        self.connection = connection
        (self.model,) = self._rows("models", "name", name)
        self.id, self.n_layers = self.model["model_id"], self.model["n_layers"]
        ran: dict[int, set[str]] = {}
        for row in self._rows("runs", "model_id", self.id):
            if row["corpus_id"] is not None:
                ran.setdefault(row["corpus_id"], set()).add(row["job"])
        pinned = {row["corpus_id"] for row in self._rows("pins", "model_id", self.id)}
        size = {row["corpus_id"]: row["n_tokens"] for row in self._rows("corpora", "true", True)}
        of = {one: (one in pinned, "activity" in jobs, size[one], one) for one, jobs in ran.items()}
        self.corpus = max(of, key=lambda one: of[one], default=None)

    def _rows(self, table: str, column: str, value: object) -> list[Row]:
        cursor = self.connection.execute(f"select * from store.{table} where {column} = $value", {"value": value})
        names = [column[0] for column in cursor.description or []]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def rows(self, table: str, **of: object) -> list[Row]:
        """Rows of a table about the model, of its shown corpus where the table knows corpora."""
        found = self._rows(table, "model_id", self.id)
        return [
            row
            for row in found
            if row.get("corpus_id", self.corpus) == self.corpus and all(row[name] == one for name, one in of.items())
        ]

    def ten(self, of: str, kind: str) -> dict[tuple[int, int], list[float]]:
        """Example and layer -> what ten neurons of a kind say of a token there."""
        found: dict[tuple[int, int], list[float]] = {}
        for row in self.rows("sub_updates", kind=kind):
            if row[of] is not None:
                found.setdefault((row["example_id"], row["layer"]), []).append(row[of])
        return found

    def events(self, event: str, kind: str = "dominant") -> dict[int, list[float]]:
        """Example -> what ten neurons say of the token of its event, where an FFN caused it."""
        if not self.rows("event_samples"):
            raise Nothing
        scores = self.ten("score_final" if event == "saturation" else "score_candidate", kind)
        places = [(row["example_id"], row["layer"]) for row in self.rows("events", kind=event) if row["by_ffn"]]
        return {place[0]: scores[place] for place in places if place in scores}

    def judged(self, condition: str, *, by_rules: bool) -> list[tuple[float, int]]:
        """Of each list and annotator: the share under concepts, and their number, without stop words."""
        said: dict[tuple[Any, ...], dict[Any, list[Row]]] = {}
        for row in self.rows("annotations", condition=condition):
            if (row["annotator"] == "rules") == by_rules:
                number = row["control_id"] if row["neuron"] is None else row["neuron"]
                key = (row["layer"], number, row["annotator"], tuple(row["shown_token_ids"]))
                said.setdefault(key, {}).setdefault(row["created_at"], []).append(row)
        lists = []
        for key, by_time in said.items():
            kept = [row for row in by_time[max(by_time)] if row["concept"] and row["class"] != "stopwords-punctuation"]
            tied = {token for row in kept for token in row["token_ids"]}
            lists.append((len(tied) / len(key[-1]), len(kept)))
        return lists


def mean_of(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def resampled(values: Sequence[float]) -> Ends:
    """As `bootstrap`; one value says nothing of others, and none nothing at all."""
    if len(values) > 1:
        return bootstrap(values)
    return (values[0] if values else math.nan), -math.inf, math.inf


def each(models: Sequence[Stored], of: Callable[[Stored], Ends]) -> str:
    parts = [of(model) for model in models]
    return several(parts, pool([one for one in parts if not math.isnan(one[0])] or [(0.0, -math.inf, math.inf)]))


def both(first: dict[int, list[float]], second: dict[int, list[float]]) -> list[tuple[list[float], list[float]]]:
    return [(first[one], second[one]) for one in sorted(first.keys() & second.keys())]


def least(*parts: Ends) -> Ends:
    return min(parts, key=lambda one: one[0])


def upper_half(models: Sequence[Stored]) -> str:
    def of(model: Stored) -> Ends:
        layers = [row["saturation_layer"] for row in model.rows("examples") if row["saturation_layer"] is not None]
        if not layers:
            raise Nothing
        p, low, high = wilson(sum((one + 0.5) / model.n_layers > 0.5 for one in layers), len(layers))
        return p - 0.5, low - 0.5, high - 0.5

    return each(models, of)


def table_4(of: Callable[[Stored], Ends]) -> Callable[[Sequence[Stored]], str]:
    return lambda models: each(models, of)


def promoted(model: Stored) -> Ends:
    return resampled([mean_of(ten) for ten in model.events("saturation").values()])


def far_above(model: Stored) -> Ends:
    return resampled([max(ten) - 1.25 * abs(min(ten)) for ten in model.events("saturation").values()])


def alike(model: Stored) -> Ends:
    ends = [(max(ten), abs(min(ten))) for ten in model.events("elimination").values()]
    return least(resampled([1.25 * b - a for a, b in ends]), resampled([1.25 * a - b for a, b in ends]))


def promoted_more(model: Stored) -> Ends:
    pairs = both(model.events("saturation"), model.events("elimination"))
    return resampled([max(settled) - max(gone) for settled, gone in pairs])


def near_zero(model: Stored) -> Ends:
    pairs = both(model.events("saturation"), model.events("elimination"))
    sides = ([0.1 * max(settled) - sign * mean_of(gone) for settled, gone in pairs] for sign in (1, -1))
    return least(*map(resampled, sides))


def far_below(kind: str) -> Callable[[Stored], Ends]:
    def size(ten: list[float]) -> float:
        return mean_of([abs(one) for one in ten])

    def of(model: Stored) -> Ends:
        pairs = both(model.events("saturation"), model.events("saturation", kind))
        return resampled([0.2 * size(own) - size(other) for own, other in pairs])

    return of


def by_layer(model: Stored) -> tuple[list[dict[int, list[float]]], int]:
    """By layer example -> scores for the candidate, and how many layers are the last ones."""
    layers: dict[int, dict[int, list[float]]] = {}
    for (example, layer), ten in model.ten("score_candidate", "dominant").items():
        layers.setdefault(layer, {})[example] = ten
    n_last = -(-len(layers) // 8)
    if len(layers) <= n_last:
        raise Nothing
    return [layers[layer] for layer in sorted(layers)], n_last


def averaged(layers: list[dict[int, list[float]]], of: Callable[[list[float]], float]) -> dict[int, float]:
    return {one: mean_of([of(layer[one]) for layer in layers if one in layer]) for one in sorted(set().union(*layers))}


def not_negative(models: Sequence[Stored]) -> str:
    parts, wholes = [], []
    for model in models:
        layers, n_last = by_layer(model)
        parts += [resampled([*averaged([layer], mean_of).values()]) for layer in layers[:-n_last]]
        wholes.append(resampled([*averaged(layers[:-n_last], mean_of).values()]))
    return several(parts, pool(wholes))


def spreading(models: Sequence[Stored]) -> str:
    parts, wholes = [], []

    def spread(ten: list[float]) -> float:
        return max(ten) - min(ten)

    def apart(first: dict[int, float], second: dict[int, float]) -> Ends:
        return resampled([first[one] - second[one] for one in first])

    for model in models:
        layers, n_last = by_layer(model)
        wide, low = averaged(layers[-n_last:], spread), averaged(layers[-n_last:], min)
        against = [*([layer] for layer in layers[:-n_last]), layers[:-n_last]]
        wider = [apart(wide, averaged(some, spread)) for some in against]
        lower = [apart(averaged(some, min), low) for some in against]
        parts += [*wider[:-1], *lower[:-1]]
        wholes.append((wider[-1], lower[-1]))
    return several(parts, least(*(pool(some) for some in zip(*wholes, strict=True))))


def concepts(control: str, of: int, *, by_rules: bool) -> Callable[[Sequence[Stored]], str]:
    def judge(model: Stored) -> Ends:
        sides = [[one[of] for one in model.judged(side, by_rules=by_rules)] for side in ("value", control)]
        if not all(sides):
            raise Nothing
        return welch(*sides) if min(map(len, sides)) > 1 else (math.nan, -math.inf, math.inf)

    return lambda models: each(models, judge)


def overlaps(model: Stored, kind: str) -> dict[int, Row]:
    found = {row["layer"]: row for row in model.rows("norm_overlaps", kind=kind) if row["norm_overlap"] is not None}
    if not found and kind == "value":
        raise Nothing
    return found


def norm_keeps(models: Sequence[Stored]) -> str:
    kept = []
    for model in models:
        rows = overlaps(model, "value").values()
        kept.append(sum(row["n"] * row["norm_overlap"] for row in rows) / sum(row["n"] for row in rows))
    return "holds" if min(kept) > 0.5 else "does not hold"


def norm_keeps_more(model: Stored) -> Ends:
    own, other = (overlaps(model, kind) for kind in ("value", "random"))
    return resampled([own[one]["norm_overlap"] - other[one]["norm_overlap"] for one in sorted(own.keys() & other)])


def dominance(model: Stored) -> Ends:
    held: dict[str, dict[int, list[float]]] = {}
    for kind in ("dominant", "random"):
        for (example, _), ten in sorted(model.ten("share", kind).items()):
            held.setdefault(kind, {}).setdefault(example, []).extend(ten)
    if len(held) < 2:
        raise Nothing
    return resampled([10 * (mean_of(own) - mean_of(other)) for own, other in both(held["dominant"], held["random"])])


def few_clusters(model: Stored) -> Ends:
    of = {(row["layer"], row["neuron"]): row["cluster_id"] for row in model.rows("neuron_facts")}
    of = {place: cluster for place, cluster in of.items() if cluster is not None}
    samples = model.rows("event_samples")
    if not samples:
        raise Nothing
    bound = 10 if model.model["architecture"] == "gpt2" else samples[0]["extreme_score"]
    fired: dict[int, int] = {}
    for row in model.rows("sub_updates", kind="dominant"):
        place = (row["layer"], row["neuron"])
        if abs(row["score_candidate"]) >= bound and place in of:
            fired[of[place]] = fired.get(of[place], 0) + 1
    total = sum(fired.values())
    if total < 10:
        raise Nothing
    made, neurons = 0, 0
    for cluster in sorted(fired, key=lambda one: (-fired[one], one)):
        made += fired[cluster]
        neurons += sum(one == cluster for one in of.values())
        if 2 * made >= total:
            break
    p, low, high = wilson(made, total)
    bound = 10 * neurons / model.model["n_neurons"]
    return p - bound, low - bound, high - bound


def stops_early(models: Sequence[Stored]) -> str:
    signs = []
    for model in models:
        rows = [row for row in model.rows("exits", method="cluster_ranks") if row["seed"] is not None]
        if not rows:
            raise Nothing
        signs.append(sign(resampled([row["layers_saved"] for row in rows])))
        signs.append(sign(resampled([row["accuracy"] - 0.9 for row in rows])))
    return "does not hold" if "does not hold" in signs else "undecided" if "undecided" in signs else "holds"


def read_off(model: Stored, method: str, of: str) -> dict[tuple[int, int], float]:
    """State and sentence -> a number, below the last state."""
    found = {}
    for row in model.rows("shortcut_readings", method=method):
        if row["state"] < model.n_layers:
            found[row["state"], row["sentence_id"]] = float(row["rank_in_model"] == 1) if of == "first" else row[of]
    if not found:
        raise Nothing
    return found


def differences(model: Stored, pair: tuple[str, str], of: str) -> dict[int, dict[int, float]]:
    """State -> sentence -> the first method's number minus the second's."""
    first, second = (read_off(model, method, of) for method in pair)
    apart: dict[int, dict[int, float]] = {}
    for state, sentence in sorted(first.keys() & second.keys()):
        apart.setdefault(state, {})[sentence] = first[state, sentence] - second[state, sentence]
    return apart


def over_sentences(several_states: Sequence[dict[int, float]]) -> Ends:
    sentences = sorted(set().union(*several_states))
    return resampled([mean_of([state[one] for state in several_states if one in state]) for one in sentences])


def at_every_state(pair: tuple[str, str], of: str) -> Callable[[Sequence[Stored]], str]:
    def judge(models: Sequence[Stored]) -> str:
        found = [differences(model, pair, of) for model in models]
        parts = [resampled([*state.values()]) for states in found for state in states.values()]
        return several(parts, pool([over_sentences([*states.values()]) for states in found]))

    return judge


def parts_beat(models: Sequence[Stored]) -> str:
    parts, wholes = [], []
    for model in models:
        found = [differences(model, (part, "mat"), "first") for part in ("mat_attn", "mat_ffn", "mat_ln1_ln2")]
        last = [states[max(states)] for states in found]
        parts += [resampled([*one.values()]) for one in last]
        wholes.append(over_sentences(last))
    return several(parts, pool(wholes))


def fits(models: Sequence[Stored]) -> str:
    is_so = []
    for model in models:
        r2 = {(row["method"], row["source_state"], row["target_state"]): row["r2"] for row in model.rows("shortcuts")}
        is_so += [r2["mat", s, t] > r2["id", s, t] for method, s, t in r2 if method == "mat"]
    if not is_so:
        raise Nothing
    return "holds" if all(is_so) else "does not hold"


def saved_at_95(model: Stored, method: str) -> float | None:
    """Layers: where the curve, by layers run, first comes from below 95% to it, on the straight line between."""
    rows = sorted(model.rows("exits", method=method), key=lambda row: (row["layers_run"], row["parameter"]))
    for one, other in pairwise(rows):
        if one["accuracy"] < 0.95 <= other["accuracy"]:
            way = (0.95 - one["accuracy"]) / (other["accuracy"] - one["accuracy"])
            run: float = one["layers_run"] + way * (other["layers_run"] - one["layers_run"])
            return model.n_layers - run
    return None


def saves_more(method: str, other: str) -> Callable[[Sequence[Stored]], str]:
    def judge(models: Sequence[Stored]) -> str:
        pairs = [(saved_at_95(model, method), saved_at_95(model, other)) for model in models]
        if any(None in pair for pair in pairs):
            raise Nothing
        return "holds" if all(one > than for one, than in pairs) else "does not hold"  # type: ignore[operator]

    return judge


PLAIN: dict[str, Callable[[Sequence[Stored]], str]] = {
    "of random vectors, as people judge.": concepts("random", 0, by_rules=False),
    "of random vectors, as rules judge.": concepts("random", 0, by_rules=True),
    "of whole FFN updates, as rules judge.": concepts("ffn_update", 0, by_rules=True),
    "more concepts than a random vector, as people judge.": concepts("random", 1, by_rules=False),
    "more concepts than a random vector, as rules judge.": concepts("random", 1, by_rules=True),
    "leaves most of the highest tokens": norm_keeps,
    "leaves more of them in place": lambda models: each(models, norm_keeps_more),
    "Ten dominant sub-updates hold": lambda models: each(models, dominance),
    "Few clusters of neurons": lambda models: each(models, few_clusters),
    "clusters of dominant neurons saves": stops_early,
    "settled in the upper half": upper_half,
    "promote the token that saturates": table_4(promoted),
    "far above the smallest": table_4(far_above),
    "the smallest score for it are alike": table_4(alike),
    "more than they promote a token that is eliminated": table_4(promoted_more),
    "its own mean score is near 0": table_4(near_zero),
    "Random sub-updates promote": table_4(far_below("random")),
    "Random sub-updates of active": table_4(far_below("random_active")),
    "mean that is not negative": not_negative,
    "In the last layers the scores spread": spreading,
    "mat tells a later state": fits,
    "From every layer mat": at_every_state(("mat", "id"), "first"),
    "What mat says surprises": at_every_state(("id", "mat"), "surprisal"),
    "confidence of mat saves more": saves_more("mat", "id"),
    "where mat is confident": saves_more("mat", "fixed_mat"),
    "where id is confident": saves_more("id", "fixed_id"),
    "From some layer on": parts_beat,
    "better than the FFN.": at_every_state(("mat_attn", "mat_ffn"), "first"),
    "better than the norms.": at_every_state(("mat_attn", "mat_ln1_ln2"), "first"),
}
"""Words of a claim -> its verdict from the stored rows; what was written (6.1) and plausible lists are left out."""


def disagreements(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Words of a claim -> what a plain loop says, and what the module says with its numbers, where these differ."""
    judged = judge_claims(connection, models, papers=("geva", "din"))
    stored = [Stored(connection, model) for model in judged.models]
    found = {}
    for words, plain in PLAIN.items():
        (one,) = [one for one in judged.judged if words in one.claim.text]
        try:
            expected = plain(stored) if stored else "nothing"
        except Nothing:
            expected = "nothing"
        is_decided = one.finding.outcome in ("holds", "does not hold")
        if one.finding.outcome != expected and (expected != "nothing" or is_decided):
            found[words] = (expected, f"{one.finding.verdict}: {one.finding.numbers}")
    return found


def test_stored_rows_give_the_same_verdicts(full_path: Path, tmp_path: Path) -> None:
    """Of families and of single models; of warehouses with and without events."""
    event_warehouse.create(tmp_path / "events.duckdb")
    wrong = {}
    for path in (full_path, tmp_path / "events.duckdb"):
        with Warehouse(path).reader() as connection:
            families: dict[str, list[str]] = {}
            rows = connection.execute("select family, name from store.models order by name").fetchall()
            for family_name, model in rows:
                families.setdefault(family_name, []).append(model)
            for models in (*families.values(), *([model] for _, model in rows)):
                wrong[path.stem, *models] = disagreements(connection, models)
    assert {models: found for models, found in wrong.items() if found} == {}


KINDS: tuple[Kind, ...] = ("opt", "gpt2", "llama", "neox")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny models of each kind, and two GPT-2 as transformers initialises them, one of them called untrained."""
    folder = tmp_path_factory.mktemp("tiny")
    draw = random.Random(6)
    (folder / "long.txt").write_text(" ".join(draw.choice(WORDS) for _ in range(9_000)))
    text = (write_sentences(folder), f"long={folder / 'long.txt'}")
    jobs = (*DEFAULT_JOBS, "clusters", "controls", "events", "shortcuts", "exits")
    asked = ingests.request(text, jobs=jobs, examples=120, batch_tokens=4096)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    for kind in KINDS:
        model = build(folder / kind, kind, n_layers=3, d_ffn=40, d_model=16, context_length=32)
        ingests.measure(warehouse, model, replace(asked, family=kind))
    for seed, variant in enumerate((None, "step 0")):
        torch.manual_seed(seed)
        config = GPT2Config(
            vocab_size=400, n_embd=32, n_layer=4, n_head=4, n_positions=32, bos_token_id=0, eos_token_id=0
        )
        GPT2LMHeadModel(config).save_pretrained(folder / f"fresh-{seed}")
        make_tokenizer("gpt2", 392).save_pretrained(folder / f"fresh-{seed}")
        ingests.measure(warehouse, folder / f"fresh-{seed}", replace(asked, family="fresh", variant=variant))
    annotate_by_rules(warehouse)
    return warehouse.path


@pytest.mark.long
def test_models_of_every_kind_have_outcomes_that_are_known_and_those_of_plain_loops(tiny: Path) -> None:
    known, wrong = set(get_args(Outcome)), []
    with Warehouse(tiny).reader() as connection:
        for kind in (*KINDS, "fresh"):
            judged = judge_claims(connection, family=kind)
            assert len(judged.judged) == len(CLAIMS)
            outcomes = {one.claim.text: one.finding.outcome for one in judged.judged}
            wrong += [(kind, text, one) for text, one in outcomes.items() if one not in known]
            wrong += [(kind, one.claim.text, "says nothing") for one in judged.judged if not one.finding.numbers]
            wrong += [(kind, *one) for one in disagreements(connection, [judged.models[0]]).items()]
            dead = {one for text, one in outcomes.items() if "ead neurons are in the first half" in text}
            wrong += [(kind, "dead", dead)] if (dead == {"does not apply"}) == (kind == "opt") else []
    assert wrong == []


@pytest.mark.long
def test_an_untrained_model_is_no_evidence_of_positional_neurons(tiny: Path) -> None:
    """Fresh position embeddings make neurons differ by position: counted alone, they would make the claim hold."""
    with Warehouse(tiny).reader() as connection:
        (claim,) = [one for one in CLAIMS if one.text.startswith("Some neurons fire by position")]
        alone, beside = (Family.of(connection, models, family="fresh") for models in (["fresh-0"], []))
        assert claim.on(alone).outcome == "does not apply"
        assert "an untrained model has positional neurons too" in claim.on(alone).numbers
        n_positional, n = alone.count("fresh-0", POSITIONAL)
        assert (n, n_positional > n / 2) == (512, True)
        assert claim.on(beside).outcome in ("does not hold", "undecided")
        assert beside.untrained() == {"fresh-0": "fresh-1"}
