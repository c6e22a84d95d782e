"""Rules for claims of Voita et al. 2023 on dead neurons, coverage and detectors (sections 3 and 4)."""

import math
from collections.abc import Callable, Mapping
from itertools import pairwise

import polars as pl

from neurothek.queries.papers.family import DEAD, DETECTOR, FEW, FIRST_HALF, SMALL, Family
from neurothek.queries.papers.findings import (
    LEAST_OBJECTS,
    Finding,
    NotApplicable,
    above_half,
    decided,
    difference,
    in_all,
    in_favour,
    of_half,
    points,
    times,
)
from neurothek.queries.papers.intervals import (
    Interval,
    Moments,
    all_of,
    difference_of_means,
    mean,
    over,
    share,
    share_difference,
)
from neurothek.queries.rules.word_forms import are_one_word
from neurothek.queries.views.contents import thresholds

_NAMES = {2: "bigram", 3: "trigram"}

SUBSTANTIAL = 0.05
"""The paper's "substantial proportion" of the neurons is at least so much [ours]."""

SUPPRESSING = 0.8
"""The paper: "over 80% of token-detecting neurons"."""

_LEAST_FREQUENT_SHARE = thresholds("corpus_ngrams")["least_frequent_share"]


def dead_grow(family: Family) -> Finding:
    """Dead shares from size to size."""

    def apart(plain: str, seed: str) -> str:
        (k, n), (k_seed, n_seed) = (family.count(model, DEAD) for model in (plain, seed))
        counts = f"{k:,} of {n:,} and {k_seed:,} of {n_seed:,}"
        return f"{counts}, {difference(share_difference((k_seed, n_seed), (k, n)))}" if k or k_seed else counts

    finding = family.by_steps(
        lambda small, large: share_difference(family.count(large, DEAD), family.count(small, DEAD)), difference
    )
    return _beside_seeds(family, finding, apart)


def rarer(family: Family) -> Finding:
    """Frequencies of neurons that are alive from size to size."""

    def apart(plain: str, seed: str) -> str:
        means = (f"{family.moments(model, 'frequency', ~DEAD).mean:.2%}" for model in (plain, seed))
        return f"{' and '.join(means)}, {difference(_frequencies_apart(family, seed, plain))}"

    finding = family.by_steps(lambda small, large: _frequencies_apart(family, small, large), in_favour, between="over")
    return _beside_seeds(family, finding, apart)


def _frequencies_apart(family: Family, common: str, rare: str) -> Interval:
    return difference_of_means(*(family.moments(model, "frequency", ~DEAD) for model in (common, rare)))


def _beside_seeds(family: Family, finding: Finding, apart: Callable[[str, str], str]) -> Finding:
    """What was found between sizes, beside the same between two seeds of one size."""
    try:
        seed, plain = family.variant("seed")
        seeds = f"{family.short(plain)}: {apart(plain, seed)}"
    except NotApplicable:
        return finding
    return Finding(finding.outcome, f"{finding.numbers}; between two seeds of {seeds}", finding.n)


def first_half(family: Family) -> Finding:
    """Dead shares of the first half of the layers over those of the second."""
    intervals = {
        model: share_difference(family.count(model, DEAD, FIRST_HALF), family.count(model, DEAD, ~FIRST_HALF))
        for model in family.with_dead()
    }
    return family.in_each(intervals, in_favour)


def second_half(family: Family) -> Finding:
    """Dead neurons in the second half of the layers."""
    shares = {model: share(*family.count(model, DEAD, ~FIRST_HALF)) for model in family.with_dead()}
    numbers = family.side_by_side({model: points(one) for model, one in shares.items()})
    return Finding("holds" if all(one.value == 0 for one in shares.values()) else "does not hold", numbers)


def dead_where_rare(family: Family) -> Finding:
    """How rarely neurons fire in the layer with most dead ones, beside the rarest other layer."""
    intervals, texts = [], {}
    for model in family.with_dead():
        layers = sorted(set(family.of_model(model).get_column("layer")))
        dead = {layer: share(*family.count(model, DEAD, pl.col("layer") == layer)).value for layer in layers}
        alive = {layer: family.moments(model, "frequency", ~DEAD, pl.col("layer") == layer) for layer in layers}
        deadest = max(layers, key=lambda layer: (dead[layer], -layer))
        others = [layer for layer in layers if layer != deadest and alive[layer].n]
        if not others:
            continue
        rarest = min(others, key=lambda layer: alive[layer].mean)
        one = difference_of_means(alive[rarest], alive[deadest])
        intervals.append(one)
        texts[model] = f"layer {deadest}, the rarest other {rarest}: {in_favour(one)}"
    return in_all(intervals, family.side_by_side(texts), show=in_favour)


