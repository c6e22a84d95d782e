"""Sub-updates of a layer as drawings: what they do to a token, and how much they hold, beside random ones."""

from collections.abc import Mapping

import altair as alt
import polars as pl

from neurothek.dashboards.charts.axes import HEIGHT, layer_axis

_KINDS_OF_UPDATE = {"dominant": "#4a86c2", "random_active": "#c9a227", "random": "#8a8a8a"}
"""Colours of sub-updates, read on white and on black."""


def candidate_scores(rows: pl.DataFrame) -> alt.Chart:
    """Largest, mean and smallest raw score of ten sub-updates for the candidate, by layer; a colour per kind.

    Args:
        rows: rows with layer, kind, mean_max, mean_mean, mean_min, n_examples.
    """
    names = {"mean_max": "largest", "mean_mean": "mean", "mean_min": "smallest"}
    long = rows.rename(names).unpivot(
        on=list(names.values()), index=["layer", "kind", "n_examples"], variable_name="of_ten", value_name="score"
    )
    kinds = ["dominant", "random_active", "random"]
    chart: alt.Chart = (
        alt.Chart(long)
        .mark_line(point=alt.OverlayMarkDef(size=24), strokeWidth=2)
        .encode(
            alt.X("layer:Q", axis=layer_axis(rows.get_column("layer"))),
            alt.Y("score:Q", title="raw score"),
            alt.Color(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=[_KINDS_OF_UPDATE[kind] for kind in kinds]),
                legend=alt.Legend(title=None, orient="top", labelExpr="replace(datum.label, '_', ', ')"),
            ),
            alt.StrokeDash(
                "of_ten:N",
                scale=alt.Scale(domain=list(names.values()), range=[[1, 0], [6, 3], [2, 2]]),
                legend=None,  # the caption says it: symbols of points show no dashes
            ),
            tooltip=[
                alt.Tooltip("layer:Q"),
                alt.Tooltip("kind:N"),
                alt.Tooltip("of_ten:N"),
                alt.Tooltip("score:Q", format=".3f"),
                alt.Tooltip("n_examples:Q", format=",", title="examples"),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart


KIND_NAMES: Mapping[str, str] = {
    "dominant": "dominant",
    "random_active": "random, active",
    "random": "random",
}
"""Kinds of sub-updates as people call them."""

UPDATE_COLOURS: Mapping[str, str] = {name: _KINDS_OF_UPDATE[kind] for kind, name in KIND_NAMES.items()}
"""Colours of the kinds under these names."""

_EVENTS = {"saturation": "settles", "elimination": "is pushed down"}
"""What happens to the token."""

_RANGE_HEIGHT, _BAND_HEIGHT = 170, 180
_FEW = alt.Axis(tickCount=5)


def score_ranges(rows: pl.DataFrame, domain: tuple[float, float]) -> alt.LayerChart:
    """Centred scores of ten sub-updates for an event's token: a dot at the mean, a line from least to largest.

    Args:
        rows: rows of one model of `event_scores`.
        domain: ends of the axis, the same for all models.
    """
    named = rows.with_columns(pl.col("kind").replace_strict(KIND_NAMES), pl.col("event").replace_strict(_EVENTS))
    kinds = list(UPDATE_COLOURS)
    base = alt.Chart(named).encode(
        alt.Y(
            "event:N",
            sort=list(_EVENTS.values()),
            title=None,
            axis=alt.Axis(ticks=False, domain=False, labelLimit=120),
        ),
        yOffset=alt.YOffset("kind:N", sort=kinds),
        tooltip=[
            alt.Tooltip("kind:N"),
            alt.Tooltip("event:N", title="the token"),
            *(
                alt.Tooltip(f"median_{which}_centred:Q", format="+.3f", title=title)
                for which, title in (("mean", "mean"), ("min", "smallest of ten"), ("max", "largest of ten"))
            ),
            alt.Tooltip("n_events:Q", format=",", title="events"),
        ],
    )
    colour = alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=list(UPDATE_COLOURS.values())), legend=None)
    scale = alt.Scale(domain=list(domain))
    lines = base.mark_rule(strokeWidth=2, opacity=0.6).encode(
        alt.X("median_min_centred:Q", title="centred score", scale=scale, axis=_FEW),
        alt.X2("median_max_centred:Q"),
        colour,
    )
    dots = base.mark_circle(size=70, opacity=1).encode(alt.X("median_mean_centred:Q", scale=scale), colour)
    return _layered([_zero("x"), lines, dots], _RANGE_HEIGHT)


