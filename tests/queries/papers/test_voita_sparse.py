"""Claims on dead neurons and detectors, on a made-up family of which all is true and one of which nothing is."""

import re
from dataclasses import replace

import polars as pl
import pytest

from neurothek.queries.papers.exhibit import Claim
from neurothek.queries.papers.findings import Finding
from neurothek.queries.papers.voita import VOITA
from tests.support.claims import family, of_neurons, texts, voita_family

SPARSE = [one for one in VOITA.claims if one.section < "5"]


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
    assert len(true) == 12


def test_what_is_untrue_does_not_hold_or_cannot_be_told(untrue: dict[str, Finding]) -> None:
    for text in (
        "Larger models have a larger share of dead neurons.",
        "Dead neurons are in the first half of the network.",
        "The second half is fully alive.",
    ):
        assert untrue[text].outcome == "does not hold"
    for text in (
        "In the largest models 1 to 5 tokens cover a substantial part of the neurons.",
        "The tokens that a detector detects are in most cases variants of one word.",
        "Each layer detects mostly tokens that no layer below detects.",
        "Token detectors suppress the tokens that trigger them (over 80%).",
    ):
        assert untrue[text].outcome == "does not hold"
    assert untrue["Larger models have more detectors of bigrams and trigrams."].outcome == "needs more text"
    assert not [text for text, found in untrue.items() if found.outcome == "holds"]


def test_every_claim_has_a_rule_and_numbers(true: dict[str, Finding]) -> None:
    assert all(one.rule and one.jobs for one in SPARSE)
    assert all(re.search(r"\d", found.numbers) for found in true.values())


def test_seeds_stand_beside_sizes(true: dict[str, Finding]) -> None:
    for text in ("Larger models have a larger share of dead neurons.", "The neurons of larger models"):
        (found,) = (found for claim, found in true.items() if claim.startswith(text))
        assert re.search(r"between two seeds of 0\.7m: \S+", found.numbers)


def test_seeds_without_dead_neurons_are_counts_and_no_difference() -> None:
    sizes, never = ["made-a", "made-b", "made-seed"], {"layer": 0, "n_layers": 1, "is_dead": False, "n_active": 500}
    rows = [{"model": model, "unigrams_95": 900, "frequency": 0.5} | never | _UNLABELLED for model in sizes * 20]
    found = claim("larger share of dead").on(of_neurons(rows, sizes[:2], [("seed 1", "made-seed", "made-a")]))
    assert found.numbers.endswith("; between two seeds of a: 0 of 20 and 0 of 20")


_UNLABELLED = {
    **{"is_token_detector": False, "position_kind": "not positional", "position_strength": "not positional"},
    "is_smooth": False,
}


def test_a_fall_from_size_to_size_is_not_written_as_a_rise(true: dict[str, Finding]) -> None:
    (found,) = (found for text, found in true.items() if "fire more rarely" in text)
    assert re.match(r"0\.7m over 2m: \+[0-9.]+ points in favour \[", found.numbers)
    (found,) = (found for text, found in true.items() if "fewer tokens cover" in text)
    assert re.match(r"0\.7m over 2m: [0-9.]+ times \[", found.numbers)


def covered(n_parameters: int, *, few: int, others: int, rare: int = 0) -> Finding:
    """Neurons of one layer: covered by three tokens, by 900, and of too few activations to tell."""
    of = [(500, 3)] * few + [(500, 900)] * others + [(50, 3)] * rare
    plain = {"model": "made-a", "layer": 0, "n_layers": 1, "is_dead": False, "frequency": 0.5} | _UNLABELLED
    rows = [plain | {"n_active": n_active, "unigrams_95": coverage} for n_active, coverage in of]
    made = replace(of_neurons(rows, ["made-a"]), n_parameters={"made-a": n_parameters})
    return claim("1 to 5 tokens").on(made)


def test_few_tokens_are_asked_of_large_models_alone() -> None:
    """The paper speaks of its largest models, which a small one neither confirms nor denies."""
    assert covered(6_400_000_000, few=200, others=800).outcome == "holds"
    assert covered(6_400_000_000, few=20, others=980).outcome == "does not hold"
    assert {covered(135_000_000, few=n, others=1000 - n).outcome for n in (20, 200)} == {"needs larger models"}


def test_neurons_that_fire_too_seldom_to_tell_are_in_no_share() -> None:
    assert covered(6_400_000_000, few=100, others=900, rare=3000).numbers.startswith("a: 100 of 1,000, 10.00% [")
    assert covered(6_400_000_000, few=100, others=900, rare=3000).outcome == "holds"