def covered_by_fewer(family: Family) -> Finding:
    """Tokens that cover a neuron of the first half from size to size."""

    def coverage(model: str) -> Moments:
        return family.moments(model, "coverage", FIRST_HALF)

    return family.by_steps(
        lambda small, large: difference_of_means(coverage(small), coverage(large)), times, between="over"
    )


def few_tokens(family: Family) -> Finding:
    """Neurons of the first half that few tokens cover, of those that fire often enough to tell, in a large model."""
    counts = {model: family.count(model, FEW, FIRST_HALF, FEW.is_not_null()) for model in family.sizes}
    numbers = family.side_by_side({model: f"{k} of {n:,}, {points(share(k, n))}" for model, (k, n) in counts.items()})
    largest = family.sizes[-1]
    if family.n_parameters.get(largest, 0) < SMALL:
        return Finding("needs larger models", numbers)
    if counts[largest][0] < LEAST_OBJECTS:
        return family.too_few(largest, numbers)
    return decided(over(share(*counts[largest]), SUBSTANTIAL).is_positive, counts[largest][1], numbers)


def detectors(family: Family) -> Finding:
    """Token detectors from size to size."""
    counts = {model: family.count(model, DETECTOR) for model in family.sizes}
    family.require_sizes()
    numbers = family.side_by_side({model: f"{k} of {n:,}, {points(share(k, n))}" for model, (k, n) in counts.items()})
    steps = [share_difference(counts[large], counts[small]) for small, large in pairwise(family.sizes)]
    if counts[family.sizes[-1]][0] < LEAST_OBJECTS:
        return family.too_few(family.sizes[-1], numbers)
    whole = share_difference(counts[family.sizes[-1]], counts[family.sizes[0]])
    return in_all(steps, numbers, show=difference, whole=whole)


def groups(family: Family) -> Finding:
    """Detectors of several tokens, of which these are forms of one word."""
    largest = family.sizes[-1]
    rows = family.view("token_detectors", ("detected_tokens",), ("layer", "neuron"), models=[largest])
    groups = rows.get_column("detected_tokens").to_list()
    several = [tokens for tokens in groups if len(tokens) > 1]
    alike = sum(are_one_word(tokens) for tokens in several)
    numbers = (
        f"{family.short(largest)}: {len(several)} of {len(groups)} detectors have several tokens, of one word in"
        f" {of_half((alike, len(several)))}"
    )
    if len(several) < LEAST_OBJECTS:
        return family.too_few(largest, numbers)
    return decided(above_half((alike, len(several))).is_positive, len(several), numbers)


def new_tokens(family: Family) -> Finding:
    """The first layer that detects anything is left out: all that it detects is new."""
    largest = family.sizes[-1]
    columns, detect = ("layer", "n_detected", "n_new"), "n = 1 and n_detected > 0"
    of_layers = family.view("detected_by_layer", columns, ("layer",), where=detect, models=[largest]).to_dicts()
    following = [(int(row["n_new"]), int(row["n_detected"])) for row in of_layers[1:]]
    new, detected = (sum(count[place] for count in following) for place in (0, 1))
    counts = ", ".join(f"layer {row['layer']}: {row['n_new']} of {row['n_detected']}" for row in of_layers)
    numbers = f"{family.short(largest)}, {counts or 'no layer detects any'}"
    if detected < LEAST_OBJECTS:
        return family.too_few(largest, numbers)
    parts = [above_half(count) for count in following]
    return in_all(parts, numbers, show=lambda _: of_half((new, detected)), whole=above_half((new, detected)))


