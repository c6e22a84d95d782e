"""Sentences about a model and a layer: every number in them is one of the rows'."""

from typing import Any

import polars as pl

from neurothek.dashboards.parts.explore.headlines import (
    layer_headline,
    model_headline,
    positions_headline,
    team_sentence,
)

USUAL: dict[str, Any] = {
    "n_neurons": 100,
    "n_tokens_seen": 5000,
    "corpus": "prose",
    "n_dead": 0,
    "dead_share": 0.0,
    "n_never_active": 0,
    "never_active_share": 0.0,
    "median_frequency": 0.25,
    "n_detectors": None,
    "n_positional": None,
    "saturated_share": None,
    "n_examples": None,
}


def layers(*rows: dict[str, Any]) -> pl.DataFrame:
    made = [{"layer": number, **USUAL, **row} for number, row in enumerate(rows)]
    return pl.DataFrame(made, infer_schema_length=None)


def dead(n: int) -> dict[str, Any]:
    return {"n_dead": n, "dead_share": n / 100, "n_never_active": n, "never_active_share": n / 100}


def test_a_model_is_told_by_its_extremes() -> None:
    told = model_headline(
        layers(
            {**dead(1), "median_frequency": 0.4, "n_positional": 9, "n_detectors": 0, "saturated_share": 0.25},
            {**dead(7), "median_frequency": 0.02, "n_positional": 1, "n_detectors": 0, "saturated_share": 0.75},
        )
    )
    assert told == (
        "8 of 200 neurons (4.0%) are dead on the 5,000 tokens seen of prose, most of all in layer 1 (7.0%). The median "
        "neuron that fires does so at 40.0% of the tokens in layer 0, and at 2.0% in layer 1. Positional neurons: 10, "
        "9 of them in layer 0; token detectors: none. 25% of the predictions settle before the last layer."
    )


def test_no_dead_neuron_is_said_and_what_was_not_measured_is_not() -> None:
    assert model_headline(layers({}, {})) == (
        "Every neuron fired at least once on the 5,000 tokens seen of prose. The median neuron that fires does so at "
        "25.0% of the tokens."
    )


def test_without_exact_zeros_neurons_are_negligible_and_sparse() -> None:
    smooth = {"n_dead": None, "dead_share": None, "n_never_active": 3, "never_active_share": 0.03}
    sparse = {**smooth, "median_effective_frequency": 0.125, "n_negligible": 4, "negligible_share": 0.04}
    dense = {**smooth, "median_effective_frequency": 0.5, "n_negligible": 0, "negligible_share": 0.0}
    assert model_headline(layers(sparse, dense)) == (
        "4 of 200 neurons (2.0%) are negligible on the 5,000 tokens seen of prose, most of all in layer 0 (4.0%). The "
        "median neuron has an effective frequency of 50.0% in layer 1, and of 12.5% in layer 0."
    )
    assert model_headline(layers(dense)) == (
        "Every neuron has at least 1% of its FFN's output somewhere on the 5,000 tokens seen of prose. The median "
        "neuron has an effective frequency of 50.0%."
    )
    assert layer_headline(layers(sparse, dense), 1) == (
        "The median neuron has an effective frequency of 50.0% on the 5,000 tokens seen of prose, the most of any "
        "layer (12.5% in the others). 0 of 100 neurons (0.0%) are negligible on these tokens, the least of any layer "
        "(4.0% in the others)."
    )


def test_what_is_negligible_is_not_said_before_contributions_were_measured() -> None:
    smooth = {"n_dead": None, "dead_share": None, "n_negligible": None, "median_effective_frequency": 0.125}
    assert model_headline(layers(smooth)) == "The median neuron has an effective frequency of 12.5%."
    assert layer_headline(layers(smooth), 0) == (
        "The median neuron has an effective frequency of 12.5% on the 5,000 tokens seen of prose."
    )


def test_all_in_one_layer_and_one_alone_are_said_so() -> None:
    counts = [{"n_detectors": 0, "n_positional": 0}, {"n_detectors": 1, "n_positional": 4}]
    told = model_headline(layers(*counts))
    assert "Positional neurons: 4, all in layer 1; token detectors: one." in told


def test_where_predictions_settle_is_told_of_the_layers_before_the_last() -> None:
    rows = layers(*({"saturated_share": share, "n_examples": 2000} for share in (0.125, 0.25, 0.0625, 0.5625)))
    assert model_headline(rows).endswith(
        "44% of 2,000 predictions settle before the last layer, most of these in layer 1 (25% of all)."
    )
    late = layers(*({"saturated_share": share} for share in (0.0, 0.0, 1.0)))
    assert model_headline(late).endswith("0% of the predictions settle before the last layer.")
    assert model_headline(layers({"saturated_share": 1.0})).endswith("100% of the predictions settle in layer 0.")


def test_a_layer_is_told_beside_the_others() -> None:
    rows = layers(
        {**dead(2), "median_frequency": 0.1, "n_positional": 3, "n_detectors": 2, "saturated_share": 0.1},
        {**dead(10), "median_frequency": 0.3, "saturated_share": 0.6},
        {**dead(4), "median_frequency": 0.2, "saturated_share": 0.3},
    )
    # Cohen's h by hand: 0.82 for what settles, 0.40 for the frequency, 0.24 for dead neurons.
    assert layer_headline(rows, 0) == (
        "10% of the predictions settle here, the least of any layer (30.0% to 60.0% in the others). The median of the "
        "neurons that fire is active at 10.0% of the 5,000 tokens seen of prose, the least of any layer (20.0% to "
        "30.0% in the others). 2 of 100 neurons (2.0%) are dead on these tokens, the least of any layer (4.0% to 10.0% "
        "in the others). 3 are positional and 2 are token detectors."
    )
    assert "are dead on these tokens, the most of any layer (2.0% to 4.0%" in layer_headline(rows, 1)
    assert "(4.0%) are dead on the 5,000 tokens seen of prose (2.0% to 10.0% in the others)." in layer_headline(rows, 2)


def test_what_is_most_unlike_the_other_layers_comes_first() -> None:
    rows = layers({**dead(90), "n_positional": 0}, {**dead(1), "n_positional": 40}, {**dead(1), "n_positional": 0})
    assert layer_headline(rows, 0).startswith("90 of 100 neurons (90.0%) are dead on the 5,000 tokens seen of prose,")
    assert layer_headline(rows, 1).startswith("40 are positional.")


def test_nothing_is_told_that_is_0_in_every_layer() -> None:
    rows = layers({"n_positional": 0, "n_detectors": 0}, {"n_positional": 0, "n_detectors": 2})
    assert layer_headline(rows, 0) == (
        "None is a token detector. The median of the neurons that fire is active at 25.0% of the 5,000 tokens seen of "
        "prose (25.0% in the others)."
    )


def test_a_layer_alone_is_beside_none() -> None:
    assert layer_headline(layers(dead(2)), 0) == (
        "2 of 100 neurons (2.0%) are dead on the 5,000 tokens seen of prose. The median of the neurons that fire is "
        "active at 25.0% of these tokens."
    )


def kinds(*rows: tuple[int, str, str, int]) -> pl.DataFrame:
    names = ["layer", "position_kind", "position_strength", "n_neurons"]
    return pl.DataFrame(list(rows), schema=names, orient="row")


def test_positional_neurons_are_told_by_layer_and_kind() -> None:
    rows = kinds((0, "other", "weak", 5), (0, "one extreme", "strong", 2), (3, "one extreme", "weak", 4))
    assert positions_headline(rows, 8, 1000) == (
        "11 of 1,000 neurons (1.1%) are positional, 7 of them in layer 0, none in layers 1, 2 and 4 to 7. The most "
        "common kind is one extreme (6); of all, 2 are strong."
    )
    alone = positions_headline(kinds((2, "other", "strong", 1)), 3, 10)
    assert alone.startswith("1 of 10 neurons (10.0%) is positional, all of them in layer 2. ")
    assert alone.endswith("of all, one is strong.")


def test_of_a_single_dead_neuron_only_the_layer_is_told() -> None:
    rows = pl.DataFrame([USUAL | {"layer": 0}, USUAL | {"layer": 1, "n_dead": 1, "dead_share": 0.01}])
    told = "1 of 200 neurons (0.5%) is dead on the 5,000 tokens seen of prose, in layer 1."
    assert model_headline(rows).startswith(told)


def test_the_largest_team_of_a_layer_is_told() -> None:
    names = ["layer", "team", "n_neurons", "n_positions", "covered_share", "n_redundant"]
    rows = [(0, "oscillatory", 2, 256, 0.5, 0), (0, "both", 5, 256, 0.75, 1), (1, "oscillatory", 3, 256, 1.0, 0)]
    teams = pl.DataFrame(rows, schema=names, orient="row")
    assert team_sentence(teams, 0) == "5 strong neurons cover 75% of the 256 positions; one is redundant."
    assert team_sentence(teams, 1) == "3 strong neurons cover 100% of the 256 positions; none is redundant."
    assert team_sentence(teams, 2) == ""
