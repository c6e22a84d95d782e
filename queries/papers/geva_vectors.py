"""Rules for claims of Geva et al. 2022 on value vectors (section 4), extreme updates, and their uses (section 6)."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from neurothek.catalog.advice import command_line
from neurothek.catalog.tables.annotations import RULES
from neurothek.catalog.tables.interventions import LEAST_SETS
from neurothek.queries.papers.family import Family, beside_later, with_and_without_first_position
from neurothek.queries.papers.findings import (
    Finding,
    NotApplicable,
    Outcome,
    decided,
    difference,
    in_all,
    in_favour,
    points,
    signed,
)
from neurothek.queries.papers.intervals import (
    Interval,
    Moments,
    Verdict,
    all_of,
    difference_of_means,
    mean,
    over,
    share,
    share_difference,
)

_CLAIMED_OVERLAP = """\
-- Mean overlap of the highest tokens without and with the final norm, of a layer's value vectors and of its random
-- ones.
select
    own.model,
    own.layer,
    own.n,
    own.norm_overlap,
    own.norm_overlap_without_bias as without_bias,
    controls.norm_overlap as random,
    controls.norm_overlap_without_bias as random_without_bias,
from norm_overlap as own
left join norm_overlap as controls
    on controls.model = own.model and controls.layer = own.layer and controls.kind = 'random'
where list_contains($models::varchar[], own.model) and own.kind = 'value' and own.norm_overlap is not null
order by own.model, own.layer
"""

_CLAIMED_DOMINANCE = """\
-- For each example of the event sample and layer, the shares of the layer's update that the ten dominant and ten random
-- neurons hold.
select
    models.name as model,
    sub_updates.example_id,
    avg(case when sub_updates.kind = 'dominant' then sub_updates.share end) * 10 as dominant,
    avg(case when sub_updates.kind = 'random' then sub_updates.share end) * 10 as random,
    bool_or(array_length(examples.tokens) = 1) as at_first_position,
from store.sub_updates as sub_updates
inner join store.examples as examples
    on examples.model_id = sub_updates.set_id and examples.corpus_id = sub_updates.corpus_id
    and examples.example_id = sub_updates.example_id
inner join store.models as models on models.model_id = sub_updates.set_id
inner join measured_corpora as corpora
    on corpora.model_id = sub_updates.set_id and corpora.corpus_id = sub_updates.corpus_id and corpora.is_shown
where list_contains($models::varchar[], models.name)
group by models.name, models.n_parameters, sub_updates.example_id
having dominant is not null and random is not null
order by models.n_parameters, sub_updates.example_id
"""

_LATER_EXTREMES = """\
-- The clusters of the extreme updates among those after position 0, as `extreme_clusters` has them of all.
with updates as (
    select
        models.name as model, models.n_neurons, models.architecture, facts.cluster_id, facts.set_id,
        abs(sub_updates.score_candidate::double) as score
    from store.sub_updates as sub_updates
    inner join store.examples as examples
        on examples.model_id = sub_updates.set_id and examples.corpus_id = sub_updates.corpus_id
        and examples.example_id = sub_updates.example_id
    inner join store.models as models on models.model_id = sub_updates.set_id
    inner join measured_corpora as corpora
        on corpora.model_id = sub_updates.set_id and corpora.corpus_id = sub_updates.corpus_id and corpora.is_shown
    inner join store.neuron_facts as facts
        on facts.set_id = sub_updates.set_id and facts.layer = sub_updates.layer and facts.neuron = sub_updates.neuron
    where
        list_contains($models::varchar[], models.name)
        and sub_updates.kind = 'dominant'
        and array_length(examples.tokens) > 1
),
bounds as (
    select model, case when any_value(architecture) = 'gpt2' then 10 else quantile_cont(score, 0.999) end as bound
    from updates
    group by model
),
members as (
    select set_id, cluster_id, count(*) as size
    from store.neuron_facts
    where cluster_id is not null
    group by set_id, cluster_id
)
select
    updates.model, count(*) as n_extreme,
    any_value(members.size)::double / any_value(updates.n_neurons) as neuron_share
from updates
inner join bounds on bounds.model = updates.model
inner join members on members.set_id = updates.set_id and members.cluster_id = updates.cluster_id
where updates.score >= bounds.bound
group by updates.model, updates.cluster_id
order by updates.model, n_extreme desc, updates.cluster_id
"""

_CLAIMED_EXIT_RULES = """\
-- What rules on sub-updates and on classifiers that stop a model early get right and save, a seed a row.
select
    models.name as model,
    exits.method,
    exits.seed,
    exits.n,
    exits.accuracy,
    exits.layers_saved,
    exits.layers_saved / models.n_layers as saved_share,
