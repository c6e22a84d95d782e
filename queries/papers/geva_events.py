"""Rules for claims of Geva et al. 2022 on sub-updates and events (section 5), by the paired bootstrap."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil

import numpy as np
import polars as pl
from numpy.typing import NDArray

from neurothek.queries.papers.family import Family, with_and_without_first_position
from neurothek.queries.papers.findings import Finding, NotApplicable, above_half, beside_half, in_all, of_half, signed
from neurothek.queries.papers.intervals import Interval, mean, pooled

_CLAIMED_EVENT_SCORES = """\
-- One row per event that an FFN caused and kind of sub-update: the largest, the mean, the smallest and the mean
-- absolute score of ten neurons for the token that the event is about.
select
    models.name as model, events.example_id, events.kind as event, sub_updates.kind,
    max(case when events.kind = 'saturation' then score_final else score_candidate end)::double as max,
    avg(case when events.kind = 'saturation' then score_final else score_candidate end) as mean,
    min(case when events.kind = 'saturation' then score_final else score_candidate end)::double as min,
    avg(abs(case when events.kind = 'saturation' then score_final else score_candidate end)) as size,
    bool_or(array_length(examples.tokens) = 1) as at_first_position,
from store.events as events
inner join store.examples as examples
    on examples.model_id = events.model_id and examples.corpus_id = events.corpus_id
    and examples.example_id = events.example_id
inner join measured_corpora as corpora
    on corpora.model_id = events.model_id and corpora.corpus_id = events.corpus_id and corpora.is_shown
inner join store.models as models on models.model_id = events.model_id
inner join store.sub_updates as sub_updates
    on sub_updates.set_id = events.model_id and sub_updates.corpus_id = events.corpus_id
    and sub_updates.example_id = events.example_id and sub_updates.layer = events.layer
where list_contains($models::varchar[], models.name) and events.by_ffn
group by models.name, models.n_parameters, events.example_id, events.kind, sub_updates.kind
order by models.n_parameters, events.example_id
"""

_CLAIMED_CANDIDATES = """\
-- One row per example and layer: what the ten dominant neurons do to the token at the top before their FFN.
select
    models.name as model, sub_updates.layer, sub_updates.example_id,
    max(score_candidate)::double as largest, avg(score_candidate) as mean, min(score_candidate)::double as smallest,
    bool_or(array_length(examples.tokens) = 1) as at_first_position,
from store.sub_updates as sub_updates
inner join store.examples as examples
    on examples.model_id = sub_updates.set_id and examples.corpus_id = sub_updates.corpus_id
    and examples.example_id = sub_updates.example_id
inner join store.models as models on models.model_id = sub_updates.set_id
inner join measured_corpora as corpora
    on corpora.model_id = sub_updates.set_id and corpora.corpus_id = sub_updates.corpus_id and corpora.is_shown
where list_contains($models::varchar[], models.name) and sub_updates.kind = 'dominant'
group by models.name, models.n_parameters, sub_updates.layer, sub_updates.example_id
order by models.n_parameters, sub_updates.layer, sub_updates.example_id
"""

NEAR_ZERO = 0.1
"""A mean is near 0 below this share of the mean maximum at saturation [ours]."""

FAR_BELOW = 0.2
"""Absolute scores are far below others under this ratio [ours]."""

FAR_ABOVE = 1.25
"""The largest score is far above the smallest one in size from this ratio on, and alike where neither is so [ours]."""

LAST_LAYERS = 8
"""Of so many layers one is among the last, rounded up [ours]."""


class Events:
    """What the events of the sizes of a family look like."""

    def __init__(self, family: Family) -> None:
        """Read them."""
        self.family = family
        self.scores = family.query("claimed_event_scores", _CLAIMED_EVENT_SCORES)

    def at(self, model: str, event: str, kind: str = "dominant") -> pl.DataFrame:
        """One row an event: the largest, the mean, the smallest, and the mean absolute score."""
        of_event = self.scores.filter(model=model, event=event, kind=kind)
        return of_event.select("example_id", "max", "mean", "min", "size")

    def both(self, model: str) -> pl.DataFrame:
        """One row an example with both events: those of the elimination end in `_eliminated`."""
        eliminated = self.at(model, "elimination")
        return self.at(model, "saturation").join(eliminated, on="example_id", suffix="_eliminated")

    def against(self, model: str, kind: str) -> pl.DataFrame:
        """One row a saturation: those of the other kind of sub-update end in `_other`."""
        return self.at(model, "saturation").join(self.at(model, "saturation", kind), on="example_id", suffix="_other")


def settled_late(family: Family) -> Finding:
    """Settled predictions in the upper half of the layers, beside those in the lower half."""
    rows = family.view("saturation_by_layer", ("model", "depth", "n_saturated"), ("size", "layer"))
    if rows.is_empty():
        raise NotApplicable("no predictions are settled in these models")
    upper = pl.col("n_saturated").filter(pl.col("depth") > 0.5).sum().alias("upper")
    sums = rows.group_by("model", maintain_order=True).agg(upper, pl.col("n_saturated").sum())
    counts = {model: (n_upper, n) for model, n_upper, n in sums.iter_rows()}
    numbers = family.side_by_side({model: of_half(count) for model, count in counts.items()})
    return in_all([above_half(count) for count in counts.values()], numbers, show=beside_half)


def ordering(of: Callable[[Events, str], Sequence[Interval]]) -> Callable[[Family], Finding]:
    """A claim that quantities are above 0 in every size; of several of a size the smallest counts."""

    @with_and_without_first_position
    def judge(family: Family) -> Finding:
        events = Events(family)
        intervals = {model: of(events, model) for model in family.sizes}
        texts = {model: " and ".join(map(_sign_text, several)) for model, several in intervals.items()}
        numbers = family.side_by_side(texts)
        return in_all([min(several, key=_value) for several in intervals.values()], numbers, show=signed)

    return judge


def _value(one: Interval) -> float:
    return one.value


def _sign_text(one: Interval) -> str:
    return f"{signed(one)}, n = {one.n:,}"


def promotes(events: Events, model: str) -> Sequence[Interval]:
    """The mean score at saturation."""
    return [_column(events.at(model, "saturation"), "mean")]


def promotes_more(events: Events, model: str) -> Sequence[Interval]:
    """The largest score at saturation over that at elimination, of examples with both."""
    rows = events.both(model)
    return [mean((rows.get_column("max") - rows.get_column("max_eliminated")).to_list())]


def far_above(events: Events, model: str) -> Sequence[Interval]:
    """The largest score at saturation over the size of the smallest."""
    largest, smallest = _ends(events.at(model, "saturation"))
    return [mean((largest - FAR_ABOVE * smallest).tolist())]


def alike_in_size(events: Events, model: str) -> Sequence[Interval]:
    """The largest score at elimination beside the size of the smallest, both ways."""
    largest, smallest = _ends(events.at(model, "elimination"))
    return [mean((FAR_ABOVE * smallest - largest).tolist()), mean((FAR_ABOVE * largest - smallest).tolist())]


def _ends(rows: pl.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest score of each event, and the size of the smallest one."""
    return rows.get_column("max").to_numpy(), np.abs(rows.get_column("min").to_numpy())


