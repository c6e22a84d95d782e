"""Claims of Geva et al. 2022 on value vectors (section 4), extreme updates, and what they are good for (section 6)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from catalog.advice import command_line
from queries.claims.claim import CannotTell, Claim, Finding, decided, difference, points
from queries.claims.family import Family
from queries.claims.intervals import Moments, Verdict, all_of, difference_of_means, mean, share

LEAST_OVERLAP = 0.5
"""The final norm leaves the highest tokens in place where more than half of them stay [ours]."""

LEAST_ACCURACY = 0.9
"""A rule that stops early and is right less often than that saves nothing worth having [ours]."""

LEAST_UPDATES = 10
"""Of fewer extreme updates nothing is said [ours]."""


def _concepts_over(control: str, *, annotator: str) -> Callable[[Family], Finding]:
    """A claim that value vectors' lists fall under concepts more than the control's, by the judgements of one side."""

    def judge(family: Family) -> Finding:
        rows = family.rows("claimed_concepts").filter(
            (pl.col("annotator") == RULES) if annotator == RULES else (pl.col("annotator") != RULES)
        )
        found = {}
        for model in family.sizes:
            value, other = (_shares(rows, model, condition) for condition in ("value", control))
            if not value.n or not other.n:
                raise CannotTell(_not_judged(model, annotator))
            found[model] = difference_of_means(value, other)
        return family.in_each(found, difference)

    return judge


def _not_judged(model: str, annotator: str) -> str:
    who, option = ("rules", "--auto") if annotator == RULES else ("people", "--sample")
    return f"no vectors of {model} were judged by {who}; begin with `{command_line('annotate', option, model)}`"


RULES = "rules"
"""The annotator that is no person."""


def _shares(rows: pl.DataFrame, model: str, condition: str) -> Moments:
    """Of the share of a list that falls under a concept, over the lists that were judged."""
    own = rows.filter(model=model, condition=condition)
    shares = (own.get_column("n_tokens") / own.get_column("n_shown")).cast(pl.Float64)
    return Moments(shares.len(), float(shares.sum()), float((shares**2).sum()))


def _norm_keeps(family: Family) -> Finding:
    rows = {(row["model"], row["kind"]): row for row in family.rows("claimed_overlap").to_dicts()}
    own = {model: rows.get((model, "value")) for model in family.sizes}
    if missing := [model for model, row in own.items() if row is None]:
        raise CannotTell(f"{missing[0]} has no final norm")
    numbers = family.told({model: _overlap(rows, model) for model in family.sizes})
    holds = all(row is not None and row["norm_overlap"] > LEAST_OVERLAP for row in own.values())
    return Finding("holds" if holds else "does not hold", numbers)


def _overlap(rows: Mapping[tuple[str, str], Mapping[str, Any]], model: str) -> str:
    value = rows[model, "value"]
    told = f"{value['norm_overlap']:.2f}, without the norm's bias {value['without_bias']:.2f}"
    random = rows.get((model, "random"))
    return told if random is None else f"{told} (random vectors {random['norm_overlap']:.2f})"


def _dominate(family: Family) -> Finding:
    rows = family.rows("claimed_dominance")
    found, told = {}, {}
    for model in family.sizes:
        own = rows.filter(model=model)
        if own.is_empty():
            raise CannotTell(f"no sub-updates of {model} were kept")
        found[model] = mean((own.get_column("dominant") - own.get_column("random")).to_list())
        shares = [float(str(own.get_column(name).mean())) for name in ("dominant", "random")]
        told[model] = f"{shares[0]:.1%} against {shares[1]:.1%}, {difference(found[model])}"
    verdict = all_of([one.is_positive for one in found.values()])
    return decided(verdict, sum(one.n for one in found.values()), family.told(told))


def _few_clusters(family: Family) -> Finding:
    rows = family.rows("claimed_extremes")
    verdicts: list[Verdict] = []
    told, n = {}, 0
    for model in family.sizes:
        own = rows.filter(model=model)
        if int(own.get_column("n_extreme").sum()) < LEAST_UPDATES:
            raise CannotTell(f"{model} has fewer than {LEAST_UPDATES} extreme updates by clustered neurons")
        total = int(own.get_column("n_extreme").sum())
        cumulative = own.get_column("n_extreme").cum_sum().to_list()
        most = next(place for place, so_far in enumerate(cumulative, start=1) if 2 * so_far >= total)
        of_neurons = float(own.head(most).get_column("neuron_share").sum())
        found = share(cumulative[most - 1], total)
        bound = 10 * of_neurons
        verdicts.append("holds" if found.low > bound else "does not hold" if found.high < bound else "undecided")
        told[model] = f"{most} clusters, {of_neurons:.2%} of the neurons, make {points(found)} of {total}"
        n += total
    return decided(all_of(verdicts), n, family.told(told))


def _rule_stops_early(family: Family) -> Finding:
    """Over seeds: what is saved, and how often the token is the model's own."""
    rows = family.rows("claimed_exit_rules")
    told: dict[str, str] = {}
    verdicts: list[Verdict] = []
    n = 0
    for model in family.sizes:
        own = rows.filter(model=model)
        rule = own.filter(method="cluster_ranks")
        if rule.is_empty():
            raise CannotTell(f"early exits by clusters were not measured on {model}")
        saved = mean(rule.get_column("saved_share").to_list())
        accuracy = mean(rule.get_column("accuracy").to_list())
        n += int(rule.get_column("n").sum())
        right_often = mean([one - LEAST_ACCURACY for one in rule.get_column("accuracy").to_list()])
        verdicts += [saved.is_positive, right_often.is_positive]
        told[model] = f"{points(saved)} of the layers saved at an accuracy of {points(accuracy)}"
    return decided(all_of(verdicts), n, family.told(told))