def candidate_bands(rows: pl.DataFrame, domain: tuple[float, float]) -> alt.LayerChart:
    """Centred scores for the token at the top by layer: a band from the least to the largest of ten, their mean.

    Args:
        rows: rows of one model of `top_candidate_scores`.
        domain: ends of the axis, the same for all models.
    """
    named = rows.filter(pl.col("kind").is_in(list(KIND_NAMES))).with_columns(pl.col("kind").replace_strict(KIND_NAMES))
    kinds = list(UPDATE_COLOURS)
    base = alt.Chart(named).encode(
        alt.X("layer:Q", axis=layer_axis(rows.get_column("layer"))),
        alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=list(UPDATE_COLOURS.values())), legend=None),
        tooltip=[
            alt.Tooltip("layer:Q"),
            alt.Tooltip("kind:N"),
            alt.Tooltip("median_max_centred:Q", format="+.3f", title="largest of ten"),
            alt.Tooltip("median_mean_centred:Q", format="+.3f", title="mean"),
            alt.Tooltip("median_min_centred:Q", format="+.3f", title="smallest of ten"),
            alt.Tooltip("n_examples:Q", format=",", title="examples"),
        ],
    )
    # Scores of the last layers are tens of times those of the others.
    scale = alt.Scale(domain=list(domain), type="symlog")
    bands = base.mark_area(opacity=0.25).encode(
        alt.Y("median_min_centred:Q", title="centred score", scale=scale, axis=_FEW),
        alt.Y2("median_max_centred:Q"),
    )
    means = base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=24)).encode(
        alt.Y("median_mean_centred:Q", scale=scale)
    )
    return _layered([bands, _zero("y"), means], _BAND_HEIGHT)


def bounds(rows: pl.DataFrame, low: str, high: str) -> tuple[float, float]:
    """An axis from the least of one column to the largest of another, 0 within it, with a little room."""
    least = min([0.0, *rows.get_column(low).drop_nulls()])
    largest = max([0.0, *rows.get_column(high).drop_nulls()])
    room = 0.05 * (largest - least or 1.0)
    return least - room, largest + room


def _zero(axis: str) -> alt.Chart:
    """A thin line at 0."""
    zero = alt.Chart(pl.DataFrame({"zero": [0.0]})).mark_rule(color="#8a8a8a", strokeWidth=1)
    line: alt.Chart = zero.encode(alt.X("zero:Q")) if axis == "x" else zero.encode(alt.Y("zero:Q"))
    return line


def _layered(layers: list[alt.Chart], height: int) -> alt.LayerChart:
    whole = alt.LayerChart(layer=layers)
    whole.height = height
    return whole


_COLOURS: Mapping[str, str] = {**_KINDS_OF_UPDATE, "value": _KINDS_OF_UPDATE["dominant"]}

_NAMES: Mapping[str, Mapping[str, str]] = {
    "value": {"value": "value vectors", "random": "random vectors"},
    "dominant": {"dominant": "ten dominant neurons", "random": "ten random others"},
}
"""What is compared, and what it is compared with."""

_SHARES: Mapping[str, str] = {
    "extreme_share": "of the extreme updates",
    "value_vector_share": "of all value vectors",
}
"""What is compared of each kind of cluster."""