def near_zero(events: Events, model: str) -> Sequence[Interval]:
    """The mean score at elimination, within bounds on either side."""
    rows = events.both(model)
    bound = NEAR_ZERO * rows.get_column("max").to_numpy()
    eliminated = rows.get_column("mean_eliminated").to_numpy()
    return [mean(np.subtract(bound, eliminated).tolist()), mean(np.add(bound, eliminated).tolist())]


def far_below(kind: str) -> Callable[[Events, str], Sequence[Interval]]:
    """The scores of another kind of sub-update under those of dominant ones."""

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


def _parted(family: Family) -> dict[str, tuple[dict[int, pl.DataFrame], pl.DataFrame]]:
    """Model -> its layers before the last ones, and the last ones averaged for each example."""
    candidates = family.query("claimed_candidates", _CLAIMED_CANDIDATES)
    parted = {}
    for model in family.sizes:
        layers = candidates_by_layer(candidates, model)
        n_last = ceil(len(layers) / LAST_LAYERS)
        if len(layers) <= n_last:
            raise NotApplicable(f"{model} has a single layer", "does not apply")
        last = _averaged([*layers.values()][-n_last:])
        parted[model] = (dict([*layers.items()][:-n_last]), last)
    return parted


def _averaged(layers: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """One row an example: its scores, averaged over the layers."""
    scores = pl.concat(layers).select("example_id", "largest", "mean", "smallest")
    return scores.group_by("example_id").mean().sort("example_id")


@with_and_without_first_position
def not_negative(family: Family) -> Finding:
    """The mean score in each layer before the last ones."""
    parts: list[Interval] = []
    wholes, texts = [], {}
    for model, (layers, _) in _parted(family).items():
        intervals = {layer: _column(rows, "mean") for layer, rows in layers.items()}
        parts += intervals.values()
        wholes.append(_column(_averaged([*layers.values()]), "mean"))
        texts[model] = f"layer {', '.join(f'{layer}: {signed(one)}' for layer, one in intervals.items())}"
    n = sum(one.n for one in wholes)
    return in_all(parts, family.side_by_side(texts), show=signed, whole=pooled(wholes), n=n)


@with_and_without_first_position
def spreading(family: Family) -> Finding:
    """Against every earlier layer by itself; the whole is the weaker of both quantities, against these together."""
    parts: list[Interval] = []
    wholes: dict[str, list[Interval]] = {"spread": [], "minimum": []}
    texts = {}
    for model, (layers, last) in _parted(family).items():
        wider, lower = ({layer: of(last, rows) for layer, rows in layers.items()} for of in (_wider, _lower))
        earlier = _averaged([*layers.values()])
        wholes["spread"].append(_wider(last, earlier))
        wholes["minimum"].append(_lower(last, earlier))
        parts += [*wider.values(), *lower.values()]
        largest, smallest = (last.get_column(name).to_numpy().mean() for name in ("largest", "smallest"))
        nearest = ", ".join(
            f"{what} {layer}: {signed(one)}"
            for what, (layer, one) in (("spread over layer", _least(wider)), ("minimum under layer", _least(lower)))
        )
        texts[model] = f"maximum {largest:+.3f}, minimum {smallest:+.3f}, {nearest}"
    whole = min((pooled(several) for several in wholes.values()), key=_value)
    n = sum(one.n for one in wholes["spread"])
    return in_all(parts, family.side_by_side(texts), show=signed, whole=whole, n=n)


def _wider(last: pl.DataFrame, rows: pl.DataFrame) -> Interval:
    spreads = [_numbers(one, "largest") - _numbers(one, "smallest") for one in (last, rows)]
    return mean((spreads[0] - spreads[1]).tolist())


def _lower(last: pl.DataFrame, rows: pl.DataFrame) -> Interval:
    return mean((_numbers(rows, "smallest") - _numbers(last, "smallest")).tolist())


def _numbers(rows: pl.DataFrame, name: str) -> NDArray[np.float64]:
    """In the order of the examples, which all layers have."""
    return rows.sort("example_id").get_column(name).to_numpy()


def _least(intervals: Mapping[int, Interval]) -> tuple[int, Interval]:
    return min(intervals.items(), key=lambda pair: pair[1].value)
