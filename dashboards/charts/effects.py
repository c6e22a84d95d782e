"""Charts of interventions: effects on the range of their random sets, worth by model size, attributes of texts."""

from collections.abc import Mapping, Sequence
from json import dumps

import altair as alt
import polars as pl

from neurothek.dashboards.charts.axes import HEIGHT

GREY = "#8a8a8a"
"""Random neurons, to be read on white and on black."""

_ROW, _NESTED_ROW, _FRAME = 28, 19, 80
"""Pixels of a row of dots, of one in a group, and of the axis under them."""


def effects(rows: pl.DataFrame, colour: str) -> alt.LayerChart:
    """The effect of each intervention: a dot, over the range of its random sets and their mean.

    Args:
        rows: rows with intervention, n_neurons, effect, percentile, random_effect, random_effect_least,
            random_effect_most, n_sets, kl; one an intervention.
        colour: of the dots.
    """
    axis = alt.Axis(labelLimit=260, ticks=False, domain=False, title=None)
    place = alt.Y("intervention:N", sort=rows.get_column("intervention").to_list(), axis=axis)
    base = alt.Chart(rows).encode(place, tooltip=_tooltip("intervention", "n_neurons"))
    across = alt.X("effect:Q", title="effect on the loss (nats per token)", axis=alt.Axis(tickCount=6))
    layers = [
        _zero("x"),
        base.mark_rule(color=GREY, strokeWidth=6, opacity=0.45, strokeCap="round").encode(
            alt.X("random_effect_least:Q"), alt.X2("random_effect_most:Q")
        ),
        base.mark_tick(color=GREY, thickness=2, height=14, opacity=1).encode(alt.X("random_effect:Q")),
        base.mark_point(color=colour, filled=True, size=80, opacity=1).encode(across),
    ]
    return _layered(layers, height=_FRAME + _ROW * max(2, rows.height))


def by_position(rows: pl.DataFrame, colour: str) -> alt.LayerChart:
    """The effect of one intervention by domain and range of positions: a dot, over the range of its random sets.

    Args:
        rows: rows with domain, position_from, n_tokens, effect, percentile, random_effect, random_effect_least,
            random_effect_most, n_sets, kl.
        colour: of the dots.
    """
    ranges = ranges_in_words(sorted(set(rows.get_column("position_from"))))
    named = rows.with_columns(pl.col("position_from").replace_strict(ranges, return_dtype=pl.String).alias("positions"))
    place, drawn = _nested(named.sort("domain", "position_from"), "domain", "positions")
    base = alt.Chart(drawn).encode(place, tooltip=_tooltip("domain", "positions", "n_tokens"))
    across = alt.X("effect:Q", title="effect on the loss (nats per token)", axis=alt.Axis(tickCount=6))
    layers = [
        _zero("x"),
        base.mark_rule(color=GREY, strokeWidth=5, opacity=0.45, strokeCap="round").encode(
            alt.X("random_effect_least:Q"), alt.X2("random_effect_most:Q")
        ),
        base.mark_point(color=colour, filled=True, size=60, opacity=1).encode(across),
    ]
    return _layered(layers, height=_FRAME + _NESTED_ROW * drawn.height)


def _nested(rows: pl.DataFrame, outer: str, inner: str) -> tuple[alt.Y, pl.DataFrame]:
    """Rows of dots under each other in their order, in groups: the first of each group has the group's name as well.

    Args:
        rows: the rows, those of a group after each other.
        outer: the column that names a row's group.
        inner: the column that names a row within its group.

    Returns:
        The channel, and the rows with the `row` that it places them by.
    """
    drawn = rows.with_columns(pl.format("{}, {}", outer, inner).alias("row"))
    places = drawn.select("row", outer, inner).unique(maintain_order=True)
    first = places.get_column(outer).is_first_distinct()
    labels = {
        place: f"{group}, {name}" if is_first else name
        for (place, group, name), is_first in zip(places.rows(), first, strict=True)
    }
    axis = alt.Axis(labelExpr=f"({dumps(labels)})[datum.value]", labelLimit=260, ticks=False, domain=False, title=None)
    return alt.Y("row:N", sort=list(labels), axis=axis), drawn


