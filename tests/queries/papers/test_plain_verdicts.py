"""Verdicts on Geva et al. 2022 and Din et al. 2023 worked out again by slow loops over made-up rows.

Rows are planted so that no interval ends near 0: other draws give the same verdict.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import polars as pl
import pytest

from neurothek.queries.ask.statements import ask
from neurothek.queries.papers.din import DIN
from neurothek.queries.papers.geva import GEVA
from tests.support.claims import family
from tests.support.plain_intervals import Ends, bootstrap, newcombe, pool, several, sign, welch

Row = dict[str, Any]

MODELS = ("made-a", "made-b")


def outcome(text: str, rows: dict[str, list[Row]]) -> str:
    """What the module says."""
    claims = [one for one in (*GEVA.claims, *DIN.claims) if one.text.startswith(text)]
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
            of = [one for one in GEVA.claims if one.text.startswith(text)]
            claim = next(one for one in of if one.text.endswith(f"as {by} judge."))
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
        texts = (
            "Turning on",
            "The effect is larger than that of a word",
            "The effect is nearly",
            "Fluency is preserved",
        )
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
            "The predictions of mat surprise": judged("id", "mat", "surprisal"),
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
