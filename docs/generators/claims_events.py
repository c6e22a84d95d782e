"""Which claims of Geva et al. 2022 on sub-updates and events hold on the mini-OPT family, by the paired bootstrap."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from docs.generators.family import Claim, claims_table, points, said, short
from docs.generators.intervals import Interval, Verdict, all_of, mean, share
from neurothek import Neurothek

NEAR_ZERO = 0.1
"""A mean is near 0 below this share of the mean maximum at saturation [ours]."""

FAR_BELOW = 0.2
"""Absolute scores are far below others under this ratio [ours]."""

SCORES = """
select
    models.name as model, events.example_id, events.kind as event, sub_updates.kind,
    max(case when events.kind = 'saturation' then score_final else score_candidate end)::double as max,
    avg(case when events.kind = 'saturation' then score_final else score_candidate end) as mean,
    avg(abs(case when events.kind = 'saturation' then score_final else score_candidate end)) as size
from store.events as events
inner join store.models as models on models.model_id = events.model_id
inner join store.sub_updates as sub_updates
    on sub_updates.model_id = events.model_id and sub_updates.corpus_id = events.corpus_id
    and sub_updates.example_id = events.example_id and sub_updates.layer = events.layer
where models.family = 'mini-opt' and models.variant is null and events.by_ffn
group by models.name, models.n_parameters, events.example_id, events.kind, sub_updates.kind
order by models.n_parameters, events.example_id
"""

CANDIDATES = """
select
    models.name as model, sub_updates.layer, sub_updates.example_id,
    max(score_candidate)::double as largest, avg(score_candidate) as mean, min(score_candidate)::double as smallest
from store.sub_updates as sub_updates
inner join store.models as models on models.model_id = sub_updates.model_id
inner join measured_corpora as corpora
    on corpora.model_id = sub_updates.model_id and corpora.corpus_id = sub_updates.corpus_id and corpora.is_shown