def _steers(family: Family) -> Finding:
    rows = [row for row in family.rows("claimed_steering").to_dicts() if row["method"] == "changed"]
    random = {_of(row): row for row in family.rows("claimed_steering").filter(method="random").to_dicts()}
    if not rows:
        begin = command_line("intervene", family.sizes[0], "--search", "WORD", "--prompts", "FILE")
        raise CannotTell(f"no model continued prompts with changed neurons; begin with `{begin}`")
    told, best = [], 0
    for row in rows:
        controls = random.get(_of(row))
        if controls is None:
            continue
        best += row["share"] < controls["share_least"]
        told.append(
            f"{row['model']}, {row['intervention']}, {row['attribute']}: {row['share']:.1%}, random sets"
            f" {controls['share_least']:.1%} to {controls['share_most']:.1%}"
        )
    return Finding("holds" if best else "does not hold", "; ".join(told))


def _of(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("model", "intervention", "scorer", "attribute"))


def _claim(
    section: str, text: str, rule: str, judge: Callable[[Family], Finding], *, shown_in: str, jobs: str
) -> Claim:
    return Claim("geva", section, text, rule, tuple(shown_in.split(", ")), tuple(jobs.split()), judge)


VECTORS: Sequence[Claim] = (
    *(
        _claim(
            "4",
            f"The highest tokens of value vectors fall under concepts more often than those of random vectors{by}.",
            "mean share of a list that is tied to a concept, above that of random vectors (normal interval over lists)",
            _concepts_over("random", annotator=annotator),
            shown_in="Table 2",
            jobs="projections controls",
        )
        for annotator, by in (("people", ", as people judge"), (RULES, ", as rules judge"))
    ),
    _claim(
        "4",
        "They do so more often than those of whole FFN updates, as rules judge.",
        "mean share of a list that is tied to a concept, above that of FFN updates (normal interval over lists)",
        _concepts_over("ffn_update", annotator=RULES),
        shown_in="Table 2",
        jobs="projections controls",
    ),
    _claim(
        "A.1",
        "The final norm leaves most of the highest tokens of value vectors in place.",
        f"mean intersection over union of the 30 highest tokens above {LEAST_OVERLAP:g} (no interval)",
        _norm_keeps,
        shown_in="Figure 4",
        jobs="controls",
    ),
    _claim(
        "A.3",
        "Ten dominant sub-updates hold far more of an update than ten random ones.",
        "share of the update that ten dominant neurons hold minus that of ten random ones, mean over layers, above 0"
        " (paired bootstrap over examples)",
        _dominate,
        shown_in="Figure 6",
        jobs="events",
    ),
    _claim(
        "5.2",
        "Few clusters of neurons make most of the extreme updates.",
        "the clusters that make half of them hold less than a tenth of that share of the neurons (Wilson)",
        _few_clusters,
        shown_in="Extreme updates",
        jobs="clusters events",
    ),
    _claim(
        "6.1",
        "Turning on a few neurons chosen by what they promote changes what the model writes.",
        "in one intervention at least, the attribute is rarer than with any random set of neurons",
        _steers,
        shown_in="Table 5",
        jobs="",
    ),
    _claim(
        "6.2",
        "A rule on the clusters of dominant neurons saves layers.",
        f"layers saved, and accuracy above {LEAST_ACCURACY:.0%}, in every size (bootstrap over seeds)",
        _rule_stops_early,
        shown_in="Table 6",
        jobs="exits",
    ),
)