from store.exits as exits
inner join store.models as models on models.model_id = exits.model_id
inner join measured_corpora as corpora
    on corpora.model_id = exits.model_id and corpora.corpus_id = exits.corpus_id and corpora.is_shown
where list_contains($models::varchar[], models.name) and exits.seed is not null
order by models.n_parameters, exits.method, exits.seed
"""

ANNOTATORS = ("people", RULES)

LEAST_OVERLAP = 0.5
"""The final norm leaves the highest tokens in place where more than half of them stay [ours]."""

LEAST_ACCURACY = 0.9
"""A rule that stops early and is right less often than that saves nothing worth having [ours]."""

LEAST_UPDATES = 10
"""Of fewer extreme updates nothing is said [ours]."""

LEAST_TEXTS = 50
"""Of fewer texts by each method, or fewer random sets than a percentile takes, an intervention says nothing [ours]."""

MOST_PERPLEXITY = 1.25
"""A change keeps the language if the perplexity grows by less than that [ours]: the paper's from 21.7 to 25.3."""

NEAR = 0.1
"""A share is near another one if it is larger by less than that [ours]."""


def concepts_over(control: str, *, annotator: str, of: str = "share") -> Callable[[Family], Finding]:
    """A claim that value vectors have more under concepts than the control, by the judgements of one side."""

    def judge(family: Family) -> Finding:
        rows = family.rows("claimed_concepts").filter(
            (pl.col("annotator") == RULES) if annotator == RULES else (pl.col("annotator") != RULES)
        )
        intervals, texts = {}, {}
        for model in family.sizes:
            value, other = (_moments(rows, model, condition, of) for condition in ("value", control))
            if not value.n or not other.n:
                raise NotApplicable(_not_judged(model, annotator))
            intervals[model] = difference_of_means(value, other)
            show = difference if of == "share" else signed
            texts[model] = f"{value.n} lists against {other.n:,}, {show(intervals[model])}"
        return in_all([*intervals.values()], family.side_by_side(texts), show=show)

    return judge


def _not_judged(model: str, annotator: str) -> str:
    who, option = ("rules", "--auto") if annotator == RULES else ("people", "--sample")
    return f"no vectors of {model} were judged by {who}; begin with `{command_line('annotate', option, model)}`"


def _moments(rows: pl.DataFrame, model: str, condition: str, of: str) -> Moments:
    """Over the lists that were judged, of the share that falls under a concept, or of the number of concepts."""
    lists = rows.filter(model=model, condition=condition)
    numbers = lists.get_column("n_concepts") if of == "concepts" else lists["n_tokens"] / lists["n_shown"]
    numbers = numbers.cast(pl.Float64)
    return Moments(numbers.len(), float(numbers.sum()), float((numbers**2).sum()))


def _overlaps(family: Family) -> dict[str, pl.DataFrame]:
    """Model -> its layers' mean overlaps."""
    rows = family.query("claimed_overlap", _CLAIMED_OVERLAP)
    layers_of = {model: rows.filter(model=model) for model in family.sizes}
    if missing := [model for model, layers in layers_of.items() if layers.is_empty()]:
        raise NotApplicable(f"{missing[0]} has no final norm", "does not apply")
    return layers_of


def norm_keeps(family: Family) -> Finding:
    """Overlaps of the highest tokens with and without the final norm."""
    means = {model: _weighted(layers) for model, layers in _overlaps(family).items()}
    numbers = family.side_by_side(
        {
            model: f"{overlaps['norm_overlap']:.2f}, without the norm's bias {overlaps['without_bias']:.2f}"
            f" (random vectors {overlaps['random']:.2f} and {overlaps['random_without_bias']:.2f})"
            for model, overlaps in means.items()
        }
    )
    holds = all(overlaps["norm_overlap"] > LEAST_OVERLAP for overlaps in means.values())
    return Finding("holds" if holds else "does not hold", numbers)


def _weighted(layers: pl.DataFrame) -> dict[str, float]:
    """Means over the vectors of all layers."""
    names = ("norm_overlap", "without_bias", "random", "random_without_bias")
    weight = pl.col("n") / pl.col("n").sum()
    return layers.select((pl.col(name) * weight).sum() for name in names).to_dicts()[0]


