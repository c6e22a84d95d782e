"""Claims on events judged on made-up scores, of which all hold, none does, or nothing can be told."""

from typing import Any

import polars as pl
import pytest

from neurothek.queries.papers.findings import Finding
from neurothek.queries.papers.geva import GEVA
from tests.support.claims import family

MODELS = ("made-a", "made-b")
EVENTS = [one for one in GEVA.claims if one.jobs == ("events",) and one.section != "A.3"]


def judge(kind: str) -> dict[str, Finding]:
    """What the claims come to where they are true or false, or of few examples."""
    n = 2 if kind == "few" else 60
    upper = {"true": 55, "false": 5, "few": 1}[kind]
    sign = {"true": 1.0, "false": -1.0, "few": 0.0}[kind]
    # The second of each pair is on the other side where nothing can be told.
    noise = [0.01 * (-1) ** number for number in range(n)]
    candidates = [
        {"model": model, "example_id": number, "layer": layer}
        | candidate(layer, sign, noise[number] * (1 if layer else -1))
        for model in MODELS
        for layer in range(3)
        for number in range(n)
    ]
    scores = [row for model in MODELS for number in range(n) for row in events(model, number, sign, noise[number])]
    made = family(
        {
            "saturation_by_layer": pl.DataFrame(
                [
                    {"model": model, "depth": depth, "n_saturated": number}
                    for model in MODELS
                    for depth, number in ((0.25, n - upper), (0.75, upper))
                ]
            ),
            "claimed_candidates": pl.DataFrame(candidates),
            "claimed_event_scores": pl.DataFrame(scores),
        },
        MODELS,
    )
    return {one.text: one.on(made) for one in EVENTS}


def candidate(layer: int, sign: float, noise: float) -> dict[str, float]:
    """Scores of one example in one of three layers: where the claims hold the last one is wider and lower."""
    width = 1.0 + (sign if layer == 2 else 0.0)
    return {"largest": width + noise, "mean": 0.25 * sign + noise, "smallest": -width - noise}


def events(model: str, number: int, sign: float, noise: float) -> list[dict[str, Any]]:
    """Scores of one example: at saturation of three kinds of sub-updates, and at its elimination."""
    place = {"model": model, "example_id": number}
    weak = 0.05 if sign > 0 else 0.9 if sign < 0 else 0.2 + noise
    largest = 1.0 if sign > 0 else 0.2 if sign < 0 else 0.5
    own = noise if sign >= 0 else 3.0
    lowest = -0.4 + noise if sign >= 0 else -3.0
    return [
        place
        | {"event": "saturation", "kind": "dominant", "max": largest, "mean": 0.5 * sign + noise}
        | {"min": lowest, "size": 1.0},
        place | {"event": "saturation", "kind": "random", "max": weak, "mean": 0.0, "min": -weak, "size": weak},
        place | {"event": "saturation", "kind": "random_active", "max": weak, "mean": 0.0, "min": -weak, "size": weak},
        place
        | {"event": "elimination", "kind": "dominant", "max": 0.5 + noise, "mean": own}
        | {"min": -0.5 if sign > 0 else lowest, "size": 1.0},
    ]


def test_a_verdict_that_rests_on_position_0_is_undecided() -> None:
    """Massive activations: the tenth of the events that is read there turns the mean of all."""
    (claim,) = [one for one in EVENTS if one.text.startswith("Dominant sub-updates promote")]
    rows: list[dict[str, Any]] = [
        {"model": MODELS[0], "example_id": number, "event": "saturation", "kind": "dominant"}
        | {"max": 1.0, "min": -1.0, "size": 1.0, "mean": -500.0 if number < 6 else 1 + 0.01 * (-1) ** number}
        | {"at_first_position": number < 6}
        for number in range(60)
    ]
    found = claim.on(family({"claimed_event_scores": pl.DataFrame(rows)}, MODELS[:1]))
    assert found.outcome == "undecided"
    assert found.numbers.startswith("with position 0 does not hold: ")
    assert "without it holds: " in found.numbers
    assert "n = 54" in found.numbers
    nowhere = [row | {"at_first_position": False, "mean": abs(row["mean"])} for row in rows]
    found = claim.on(family({"claimed_event_scores": pl.DataFrame(nowhere)}, MODELS[:1]))
    assert (found.outcome, "position 0" in found.numbers) == ("holds", False)
    # The same on both is said once, with both numbers.
    on_both = [row | {"mean": abs(row["mean"])} for row in rows]
    found = claim.on(family({"claimed_event_scores": pl.DataFrame(on_both)}, MODELS[:1]))
    assert (found.outcome, "; without position 0, " in found.numbers) == ("holds", True)


@pytest.mark.parametrize(("kind", "verdict"), [("true", "holds"), ("false", "does not hold")])
def test_orderings_are_judged_by_the_interval(kind: str, verdict: str) -> None:
    found = judge(kind)
    assert len(found) == 10
    assert {text: one.verdict for text, one in found.items()} == dict.fromkeys(found, verdict)


def test_what_the_paper_does_not_claim_is_not_given_to_it() -> None:
    assert [one.text for one in EVENTS if one.section == "ours"] == [
        "Random sub-updates of active neurons promote the token far less than dominant ones.",
        "Most predictions are settled in the upper half of the network (read off the tables of appendix A.5).",
    ]


def test_what_cannot_be_told_says_of_how_many() -> None:
    verdicts = {one.verdict for text, one in judge("few").items() if "near 0" not in text}
    assert verdicts == {"undecided, n = 4"}
