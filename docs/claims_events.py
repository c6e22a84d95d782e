"""Which claims of Geva et al. 2022 on sub-updates and events hold on the mini-OPT family, by the paired bootstrap."""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from docs.family import Claim, claims_table, points, said, short
from neurothek import Neurothek
from queries.intervals import Interval, Verdict, all_of, mean, share

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
    models.name as model, sub_updates.example_id,
    avg(case when sub_updates.layer = 0 then score_candidate end) as first,
    avg(case when sub_updates.layer = models.n_layers - 1 then score_candidate end) as last
from store.sub_updates as sub_updates
inner join store.models as models on models.model_id = sub_updates.model_id
where models.family = 'mini-opt' and models.variant is null and sub_updates.kind = 'dominant'
group by models.name, models.n_parameters, sub_updates.example_id
order by models.n_parameters, sub_updates.example_id
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
                "5.1",
                f"Random sub-updates{what} promote the token far less than dominant ones.",
                f"mean absolute score at saturation below {FAR_BELOW:g} of that of dominant ones",
                lambda model, kind=kind: [_far_below(events.against(model, kind))],  # type: ignore[misc]
            )
            for kind, what in (("random", ""), ("random_active", " of active neurons"))
        ),
        _ordering(
            events,
            "5.1",
            "The candidate is promoted more in the last layer than in the first.",
            "mean score of the ten dominant neurons for the token at the top before their FFN, last minus first layer",
            lambda model: [_difference(events.candidates.filter(model=model), "last", "first")],
        ),
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


def _ordering(events: Events, section: str, text: str, rule: str, of: Callable[[str], Sequence[Interval]]) -> Claim:
    """A claim that quantities are above 0 in every size."""
    found = {model: of(model) for model in events.models}
    flat = [one for several in found.values() for one in several]
    numbers = "; ".join(f"{short(model)} {' and '.join(map(_shown, several))}" for model, several in found.items())
    n = sum(several[0].n for several in found.values())
    return Claim(section, text, f"{rule} (bootstrap)", numbers, said(all_of([one.is_positive for one in flat]), n))


def _shown(one: Interval) -> str:
    return f"{one.value:+.3f} [{one.low:+.3f}, {one.high:+.3f}], n = {one.n:,}"


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