def norm_keeps_more(family: Family) -> Finding:
    """The same over that of random vectors, layer by layer."""
    apart = pl.col("norm_overlap") - pl.col("random")
    intervals = {
        model: mean(layers.select(apart.alias("apart")).drop_nulls().get_column("apart").to_list())
        for model, layers in _overlaps(family).items()
    }
    return family.in_each(intervals, signed)


@with_and_without_first_position
def dominate(family: Family) -> Finding:
    """The share that dominant neurons hold over that of random ones."""
    rows = family.query("claimed_dominance", _CLAIMED_DOMINANCE)
    intervals, texts = {}, {}
    for model in family.sizes:
        of_model = rows.filter(model=model)
        if of_model.is_empty():
            raise NotApplicable(f"no sub-updates of {model} are stored")
        intervals[model] = mean((of_model.get_column("dominant") - of_model.get_column("random")).to_list())
        shares = [float(str(of_model.get_column(name).mean())) for name in ("dominant", "random")]
        texts[model] = f"{shares[0]:.1%} against {shares[1]:.1%}, {difference(intervals[model])}"
    return in_all([*intervals.values()], family.side_by_side(texts), show=difference)


def few_clusters(family: Family) -> Finding:
    """The clusters that make half of the extreme updates, beside their share of the neurons."""
    columns = ("model", "n_extreme", "neuron_share", "n_first_position")
    rows = family.view("extreme_clusters", columns, ("model", "n_extreme desc", "cluster_id"))
    finding = _few_clusters(family, rows)
    if not rows.get_column("n_first_position").sum():
        return finding
    return beside_later(finding, lambda: _few_clusters(family, family.query("claimed_later_extremes", _LATER_EXTREMES)))


def _few_clusters(family: Family, rows: pl.DataFrame) -> Finding:
    parts, texts = [], {}
    for model in family.sizes:
        of_model = rows.filter(model=model)
        if int(of_model.get_column("n_extreme").sum()) < LEAST_UPDATES:
            raise NotApplicable(
                f"{model} has fewer than {LEAST_UPDATES} extreme updates by clustered neurons", "needs more text"
            )
        total = int(of_model.get_column("n_extreme").sum())
        cumulative = of_model.get_column("n_extreme").cum_sum().to_list()
        most = next(place for place, so_far in enumerate(cumulative, start=1) if 2 * so_far >= total)
        of_neurons = float(of_model.head(most).get_column("neuron_share").sum())
        cluster_share = share(cumulative[most - 1], total)
        parts.append(over(cluster_share, 10 * of_neurons))
        clusters = f"{most} cluster{'s' * (most != 1)}, {of_neurons:.2%} of the neurons"
        texts[model] = f"{clusters}, make {points(cluster_share)} of {total}"
    return in_all(parts, family.side_by_side(texts), show=in_favour)


def rule_stops_early(family: Family) -> Finding:
    """Over seeds: what is saved, and how often the token is the model's own."""
    rows = family.query("claimed_exit_rules", _CLAIMED_EXIT_RULES)
    texts: dict[str, str] = {}
    verdicts: list[Verdict] = []
    n = 0
    for model in family.sizes:
        of_model = rows.filter(model=model)
        rule = of_model.filter(method="cluster_ranks")
        if rule.is_empty():
            raise NotApplicable(f"early exits by clusters were not measured on {model}")
        saved = mean(rule.get_column("saved_share").to_list())
        accuracy = mean(rule.get_column("accuracy").to_list())
        n += int(rule.get_column("n").sum())
        right_often = mean([one - LEAST_ACCURACY for one in rule.get_column("accuracy").to_list()])
        verdicts += [saved.is_positive, right_often.is_positive]
        texts[model] = f"{points(saved)} of the layers saved at an accuracy of {points(accuracy)}"
    return decided(all_of(verdicts), n, family.side_by_side(texts))