EXTREME_COLOURS: Mapping[str, str] = dict(
    zip(_SHARES.values(), (_COLOURS["dominant"], _COLOURS["random"]), strict=True)
)
"""Colours of these."""


def against_random(rows: pl.DataFrame, number: str, *, title: str) -> alt.Chart:
    """A share of each layer of one model, beside that of random vectors or neurons.

    Args:
        rows: rows with layer, kind (value or dominant, and random), the number, n.
        number: the column to draw, a part of 1.
        title: what it is.
    """
    names = _NAMES["value" if "value" in set(rows.get_column("kind")) else "dominant"]
    named = rows.filter(pl.col("kind").is_in(list(names))).with_columns(
        pl.col("kind").replace_strict(names).alias("of")
    )
    chart: alt.Chart = (
        alt.Chart(named)
        .mark_line(point=alt.OverlayMarkDef(size=36), strokeWidth=2)
        .encode(
            alt.X("layer:Q", axis=layer_axis(rows.get_column("layer"))),
            alt.Y(
                f"{number}:Q",
                title=title,
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="~%", tickCount=5),
            ),
            alt.Color(
                "of:N",
                scale=alt.Scale(domain=list(names.values()), range=[_COLOURS[kind] for kind in names]),
                sort=list(names.values()),
                legend=alt.Legend(title=None, orient="top"),
            ),
            tooltip=[
                alt.Tooltip("of:N"),
                alt.Tooltip("layer:Q"),
                alt.Tooltip(f"{number}:Q", format=".1%", title=title),
                alt.Tooltip("n:Q", format=","),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart


def shares_of_dominant(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of `dominant_share` as `against_random` reads them: one for the dominant neurons, one for random ones."""
    parts = [
        rows.select("model", "layer", pl.lit(kind).alias("kind"), pl.col(share).alias("share"), pl.col(n).alias("n"))
        for kind, share, n in (
            ("dominant", "dominant_share", "n_examples"),
            ("random", "random_share", "n_random_examples"),
        )
    ]
    return pl.concat(parts).filter(pl.col("share").is_not_null())


def extreme_kinds(rows: pl.DataFrame) -> alt.Chart:
    """How many of one model's extreme updates come from each kind of cluster, beside the value vectors in it.

    Args:
        rows: rows of `extreme_updates` of one model.
    """
    kinds = sorted(set(rows.get_column("kind")))
    numbers = ("n_clusters", "n_extreme", "n_value_vectors", "mean_layers_spanned", "early_share")
    index = ["kind", *numbers, "mean_target_probability"]
    long = rows.unpivot(on=list(_SHARES), index=index, variable_name="of", value_name="share").with_columns(
        pl.col("of").replace_strict(_SHARES)
    )
    shares = list(_SHARES.values())
    chart: alt.Chart = (
        alt.Chart(long)
        .mark_bar()
        .encode(
            alt.Y("kind:N", sort=kinds, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=180)),
            alt.X(
                "share:Q",
                title="share",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="~%", tickCount=5),
            ),
            alt.Color(
                "of:N",
                scale=alt.Scale(domain=shares, range=[_COLOURS["dominant"], _COLOURS["random"]]),
                sort=shares,
                legend=alt.Legend(title=None, orient="top", columns=1),
            ),
            yOffset=alt.YOffset("of:N", sort=shares),
            tooltip=[
                alt.Tooltip("kind:N"),
                alt.Tooltip("of:N"),
                alt.Tooltip("share:Q", format=".1%"),
                alt.Tooltip("n_clusters:Q", title="clusters"),
                alt.Tooltip("n_extreme:Q", format=",", title="extreme updates"),
                alt.Tooltip("n_value_vectors:Q", format=",", title="value vectors"),
                alt.Tooltip("mean_layers_spanned:Q", format=".1f", title="layers spanned"),
                alt.Tooltip("early_share:Q", format=".1%", title="early"),
                alt.Tooltip("mean_target_probability:Q", format=".2f", title="target probability"),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart
