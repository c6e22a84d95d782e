"""Charts of interventions: effects on the range of their random sets, worth by model size, attributes of texts."""

from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

from neurothek.dashboards.charts.axes import HEIGHT
from neurothek.dashboards.colours import DOMAINS

GREY = "#8a8a8a"
"""Random neurons, to be read on white and on black."""

_ROW, _FRAME = 28, 80
"""Pixels of a row of dots, and of the axis under them."""


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


def by_position(rows: pl.DataFrame) -> alt.LayerChart:
    """The effect of one intervention by range of positions: a dot a domain, over the range of its random sets.

    Args:
        rows: rows with domain, position_from, n_tokens, effect, percentile, random_effect, random_effect_least,
            random_effect_most, n_sets, kl.
    """
    ranges = ranges_in_words(sorted(set(rows.get_column("position_from"))))
    named = rows.with_columns(pl.col("position_from").replace_strict(ranges, return_dtype=pl.String).alias("positions"))
    domains = rows.get_column("domain").unique(maintain_order=True).sort().to_list()
    base = alt.Chart(named).encode(
        alt.X("positions:N", sort=list(ranges.values()), axis=alt.Axis(labelAngle=0, ticks=False)),
        domain_colours(domains),
        xOffset=alt.XOffset("domain:N", sort=domains),
        tooltip=_tooltip("domain", "positions", "n_tokens"),
    )
    up = alt.Y("effect:Q", title="effect on the loss (nats per token)", axis=alt.Axis(tickCount=5))
    layers = [
        _zero("y"),
        base.mark_rule(strokeWidth=6, opacity=0.45, strokeCap="round").encode(
            alt.Y("random_effect_least:Q"), alt.Y2("random_effect_most:Q")
        ),
        base.mark_point(filled=True, size=60, opacity=1).encode(up),
    ]
    return _layered(layers, height=HEIGHT)


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


def domain_colours(domains: Sequence[str]) -> alt.Color:
    """A colour for each domain."""
    return alt.Color(
        "domain:N",
        scale=alt.Scale(domain=list(domains), range=[DOMAINS[number % len(DOMAINS)] for number in range(len(domains))]),
        # The ranges would make the spots of the legend as pale as they are.
        legend=alt.Legend(title=None, orient="top", columns=3, symbolType="circle", symbolOpacity=1),
    )


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


KIND_COLOURS: Mapping[str, str] = {
    "dead": "#8a8a8a",
    "negligible": "#b5532a",
    "token detectors": "#4a86c2",
    "n-gram detectors": "#c9a227",
    "positional": "#009e73",
    "dominant": "#d55e00",
}
"""Read on white and on black, and told apart with any colour vision."""


def worth_of_kinds(rows: pl.DataFrame) -> alt.LayerChart:
    """What turning off a kind costs beyond random neurons, models side by side, over the range of the random sets.

    Args:
        rows: rows of `worth_of_kinds`, smallest model first.
    """
    around = rows.with_columns(
        (pl.col(f"random_effect_{end}") - pl.col("random_effect")).alias(end) for end in ("least", "most")
    )
    kinds = [kind for kind in KIND_COLOURS if kind in set(rows.get_column("kind"))]
    models = rows.get_column("model").unique(maintain_order=True).to_list()
    base = alt.Chart(around).encode(
        alt.X("model:N", sort=models, axis=alt.Axis(labelAngle=0, labelLimit=140, ticks=False, title="smallest first")),
        alt.Color(
            "kind:N",
            scale=alt.Scale(domain=kinds, range=[KIND_COLOURS[kind] for kind in kinds]),
            legend=alt.Legend(title=None, orient="top", columns=3, symbolType="circle", symbolOpacity=1),
        ),
        xOffset=alt.XOffset("kind:N", sort=kinds),
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
    zero = alt.Chart(pl.DataFrame({"nothing": [0]})).mark_rule(color=GREY, strokeDash=[3, 3]).encode(alt.Y("nothing:Q"))
    ranges = base.mark_rule(strokeWidth=6, opacity=0.45, strokeCap="round").encode(alt.Y("least:Q"), alt.Y2("most:Q"))
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        alt.Y("worth:Q", title="loss beyond random neurons (nats per token)", axis=alt.Axis(tickCount=5))
    )
    whole = alt.LayerChart(layer=[zero, ranges, points])
    whole.height = HEIGHT
    return whole


STEERED_COLOURS: Mapping[str, str] = {
    "untouched": "#8a8a8a",
    "changed": "#4a86c2",
    "random": "#c9a227",
    "word_filter": "#009e73",
    "self_debiasing": "#cc79a7",
}
"""Read on white and on black, and told apart with any colour vision."""

_SHARES_ROW, _SHARES_FRAME = 18, 110
"""Pixels of a dot's row, and of axis and legend."""


def attribute_shares(rows: pl.DataFrame) -> alt.LayerChart:
    """The share of continuations that have each attribute: a dot a method, with its interval.

    The interval is Wilson's; of random sets it reaches from the least share of a set to the largest.

    Args:
        rows: rows of one intervention of `attribute_shares`.
    """
    is_random = pl.col("method") == "random"
    drawn = rows.with_columns(
        pl.format("{} ({})", "attribute", "scorer").alias("scored"),
        *(
            pl.when(is_random).then(pl.col(f"share_{of_sets}")).otherwise(pl.col(f"share_{end}")).alias(end)
            for end, of_sets in (("low", "least"), ("high", "most"))
        ),
    )
    methods = [method for method in STEERED_COLOURS if method in set(rows.get_column("method"))]
    n_attributes = drawn.get_column("scored").n_unique()
    base = alt.Chart(drawn).encode(
        alt.Y("scored:N", axis=alt.Axis(title=None, ticks=False, labelLimit=200)),
        alt.Color(
            "method:N",
            scale=alt.Scale(domain=methods, range=[STEERED_COLOURS[method] for method in methods]),
            legend=alt.Legend(
                title=None,
                orient="top",
                columns=3,
                symbolType="circle",
                symbolOpacity=1,
                labelExpr="replace(datum.label, '_', ' ')",
            ),
        ),
        yOffset=alt.YOffset("method:N", sort=methods),
        tooltip=[
            alt.Tooltip("scored:N", title="attribute"),
            alt.Tooltip("method:N"),
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
    whole = alt.LayerChart(layer=[ranges, points])
    whole.height = _SHARES_FRAME + _SHARES_ROW * len(methods) * n_attributes
    return whole
