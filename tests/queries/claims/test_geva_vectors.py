"""Claims on value vectors and what they are good for, on made-up rows that make each true, false or open."""

import polars as pl
import pytest

from queries.claims.claim import Finding
from queries.claims.geva_vectors import RULES, VECTORS
from tests.support.claims import family

MODELS = ("made-a", "made-b")


def judgements(value: int, control: int, annotator: str) -> list[dict[str, object]]:
    """Twenty lists of each kind, of 30 tokens, of which so many are tied to a concept, give or take one."""
    of = {"value": value, "random": control, "ffn_update": control}
    return [
        {"model": model, "condition": condition, "annotator": annotator, "n_shown": 30, "n_tokens": n + place % 3 - 1}
        for model in MODELS
        for condition, n in of.items()
        for place in range(20)
    ]


def rows(kind: str) -> dict[str, pl.DataFrame]:
    high, low = {"true": (20, 5), "false": (5, 20), "open": (10, 10)}[kind]
    overlap = {"true": 0.8, "false": 0.2, "open": 0.8}[kind]
    dominant, random = {"true": (0.5, 0.1), "false": (0.1, 0.5), "open": (0.3, 0.3)}[kind]
    saved = {"true": 0.2, "false": -0.2, "open": 0.0}[kind]
    accuracy = {"true": 0.95, "false": 0.5, "open": 0.9}[kind]
    share = {"true": 0.3, "false": 0.9, "open": 0.9}[kind]
    # Half of the updates by one cluster of a thousandth of the neurons, or by one that holds a fifth of them.
    size = 0.001 if kind == "true" else 0.2
    signs = [(-1) ** place * 0.01 for place in range(40)]
    steered = {"model": "made-a", "intervention": "i", "scorer": "s", "attribute": "t", "n_continuations": 60}
    return {
        "claimed_concepts": pl.DataFrame(
            [row for annotator in ("a person", RULES) for row in judgements(high, low, annotator)]
        ),
        "claimed_overlap": pl.DataFrame(
            [
                {"model": model, "kind": of, "norm_overlap": overlap, "without_bias": 0.9, "n": 100}
                for model in MODELS
                for of in ("value", "random")
            ]
        ),
        "claimed_dominance": pl.DataFrame(
            [
                {"model": model, "example_id": place, "dominant": dominant + sign, "random": random}
                for model in MODELS
                for place, sign in enumerate(signs)
            ]
        ),
        "claimed_extremes": pl.DataFrame(
            [
                {"model": model, "n_extreme": n, "neuron_share": size if n == 60 else 0.3}
                for model in MODELS
                for n in (60, 30, 10)
            ]
        ),
        "claimed_exit_rules": pl.DataFrame(
            [
                {
                    "model": model,
                    "method": "cluster_ranks",
                    "n": 100,
                    "accuracy": accuracy + sign,
                    "saved_share": saved + sign,
                }
                for model in MODELS
                for sign in signs
            ]
        ),
        "claimed_steering": pl.DataFrame(
            [
                steered | {"method": "changed", "share": share, "share_least": share, "share_most": share},
                steered | {"method": "random", "share": 0.85, "share_least": 0.8, "share_most": 0.9},
            ]
        ),
    }


def judge(kind: str) -> dict[str, Finding]:
    made = family(rows(kind), MODELS)
    return {one.text: one.on(made) for one in VECTORS}


@pytest.mark.parametrize(("kind", "outcome"), [("true", "holds"), ("false", "does not hold")])
def test_claims_are_judged_by_their_rows(kind: str, outcome: str) -> None:
    found = judge(kind)
    assert len(found) == 8
    assert {text: one.outcome for text, one in found.items()} == dict.fromkeys(found, outcome)


def test_what_does_not_differ_is_undecided() -> None:
    found = judge("open")
    for text, one in found.items():
        if "concepts" in text or "FFN updates" in text or "dominant" in text:
            assert one.outcome == "undecided", text


def test_people_and_rules_are_judged_apart() -> None:
    of = rows("true")
    people = of["claimed_concepts"].filter(pl.col("annotator") != RULES)
    made = family(of | {"claimed_concepts": people}, MODELS)
    outcomes = {one.text.rpartition(", as ")[2]: one.on(made).outcome for one in VECTORS if "concepts" in one.text}
    assert outcomes == {"people judge.": "holds", "rules judge.": "not measured"}


def test_half_of_the_updates_are_those_of_the_clusters_that_make_most() -> None:
    found = next(one for text, one in judge("true").items() if text.startswith("Few clusters"))
    assert found.numbers.startswith("a 1 clusters, 0.10% of the neurons, make 60.00% [50.20, 69.06] of 100")
