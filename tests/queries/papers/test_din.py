"""Claims on linear shortcuts judged on made-up readings, of which all hold, none does, or nothing can be told."""

from typing import Any

import polars as pl
import pytest

from neurothek.queries.papers.din import DIN
from neurothek.queries.papers.findings import Finding
from tests.support.claims import family

MODELS = {"made-a": 2, "made-b": 3}
# How likely each method's top token is the model's, where all claims hold; turned round where none does.
BEST_FIRST = ("mat_attn", "mat_ffn", "mat_ln1_ln2", "mat", "id")


PLAUSIBLE = {"true": (85, 53), "false": (53, 85), "few": (70, 70)}


def judge(kind: str) -> dict[str, Finding]:
    """What the claims come to, by their rule and text."""
    n_above = {"true": 3, "false": 1, "few": 3}[kind]
    layers = {
        "true": {"mat": 1.5, "id": 0.5, "fixed_mat": 0.25, "fixed_id": 0.125},
        "false": {"mat": 0.1, "id": 0.5, "fixed_mat": 0.25, "fixed_id": 0.75},
    }
    saved = [
        {"model": model, "method": method, "layers_saved_at_95": layers.get(kind, {}).get(method)}
        for model in MODELS
        for method in ("mat", "id", "fixed_mat", "fixed_id")
    ]
    made = family(
        {
            "claimed_readings": pl.DataFrame(
                [row for model, n_states in MODELS.items() for row in readings(model, n_states, kind)]
            ),
            "claimed_fits": pl.DataFrame(
                [{"model": model, "n": 3, "n_above": n_above, "least": 0.5} for model in MODELS]
            ),
            "exit_tradeoff": pl.DataFrame(saved),
            "claimed_plausibility": pl.DataFrame(
                [
                    {"model": model, "method": method, "n_plausible": n_plausible, "n": 100}
                    for model in MODELS
                    for method, n_plausible in zip(("mat", "id"), PLAUSIBLE[kind], strict=True)
                ]
            ),
        },
        list(MODELS),
    )
    return {one.text: one.on(made) for one in DIN.claims}


def readings(model: str, n_states: int, kind: str) -> list[dict[str, Any]]:
    """Of 60 sentences; a method that stands before another one is right on those of the other and ten more."""
    methods = BEST_FIRST if kind == "true" else BEST_FIRST[::-1]
    rows = []
    for state in range(n_states):
        for place, method in enumerate(methods):
            right = 30 if kind == "few" else 55 - 10 * place
            for sentence in range(60):
                # Where nothing can be told, every method is right on half the sentences, each on others.
                is_first = (sentence + 7 * place) % 60 < right
                if kind != "few":
                    is_first = sentence < right
                row = {"model": model, "method": method, "state": state, "sentence_id": sentence}
                rows.append(row | {"is_first": float(is_first), "surprisal": 1.0 - is_first})
    return rows


@pytest.mark.parametrize(("kind", "verdict"), [("true", "holds"), ("false", "does not hold")])
def test_orderings_are_judged_by_the_interval(kind: str, verdict: str) -> None:
    found = judge(kind)
    assert len(found) == 10
    assert {text: one.verdict for text, one in found.items()} == dict.fromkeys(found, verdict)


def test_what_cannot_be_told_says_of_how_many() -> None:
    found = judge("few")
    assert [one.verdict for one in found.values()] == [
        "holds",
        *["undecided, n = 120"] * 2,
        "undecided, n = 400",
        *["undecided"] * 3,
        *["undecided, n = 120"] * 3,
    ]
    assert "does not cross 95%" in found["Leaving where mat is confident saves more than leaving at one layer."].numbers


def test_the_differences_are_those_of_pairs() -> None:
    told = next(one for text, one in judge("true").items() if "more often than id" in text).numbers
    # Ten of sixty sentences apart, at the two states of one model, the three of the other, and together.
    assert told.count("+0.167 [+0.") == 6
    assert told.startswith("a: state 0: ")


def test_parts_beat_mat_from_the_state_on_above_which_they_always_do() -> None:
    claim = next(one for one in DIN.claims if "From some layer on" in one.text)
    # Of 60 sentences a part is right on so many more than mat at each state: worse, alike, better, better.
    more = (-20, 0, 10, 15)
    rows = [
        {"model": "made", "method": method, "state": state, "sentence_id": sentence, "surprisal": 0.0}
        | {"is_first": float(sentence < 25 + (0 if method == "mat" else gain))}
        for method in ("mat", *BEST_FIRST[:3])
        for state, gain in enumerate(more)
        for sentence in range(60)
    ]
    found = claim.on(family({"claimed_readings": pl.DataFrame(rows)}, ["made"]))
    assert found.outcome == "holds"
    assert found.numbers.count("from state 2 on, at 3: +0.250 [") == 3
    turned = pl.DataFrame(rows).with_columns((3 - pl.col("state")).alias("state"))
    found = claim.on(family({"claimed_readings": turned}, ["made"]))
    assert found.outcome == "does not hold"
    assert found.numbers.count("from no state on, at 3: -0.333 [") == 3
