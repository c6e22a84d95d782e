"""How the scores of the whole vocabulary spread in one neuron's value vector."""

from itertools import pairwise
from statistics import NormalDist

import altair as alt
import polars as pl

from neurothek.catalog.spelling import visible
from neurothek.dashboards.colours import ACCENT, CONTRAST
from neurothek.queries.neuron.logits import TAIL_Z

HEIGHT = 170

_BODY = {"light": "#9aa0a6", "dark": "#7d848b"}
_INK = {"light": "#222222", "dark": "#e0e0e0"}
_LOWEST = 0.5
"""Where bars begin: a single token is a bar that can be seen on a logarithmic axis."""

_LEAST_REACH = TAIL_Z + 1.0
"""Standard deviations that are drawn on either side at least, so that neurons can be compared at a glance."""

_LAST_TICK = 20
"""Standard deviations beyond which no bin is drawn."""

MOST_NAMES = 3
_NAME_WIDTH = 0.75
"""Standard deviations at the right that are left for the name of the last token."""

_APART = 0.45
"""Standard deviations between two names, which would else cover each other."""

_LONGEST = 60
"""Pixels of a name, which stands upright on its bar: so high is the room above the bars."""


def logit_histogram(logits: pl.DataFrame, tokens: pl.DataFrame, theme: str = "light") -> alt.LayerChart:
    """How many tokens score how far from the mean, on a logarithmic axis; the tails in colour, their ends by name.

    The dashed line is what as many numbers of a normal distribution would give.

    Args:
        logits: rows with z_from, z_to, n_tokens, lowest scores first; the first z_from and the last z_to are null.
        tokens: rows with side, rank, token, z_score: those that the ends are named after.
        theme: light or dark.
    """
    bins = drawn_bins(logits)
    ends = named_ends(bins, tokens)
    reach = [min(-_LEAST_REACH, *bins["low"]), max(_LEAST_REACH, *bins["high"]) + _NAME_WIDTH]
    most = max(float(bins.get_column("n_tokens").cast(pl.Float64).to_numpy().max()), 1.0)
    colours = {"suppressed tail": CONTRAST[theme], "body": _BODY[theme], "promoted tail": ACCENT[theme]}
    scale = alt.Scale(domain=reach, nice=False)
    x = alt.X("low:Q", title="z-score", scale=scale, axis=_axis(bins))
    y = alt.Scale(type="log", domain=[_LOWEST, most * 12], nice=False)
    axis = alt.Axis(grid=False, format="~s", values=[10**power for power in range(7) if 10**power <= most])
    bars = (
        alt.Chart(bins)
        .mark_bar(binSpacing=0.5)
        .encode(
            x,
            alt.X2("high:Q"),
            alt.Y("n_tokens:Q", title="tokens (log scale)", scale=y, axis=axis),
            alt.Y2(datum=_LOWEST),
            alt.Color("part:N", legend=None, scale=alt.Scale(domain=list(colours), range=list(colours.values()))),
            tooltip=[
                alt.Tooltip("z_from:Q", format=".2f", title="from"),
                alt.Tooltip("z_to:Q", format=".2f", title="to"),
                alt.Tooltip("n_tokens:Q", format=",", title="tokens"),
                alt.Tooltip("expected:Q", format=".3~g", title="of a normal distribution"),
            ],
        )
    )
    normal = (
        alt.Chart(bins.filter(pl.col("expected") > _LOWEST))
        .mark_line(strokeDash=[3, 3], strokeWidth=1, color=_INK[theme], opacity=0.7)
        .encode(alt.X("middle:Q"), alt.Y("expected:Q", scale=y))
    )
    names = (
        alt.Chart(ends)
        .mark_text(angle=270, align="left", dx=4, fontSize=11, font="monospace", color=_INK[theme], limit=_LONGEST)
        .encode(alt.X("z_score:Q"), alt.Y("n_tokens:Q", scale=y), alt.Text("token:N"))
    )
    chart = alt.LayerChart(layer=[bars, normal, names])
    chart.height = HEIGHT
    return chart


def drawn_bins(logits: pl.DataFrame) -> pl.DataFrame:
    """The bins that hold tokens, with the edges to draw them between, their part, and what a normal distribution gives.

    An open bin is drawn as wide as its neighbour.
    """
    width = float(logits["z_to"][1]) - float(logits["z_from"][1])
    n_tokens = int(logits.get_column("n_tokens").sum())
    normal = NormalDist()
    edges = [0.0, *(normal.cdf(z) for z in logits.get_column("z_from").drop_nulls()), 1.0]
    shares = [upper - lower for lower, upper in pairwise(edges)]
    low = pl.col("z_from").fill_null(pl.col("z_to") - width)
    part = (
        pl.when(low >= TAIL_Z)
        .then(pl.lit("promoted tail"))
        .when(pl.col("z_to") <= -TAIL_Z)
        .then(pl.lit("suppressed tail"))
        .otherwise(pl.lit("body"))
    )
    return logits.with_columns(
        low.alias("low"),
        (low + width).alias("high"),
        (low + width / 2).alias("middle"),
        part.alias("part"),
        pl.Series("expected", [share * n_tokens for share in shares]),
    ).filter(pl.col("n_tokens") > 0)


def _axis(bins: pl.DataFrame) -> alt.Axis:
    """The axis along the bins, whose open ends say that they hold all that lies beyond."""
    lower, upper = (bins.filter(pl.col(name).is_null()) for name in ("z_from", "z_to"))
    last = "datum.label"
    if upper.height:
        last = f"datum.value === {upper['z_from'][0]:g} ? '≥ ' + datum.label : {last}"
    if lower.height:
        last = f"datum.value === {lower['z_to'][0]:g} ? '≤ ' + datum.label : {last}"
    return alt.Axis(values=list(range(-_LAST_TICK, _LAST_TICK + 1, 2)), format="d", labelExpr=last)


def named_ends(bins: pl.DataFrame, tokens: pl.DataFrame) -> pl.DataFrame:
    """The outermost tokens of either side, as many as have room: token, where it stands, and the tokens of its bin.

    A token of an open bin stands in the middle of what is drawn of it.
    """
    rows = []
    first, last = (float(bins.get_column("middle").sort()[place]) for place in (0, -1))
    for _, side in tokens.drop_nulls("z_score").sort("rank").group_by("side", maintain_order=True):
        placed: list[float] = []
        for row in side.to_dicts():
            z_score = min(max(row["z_score"], first), last)
            if len(placed) < MOST_NAMES and all(abs(z_score - other) >= _APART for other in placed):
                placed.append(z_score)
                rows.append({"token": visible(row["token"]), "z_score": z_score, "n_tokens": _height(bins, z_score)})
    return pl.DataFrame(rows, schema={"token": pl.String, "z_score": pl.Float64, "n_tokens": pl.Int64})


def _height(bins: pl.DataFrame, z_score: float) -> int:
    """Tokens in the bin of a z-score, or in the next one where rounding puts it beyond an edge."""
    nearest = bins.sort((pl.col("middle") - z_score).abs()).head(1)
    return int(nearest["n_tokens"][0])