def neurons_alone(rows: pl.DataFrame, colour: str) -> alt.LayerChart:
    """What turning single neurons off adds to the loss, by layer, over the range of the random ones of the layer.

    Args:
        rows: rows with address, layer, is_control, effect_on_loss, effect_percentile.
        colour: of the neurons that are no random ones.
    """
    controls = rows.filter("is_control").group_by("layer", maintain_order=True)
    ends = controls.agg(
        pl.col("effect_on_loss").min().alias("least"),
        pl.col("effect_on_loss").max().alias("most"),
        pl.len().alias("n"),
    )
    layer = alt.X("layer:O", axis=alt.Axis(labelAngle=0, labelOverlap=True, ticks=False))
    band = (
        alt.Chart(ends)
        .mark_rule(color=GREY, strokeWidth=12, opacity=0.45)
        .encode(
            layer,
            alt.Y("least:Q"),
            alt.Y2("most:Q"),
            tooltip=[
                alt.Tooltip("layer:O"),
                alt.Tooltip("n:Q", title="random neurons"),
                *(alt.Tooltip(f"{end}:Q", format="+.3~g") for end in ("least", "most")),
            ],
        )
    )
    points = (
        alt.Chart(rows.filter(~pl.col("is_control")))
        .mark_circle(color=colour, size=30, opacity=0.6)
        .encode(
            layer,
            alt.Y("effect_on_loss:Q", title="effect on the loss (nats per token)", axis=alt.Axis(tickCount=5)),
            tooltip=[
                alt.Tooltip("address:N"),
                alt.Tooltip("effect_on_loss:Q", format="+.3~g", title="effect"),
                alt.Tooltip("effect_percentile:Q", format=".0f", title="percentile"),
            ],
        )
    )
    return _layered([_zero("y"), band, points], height=HEIGHT)


def ranges_in_words(starts: Sequence[int]) -> Mapping[int, str]:
    """Where a range of positions begins -> the range in words."""
    ends = [*(start - 1 for start in starts[1:]), None]
    return {start: _range(start, end) for start, end in zip(starts, ends, strict=True)}


def _range(start: int, end: int | None) -> str:
    if end is None:
        return f"from {start:,}"
    return f"{start:,}" if start == end else f"{start:,} to {end:,}"


def _tooltip(*names: str) -> list[alt.Tooltip]:
    words = {"intervention", "domain", "positions"}
    return [
        *(
            alt.Tooltip(f"{name}:N") if name in words else alt.Tooltip(f"{name}:Q", format=",", title=name[2:])
            for name in names
        ),
        alt.Tooltip("effect:Q", format="+.4~g"),
        alt.Tooltip("percentile:Q", format=".0f"),
        alt.Tooltip("random_effect:Q", format="+.4~g", title="random, mean"),
        alt.Tooltip("random_effect_least:Q", format="+.4~g", title="least"),
        alt.Tooltip("random_effect_most:Q", format="+.4~g", title="most"),
        alt.Tooltip("n_sets:Q", title="random sets"),
        alt.Tooltip("kl:Q", format=".4~g", title="KL (nats)"),
    ]


def _zero(axis: str) -> alt.Chart:
    """The line of no effect."""
    rule = alt.Chart(pl.DataFrame({"nothing": [0]})).mark_rule(color=GREY, strokeDash=[3, 3], strokeWidth=1)
    chart: alt.Chart = rule.encode(alt.X("nothing:Q") if axis == "x" else alt.Y("nothing:Q"))
    return chart


def _layered(layers: list[alt.Chart], *, height: int) -> alt.LayerChart:
    whole = alt.LayerChart(layer=layers)
    whole.height = height
    return whole


KINDS = ("dead", "negligible", "token detectors", "n-gram detectors", "positional", "dominant")
"""In the order in which they are drawn."""