def suppress(family: Family) -> Finding:
    """Detectors that suppress what triggers them, beside chance."""
    largest = family.sizes[-1]
    rows = family.view("suppression", ("suppresses", "expected"), ("layer", "neuron"), models=[largest])
    over_chance = mean([float(is_so) - expected for is_so, expected in rows.iter_rows()])
    k, chance = int(rows.get_column("suppresses").sum()), mean(rows.get_column("expected").to_list()).value
    numbers = (
        f"{family.short(largest)}: {k} of {rows.height} detectors, {points(share(k, rows.height))}; chance"
        f" {'unknown' if math.isnan(chance) else f'{chance:.1%}'}, over it"
        f" {difference(over_chance) if over_chance.n > 1 else 'no interval'}"
    )
    if rows.height < LEAST_OBJECTS:
        return family.too_few(largest, numbers)
    is_most = over(share(k, rows.height), SUPPRESSING).is_positive
    return decided(all_of([is_most, over_chance.is_positive]), rows.height, numbers)


def longer(family: Family) -> Finding:
    """Detectors of bigrams and trigrams from size to size."""
    family.require_sizes()
    columns = ("model", "n", "status", "n_detectors", "n_neurons")
    of_layers = family.view("detectors_by_layer", columns, ("n", "model", "layer"), where="n > 1")
    of_models = of_layers.group_by("model", "n", maintain_order=True)
    rows = of_models.agg(pl.col("status").first(), pl.col("n_detectors", "n_neurons").sum()).to_dicts()
    counts = {(row["model"], row["n"]): row for row in rows if row["status"] == "labelled"}
    texts = {model: ", ".join(_of_length(row) for row in rows if row["model"] == model) for model in family.sizes}
    most = max((int(row["n_detectors"] or 0) for key, row in counts.items() if key[0] == family.sizes[-1]), default=0)
    unlabelled = [n for n in _NAMES if (family.sizes[-1], n) not in counts]
    if most < LEAST_OBJECTS and unlabelled:
        return Finding("needs more text", f"{family.side_by_side(texts)}; {_tokens_for(family, unlabelled[0])}")
    if most < LEAST_OBJECTS:
        return family.too_few(family.sizes[-1], family.side_by_side(texts))
    smallest, *_, largest = family.sizes
    parts = [_more(counts, n, *pair) for n in _NAMES for pair in pairwise(family.sizes)]
    # Bigrams and trigrams are of the same neurons: the whole is the length with the weaker case.
    ends = [one for n in _NAMES if (one := _more(counts, n, smallest, largest)) is not None]
    return in_all(
        [one for one in parts if one is not None],
        family.side_by_side(texts),
        show=difference,
        whole=min(ends, key=lambda one: one.low, default=None),
    )


def _tokens_for(family: Family, n: int) -> str:
    """How much text of the kind would let n-grams be labelled.

    In twice the text an n-gram occurs about twice as often, so that the share of positions that n-grams seen ten times
    hold is what those seen five times hold now; from there on each doubling is taken to add as much [ours].
    """
    largest = family.sizes[-1]
    rows = family.view(
        "detectors_by_minimum",
        ("n", "least_occurrences", "frequent_share"),
        ("n", "least_occurrences"),
        where="least_occurrences in (5, 10)",
        models=[largest],
    )
    shares = dict(rows.filter(n=n).select("least_occurrences", "frequent_share").iter_rows())
    step = shares[5] - shares[10]
    held = (
        f"{_NAMES[n]}s seen ten times hold {shares[10]:.0%} of the positions, and it takes {_LEAST_FREQUENT_SHARE:.0%}"
    )
    if step <= 0:
        return held
    doublings = 1 + max(0, math.ceil((_LEAST_FREQUENT_SHARE - shares[5]) / step))
    return f"{held}: about {family.texts[largest]['n_tokens'] * 2**doublings:,} tokens would do"


def _more(counts: Mapping[tuple[str, int], Mapping[str, int]], n: int, small: str, large: str) -> Interval | None:
    """By how much the share of detectors of n-grams is larger in the larger model; None where one is not labelled."""
    rows = [counts.get((model, n)) for model in (large, small)]
    first, second = ((row["n_detectors"], row["n_neurons"]) if row else None for row in rows)
    return share_difference(first, second) if first and second else None


def _of_length(row: dict[str, object]) -> str:
    name = _NAMES[int(str(row["n"]))]
    return f"{row['n_detectors']} {name} detectors" if row["status"] == "labelled" else f"{name}s {row['status']}"
