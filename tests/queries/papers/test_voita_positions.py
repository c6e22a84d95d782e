"""Claims on positional neurons, on a made-up family of which all is true and one of which nothing is."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from neurothek.queries.papers.findings import Finding
from neurothek.queries.papers.voita import VOITA
from tests.support.claims import family, of_neurons, texts, voita_family

POSITIONS = [one for one in VOITA.claims if one.section >= "5"]


def judged(*, is_true: bool) -> dict[str, Finding]:
    made = voita_family(is_true=is_true)
    return {one.text: one.on(made) for one in POSITIONS}


def test_what_is_true_holds() -> None:
    found = judged(is_true=True)
    assert {text: one.outcome for text, one in found.items()} == dict.fromkeys(found, "holds")
    assert len(found) == 14


def test_what_is_untrue_does_not_hold_or_cannot_be_told() -> None:
    found = judged(is_true=False)
    open_ones = {
        "Without position embeddings the patterns are more generic: no oscillatory neurons.",
        "Oscillatory neurons appear only with long training.",
    }
    # There are smooth positional neurons all the same, and many are strong: these three ask for no more.
    true = {
        "A model without position embeddings has positional neurons too.",
        "Many of these have strong patterns.",
        "It has positional neurons all the same.",
    }
    assert {text for text, one in found.items() if one.outcome == "undecided"} == open_ones
    assert {text for text, one in found.items() if one.outcome == "holds"} == true
    assert {one.outcome for text, one in found.items() if text not in open_ones | true} == {"does not hold"}


def test_positional_neurons_are_held_against_an_untrained_model() -> None:
    """The control: where fresh neurons are positional too, 512 of 512 prove nothing."""
    fresh = [positional(model, smooth=False) for model in ("made-a", "made-a-step0") for _ in range(512)]
    control = [("step 0", "made-a-step0", "made-a")]
    (claim,) = (one for one in POSITIONS if one.section == "5.1")
    assert claim.on(of_neurons(fresh, ["made-a"], control)).outcome == "undecided"
    without = claim.on(of_neurons(fresh, ["made-a"]))
    assert without.outcome == "needs another model"
    assert "step 0" in without.numbers
    trained = [positional("made-a", smooth=number < 60) for number in range(512)]
    found = claim.on(of_neurons([*trained, *fresh[512:]], ["made-a"], control))
    assert found.outcome == "holds"
    assert "512 of 512 positional, 60 smoothly; untrained 512 of 512, 0 smoothly" in found.numbers
    few = [positional("made-a", smooth=True, kind="one extreme" if i < 9 else "not positional") for i in range(512)]
    assert claim.on(of_neurons([*few, *fresh[512:]], ["made-a"], control)).outcome == "needs larger models"


def test_an_untrained_model_is_no_early_checkpoint() -> None:
    (claim,) = (one for one in POSITIONS if "long training" in one.text)
    fresh = [positional(model, smooth=True) for model in ("made-a", "made-a-step0") for _ in range(20)]
    found = claim.on(of_neurons(fresh, ["made-a"], [("step 0", "made-a-step0", "made-a")]))
    assert found.outcome == "needs another model"
    assert "early checkpoint" in found.numbers


def test_kinds_are_asked_of_small_models_alone() -> None:
    (claim,) = (one for one in POSITIONS if "most frequent kind" in one.text)
    rows = [positional(model, smooth=True, kind="oscillatory") for model in ("small", "large") for _ in range(50)]
    rows += [positional("large", smooth=True, kind="one extreme") for _ in range(300)]
    made = of_neurons(rows, ["small", "large"])
    assert claim.on(made).outcome == "does not hold"
    assert claim.on(replace(made, n_parameters={"small": 1_000_000, "large": 6_400_000_000})).outcome == "holds"
    assert claim.on(replace(made, n_parameters=dict.fromkeys(made.sizes, 6_400_000_000))).outcome == "does not apply"


NO_POSITION = [("no-position", "made-a-nopos", "made-a")]


def test_without_embeddings_positional_neurons_are_held_against_what_a_fresh_model_has() -> None:
    """The control of section 5.1: neurons of an untrained model are positional too, though not smoothly."""
    (claim,) = (one for one in POSITIONS if "embeddings has positional neurons" in one.text)

    def found(n_smooth: int) -> Finding:
        rows = [positional("made-a-nopos", smooth=place < n_smooth) for place in range(40)]
        return claim.on(of_neurons([*rows, positional("made-a", smooth=True)], ["made-a"], NO_POSITION))

    assert [found(n).outcome for n in (0, 9, 10, 40)] == ["needs larger models"] * 2 + ["holds"] * 2
    assert found(12).numbers.startswith("a-nopos: 40 positional, 12 of them smooth, 30.00% [")


def test_that_neither_model_has_oscillatory_neurons_says_nothing_of_embeddings() -> None:
    (claim,) = (one for one in POSITIONS if "more generic" in one.text)

    def found(*with_positions: str) -> Finding:
        rows = [positional("made-a", smooth=True, kind=kind) for kind in with_positions]
        rows += [positional("made-a-nopos", smooth=True) for _ in range(30)]
        return claim.on(of_neurons(rows, ["made-a"], NO_POSITION))

    none = found(*["both extremes"] * 24, *["other"] * 32)
    assert none.outcome == "needs larger models"
    assert none.numbers.startswith("a: 24 of 56, 0 oscillatory; a-nopos: 0 of 30, 0 oscillatory; +42.86 points [")
    assert found("oscillatory", *["both extremes"] * 23, *["other"] * 32).outcome == "holds"


def positional(model: str, *, smooth: bool, kind: str = "other") -> dict[str, Any]:
    """One neuron of a model of a single layer."""
    plain = {"layer": 0, "n_layers": 1, "is_dead": False, "n_active": 500, "unigrams_95": 900, "frequency": 0.5}
    strength = kind if kind == "not positional" else "weak"
    kinds = {"position_kind": kind, "position_strength": strength, "is_smooth": smooth}
    return {"model": model, "is_token_detector": False, **plain, **kinds}


@pytest.mark.parametrize("variant", ["no-position", "post-norm", "step"])
def test_without_a_variant_its_claims_need_another_model(variant: str) -> None:
    whole = voita_family(is_true=True)
    rows = {"claimed_neurons": whole.neurons.drop("in_first_half", "in_first_third", "is_positional")}
    rows["claimed_positional_values"] = pl.DataFrame(
        {"model": "made-5m", "layer": [0], "n": [3], "difference": [0.1], "half": [0.2]}
    )
    rows["position_teams"] = pl.DataFrame({"is_one": [True]})
    without = family(rows, whole.sizes, variants=[one for one in whole.variants if not one[0].startswith(variant)])
    reasons = [found.numbers for one in POSITIONS if (found := one.on(without)).outcome == "needs another model"]
    assert any(variant in reason for reason in reasons)


def test_too_little_text_labels_nothing() -> None:
    whole = voita_family(is_true=True)
    short = whole.neurons.with_columns(pl.lit("too few sequences").alias("position_kind"))
    short = short.drop("in_first_half", "in_first_third", "is_positional")
    models = [*whole.sizes, *(model for _, model, _ in whole.variants)]
    rows = {"claimed_neurons": short, "claimed_text": texts(models, n_full_sequences=40)}
    for claim in POSITIONS:
        found = claim.on(family(rows, whole.sizes, variants=whole.variants))
        if claim.section != "6":
            assert found.outcome == "needs more text", claim.text
            assert "was run on 40 full sequences of 256 ids" in found.numbers
            assert "takes 100 of them, 25,600 tokens" in found.numbers


def test_layers_are_weighed_by_their_positional_neurons() -> None:
    rows = pl.DataFrame(
        {"model": ["made-5m"] * 2, "layer": [0, 1], "n": [30, 10], "difference": [0.2, -0.2], "half": [0.04, 0.12]}
    )
    whole = voita_family(is_true=True)
    counts = whole.neurons.drop("in_first_half", "in_first_third", "is_positional")
    made = family({"claimed_neurons": counts, "claimed_positional_values": rows}, ["made-5m"])
    (claim,) = (one for one in POSITIONS if one.section == "5.5")
    # 3/4 of 0.2 minus 1/4 of 0.2; the half widths 0.03 and 0.03 add as the sides of a right angle.
    assert claim.on(made).numbers == "5m: +0.100 [+0.058, +0.142], n = 40"