def worth_of_kinds(rows: pl.DataFrame, colours: Mapping[str, str]) -> alt.LayerChart:
    """What turning off a kind costs beyond random neurons, models side by side, over the range of the random sets.

    Args:
        rows: rows of `worth_of_kinds`, smallest model first.
        colours: model -> its colour.
    """
    around = rows.with_columns(
        (pl.col(f"random_effect_{end}") - pl.col("random_effect")).alias(end) for end in ("least", "most")
    )
    kinds = [kind for kind in KINDS if kind in set(rows.get_column("kind"))]
    models = rows.get_column("model").unique(maintain_order=True).to_list()
    base = alt.Chart(around).encode(
        alt.X("kind:N", sort=kinds, axis=alt.Axis(labelAngle=0, labelLimit=140, ticks=False, title=None)),
        alt.Color(
            "model:N",
            scale=alt.Scale(domain=models, range=[colours[model] for model in models]),
            legend=alt.Legend(title=None, orient="top", columns=3, symbolType="circle", symbolOpacity=1),
        ),
        xOffset=alt.XOffset("model:N", sort=models),
        tooltip=[
            alt.Tooltip("model:N"),
            alt.Tooltip("kind:N"),
            alt.Tooltip("n_neurons:Q", format=",", title="neurons"),
            alt.Tooltip("worth:Q", format="+.4~g"),
            alt.Tooltip("effect:Q", format="+.4~g"),
            alt.Tooltip("random_effect:Q", format="+.4~g", title="random, mean"),
            alt.Tooltip("percentile:Q", format=".0f"),
            alt.Tooltip("n_sets:Q", title="random sets"),
        ],
    )
    ranges = base.mark_rule(strokeWidth=6, opacity=0.45, strokeCap="round").encode(alt.Y("least:Q"), alt.Y2("most:Q"))
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        alt.Y("worth:Q", title="loss beyond random neurons (nats per token)", axis=alt.Axis(tickCount=5))
    )
    return _layered([_zero("y"), ranges, points], height=HEIGHT)


METHODS = ("untouched", "changed", "random", "word_filter", "self_debiasing")
"""Of writing, in the order in which they are drawn: the untouched model first."""


def attribute_shares(rows: pl.DataFrame, colour: str) -> alt.LayerChart:
    """The share of continuations that have each attribute: a dot a method, with its interval.

    The interval is Wilson's; of random sets it reaches from the least share of a set to the largest.

    Args:
        rows: rows of one intervention of `attribute_shares`.
        colour: of the changed model; what it is compared with is grey.
    """
    is_random = pl.col("method") == "random"
    is_of_one = rows.n_unique("scorer") == 1
    drawn = rows.with_columns(
        (pl.col("attribute") if is_of_one else pl.format("{} ({})", "attribute", "scorer")).alias("scored"),
        pl.col("method").str.replace_all("_", " ", literal=True).alias("name"),
        *(
            pl.when(is_random).then(pl.col(f"share_{of_sets}")).otherwise(pl.col(f"share_{end}")).alias(end)
            for end, of_sets in (("low", "least"), ("high", "most"))
        ),
    )
    place, drawn = _nested(drawn.sort("scored", pl.col("method").cast(pl.Enum(METHODS))), "scored", "name")
    is_changed = alt.FieldEqualPredicate(field="method", equal="changed")
    base = alt.Chart(drawn).encode(
        place,
        color=alt.condition(is_changed, alt.value(colour), alt.value(GREY)),
        tooltip=[
            alt.Tooltip("scored:N", title="attribute"),
            alt.Tooltip("name:N", title="method"),
            alt.Tooltip("share:Q", format=".1%"),
            alt.Tooltip("low:Q", format=".1%", title="from"),
            alt.Tooltip("high:Q", format=".1%", title="to"),
            alt.Tooltip("percentile:Q", format=".0f"),
            alt.Tooltip("n_continuations:Q", format=",", title="continuations"),
            alt.Tooltip("n_sets:Q", title="sets"),
        ],
    )
    scale = alt.Scale(domain=[0, 1])
    axis = alt.Axis(format="~%", tickCount=5)
    ranges = base.mark_rule(strokeWidth=2, opacity=0.7).encode(alt.X("low:Q"), alt.X2("high:Q"))
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        alt.X("share:Q", title="share of the continuations", scale=scale, axis=axis)
    )
    return _layered([ranges, points], height=_FRAME + _NESTED_ROW * drawn.height)
