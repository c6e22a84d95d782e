"""Claims on dead neurons and detectors, on a made-up family of which all is true and one of which nothing is."""

import re

import polars as pl
import pytest

from queries.claims.claim import Finding
from queries.claims.voita_sparse import SPARSE
from tests.support.claims import family, voita_family


@pytest.fixture(scope="module")
def true() -> dict[str, Finding]:
    made = voita_family(is_true=True)
    return {one.text: one.on(made) for one in SPARSE}


@pytest.fixture(scope="module")
def untrue() -> dict[str, Finding]:
    made = voita_family(is_true=False)
    return {one.text: one.on(made) for one in SPARSE}


def test_what_is_true_holds(true: dict[str, Finding]) -> None:
    # Layers with equally many dead neurons differ by nothing but chance.
    by_chance = "The layers with most dead neurons are those whose other neurons fire most rarely."
    assert {text for text, found in true.items() if found.outcome != "holds"} <= {by_chance}
    assert len(true) == 11


def test_what_is_untrue_does_not_hold_or_cannot_be_told(untrue: dict[str, Finding]) -> None:
    for text in (
        "Larger models have a larger share of dead neurons.",
        "Dead neurons are in the first half of the network.",
        "The second half is fully alive.",
    ):
        assert untrue[text].outcome == "does not hold"
    for text in (
        "There are many token detectors, and more in larger models.",
        "Each layer detects mostly tokens that no layer below detects.",
        "Token detectors suppress the tokens that trigger them (over 80%).",
        "Larger models have more detectors of bigrams and trigrams.",
    ):
        expected = "does not hold" if "no layer below" in text else "needs larger models"
        assert untrue[text].outcome == expected
    assert not [text for text, found in untrue.items() if found.outcome == "holds"]


def test_every_claim_has_a_rule_and_numbers(true: dict[str, Finding]) -> None:
    assert all(one.rule and one.shown_in and one.jobs for one in SPARSE)
    assert all(re.search(r"\d", found.numbers) for found in true.values())


def test_seeds_stand_beside_sizes(true: dict[str, Finding]) -> None:
    for text in ("Larger models have a larger share of dead neurons.", "The neurons of larger models"):
        (found,) = (found for claim, found in true.items() if claim.startswith(text))
        assert "between two seeds" in found.numbers


def test_a_single_size_has_no_trend() -> None:
    whole = voita_family(is_true=True)
    one = family(
        {"claimed_neurons": whole.neurons.drop("in_first_half", "in_first_third", "is_positional")}, ["made-5m"]
    )
    found = SPARSE[0].on(one)
    assert (found.outcome, found.numbers) == ("does not apply", "that takes two sizes at least")


def test_neurons_that_are_never_exactly_0_cannot_be_dead() -> None:
    whole = voita_family(is_true=True)
    never = whole.neurons.with_columns(pl.lit(None, dtype=pl.Boolean).alias("is_dead"))
    found = SPARSE[0].on(family({"claimed_neurons": never}, whole.sizes))
    assert found.outcome == "does not apply"
    assert "never exactly 0" in found.numbers
