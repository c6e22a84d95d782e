"""Sentences about one neuron, each from its row of the view `neurons`; empty where there is nothing to say."""

from collections.abc import Mapping
from typing import Any

Facts = Mapping[str, Any]


def bound(facts: Facts) -> str:
    """That no input can activate it."""
    if facts["is_provably_dead"]:
        return f"No input can activate it: its pre-activation is at most {facts['preactivation_bound']:.3g}."
    return ""


def position(facts: Facts) -> str:
    """How its activity depends on the position."""
    kind, strength = facts["position_kind"], facts["position_strength"]
    if kind in (None, "not positional"):
        return ""
    if kind == "too few sequences":
        n = facts["n_position_sequences"]
        return f"{n:,} full-length sequences are too few to tell whether it is positional."
    return f"Positional: {kind}, {strength}, {facts['mutual_information_corrected']:.2f} nats."


def input_score(facts: Facts) -> str:
    """How often it is strongest at tokens that it promotes, where it is so more than other neurons' lists would be."""
    score, others, n_contexts = facts["input_score"], facts["input_other_score"], facts["n_strongest_contexts"]
    if score is None or others is None or score <= others:
        return ""
    contexts = f"{round(score * n_contexts)} of its {n_contexts} strongest contexts are at tokens that it promotes"
    return f"{contexts} (of the lists of its layer's other neurons {100 * others:.2g}% would be)."


def building(facts: Facts) -> str:
    """How often it is dominant, and brings a token to the top."""
    dominant, saturating = facts["times_dominant"], facts["times_saturating"]
    if dominant is None:
        return ""
    if not dominant:
        return "Never among the ten dominant neurons of its layer at the ends of examples."
    pushed = f", in {saturating:,} of which its FFN brought a token to the top for good" if saturating else ""
    examples = "example" if dominant == 1 else "examples"
    return f"Among the ten dominant neurons of its layer at the end of {dominant:,} {examples}{pushed}."


def massive(facts: Facts) -> str:
    """That its layer's largest coefficient is its own, and whether it writes a massive activation by one weight."""
    ratio = facts["massive_ratio"]
    if ratio is None:
        return ""
    weight = ""
    if facts["has_super_weight"]:
        weight = "; one of its weights, a super weight, makes at least half of the layer's massive output"
    return f"It has the layer's largest coefficient, {ratio:,.0f} times the mean{weight}."


def turned_up(facts: Facts) -> str:
    """How far the model says what it promotes, once it is turned up."""
    score, percentile = facts["output_score"], facts["output_percentile"]
    if score is None:
        return ""
    beside = "" if percentile is None else f", more than {percentile:.0f}% of other neurons' lists"
    once = "Once it is set to ten times its largest activation"
    return f"{once}, the tokens that it promotes have output score {score:.2g}{beside}."
