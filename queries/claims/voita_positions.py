"""Claims of Voita et al. 2023 on positional neurons (section 5), and on norms after the blocks (section 6)."""

import math
from collections.abc import Callable, Sequence

from queries.claims.claim import (
    LEAST_OBJECTS,
    Claim,
    Finding,
    above_half,
    decided,
    difference,
    if_enough,
    in_all,
    points,
    signed,
)
from queries.claims.family import (
    BOTH,
    DEAD,
    FIRST_HALF,
    FIRST_THIRD,
    OSCILLATORY,
    POSITIONAL,
    STRONG,
    Family,
)
from queries.claims.intervals import Interval, share, share_difference


def _are_positional(family: Family) -> Finding:
    family.require_sequences(family.sizes)
    counts = {model: family.count(model, POSITIONAL) for model in family.sizes}
    numbers = family.told({model: f"{k}, {points(share(k, n))}" for model, (k, n) in counts.items()})
    return if_enough(min(k for k, _ in counts.values()), "holds", numbers)


def _oscillate(family: Family) -> Finding:
    family.require_sequences(family.sizes)
    found = {model: family.count(model, OSCILLATORY, POSITIONAL) for model in family.sizes}
    numbers = family.told({model: f"{k} of {n}, {points(share(k, n))}" for model, (k, n) in found.items()})
    if min(n for _, n in found.values()) < LEAST_OBJECTS:
        return Finding("needs larger models", numbers)
    return in_all([above_half(count) for count in found.values()], numbers, show=difference)


def _fade_with_size(family: Family) -> Finding:
    family.require_sequences(family.sizes)
    return family.by_steps(
        lambda small, large: share_difference(family.count(small, POSITIONAL), family.count(large, POSITIONAL)),
        difference,
    )


def _first_third(family: Family) -> Finding:
    family.require_sequences(family.sizes)
    found = {
        model: share_difference(
            family.count(model, POSITIONAL, FIRST_THIRD), family.count(model, POSITIONAL, ~FIRST_THIRD)
        )
        for model in family.sizes
    }
    return family.in_each(found, difference)


def _teams(family: Family) -> Finding:
    family.require_sequences(family.sizes)
    n = sum(family.count(model, OSCILLATORY & STRONG)[0] for model in family.sizes)
    numbers = f"{n} strong oscillatory neurons in {len(family.sizes)} sizes"
    if n < 2:
        return Finding("needs larger models", numbers)
    teams = family.rows("claimed_teams").get_column("is_one")
    numbers += f"; {teams.sum()} of {teams.len()} layers with two or more of them are such teams"
    return Finding("holds" if teams.any() else "does not hold", numbers)


def _without_positions(family: Family) -> Finding:
    model, _ = family.variant("no-position")
    family.require_sequences([model])
    there, n = family.count(model, POSITIONAL)
    numbers = f"{family.short(model)} {there}, {points(share(there, n))}"
    return if_enough(there, "holds", numbers)


def _strong_without_positions(family: Family) -> Finding:
    models = family.variant("no-position")
    family.require_sequences(models)
    found = {model: family.count(model, STRONG, POSITIONAL) for model in models}
    numbers = family.told({model: f"{k} of {n}, {points(share(k, n))}" for model, (k, n) in found.items()})
    without, with_positions = (found[model][0] for model in models)
    if max(without, with_positions) < LEAST_OBJECTS:
        return Finding("needs larger models", numbers)
    return Finding("holds" if without >= LEAST_OBJECTS else "does not hold", numbers)


def _generic(family: Family) -> Finding:
    without, plain = family.variant("no-position")
    family.require_sequences((without, plain))
    first, second = (family.count(model, BOTH | OSCILLATORY, POSITIONAL) for model in (plain, without))
    found = share_difference(first, second)
    numbers = (
        f"{family.short(plain)} {first[0]} of {first[1]}, {family.short(without)} {second[0]} of {second[1]}:"
        f" {difference(found)}"
    )
    if min(first[1], second[1]) < LEAST_OBJECTS:
        return Finding("needs larger models", numbers)
    return decided(found.is_positive, found.n, numbers)


def _training(family: Family) -> Finding:
    steps, trained = family.steps()
    family.require_sequences((*steps, trained))
    counts = {model: (family.count(model, POSITIONAL)[0], family.count(model, OSCILLATORY)) for model in steps}
    counts[trained] = (family.count(trained, POSITIONAL)[0], family.count(trained, OSCILLATORY))
    numbers = family.told({model: f"{k} positional, {o[0]} oscillatory" for model, (k, o) in counts.items()})
    found = [share_difference(counts[trained][1], counts[model][1]) for model in steps]
    if counts[trained][1][0] < LEAST_OBJECTS:
        return Finding("needs larger models", numbers)
    earlier = [sum(counts[model][1][place] for model in steps) for place in (0, 1)]
    whole = share_difference(counts[trained][1], (earlier[0], earlier[1]))
    return in_all(found, numbers, show=difference, whole=whole)


