"""Claims of Geva et al. 2022 on sub-updates and events (section 5), by the paired bootstrap."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from queries.claims.claim import CannotTell, Claim, Finding, decided, points, signed
from queries.claims.family import Family
from queries.claims.intervals import Interval, Verdict, all_of, mean, share

NEAR_ZERO = 0.1
"""A mean is near 0 below this share of the mean maximum at saturation [ours]."""

FAR_BELOW = 0.2
"""Absolute scores are far below others under this ratio [ours]."""


class Events:
    """What the events of the sizes of a family look like."""

    def __init__(self, family: Family) -> None:
        """Read them."""
        self.family = family
        self.scores = family.rows("claimed_event_scores")

    def at(self, model: str, event: str, kind: str = "dominant") -> pl.DataFrame:
        """One row an event: the largest, the mean, and the mean absolute score."""
        return self.scores.filter(model=model, event=event, kind=kind).select("example_id", "max", "mean", "size")

    def both(self, model: str) -> pl.DataFrame:
        """One row an example with both events: those of the elimination end in `_eliminated`."""
        eliminated = self.at(model, "elimination")
        return self.at(model, "saturation").join(eliminated, on="example_id", suffix="_eliminated")

    def against(self, model: str, kind: str) -> pl.DataFrame:
        """One row a saturation: those of the other kind of sub-update end in `_other`."""
        return self.at(model, "saturation").join(self.at(model, "saturation", kind), on="example_id", suffix="_other")


def _settled_late(family: Family) -> Finding:
    rows = family.rows("claimed_saturation").to_dicts()
    if not rows:
        raise CannotTell("no predictions are settled in these models")
    found = {row["model"]: share(row["n_upper"], row["n"]) for row in rows}
    verdicts: list[Verdict] = [
        "holds" if one.low > 0.5 else "does not hold" if one.high < 0.5 else "undecided" for one in found.values()
    ]
    numbers = family.told({model: points(one) for model, one in found.items()})
    return decided(all_of(verdicts), sum(one.n for one in found.values()), numbers)


def _ordering(of: Callable[[Events, str], Sequence[Interval]]) -> Callable[[Family], Finding]:
    """A claim that quantities are above 0 in every size."""

    def judge(family: Family) -> Finding:
        events = Events(family)
        found = {model: of(events, model) for model in family.sizes}
        flat = [one for several in found.values() for one in several]
        numbers = family.told({model: " and ".join(map(_shown, several)) for model, several in found.items()})
        n = sum(several[0].n for several in found.values())
        return decided(all_of([one.is_positive for one in flat]), n, numbers)

    return judge


def _shown(one: Interval) -> str:
    return f"{signed(one)}, n = {one.n:,}"


def _promotes(events: Events, model: str) -> Sequence[Interval]:
    return [_column(events.at(model, "saturation"), "mean")]


def _promotes_more(events: Events, model: str) -> Sequence[Interval]:
    rows = events.both(model)
    return [mean((rows.get_column("max") - rows.get_column("max_eliminated")).to_list())]


def _near_zero(events: Events, model: str) -> Sequence[Interval]:
    rows = events.both(model)
    bound = NEAR_ZERO * rows.get_column("max").to_numpy()
    own = rows.get_column("mean_eliminated").to_numpy()
    return [mean(np.subtract(bound, own).tolist()), mean(np.add(bound, own).tolist())]


def _far_below(kind: str) -> Callable[[Events, str], Sequence[Interval]]:
    def of(events: Events, model: str) -> Sequence[Interval]:
        rows = events.against(model, kind)
        return [mean((FAR_BELOW * rows.get_column("size") - rows.get_column("size_other")).to_list())]

    return of


def _column(rows: pl.DataFrame, name: str) -> Interval:
    return mean(rows.get_column(name).to_list())


def candidates_by_layer(candidates: pl.DataFrame, model: str) -> dict[int, pl.DataFrame]:
    """Layer -> one row an example: the largest, mean and smallest score for the candidate; in order."""
    parts = candidates.filter(model=model).sort("layer").partition_by("layer", maintain_order=True)
    return {int(part["layer"][0]): part for part in parts}


def _not_negative(family: Family) -> Finding:
    candidates = family.rows("claimed_candidates")
    found = {
        model: {
            layer: _column(rows, "mean") for layer, rows in list(candidates_by_layer(candidates, model).items())[:-1]
        }
        for model in family.sizes
    }
    every = [one for layers in found.values() for one in layers.values()]
    numbers = family.told(
        {
            model: ", ".join(f"{layer}: {signed(one)}" for layer, one in layers.items())
            for model, layers in found.items()
        }
    )
    n = sum(next((one.n for one in layers.values()), 0) for layers in found.values())
    return decided(all_of([one.is_positive for one in every]), n, numbers)


def _spreading(family: Family) -> Finding:
    """Against the layer before in which the difference is smallest; every one of them has to be above 0."""
    candidates = family.rows("claimed_candidates")
    verdicts: list[Verdict] = []
    told, n = {}, 0
    for model in family.sizes:
        *earlier, (_, last) = candidates_by_layer(candidates, model).items()
        if not earlier:
            raise CannotTell(f"{model} has a single layer")
        wider, lower = ({layer: of(last, rows) for layer, rows in earlier} for of in (_wider, _lower))
        verdicts += [one.is_positive for one in (*wider.values(), *lower.values())]
        largest, smallest = (last.get_column(name).to_numpy().mean() for name in ("largest", "smallest"))
        said_of = ", ".join(
            f"{what} {layer} {signed(one)}"
            for what, (layer, one) in (("spread over layer", _least(wider)), ("minimum under layer", _least(lower)))
        )
        told[model] = f"maximum {largest:+.3f}, minimum {smallest:+.3f}: {said_of}"
        n += last.height
    return decided(all_of(verdicts), n, family.told(told))


def _wider(last: pl.DataFrame, rows: pl.DataFrame) -> Interval:
    spreads = [_numbers(one, "largest") - _numbers(one, "smallest") for one in (last, rows)]
    return mean((spreads[0] - spreads[1]).tolist())


def _lower(last: pl.DataFrame, rows: pl.DataFrame) -> Interval:
    return mean((_numbers(rows, "smallest") - _numbers(last, "smallest")).tolist())


def _numbers(rows: pl.DataFrame, name: str) -> NDArray[np.float64]:
    """In the order of the examples, which all layers have."""
    return rows.sort("example_id").get_column(name).to_numpy()


def _least(found: Mapping[int, Interval]) -> tuple[int, Interval]:
    return min(found.items(), key=lambda pair: pair[1].value)


def _claim(section: str, text: str, rule: str, shown_in: str, judge: Callable[[Family], Finding]) -> Claim:
    return Claim("geva", section, text, rule, tuple(shown_in.split(", ")), ("events",), judge)


EVENTS: Sequence[Claim] = (
    _claim(
        "5.1",
        "Most predictions are settled in the upper half of the network.",
        "more than half of the saturation layers above half the depth (Wilson)",
        "Table 9, Table 10",
        _settled_late,
    ),
    _claim(
        "5.1",
        "Dominant sub-updates promote the token that saturates.",
        "mean over events of the mean score of the final token above 0 (bootstrap)",
        "Table 4",
        _ordering(_promotes),
    ),
    _claim(
        "5.1",
        "They promote it more than they promote a token that is eliminated.",
        "largest score at saturation above that at elimination, over examples with both (bootstrap)",
        "Table 4",
        _ordering(_promotes_more),
    ),
    _claim(
        "5.1",
        "A token is eliminated by promoting others: its own mean score is near 0.",
        f"mean score at elimination within {NEAR_ZERO:g} of the mean largest score at saturation, on either side"
        " (bootstrap)",
        "Table 4",
        _ordering(_near_zero),
    ),
    _claim(
        "5.1",
        "Random sub-updates promote the token far less than dominant ones.",
        f"mean absolute score at saturation below {FAR_BELOW:g} of that of dominant ones (bootstrap)",
        "Table 4",
        _ordering(_far_below("random")),
    ),
    _claim(
        "ours",
        "Random sub-updates of active neurons promote the token far less than dominant ones.",
        f"mean absolute score at saturation below {FAR_BELOW:g} of that of dominant ones (bootstrap)",
        "Table 4",
        _ordering(_far_below("random_active")),
    ),
    _claim(
        "5.2",
        "Until the last layers the scores of the candidate lie around a mean that is not negative.",
        "mean score of the ten dominant neurons for the token at the top before their FFN above 0 in every layer but"
        " the last (bootstrap)",
        "Figure 3",
        _not_negative,
    ),
    _claim(
        "5.2",
        "In the last layers the scores spread, and strongly negative minima appear.",
        "last layer against every layer before: mean of the largest minus the smallest score, and mean of the smallest"
        " one (paired bootstrap); the layer nearest to it is named",
        "Figure 3",
        _spreading,
    ),
)
