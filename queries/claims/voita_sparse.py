"""Claims of Voita et al. 2023 on dead neurons, coverage and detectors (sections 3 and 4)."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import polars as pl

from queries.claims.claim import (
    LEAST_OBJECTS,
    CannotTell,
    Claim,
    Finding,
    above_half,
    difference,
    if_enough,
    in_all,
    points,
)
from queries.claims.family import DEAD, DETECTOR, FEW, FIRST_HALF, Family
from queries.claims.intervals import (
    Interval,
    Moments,
    difference_of_means,
    mean,
    share,
    share_difference,
)

_NAMES = {2: "bigram", 3: "trigram"}


def _dead_grow(family: Family) -> Finding:
    found = family.by_steps(
        lambda small, large: share_difference(family.count(large, DEAD), family.count(small, DEAD)), difference
    )
    return _beside_seeds(
        family,
        found,
        lambda plain, seed: difference(share_difference(family.count(seed, DEAD), family.count(plain, DEAD))),
    )


def _rarer(family: Family) -> Finding:
    def apart(common: str, rare: str) -> str:
        return difference(_frequencies_apart(family, common, rare))

    found = family.by_steps(lambda small, large: _frequencies_apart(family, small, large), difference)
    return _beside_seeds(family, found, apart)


def _frequencies_apart(family: Family, common: str, rare: str) -> Interval:
    return difference_of_means(*(family.moments(model, "frequency", ~DEAD) for model in (common, rare)))


def _beside_seeds(family: Family, found: Finding, apart: Callable[[str, str], str]) -> Finding:
    """What was found between sizes, beside the same between two seeds of one size."""
    try:
        seed, plain = family.variant("seed")
        seeds = apart(plain, seed)
    except CannotTell:
        return found
    return Finding(found.outcome, f"{found.numbers}; between two seeds {seeds}", found.n)


def _first_half(family: Family) -> Finding:
    found = {
        model: share_difference(family.count(model, DEAD, FIRST_HALF), family.count(model, DEAD, ~FIRST_HALF))
        for model in family.with_dead()
    }
    return family.in_each(found, difference)


def _second_half(family: Family) -> Finding:
    found = {model: share(*family.count(model, DEAD, ~FIRST_HALF)) for model in family.with_dead()}
    numbers = family.told({model: points(one) for model, one in found.items()})
    return Finding("holds" if all(one.value == 0 for one in found.values()) else "does not hold", numbers)


def _dead_where_rare(family: Family) -> Finding:
    found, told = [], {}
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
        found.append(one)
        told[model] = f"layer {deadest}, the rarest other {rarest}: {difference(one)}"
    return in_all(found, family.told(told), show=difference)


def _covered_by_fewer(family: Family) -> Finding:
    def coverage(model: str) -> Moments:
        return family.moments(model, "coverage", FIRST_HALF)

    return family.by_steps(
        lambda small, large: difference_of_means(coverage(small), coverage(large)),
        lambda one: f"{10**one.value:.2f} times [{10**one.low:.2f}, {10**one.high:.2f}]",
    )


def _few_tokens(family: Family) -> Finding:
    def covered(model: str) -> tuple[int, int]:
        return family.count(model, FEW, FIRST_HALF, _alive(family, model))

    found = family.by_steps(lambda small, large: share_difference(covered(large), covered(small)), difference)
    largest = family.sizes[-1]
    return Finding(
        found.outcome, f"{family.short(largest)} has {points(share(*covered(largest)))}; {found.numbers}", found.n
    )


def _alive(family: Family, model: str) -> pl.Expr:
    """Neurons that are not dead; all, where none can be."""
    known = family.of_model(model).get_column("is_dead").null_count() == 0
    return ~DEAD if known else pl.lit(value=True)


def _detectors(family: Family) -> Finding:
    found = {model: family.count(model, DETECTOR) for model in family.sizes}
    family.require_sizes()
    numbers = family.told({model: f"{k} of {n:,}, {points(share(k, n))}" for model, (k, n) in found.items()})
    steps = [share_difference(found[large], found[small]) for small, large in pairwise(family.sizes)]
    largest = found[family.sizes[-1]][0]
    if largest < LEAST_OBJECTS:
        return Finding("needs larger models", numbers)
    whole = share_difference(found[family.sizes[-1]], found[family.sizes[0]])
    return in_all(steps, numbers, show=difference, whole=whole)


def _new_tokens(family: Family) -> Finding:
    largest = family.sizes[-1]
    (row,) = family.rows("claimed_detected", [largest]).to_dicts() or [{"n_detected": 0, "n_new": 0}]
    detected, new = int(row["n_detected"] or 0), int(row["n_new"] or 0)
    verdict = above_half((new, detected)).is_positive
    numbers = f"{family.short(largest)}: {new} of {detected} detected tokens are new in their layer"
    return if_enough(detected, verdict, numbers)


def _suppress(family: Family) -> Finding:
    largest = family.sizes[-1]
    rows = family.rows("claimed_suppression", [largest])
    over_chance = mean([float(is_so) - expected for is_so, expected in rows.iter_rows()])
    k = int(rows.get_column("suppresses").sum())
    numbers = (
        f"{family.short(largest)}: {k} of {rows.height} detectors, {points(share(k, rows.height))};"
        f" over chance {difference(over_chance) if over_chance.n > 1 else 'no interval'}"
    )
    return if_enough(rows.height, over_chance.is_positive, numbers)


def _longer(family: Family) -> Finding:
    family.require_sizes()
    rows = family.rows("claimed_ngram_detectors").to_dicts()
    counts = {(row["model"], row["n"]): row for row in rows if row["status"] == "labelled"}
    told = {model: ", ".join(_of_length(row) for row in rows if row["model"] == model) for model in family.sizes}
    most = max((int(row["n_detectors"] or 0) for key, row in counts.items() if key[0] == family.sizes[-1]), default=0)
    if most < LEAST_OBJECTS:
        return Finding("needs larger models", family.told(told))
    smallest, *_, largest = family.sizes
    parts = [_more(counts, n, *pair) for n in _NAMES for pair in pairwise(family.sizes)]
    # Bigrams and trigrams are of the same neurons: the whole is the length with the weaker case.
    ends = [one for n in _NAMES if (one := _more(counts, n, smallest, largest)) is not None]
    return in_all(
        [one for one in parts if one is not None],
        family.told(told),
        show=difference,
        whole=min(ends, key=lambda one: one.low, default=None),
    )


def _more(counts: Mapping[tuple[str, int], Mapping[str, int]], n: int, small: str, large: str) -> Interval | None:
    """By how much the share of detectors of n-grams is larger in the larger model; None where one is not labelled."""
    rows = [counts.get((model, n)) for model in (large, small)]
    first, second = ((row["n_detectors"], row["n_neurons"]) if row else None for row in rows)
    return share_difference(first, second) if first and second else None


def _of_length(row: dict[str, object]) -> str:
    name = _NAMES[int(str(row["n"]))]
    return f"{row['n_detectors']} {name} detectors" if row["status"] == "labelled" else f"{name}s {row['status']}"


def _claim(
    section: str, text: str, rule: str, judge: Callable[[Family], Finding], *, shown_in: str, jobs: str
) -> Claim:
    return Claim("voita", section, text, rule, tuple(shown_in.split(", ")), tuple(jobs.split()), judge)


SPARSE: Sequence[Claim] = (
    _claim(
        "3",
        "Larger models have a larger share of dead neurons.",
        "dead share of each size above that of the one below (Newcombe)",
        _dead_grow,
        shown_in="Figure 1",
        jobs="activity",
    ),
    _claim(
        "3",
        "The neurons of larger models that are alive fire more rarely.",
        "mean frequency of each size above that of the next (normal interval over neurons)",
        _rarer,
        shown_in="Figure 1",
        jobs="activity",
    ),
    _claim(
        "3",
        "Dead neurons are in the first half of the network.",
        "dead share of the first half above that of the second, in each size that has dead neurons (Newcombe)",
        _first_half,
        shown_in="Figure 1",
        jobs="activity",
    ),
    _claim(
        "3",
        "The second half is fully alive.",
        "no dead neuron in the second half of any size that has dead ones (Wilson)",
        _second_half,
        shown_in="Figure 1",
        jobs="activity",
    ),
    _claim(
        "3",
        "The layers with most dead neurons are those whose other neurons fire most rarely.",
        "mean frequency of the rarest other layer above that of the layer with most dead (normal interval)",
        _dead_where_rare,
        shown_in="Figure 1",
        jobs="activity",
    ),
    _claim(
        "4.1",
        "In larger models fewer tokens cover a neuron.",
        "geometric mean of the coverage in the first half, each size over the next: above 1 (normal interval)",
        _covered_by_fewer,
        shown_in="Figure 2, Figure 12, Figure 13",
        jobs="activity ngrams",
    ),
    _claim(
        "4.1",
        "In the largest models 1 to 5 tokens cover a substantial part of the neurons.",
        "share of the alive neurons of the first half, each size above the one below (Newcombe)",
        _few_tokens,
        shown_in="Figure 2",
        jobs="activity ngrams",
    ),
    _claim(
        "4.2",
        "There are many token detectors, and more in larger models.",
        f"at least {LEAST_OBJECTS} in the largest size, and each size's share above the one below (Newcombe)",
        _detectors,
        shown_in="Figure 3",
        jobs="projections activity ngrams",
    ),
    _claim(
        "4.3",
        "Each layer detects mostly tokens that no layer below detects.",
        f"at least {LEAST_OBJECTS} detected tokens, and more than half of them new (Wilson)",
        _new_tokens,
        shown_in="Figure 4",
        jobs="projections activity ngrams",
    ),
    _claim(
        "4.4",
        "Token detectors suppress the tokens that trigger them (over 80%).",
        f"at least {LEAST_OBJECTS} detectors, more of which do so than for equally frequent tokens (paired bootstrap)",
        _suppress,
        shown_in="Figure 5, Figure 6",
        jobs="projections activity ngrams",
    ),
    _claim(
        "4.5, A",
        "Larger models have more detectors of bigrams and trigrams.",
        f"at least {LEAST_OBJECTS} in the largest size, and each size's share above the one below (Newcombe)",
        _longer,
        shown_in="Figure 14, Figure 15",
        jobs="projections activity ngrams",
    ),
)