def _incoherent(family: Family) -> Finding:
    """Layers count by their positional neurons; their intervals are added as those of independent means."""
    family.require_sequences(family.sizes)
    rows = family.rows("claimed_positional_values").to_dicts()
    found = {}
    for model in family.sizes:
        own = [row for row in rows if row["model"] == model and row["half"] is not None]
        n = sum(row["n"] for row in own)
        if n >= LEAST_OBJECTS:
            value = sum(row["n"] * row["difference"] for row in own) / n
            half = math.hypot(*(row["n"] * row["half"] / n for row in own))
            found[model] = Interval(value, value - half, value + half, n)
    if not found:
        return Finding("needs larger models", f"fewer than {LEAST_OBJECTS} positional neurons of known coherence")
    return family.in_each(found, lambda one: f"{signed(one)}, n = {one.n}")


def _norms_after(family: Family) -> Finding:
    after, plain = family.variant("post-norm")
    found = {}
    for half, rows in (("first half", FIRST_HALF), ("second half", ~FIRST_HALF)):
        found[half] = share_difference(family.count(plain, DEAD, rows), family.count(after, DEAD, rows))
    numbers = f"{family.short(plain)} over {family.short(after)}: " + "; ".join(
        f"{half} {difference(one)}" for half, one in found.items()
    )
    n = sum(one.n for one in found.values())
    apart = [one for one in found.values() if one.is_positive != "undecided"]
    return decided("holds" if apart else "undecided", n, numbers)


def _claim(section: str, text: str, rule: str, shown_in: str, judge: Callable[[Family], Finding]) -> Claim:
    return Claim("voita", section, text, rule, (shown_in,), ("activity", "positions"), judge)


POSITIONS: Sequence[Claim] = (
    _claim(
        "5.1",
        "Some neurons fire by position rather than by content.",
        f"at least {LEAST_OBJECTS} positional neurons in each size (Wilson)",
        "Figure 7",
        _are_positional,
    ),
    _claim(
        "5.3",
        "In small models most positional neurons are oscillatory.",
        "more than half of the positional neurons of each size (Wilson)",
        "Figure 8",
        _oscillate,
    ),
    _claim(
        "5.3",
        "Larger models are less focused on absolute position.",
        "share of positional neurons of each size above that of the next (Newcombe)",
        "Figure 8",
        _fade_with_size,
    ),
    _claim(
        "5.3",
        "Positional neurons are more frequent in the first third of the network than later.",
        "share of positional neurons in the first third above that of the rest, in each size (Newcombe)",
        "Figure 8",
        _first_third,
    ),
    _claim(
        "5.3",
        "Strong oscillatory neurons of a layer share all positions among themselves.",
        "a layer with at least 2 strong oscillatory neurons, their ranges covering all positions, none redundant",
        "Figure 9",
        _teams,
    ),
    _claim(
        "5.4",
        "A model without position embeddings has positional neurons too.",
        f"at least {LEAST_OBJECTS} positional neurons (Wilson)",
        "Figure 10",
        _without_positions,
    ),
    _claim(
        "5.4",
        "Many of these have strong patterns.",
        f"at least {LEAST_OBJECTS} strong ones without them; nothing is said where neither model has so many",
        "Figure 10",
        _strong_without_positions,
    ),
    _claim(
        "5.4",
        "Without position embeddings the patterns are more generic: no oscillatory neurons.",
        "oscillatory or both extremes: share among positional neurons higher with position embeddings (Newcombe);"
        " oscillatory alone has no rows to compare",
        "Figure 10",
        _generic,
    ),
    _claim(
        "5.4",
        "Oscillatory neurons appear only with long training.",
        f"at least {LEAST_OBJECTS} at the end, and a larger share of the neurons than at each earlier step (Newcombe)",
        "Figure 11",
        _training,
    ),
    Claim(
        "voita",
        "5.5",
        "The value vectors of positional neurons do not promote tokens that belong together.",
        "mean coherence of the other neurons of their layers above theirs, in each size with ten of them (normal)",
        ("Section 5.5",),
        ("projections", "controls", "activity", "positions"),
        _incoherent,
    ),
    _claim(
        "6",
        "Norms after the blocks change where a model has dead neurons.",
        "dead share of either half differs from that of the model of as many neurons with norms before them (Newcombe)",
        "Section 6",
        _norms_after,
    ),
)
