"""Tables of effects for people: each beside what random sets of neurons did."""

from collections.abc import Mapping

import polars as pl

_EFFECT = ("effect", "percentile", "random_effect", "random_effect_most", "random_effect_least")
_HEADINGS: Mapping[str, str] = {
    "n_neurons": "neurons",
    "random_effect": "random mean",
    "random_effect_least": "random least",
    "random_effect_most": "random most",
}

REMARK = (
    "random: the effects of random sets of as many neurons, matched by layer and frequency;\n"
    "percentile: percent of these sets whose effect is smaller: near 50, these neurons matter no more than random ones"
)


def effects_table(interventions: pl.DataFrame) -> pl.DataFrame:
    """One row per intervention: what changing its neurons adds to the loss."""
    return interventions.select("intervention", "n_neurons", *_EFFECT, "kl", "perplexity").rename(_HEADINGS)


def by_domain(steering: pl.DataFrame) -> pl.DataFrame:
    """One row per intervention and domain: the effect over all positions."""
    weight = pl.col("n_tokens")
    shown = ("effect", "random_effect", "kl")
    means = [((pl.col(name) * weight).sum() / weight.sum()).alias(name) for name in shown]
    grouped = steering.group_by("intervention", "domain", maintain_order=True)
    return grouped.agg(*means, weight.sum().alias("tokens")).rename({"random_effect": "random mean"})
