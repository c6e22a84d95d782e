"""The claims of Voita et al. 2023 on positional neurons (section 5)."""

from docs.generators.family import (
    BOTH,
    FIRST_THIRD,
    LEAST_OBJECTS,
    OSCILLATORY,
    POSITIONAL,
    STRONG,
    Claim,
    Minis,
    by_steps,
    difference,
    if_enough,
    majority,
    points,
    said,
    short,
)
from docs.generators.intervals import all_of, share, share_difference


def _are_positional(minis: Minis) -> Claim:
    found = {model: share(*minis.count(model, POSITIONAL)) for model in minis.sizes}
    counts = [minis.count(model, POSITIONAL)[0] for model in minis.sizes]
    return Claim(
        "5.1",
        "Some neurons fire by position rather than by content.",
        f"at least {LEAST_OBJECTS} positional neurons in each size (Wilson)",
        "; ".join(f"{short(model)} {k}, {points(one)}" for k, (model, one) in zip(counts, found.items(), strict=True)),
        "holds" if min(counts) >= LEAST_OBJECTS else "undecided",
    )


def _oscillate(minis: Minis) -> Claim:
    found = {model: minis.count(model, OSCILLATORY, POSITIONAL) for model in minis.sizes}
    return Claim(
        "5.3",
        "In small models most positional neurons are oscillatory.",
        "more than half of the positional neurons of each size (Wilson)",
        "; ".join(f"{short(model)} {k} of {n}, {points(share(k, n))}" for model, (k, n) in found.items()),
        majority(list(found.values())),
    )


def _fade_with_size(minis: Minis) -> Claim:
    numbers, verdict = by_steps(
        minis,
        lambda small, large: share_difference(minis.count(small, POSITIONAL), minis.count(large, POSITIONAL)),
        difference,
    )
    return Claim(
        "5.3",
        "Larger models are less focused on absolute position.",
        "share of positional neurons of each size above that of the next (Newcombe)",
        numbers,
        verdict,
    )


def _first_third(minis: Minis) -> Claim:
    found = {
        model: share_difference(
            minis.count(model, POSITIONAL, FIRST_THIRD), minis.count(model, POSITIONAL, ~FIRST_THIRD)
        )
        for model in minis.sizes
    }
    return Claim(
        "5.3",
        "Positional patterns are stronger in the first third of the network than later.",
        "share of positional neurons in the first third above that of the rest, in each size (Newcombe)",
        "; ".join(f"{short(model)} {difference(one)}" for model, one in found.items()),
        said(all_of([one.is_positive for one in found.values()]), sum(one.n for one in found.values())),
    )


def _teams(minis: Minis) -> Claim:
    n = sum(minis.count(model, OSCILLATORY & STRONG)[0] for model in minis.sizes)
    return Claim(
        "5.3",
        "Strong oscillatory neurons of a layer share all positions among themselves.",
        "a layer with at least 2 strong oscillatory neurons, their ranges covering all positions, none redundant",
        f"{n} strong oscillatory neurons in the three sizes",
        "needs larger models" if n < 2 else _teams_verdict(minis),
    )


def _teams_verdict(minis: Minis) -> str:
    teams = minis.warehouse.sql(
        "select covered_share = 1 and n_redundant = 0 as is_one from position_teams"
        " where list_contains($models, model) and team = 'oscillatory' and n_neurons > 1",
        {"models": minis.sizes},
    )
    return "holds" if any(teams.get_column("is_one")) else "does not hold"


def _without_positions(minis: Minis) -> Claim:
    there, n = minis.count(minis.no_position, POSITIONAL)
    return Claim(
        "5.4",
        "A model without position embeddings has positional neurons too.",
        f"at least {LEAST_OBJECTS} positional neurons (Wilson)",
        f"{short(minis.no_position)} {there}, {points(share(there, n))}",
        "holds" if there >= LEAST_OBJECTS else said("undecided", n),
    )


def _strong_without_positions(minis: Minis) -> Claim:
    models = (minis.no_position, minis.base)
    found = {model: minis.count(model, STRONG, POSITIONAL) for model in models}
    return Claim(
        "5.4",
        "Many of these have strong patterns.",
        f"at least {LEAST_OBJECTS} strong ones in either model (Wilson)",
        "; ".join(f"{short(model)} {k} of {n}, {points(share(k, n))}" for model, (k, n) in found.items()),
        "holds"
        if found[minis.no_position][0] >= LEAST_OBJECTS
        else "does not hold"
        if found[minis.base][0] >= LEAST_OBJECTS
        else "needs larger models",
    )


def _generic(minis: Minis) -> Claim:
    first, second = (minis.count(model, BOTH | OSCILLATORY, POSITIONAL) for model in (minis.base, minis.no_position))
    found = share_difference(first, second)
    return Claim(
        "5.4",
        "Without position embeddings the patterns are more generic: no oscillatory neurons.",
        "oscillatory or both extremes: share among positional neurons higher with position embeddings (Newcombe);"
        " oscillatory alone has no rows to compare",
        f"{short(minis.base)} {first[0]} of {first[1]}, {short(minis.no_position)} {second[0]} of {second[1]}:"
        f" {difference(found)}",
        said(found.is_positive, found.n),
    )


def _training(minis: Minis) -> Claim:
    models = [*minis.steps, minis.base]
    counts = [(minis.count(model, POSITIONAL)[0], minis.count(model, OSCILLATORY)[0]) for model in models]
    told = [f"{short(model)} {k} positional, {o} oscillatory" for model, (k, o) in zip(models, counts, strict=True)]
    trained = minis.count(minis.base, OSCILLATORY)
    found = [share_difference(trained, minis.count(model, OSCILLATORY)) for model in minis.steps]
    return Claim(
        "5.4",
        "Oscillatory neurons appear only with long training.",
        f"at least {LEAST_OBJECTS} at the end, and a larger share of the neurons than at each earlier step (Newcombe)",
        "; ".join(told),
        if_enough(counts[-1][1], all_of([one.is_positive for one in found]), sum(one.n for one in found)),
    )


POSITIONS = (
    _are_positional,
    _oscillate,
    _fade_with_size,
    _first_third,
    _teams,
    _without_positions,
    _strong_without_positions,
    _generic,
    _training,
)
