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


SHARES_REMARK = (
    "low and high: Wilson 95% interval; random: the mean over random sets, with the least and the largest of a set;\n"
    "percentile: percent of random sets with a smaller share: near 50, these neurons do no more than random ones"
)

_METHODS = ("untouched", "changed", "random", "word_filter", "self_debiasing")
_N_EXAMPLES = 3


def watched_table(interventions: pl.DataFrame) -> pl.DataFrame:
    """One row per intervention that asks for tokens: their probability together, before and after."""
    shown = interventions.filter(pl.col("watched").is_not_null())
    return shown.select(
        "intervention",
        pl.col("watched").str.json_decode(pl.List(pl.String)).alias("tokens"),
        pl.col("mass_watched_untouched").alias("untouched"),
        pl.col("mass_watched").alias("changed"),
        pl.col("random_mass_watched").alias("random mean"),
    )


def shares_table(shares: pl.DataFrame) -> pl.DataFrame:
    """One row per intervention, attribute and method, in the order in which methods are compared."""
    is_random = pl.col("method") == "random"
    ends = [
        pl.when(is_random).then(pl.col(f"share_{of_sets}")).otherwise(pl.col(f"share_{end}")).alias(end)
        for end, of_sets in (("low", "least"), ("high", "most"))
    ]
    return _by_method(shares, "intervention", "scorer", "attribute").select(
        "intervention",
        "attribute",
        "method",
        "share",
        *ends,
        "percentile",
        pl.col("n_continuations").alias("texts"),
        pl.col("n_blank").alias("blank"),
    )


def examples_table(continuations: pl.DataFrame) -> pl.DataFrame:
    """What is written after the first prompts by every method, of the random sets the first."""
    few = continuations.filter((pl.col("prompt_number") <= _N_EXAMPLES) & (pl.col("set_number") <= 1))
    return _by_method(few, "intervention", "prompt_number").select("intervention", "prompt", "method", "continuation")


def _by_method(rows: pl.DataFrame, *first: str) -> pl.DataFrame:
    """Rows by some columns, those of equal ones in the order in which methods are compared."""
    place = pl.col("method").replace_strict({method: number for number, method in enumerate(_METHODS)})
    return rows.with_columns(place.alias("place")).sort(*first, "place", maintain_order=True).drop("place")
