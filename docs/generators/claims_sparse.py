"""The claims of Voita et al. 2023 on dead neurons, coverage and detectors (sections 3 and 4)."""

from itertools import pairwise

import polars as pl

from docs.generators.family import (
    DEAD,
    DETECTOR,
    FIRST_HALF,
    LEAST_OBJECTS,
    Claim,
    Minis,
    by_steps,
    difference,
    if_enough,
    points,
    said,
    short,
    with_dead,
)
from docs.generators.intervals import all_of, mean, mean_difference, share, share_difference


def _dead_grow(minis: Minis) -> Claim:
    numbers, verdict = by_steps(
        minis,
        lambda small, large: share_difference(minis.count(large, DEAD), minis.count(small, DEAD)),
        difference,
    )
    seeds = share_difference(minis.count(minis.seed, DEAD), minis.count(minis.sizes[0], DEAD))
    return Claim(
        "3",
        "Larger models have a larger share of dead neurons.",
        "dead share of each size above that of the one below (Newcombe)",
        f"{numbers}; between the two seeds {difference(seeds)}",
        verdict,
    )


def _rarer(minis: Minis) -> Claim:
    def frequencies(model: str) -> list[float]:
        return minis.of(model, ~DEAD).get_column("frequency").to_list()

    numbers, verdict = by_steps(
        minis, lambda small, large: mean_difference(frequencies(small), frequencies(large)), difference
    )
    seeds = mean_difference(frequencies(minis.sizes[0]), frequencies(minis.seed))
    return Claim(
        "3",
        "The neurons of larger models that are alive fire more rarely.",
        "mean frequency of each size above that of the next (bootstrap over neurons)",
        f"{numbers}; between the two seeds {difference(seeds)}",
        verdict,
    )


def _first_half(minis: Minis) -> Claim:
    found = {
        model: share_difference(minis.count(model, DEAD, FIRST_HALF), minis.count(model, DEAD, ~FIRST_HALF))
        for model in with_dead(minis)
    }
    return Claim(
        "3",
        "Dead neurons are in the first half of the network.",
        "dead share of the first half above that of the second, in each size that has dead neurons (Newcombe)",
        "; ".join(f"{short(model)} {difference(one)}" for model, one in found.items()),
        said(all_of([one.is_positive for one in found.values()]), sum(one.n for one in found.values())),
    )


def _second_half(minis: Minis) -> Claim:
    found = {model: share(*minis.count(model, DEAD, ~FIRST_HALF)) for model in with_dead(minis)}
    return Claim(
        "3",
        "The second half is fully alive.",
        "no dead neuron in the second half of any size that has dead ones (Wilson)",
        "; ".join(f"{short(model)} {points(one)}" for model, one in found.items()),
        "holds" if all(one.value == 0 for one in found.values()) else "does not hold",
    )


def _dead_where_rare(minis: Minis) -> Claim:
    found, told = [], []
    for model in with_dead(minis):
        alive = minis.of(model, ~DEAD).group_by("layer").agg(pl.col("frequency"))
        frequencies: dict[int, list[float]] = dict(alive.iter_rows())
        shares = minis.of(model).group_by("layer").agg(DEAD.mean()).sort("is_dead", "layer", descending=[True, False])
        deadest = int(shares.get_column("layer")[0])
        others = {layer: own for layer, own in frequencies.items() if layer != deadest}
        rarest = min(others, key=lambda layer: sum(others[layer]) / len(others[layer]))
        one = mean_difference(others[rarest], frequencies[deadest])
        found.append(one)
        told.append(f"{short(model)} layer {deadest}, the rarest other {rarest}: {difference(one)}")
    return Claim(
        "3",
        "The layers with most dead neurons are those whose other neurons fire most rarely.",
        "mean frequency of the rarest other layer above that of the layer with most dead (bootstrap over neurons)",
        "; ".join(told),
        said(all_of([one.is_positive for one in found]), sum(one.n for one in found)),
    )


def _covered_by_fewer(minis: Minis) -> Claim:
    def sizes(model: str) -> list[float]:
        rows = minis.of(model, FIRST_HALF, pl.col("n_active") >= 100)
        return rows.get_column("unigrams_95").cast(pl.Float64).log10().to_list()

    numbers, verdict = by_steps(
        minis,
        lambda small, large: mean_difference(sizes(small), sizes(large)),
        lambda one: f"{10**one.value:.2f} times [{10**one.low:.2f}, {10**one.high:.2f}]",
    )
    return Claim(
        "4.1",
        "In larger models fewer tokens cover a neuron.",
        "geometric mean of the coverage in the first half, each size over the next: above 1 (bootstrap over neurons)",
        numbers,
        verdict,
    )