def test_a_single_size_has_no_trend() -> None:
    whole = voita_family(is_true=True)
    one = family(
        {"claimed_neurons": whole.neurons.drop("in_first_half", "in_first_third", "is_positional")}, ["made-5m"]
    )
    found = SPARSE[0].on(one)
    assert (found.outcome, found.numbers) == ("needs another model", "at least two sizes are needed")


def test_neurons_that_are_never_exactly_0_cannot_be_dead() -> None:
    whole = voita_family(is_true=True)
    never = whole.neurons.with_columns(pl.lit(None, dtype=pl.Boolean).alias("is_dead"))
    found = SPARSE[0].on(family({"claimed_neurons": never}, whole.sizes))
    assert found.outcome == "does not apply"
    assert "never exactly 0" in found.numbers


def claim(text: str) -> Claim:
    (found,) = (one for one in SPARSE if text in one.text)
    return found


def suppressing(n: int, of: int, *, expected: float) -> Finding:
    rows = pl.DataFrame({"suppresses": [i < n for i in range(of)], "expected": [expected] * of})
    return claim("suppress").on(family({"suppression": rows, "claimed_text": texts(["made-5m"])}, ["made-5m"]))


def test_suppression_asks_for_80_percent_and_for_more_than_chance() -> None:
    assert suppressing(190, 200, expected=0.5).outcome == "holds"
    # Most suppress, as most of equally frequent tokens would be: 95 of 100 in both.
    assert suppressing(190, 200, expected=0.95).outcome == "undecided"
    assert suppressing(190, 200, expected=0.999).outcome == "does not hold"
    # More than chance, yet not 80%.
    assert suppressing(130, 200, expected=0.1).outcome == "does not hold"
    assert suppressing(165, 200, expected=0.1).outcome == "undecided"
    assert suppressing(9, 9, expected=0.1).outcome == "needs larger models"
    assert "chance 50.0%" in suppressing(190, 200, expected=0.5).numbers


def test_too_little_text_is_told_from_too_small_models() -> None:
    few = pl.DataFrame({"suppresses": [True] * 3, "expected": [0.5] * 3})
    rows = {"suppression": few, "claimed_text": texts(["made-5m"], n_active_enough=400)}
    found = claim("suppress").on(family(rows, ["made-5m"]))
    assert found.outcome == "needs more text"
    # Half of the neurons fired 40 times on 100,000 tokens, and it takes 100.
    assert "only 400 of 1,000 neurons of 5m that fire do so 100 times" in found.numbers
    assert found.numbers.endswith("on about 250,000")


def test_how_much_text_n_grams_take(untrue: dict[str, Finding]) -> None:
    found = untrue["Larger models have more detectors of bigrams and trigrams."].numbers
    # 30% of the positions at ten occurrences, 40% at five: twice the text gives 40%, four times 50%.
    assert found.endswith(
        "bigrams seen ten times hold 30% of the positions, and it takes 50%: about 400,000 tokens would do"
    )


def test_the_first_layer_that_detects_is_left_out() -> None:
    def new(*layers: tuple[int, int]) -> Finding:
        of = [{"model": "a", "layer": place, "n_detected": n, "n_new": k} for place, (k, n) in enumerate(layers)]
        rows = {"detected_by_layer": pl.DataFrame(of), "claimed_text": texts(["a"])}
        return claim("no layer below").on(family(rows, ["a"]))

    assert new((900, 900), (5, 40)).outcome == "does not hold"
    assert new((900, 900), (35, 40), (36, 40)).outcome == "holds"
    assert new((900, 900), (350, 400), (5, 40)).outcome == "does not hold"
    assert new((900, 900), (5, 40)).numbers == "a, layer 0: 900 of 900, layer 1: 5 of 40"
    assert ", together 71 of 80, 88.75% [" in new((900, 900), (35, 40), (36, 40)).numbers
    assert new((900, 900), (3, 3)).outcome == "needs larger models"
    assert new((900, 900)).outcome == "needs larger models"


def test_groups_of_one_token_have_no_variants() -> None:
    def groups(*of: list[str]) -> Finding:
        rows = pl.DataFrame({"model": ["a"] * len(of), "address": ["a"] * len(of), "detected_tokens": list(of)})
        return claim("variants of one word").on(family({"token_detectors": rows, "claimed_text": texts(["a"])}, ["a"]))

    assert groups(*[["the"]] * 40).outcome == "needs larger models"
    assert groups(*[["the", " The"]] * 40, *[["the"]] * 99).outcome == "holds"
    assert groups(*[["the", " a"]] * 40).outcome == "does not hold"
    assert groups(*[["the", " The"]] * 20, *[["the", " a"]] * 20).outcome == "undecided"