@dataclass(frozen=True)
class _Steered:
    """The unwanted attribute in what a model wrote under one intervention."""

    name: str  # model, intervention and attribute
    counts: Mapping[str, tuple[int, int]]  # method -> texts with the attribute, and texts
    n_sets: int  # random sets of neurons
    least_random: float  # the least share of one of them
    # that of the changed model over that of the untouched one, as the authors' code computes it
    perplexity: float | None

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> "_Steered":
        """From the rows of one attribute."""
        first, by_method = rows[0], {row["method"]: row for row in rows}
        random = by_method.get("random", {"n_sets": 0, "share_least": 0.0})
        is_measured = first["perplexity"] is not None
        return cls(
            name=f"{first['model']}, {first['intervention']}, {first['attribute']}",
            counts={
                method: (round((row["share"] or 0.0) * row["n_continuations"]), row["n_continuations"])
                for method, row in by_method.items()
                if method != "random"
            },
            n_sets=random["n_sets"],
            least_random=random["share_least"] or 0.0,
            perplexity=first["perplexity"] / first["perplexity_untouched"] if is_measured else None,
        )

    @property
    def is_enough(self) -> bool:
        """Whether there are enough random sets, and texts of the changed model and of the untouched one."""
        texts = [self.counts.get(method, (0, 0))[1] for method in ("changed", "untouched")]
        return self.n_sets >= LEAST_SETS and min(texts) >= LEAST_TEXTS

    def below(self, method: str) -> Interval:
        """The share by a method minus that of the changed model."""
        return share_difference(self.counts[method], self.counts["changed"])


def _steered(family: Family) -> Iterator[_Steered]:
    """Interventions on the unwanted attribute with enough sets and texts."""
    rows = family.rows("claimed_steering").to_dicts()
    rows_of: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        settings = json.loads(row["parameters"]).get("continuations", {}).get(row["intervention"], {})
        if row["attribute"] == settings.get("unwanted"):
            rows_of.setdefault((row["model"], row["intervention"], row["scorer"]), []).append(row)
    steered = [one for one in map(_Steered.of, rows_of.values()) if "changed" in one.counts]
    begin = command_line(
        "intervene", family.sizes[0], "--search", "WORD", "--prompts", "FILE", "--sets", str(LEAST_SETS)
    )
    if not steered:
        raise NotApplicable(f"no prompts have been continued with changed neurons; begin with `{begin}`")
    if not any(one.is_enough for one in steered):
        raise NotApplicable(
            f"that takes {LEAST_SETS} random sets and {LEAST_TEXTS} texts by each method; {steered[0].name} has"
            f" {steered[0].n_sets} and {steered[0].counts['changed'][1]}; write more with `{begin}`"
        )
    return (one for one in steered if one.is_enough)


def _in_one(judged: Sequence[tuple[Verdict, str, int]]) -> Finding:
    """What holds in one intervention at least; it does not hold where it holds in none and none is open."""
    verdicts = [verdict for verdict, _, _ in judged]
    outcomes: tuple[Verdict, ...] = ("holds", "undecided", "does not hold")
    verdict = next(one for one in outcomes if one in verdicts)
    return decided(verdict, sum(n for _, _, n in judged), "; ".join(text for _, text, _ in judged))


def steers(family: Family) -> Finding:
    """Rarer than untouched by the interval, and than with every random set: these say what any neurons would do."""
    judged: list[tuple[Verdict, str, int]] = []
    for one in _steered(family):
        interval, changed = one.below("untouched"), share(*one.counts["changed"])
        is_beyond = changed.value < one.least_random
        verdict = interval.is_positive if is_beyond else "does not hold"
        text = (
            f"{one.name}: {points(changed)}, untouched {difference(interval)} more, the least of {one.n_sets} random"
            f" sets {one.least_random:.2%}"
        )
        judged.append((verdict, text, interval.n))
    return _in_one(judged)


def beats(method: str, *, by: float) -> Callable[[Family], Finding]:
    """A claim that the attribute is rarer than by a baseline, or more frequent by less than `-by`."""

    def judge(family: Family) -> Finding:
        judged = []
        for one in _steered(family):
            if not one.counts.get(method, (0, 0))[1]:
                continue
            interval = one.below(method)
            text = f"{one.name}: {method.replace('_', ' ')} {difference(interval)} more"
            judged.append((over(interval, by).is_positive, text, interval.n))
        if not judged:
            raise NotApplicable(f"no texts were generated with {method.replace('_', ' ')}")
        return _in_one(judged)

    return judge


def keeps_language(family: Family) -> Finding:
    """The perplexity of changed models over that of untouched ones."""
    ratios = [(one.name, one.perplexity) for one in _steered(family) if one.perplexity is not None]
    if not ratios:
        raise NotApplicable("the perplexity of the changed models was not measured")
    numbers = "; ".join(f"{name}: {ratio:.3f} times" for name, ratio in ratios)
    outcome: Outcome = "holds" if any(ratio < MOST_PERPLEXITY for _, ratio in ratios) else "does not hold"
    return Finding(outcome, numbers)