def _few_tokens(minis: Minis) -> Claim:
    covered = (pl.col("unigrams_95") <= 5) & (pl.col("n_active") >= 100)
    numbers, verdict = by_steps(
        minis,
        lambda small, large: share_difference(
            minis.count(large, covered, FIRST_HALF, ~DEAD), minis.count(small, covered, FIRST_HALF, ~DEAD)
        ),
        difference,
    )
    largest = share(*minis.count(minis.sizes[-1], covered, FIRST_HALF, ~DEAD))
    return Claim(
        "4.1",
        "In the largest models 1 to 5 tokens cover a substantial part of the neurons.",
        "share of the alive neurons of the first half, each size above the one below (Newcombe)",
        f"{short(minis.sizes[-1])} has {points(largest)}; {numbers}",
        verdict,
    )


def _detectors(minis: Minis) -> Claim:
    found = {model: minis.count(model, DETECTOR) for model in minis.sizes}
    numbers = "; ".join(f"{short(model)} {k} of {n:,}, {points(share(k, n))}" for model, (k, n) in found.items())
    steps = [share_difference(found[large], found[small]) for small, large in pairwise(minis.sizes)]
    return Claim(
        "4.2",
        "There are many token detectors, and more in larger models.",
        f"at least {LEAST_OBJECTS} in the largest size, and each size's share above the one below (Newcombe)",
        numbers,
        if_enough(found[minis.sizes[-1]][0], all_of([one.is_positive for one in steps]), sum(one.n for one in steps)),
    )


def _new_tokens(minis: Minis) -> Claim:
    rows = minis.warehouse.sql(
        "select n_detected, n_new from detected_by_layer where model = $model and n = 1", {"model": minis.sizes[-1]}
    )
    detected, new = (int(rows.get_column(name).sum() or 0) for name in ("n_detected", "n_new"))
    found = share(new, detected)
    return Claim(
        "4.3",
        "Each layer detects mostly tokens that no layer below detects.",
        f"at least {LEAST_OBJECTS} detected tokens, and more than half of them new (Wilson)",
        f"{short(minis.sizes[-1])}: {new} of {detected} detected tokens are new in their layer",
        if_enough(
            detected, "holds" if found.low > 0.5 else "does not hold" if found.high < 0.5 else "undecided", detected
        ),
    )


def _suppress(minis: Minis) -> Claim:
    rows = minis.warehouse.sql(
        "select suppresses, expected from suppression where model = $model", {"model": minis.sizes[-1]}
    )
    pairs = [float(is_so) - expected for is_so, expected in rows.iter_rows()]
    found, observed = mean(pairs), share(sum(rows.get_column("suppresses").to_list()), rows.height)
    return Claim(
        "4.4",
        "Token detectors suppress the tokens that trigger them (over 80%).",
        f"at least {LEAST_OBJECTS} detectors, more of which do so than for equally frequent tokens (paired bootstrap)",
        f"{short(minis.sizes[-1])}: {rows.get_column('suppresses').sum()} of {rows.height} detectors,"
        f" {points(observed)}; over chance {difference(found) if found.n > 1 else 'no interval'}",
        if_enough(rows.height, found.is_positive, rows.height),
    )


def _longer(minis: Minis) -> Claim:
    rows = minis.warehouse.sql(
        "select n, any_value(status) as status, sum(n_detectors) as n_detectors from detectors_by_layer"
        " where model = $model and n > 1 group by n order by n",
        {"model": minis.sizes[-1]},
    )
    names = {2: "bigram", 3: "trigram"}
    told = [
        f"{row['n_detectors']} {names[row['n']]} detectors"
        if row["status"] == "labelled"
        else f"{names[row['n']]}s {row['status']}"
        for row in rows.to_dicts()
    ]
    most = max((int(row["n_detectors"] or 0) for row in rows.to_dicts()), default=0)
    return Claim(
        "4.5, A",
        "Larger models have more detectors of bigrams and trigrams.",
        f"at least {LEAST_OBJECTS} in the largest size",
        f"{short(minis.sizes[-1])}: {', '.join(told)}",
        if_enough(most, "undecided", most),
    )


SPARSE = (
    _dead_grow,
    _rarer,
    _first_half,
    _second_half,
    _dead_where_rare,
    _covered_by_fewer,
    _few_tokens,
    _detectors,
    _new_tokens,
    _suppress,
    _longer,
)
