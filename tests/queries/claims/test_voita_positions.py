"""Claims on positional neurons, on a made-up family of which all is true and one of which nothing is."""

import polars as pl
import pytest

from queries.claims.claim import Finding
from queries.claims.voita_positions import POSITIONS
from tests.support.claims import family, texts, voita_family


def judged(*, is_true: bool) -> dict[str, Finding]:
    made = voita_family(is_true=is_true)
    return {one.text: one.on(made) for one in POSITIONS}


def test_what_is_true_holds() -> None:
    found = judged(is_true=True)
    assert {text: one.outcome for text, one in found.items()} == dict.fromkeys(found, "holds")
    assert len(found) == 11


def test_what_is_untrue_does_not_hold_or_cannot_be_told() -> None:
    found = judged(is_true=False)
    for text in (
        "In small models most positional neurons are oscillatory.",
        "The value vectors of positional neurons do not promote tokens that belong together.",
        "Positional neurons are more frequent in the first third of the network than later.",
    ):
        assert found[text].outcome == "does not hold"
    for text in (
        "Oscillatory neurons appear only with long training.",
        "Strong oscillatory neurons of a layer share all positions among themselves.",
        "Many of these have strong patterns.",
    ):
        assert found[text].outcome == "needs larger models"
    assert [text for text, one in found.items() if one.outcome == "holds"] == [
        "Some neurons fire by position rather than by content.",
        "A model without position embeddings has positional neurons too.",
    ]


@pytest.mark.parametrize("variant", ["no-position", "post-norm", "step"])
def test_without_a_variant_its_claims_do_not_apply(variant: str) -> None:
    whole = voita_family(is_true=True)
    rows = {"claimed_neurons": whole.neurons.drop("in_first_half", "in_first_third", "is_positional")}
    rows["claimed_positional_values"] = pl.DataFrame(
        {"model": "made-5m", "layer": [0], "n": [3], "difference": [0.1], "half": [0.2]}
    )
    rows["claimed_teams"] = pl.DataFrame({"is_one": [True]})
    without = family(rows, whole.sizes, variants=[one for one in whole.variants if not one[0].startswith(variant)])
    reasons = [found.numbers for one in POSITIONS if (found := one.on(without)).outcome == "does not apply"]
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
    assert claim.on(made).numbers == "5m +0.100 [+0.058, +0.142], n = 40"
