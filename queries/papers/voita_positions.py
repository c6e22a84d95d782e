"""Rules for claims of Voita et al. 2023 on positional neurons (section 5) and on norms after the blocks (section 6)."""

import math
from collections.abc import Sequence
from itertools import combinations

import polars as pl

from neurothek.catalog.variants import POST_NORM
from neurothek.queries.papers.family import (
    BOTH,
    DEAD,
    FIRST_HALF,
    FIRST_THIRD,
    ONE,
    OSCILLATORY,
    OTHER,
    POSITIONAL,
    REST,
    SMALL,
    SMOOTH,
    STRONG,
    Family,
)
from neurothek.queries.papers.findings import (
    LEAST_OBJECTS,
    Finding,
    NotApplicable,
    above_half,
    beside_half,
    decided,
    difference,
    if_enough,
    in_all,
    in_favour,
    of_half,
    points,
    signed,
    times,
)
from neurothek.queries.papers.intervals import Interval, difference_of_means, share, share_difference

_CLAIMED_POSITIONAL_VALUES = """\
-- Coherence of the top tokens of positional neurons and of the others of their layers, with 95% intervals.
select
    by_position.model,
    by_position.layer,
    by_position.n_coherent as n,
    others.coherence - by_position.coherence as difference,
    sqrt(
        pow(by_position.coherence_high - by_position.coherence, 2) + pow(others.coherence_high - others.coherence, 2)
    ) as half,
from positional_values as by_position
inner join positional_values as others on others.model = by_position.model and others.layer = by_position.layer
where
    list_contains($models::varchar[], by_position.model)
    and by_position.kind = 'positional'
    and others.kind = 'other'
    and difference is not null
order by by_position.model, by_position.layer
"""


def are_positional(family: Family) -> Finding:
    """Against an untrained model of the same shape, whose neurons differ by position as fresh embeddings do."""
    control = family.untrained()
    sizes = [model for model in family.sizes if model in control]
    if not sizes:
        raise NotApplicable(
            "an untrained model has positional neurons too, and there is none of the same shape (variant 'step 0') to"
            " hold these against; the documentation's recipe for Voita et al. says how to make one",
            "needs another model",
        )
    family.require_sequences([*sizes, *(control[model] for model in sizes)])
    counts = {model: [family.count(one, POSITIONAL) for one in (model, control[model])] for model in sizes}
    counts_smooth = {model: [family.count(one, SMOOTH) for one in (model, control[model])] for model in sizes}
    numbers = family.side_by_side({model: _beside_untrained(counts[model], counts_smooth[model]) for model in sizes})
    if min(counts[model][0][0] for model in sizes) < LEAST_OBJECTS:
        return Finding("needs larger models", numbers)
    parts = [share_difference(trained, untrained) for trained, untrained in counts_smooth.values()]
    return in_all(parts, numbers, show=difference)


def _beside_untrained(positional: Sequence[tuple[int, int]], smooth: Sequence[tuple[int, int]]) -> str:
    (trained, n), (other, n_other) = positional
    over_untrained = share_difference(*smooth)
    return (
        f"{trained} of {n:,} positional, {smooth[0][0]} smoothly; untrained {other} of {n_other:,},"
        f" {smooth[1][0]} smoothly: {difference(over_untrained)}"
    )


def oscillate(family: Family) -> Finding:
    """Against the most frequent other kind of each size, as a share of both."""
    small = [model for model in family.sizes if family.n_parameters.get(model, 0) < SMALL]
    if not small:
        raise NotApplicable("the paper's claim is about models smaller than 6.7b, and there is none", "does not apply")
    family.require_sequences(small)
    counts = {model: {name: family.count(model, kind)[0] for name, kind in _KINDS.items()} for model in small}
    texts = {model: ", ".join(f"{n} {kind}" for kind, n in of.items()) for model, of in counts.items()}
    numbers = family.side_by_side(texts)
    if min(sum(of.values()) for of in counts.values()) < LEAST_OBJECTS:
        return Finding("needs larger models", numbers)
    pairs = [(of["oscillatory"], max(n for kind, n in of.items() if kind != "oscillatory")) for of in counts.values()]
    shares = {model: of_half((n, n + n_other)) for model, (n, n_other) in zip(counts, pairs, strict=True)}
    numbers = family.side_by_side({model: f"{texts[model]}: {shares[model]}" for model in counts})
    return in_all([above_half((n, n + n_other)) for n, n_other in pairs], numbers, show=beside_half)


_KINDS = {"oscillatory": OSCILLATORY, "both extremes": BOTH, "one extreme": ONE, "other": OTHER}


def fade_with_size(family: Family) -> Finding:
    """Kinds that tell where a position lies: oscillatory neurons, and those that switch between both extremes."""
    family.require_sizes()
    family.require_sequences(family.sizes)
    counts = {model: family.count(model, OSCILLATORY | BOTH, POSITIONAL) for model in family.sizes}
    numbers = family.side_by_side({model: f"{k} of {n}, {points(share(k, n))}" for model, (k, n) in counts.items()})
    if min(n for _, n in counts.values()) < LEAST_OBJECTS:
        return Finding("needs larger models", numbers)
    steps = family.by_steps(
        lambda small, large: share_difference(counts[small], counts[large]), in_favour, between="over"
    )
    return Finding(steps.outcome, f"{numbers}; {steps.numbers}", steps.n)


def two_stages(family: Family) -> Finding:
    """The deepest valley between two stages of layers."""
    family.require_sequences(family.sizes)
    intervals, texts = [], {}
    for model in family.sizes:
        if family.count(model, POSITIONAL)[0] < LEAST_OBJECTS:
            texts[model] = f"fewer than {LEAST_OBJECTS} positional neurons"
            continue
        valley = _valley(family, model)
        if valley is None:
            texts[model] = "no layer between two others"
            continue
        layers, one = valley
        intervals.append(one)
        texts[model] = "layer {} over {} under {}, ".format(*layers) + in_favour(one)
    if not intervals:
        return Finding("needs larger models", family.side_by_side(texts))
    return in_all(intervals, family.side_by_side(texts), show=in_favour)


def _valley(family: Family, model: str) -> tuple[tuple[int, int, int], Interval] | None:
    """The deepest valley between a layer of the first third and one of the rest: how far the lower peak is above."""
    layers = sorted(set(family.of_model(model).get_column("layer")))
    first = set(family.of_model(model, FIRST_THIRD).get_column("layer"))
    counts = {layer: family.count(model, POSITIONAL, pl.col("layer") == layer) for layer in layers}
    triples = [
        ((low, between, high), share_difference(min(counts[low], counts[high], key=_share_of), counts[between]))
        for low, between, high in combinations(layers, 3)
        if low in first and high not in first
    ]
    return max(triples, key=lambda one: one[1].value, default=None)


def _share_of(count: tuple[int, int]) -> float:
    return count[0] / count[1]


def _count_or_none(family: Family, model: str, what: pl.Expr, *conditions: pl.Expr) -> tuple[int, int]:
    """As `Family.count`, of which there may be none at all."""
    return (0, 0) if family.of_model(model, *conditions).is_empty() else family.count(model, what, *conditions)


def weaker_later(family: Family) -> Finding:
    """Strong ones among the positional neurons of the first third, over those of the rest."""
    family.require_sequences(family.sizes)
    intervals, texts = [], {}
    for model in family.sizes:
        stages = [_count_or_none(family, model, STRONG, POSITIONAL, stage) for stage in (FIRST_THIRD, REST)]
        texts[model] = " and ".join(f"{k} of {n} strong" for k, n in stages)
        if min(n for _, n in stages) >= LEAST_OBJECTS:
            one = share_difference(*stages)
            intervals.append(one)
            texts[model] += f", {in_favour(one)}"
    if not intervals:
        return Finding("needs larger models", family.side_by_side(texts))
    return in_all(intervals, family.side_by_side(texts), show=in_favour)


def teams(family: Family) -> Finding:
    """Layers whose strong oscillatory neurons cover all positions, none of them twice over."""
    family.require_sequences(family.sizes)
    n = sum(family.count(model, OSCILLATORY & STRONG)[0] for model in family.sizes)
    numbers = f"{n} strong oscillatory neurons in {len(family.sizes)} sizes"
    if n < 2:
        return Finding("needs larger models", numbers)
    is_one = "covered_share = 1 and n_redundant = 0 as is_one"
    several = "team = 'oscillatory' and n_neurons > 1"
    teams = family.view("position_teams", (is_one,), ("model", "layer"), where=several).get_column("is_one")
    numbers += f"; {teams.sum()} of {teams.len()} layers with two or more of them are such teams"
    return Finding("holds" if teams.any() else "does not hold", numbers)


def without_positions(family: Family) -> Finding:
    """Positional neurons without position embeddings."""
    return _smooth_ones(family, "no-position")


def _smooth_ones(family: Family, kind: str) -> Finding:
    """Smooth positional neurons of a variant, which no untrained model has: the control where none of its shape is."""
    model, _ = family.variant(kind)
    family.require_sequences([model])
    n_smooth, n = family.count(model, SMOOTH)
    n_positional = family.count(model, POSITIONAL)[0]
    numbers = (
        f"{family.short(model)}: {n_positional} positional, {n_smooth} of them smooth, {points(share(n_smooth, n))}"
    )
    return if_enough(n_smooth, "holds", numbers)


def strong_without_positions(family: Family) -> Finding:
    """Strong positional neurons without position embeddings."""
    models = family.variant("no-position")
    family.require_sequences(models)
    counts = {model: family.count(model, STRONG, POSITIONAL) for model in models}
    numbers = family.side_by_side({model: f"{k} of {n}, {points(share(k, n))}" for model, (k, n) in counts.items()})
    without, with_positions = (counts[model][0] for model in models)
    if max(without, with_positions) < LEAST_OBJECTS:
        return Finding("needs larger models", numbers)
    return Finding("holds" if without >= LEAST_OBJECTS else "does not hold", numbers)


def generic(family: Family) -> Finding:
    """Patterns that tell where a position lies, with position embeddings over without."""
    without, plain = family.variant("no-position")
    family.require_sequences((without, plain))
    first, second = (family.count(model, BOTH | OSCILLATORY, POSITIONAL) for model in (plain, without))
    oscillatory = [family.count(model, OSCILLATORY)[0] for model in (plain, without)]
    interval = share_difference(first, second)
    numbers = (
        f"{family.short(plain)}: {first[0]} of {first[1]}, {oscillatory[0]} oscillatory; {family.short(without)}:"
        f" {second[0]} of {second[1]}, {oscillatory[1]} oscillatory; {difference(interval)}"
    )
    # That neither has an oscillatory one says nothing of position embeddings.
    if min(first[1], second[1]) < LEAST_OBJECTS or not any(oscillatory):
        return Finding("needs larger models", numbers)
    return decided(interval.is_positive, interval.n, numbers)


def training(family: Family) -> Finding:
    """Oscillatory neurons at the end of training over those at each step."""
    steps, trained = family.steps()
    family.require_sequences((*steps, trained))
    counts = {model: (family.count(model, POSITIONAL)[0], family.count(model, OSCILLATORY)) for model in steps}
    counts[trained] = (family.count(trained, POSITIONAL)[0], family.count(trained, OSCILLATORY))
    numbers = family.side_by_side({model: f"{k} positional, {o[0]} oscillatory" for model, (k, o) in counts.items()})
    intervals = [share_difference(counts[trained][1], counts[model][1]) for model in steps]
    if counts[trained][1][0] < LEAST_OBJECTS:
        return Finding("needs larger models", numbers)
    earlier = [sum(counts[model][1][place] for model in steps) for place in (0, 1)]
    whole = share_difference(counts[trained][1], (earlier[0], earlier[1]))
    return in_all(intervals, numbers, show=difference, whole=whole)


def incoherent(family: Family) -> Finding:
    """Layers count by their positional neurons; their intervals are added as those of independent means."""
    family.require_sequences(family.sizes)
    rows = family.query("claimed_positional_values", _CLAIMED_POSITIONAL_VALUES).to_dicts()
    intervals = {}
    for model in family.sizes:
        of_model = [row for row in rows if row["model"] == model and row["half"] is not None]
        n = sum(row["n"] for row in of_model)
        if n >= LEAST_OBJECTS:
            value = sum(row["n"] * row["difference"] for row in of_model) / n
            half = math.hypot(*(row["n"] * row["half"] / n for row in of_model))
            intervals[model] = Interval(value, value - half, value + half, n)
    if not intervals:
        return Finding("needs larger models", f"fewer than {LEAST_OBJECTS} positional neurons of known coherence")
    return family.in_each(intervals, lambda one: f"{signed(one)}, n = {one.n}")


def without_dead(family: Family) -> Finding:
    """Dead neurons with norms before the blocks over those with norms after them."""
    after, plain = family.variant(POST_NORM)
    counts = [family.count(model, DEAD) for model in (plain, after)]
    interval = share_difference(*counts)
    numbers = (
        f"{family.short(plain)}: {counts[0][0]} of {counts[0][1]:,}; {family.short(after)}: {counts[1][0]} of"
        f" {counts[1][1]:,}; {difference(interval)}"
    )
    if not any(k for k, _ in counts):
        return Finding("needs larger models", numbers)
    if counts[1][0]:
        return Finding("does not hold", numbers)
    return decided(interval.is_positive, interval.n, numbers)


def less_sparse(family: Family) -> Finding:
    """Tokens that cover a neuron with norms after the blocks over those with norms before them."""
    after, plain = family.variant(POST_NORM)
    interval = difference_of_means(*(family.moments(model, "coverage", FIRST_HALF) for model in (after, plain)))
    numbers = f"{family.short(after)} over {family.short(plain)}: {times(interval)}"
    return decided(interval.is_positive, interval.n, numbers)


def positional_after(family: Family) -> Finding:
    """Positional neurons with norms after the blocks."""
    return _smooth_ones(family, POST_NORM)