where models.family = 'mini-opt' and models.variant is null and sub_updates.kind = 'dominant'
group by models.name, models.n_parameters, sub_updates.layer, sub_updates.example_id
order by models.n_parameters, sub_updates.layer, sub_updates.example_id
"""

SATURATION = """
select model, sum(n_saturated)::bigint as n, sum(case when depth > 0.5 then n_saturated else 0 end)::bigint as n_upper
from saturation_by_layer
inner join models using (model)
where models.family = 'mini-opt' and models.variant is null
group by model, models.size
order by models.size
"""


class Events:
    """What the events of the three sizes look like."""

    def __init__(self, warehouse: Neurothek) -> None:
        """Read them from a warehouse."""
        self.scores = warehouse.sql(SCORES)
        self.candidates = warehouse.sql(CANDIDATES)
        self.saturation = warehouse.sql(SATURATION)
        self.models = self.saturation.get_column("model").to_list()

    def at(self, model: str, event: str, kind: str = "dominant") -> pl.DataFrame:
        """One row an event: the largest, the mean, and the mean absolute score."""
        return self.scores.filter(model=model, event=event, kind=kind).select("example_id", "max", "mean", "size")

    def layers(self, model: str) -> dict[int, pl.DataFrame]:
        """Layer -> one row an example: the largest, mean and smallest score for the candidate; in order."""
        parts = self.candidates.filter(model=model).sort("layer").partition_by("layer", maintain_order=True)
        return {int(part["layer"][0]): part for part in parts}

    def both(self, model: str) -> pl.DataFrame:
        """One row an example with both events: those of the elimination end in `_eliminated`."""
        eliminated = self.at(model, "elimination")
        return self.at(model, "saturation").join(eliminated, on="example_id", suffix="_eliminated")

    def against(self, model: str, kind: str) -> pl.DataFrame:
        """One row a saturation: those of the other kind of sub-update end in `_other`."""
        return self.at(model, "saturation").join(self.at(model, "saturation", kind), on="example_id", suffix="_other")


def table(warehouse: Neurothek) -> str:
    """The claims as a table in Markdown."""
    return "\n".join(claims_table(claims(Events(warehouse))))


def claims(events: Events) -> list[Claim]:
    """All claims in the order of the paper."""
    return [
        _settled_late(events),
        _ordering(
            events,
            "5.1",
            "Dominant sub-updates promote the token that saturates.",
            "mean over events of the mean score of the final token above 0",
            lambda model: [_column(events.at(model, "saturation"), "mean")],
        ),
        _ordering(
            events,
            "5.1",
            "They promote it more than they promote a token that is eliminated.",
            "largest score at saturation above that at elimination, over examples with both",
            lambda model: [_difference(events.both(model), "max", "max_eliminated")],
        ),
        _ordering(
            events,
            "5.1",
            "A token is eliminated by promoting others: its own mean score is near 0.",
            f"mean score at elimination within {NEAR_ZERO:g} of the mean largest score at saturation, on either side",
            lambda model: _near_zero(events.both(model)),
        ),
        *(
            _ordering(
                events,
                section,
                f"Random sub-updates{what} promote the token far less than dominant ones.",
                f"mean absolute score at saturation below {FAR_BELOW:g} of that of dominant ones",
                lambda model, kind=kind: [_far_below(events.against(model, kind))],  # type: ignore[misc]
            )
            for kind, section, what in (("random", "5.1", ""), ("random_active", "ours", " of active neurons"))
        ),
        _not_negative(events),
        _spreading(events),
    ]


def _settled_late(events: Events) -> Claim:
    found = {row["model"]: share(row["n_upper"], row["n"]) for row in events.saturation.to_dicts()}
    verdicts: list[Verdict] = [
        "holds" if one.low > 0.5 else "does not hold" if one.high < 0.5 else "undecided" for one in found.values()
    ]
    return Claim(
        "5.1",
        "Most predictions are settled in the upper half of the network (Tables 9, 10).",
        "more than half of the saturation layers above half the depth (Wilson)",
        "; ".join(f"{short(model)} {points(one)}" for model, one in found.items()),
        said(all_of(verdicts), sum(one.n for one in found.values())),
    )


def _not_negative(events: Events) -> Claim:
    found = {
        model: {layer: _column(rows, "mean") for layer, rows in events.layers(model).items()} for model in events.models
    }
    earlier = {model: dict(list(layers.items())[:-1]) for model, layers in found.items()}
    every = [one for layers in earlier.values() for one in layers.values()]
    numbers = "; ".join(
        f"{short(model)} {', '.join(f'{layer}: {_bare(one)}' for layer, one in layers.items())}"
        for model, layers in earlier.items()
    )
    return Claim(
        "5.2",
        "Until the last layers the scores of the candidate lie around a mean that is not negative.",
        "mean score of the ten dominant neurons for the token at the top before their FFN above 0 in every layer but"
        " the last (bootstrap)",
        numbers,
        said(all_of([one.is_positive for one in every]), sum(layers[0].n for layers in earlier.values())),
    )


def _spreading(events: Events) -> Claim:
    """Against the layer before in which the difference is smallest; every one of them has to be above 0."""
    verdicts: list[Verdict] = []
    numbers, n = [], 0
    for model in events.models:
        *earlier, (_, last) = events.layers(model).items()
        wider, lower = ({layer: of(last, rows) for layer, rows in earlier} for of in (_wider, _lower))
        verdicts += [one.is_positive for one in (*wider.values(), *lower.values())]
        largest, smallest = (last.get_column(name).to_numpy().mean() for name in ("largest", "smallest"))
        said_of = ", ".join(
            f"{what} {layer} {_bare(one)}"
            for what, (layer, one) in (("spread over layer", _least(wider)), ("minimum under layer", _least(lower)))
        )
        numbers.append(f"{short(model)} maximum {largest:+.3f}, minimum {smallest:+.3f}: {said_of}")
        n += last.height
    return Claim(
        "5.2",
        "In the last layers the scores spread, and strongly negative minima appear.",
        "last layer against every layer before: mean of the largest minus the smallest score, and mean of the smallest"
        " one (paired bootstrap); the layer nearest to it is named",
        "; ".join(numbers),
        said(all_of(verdicts), n),
    )


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


def _bare(one: Interval) -> str:
    return f"{one.value:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"


def _ordering(events: Events, section: str, text: str, rule: str, of: Callable[[str], Sequence[Interval]]) -> Claim:
    """A claim that quantities are above 0 in every size."""
    found = {model: of(model) for model in events.models}
    flat = [one for several in found.values() for one in several]
    numbers = "; ".join(f"{short(model)} {' and '.join(map(_shown, several))}" for model, several in found.items())
    n = sum(several[0].n for several in found.values())
    return Claim(section, text, f"{rule} (bootstrap)", numbers, said(all_of([one.is_positive for one in flat]), n))


def _shown(one: Interval) -> str:
    return f"{_bare(one)}, n = {one.n:,}"


def _column(rows: pl.DataFrame, name: str) -> Interval:
    return mean(rows.get_column(name).to_list())


def _difference(rows: pl.DataFrame, first: str, second: str) -> Interval:
    return mean((rows.get_column(first) - rows.get_column(second)).to_list())


def _near_zero(rows: pl.DataFrame) -> list[Interval]:
    bound = NEAR_ZERO * rows.get_column("max").to_numpy()
    own = rows.get_column("mean_eliminated").to_numpy()
    return [mean(np.subtract(bound, own).tolist()), mean(np.add(bound, own).tolist())]


def _far_below(rows: pl.DataFrame) -> Interval:
    return mean((FAR_BELOW * rows.get_column("size") - rows.get_column("size_other")).to_list())
