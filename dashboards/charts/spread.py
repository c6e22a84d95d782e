"""How the numbers of neurons spread."""

from dataclasses import dataclass
from itertools import pairwise

import altair as alt
import polars as pl

from neurothek.catalog.terminal.cells import SHARES
from neurothek.dashboards.charts.axes import HEIGHT, LOG_TICKS, count_tooltip, spoken
from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.charts.pictures import Drawing

MOST_POINTS = 5000
"""The eye cannot tell more points apart, and altair draws no more."""


@dataclass(frozen=True)
class Number:
    """A column of numbers to draw, on a logarithmic axis if it spreads over powers of ten."""

    column: str
    is_log: bool

    @property
    def title(self) -> str:
        """The column's name as people say it."""
        return spoken(self.column)

    @property
    def scale(self) -> alt.Scale:
        """Its scale, which need not begin at 0."""
        return alt.Scale(type="log", nice=False, padding=8) if self.is_log else alt.Scale(zero=False)

    @property
    def axis(self) -> alt.Axis:
        """Its axis."""
        axis = alt.Axis(grid=False, tickCount=LOG_TICKS) if self.is_log else alt.Axis(tickCount=6)
        if self.column in SHARES:
            axis["format"] = "~%"
        return axis

    @property
    def tip(self) -> str:
        """How a tooltip writes it: shares in percent, as the pages' tables do."""
        return ".3~%" if self.column in SHARES else ".4~g"


def frequency_distribution(bins: pl.DataFrame, look: Look, *, title: str = "frequency") -> alt.Chart:
    """How the neurons that fired spread over frequencies, a line per model.

    Args:
        bins: rows with model, frequency (a bin's middle), frequency_from, frequency_to, share, n_neurons.
        look: colours and dashes of the models.
        title: what the frequencies are called.
    """
    chart: alt.Chart = (
        alt.Chart(bins)
        .mark_line(interpolate="monotone", point=alt.OverlayMarkDef(size=20), strokeWidth=2)
        .encode(
            alt.X(
                "frequency:Q",
                title=title,
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format="~%", grid=False, tickCount=LOG_TICKS),
            ),
            alt.Y("share:Q", title="share of the neurons", axis=alt.Axis(format="~%")),
            look.colour(bins.get_column("model")),
            strokeDash=look.dash(),
            tooltip=[
                alt.Tooltip("model:N"),
                alt.Tooltip("frequency_from:Q", format=".2~%", title=f"{title} from"),
                alt.Tooltip("frequency_to:Q", format=".2~%", title="to"),
                alt.Tooltip("share:Q", format=".2%"),
                count_tooltip("n_neurons"),
                count_tooltip("n_tokens_seen"),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart


def dead_by_tokens(points: pl.DataFrame, look: Look) -> alt.Chart:
    """How the share of neurons that never fired falls with the tokens seen, a line per model.

    Args:
        points: rows with model, n_tokens, dead_share, n_dead, n_neurons.
        look: colours and dashes of the models.
    """
    chart: alt.Chart = (
        alt.Chart(points.filter(pl.col("dead_share").is_not_null()))
        .mark_line(interpolate="step-after", point=alt.OverlayMarkDef(size=20), strokeWidth=2)
        .encode(
            alt.X(
                "n_tokens:Q",
                title="tokens seen",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format="~s", grid=False, tickCount=LOG_TICKS),
            ),
            alt.Y(
                "dead_share:Q",
                title="neurons that have not fired yet (root scale)",
                # A linear axis would hide at its foot whether the last, small shares still fall.
                scale=alt.Scale(type="sqrt"),
                axis=alt.Axis(format="~%", tickCount=5),
            ),
            look.colour(points.get_column("model")),
            strokeDash=look.dash(),
            tooltip=[
                alt.Tooltip("model:N"),
                alt.Tooltip("n_tokens:Q", format=",", title="tokens seen"),
                alt.Tooltip("dead_share:Q", format=".3%", title="not fired yet"),
                count_tooltip("n_dead"),
                count_tooltip("n_neurons"),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart


def histogram(bins: pl.DataFrame, number: Number, colour: str, *, counted: str = "neurons") -> alt.Chart:
    """How many neurons of a layer have a number in each bin.

    Args:
        bins: rows with low, high, n_neurons; see `binned`.
        number: what was binned.
        colour: of the bars.
        counted: what was counted.
    """
    chart: alt.Chart = (
        alt.Chart(bins)
        .mark_bar(color=colour, binSpacing=1)
        .encode(
            alt.X("low:Q", title=number.title, scale=number.scale, axis=number.axis),
            alt.X2("high:Q"),
            alt.Y("n_neurons:Q", title=counted),
            alt.Y2(datum=0),
            tooltip=[
                alt.Tooltip("low:Q", format=number.tip, title="from"),
                alt.Tooltip("high:Q", format=number.tip, title="to"),
                alt.Tooltip("n_neurons:Q", format=",", title=counted),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart


def with_bar_apart(bins: pl.DataFrame, number: Number, colours: tuple[str, str], *, n: int, word: str) -> Drawing:
    """A histogram on a logarithmic axis, and at its left a bar of those that have no number there.

    Args:
        bins: rows with low, high, n_neurons, at least one; see `binned`.
        number: what was binned.
        colours: of the bars, and of the bar apart.
        n: how many have no such number.
        word: what they are.
    """
    first = bins.row(0, named=True)
    ratio = max(first["high"] / first["low"], 1.05)
    apart = pl.DataFrame(
        {"low": [first["low"] * ratio**-4.0], "high": [first["low"] * ratio**-2.0], "n_neurons": [n], "what": [word]}
    )
    # What stands under the bar would be taken for its number.
    labels = f"datum.value < {0.99 * first['low']} ? '' : datum.label"
    axis = number.axis
    axis["labelExpr"] = labels
    others = histogram(bins, number, colours[0]).encode(
        alt.X("low:Q", title=number.title, scale=alt.Scale(type="log", nice=False), axis=axis)
    )
    base = alt.Chart(apart).encode(alt.Y("n_neurons:Q"))
    bar = base.mark_bar(color=colours[1]).encode(
        alt.X("low:Q"),
        alt.X2("high:Q"),
        alt.Y2(datum=0),
        tooltip=[alt.Tooltip("what:N", title="neurons that are"), alt.Tooltip("n_neurons:Q", format=",")],
    )
    name = base.mark_text(color=colours[1], align="left", baseline="bottom", dy=-3, fontSize=11).encode(
        alt.X("low:Q"), alt.Text("what:N")
    )
    return alt.layer(others, bar, name).properties(height=HEIGHT)


def binned(values: pl.Series, *, is_log: bool, n_bins: int = 40) -> pl.DataFrame:
    """Bins of equal width, or of equal ratio for positive numbers; a value on the last edge is in the last bin.

    Returns:
        low, high and n_neurons of every bin from the smallest to the largest value; nulls and, for ratios, values
        that are not positive are left out.
    """
    known_values = values.drop_nulls().cast(pl.Float64)
    numbers = known_values.filter(known_values > 0).log10() if is_log else known_values
    schema = pl.Schema({"low": pl.Float64, "high": pl.Float64, "n_neurons": pl.UInt32})
    if numbers.is_empty():
        return pl.DataFrame(schema=schema)
    low, high = (float(edge) for edge in (numbers.to_numpy().min(), numbers.to_numpy().max()))
    # Numbers that differ by rounding only, or not at all, still need a bar that can be seen.
    is_flat = high - low <= max(1e-30, 1e-12 * max(abs(low), abs(high)))
    width = (max(abs(low), 1.0) if is_flat else high - low) / n_bins
    # numpy divides; polars multiplies by the reciprocal, which puts a number on an edge into the bin below.
    places = pl.Series(values.name, (numbers.to_numpy() - low) / width)
    index = places.floor().clip(0, n_bins - 1).cast(pl.Int64)
    counted = index.value_counts(name="n_neurons").rename({values.name: "bin"}).sort("bin")
    edges = [low + width * pl.col("bin"), low + width * (pl.col("bin") + 1)]
    first, last = ([10**edge for edge in edges]) if is_log else edges
    return counted.select(first.alias("low"), last.alias("high"), "n_neurons").cast(schema)


def binned_counts(values: pl.Series, *, n_bins: int = 40) -> pl.DataFrame:
    """Bins of equal ratio for whole numbers from 1 on, none of them narrower than 1: else every other one were empty.

    Returns:
        low, high and n_neurons of every bin; edges lie halfway between two whole numbers.
    """
    counts = values.drop_nulls().cast(pl.Int64)
    schema = pl.Schema({"low": pl.Float64, "high": pl.Float64, "n_neurons": pl.UInt32})
    if counts.is_empty():
        return pl.DataFrame(schema=schema)
    least, most = (int(end) for end in (counts.to_numpy().min(), counts.to_numpy().max()))
    edges = [least - 0.5]
    ratio = ((most + 0.5) / edges[0]) ** (1 / n_bins)
    while edges[-1] < most:
        edges.append(max(edges[-1] + 1, int(edges[-1] * ratio) + 0.5))
    numbers = [int(((counts > low) & (counts < high)).sum()) for low, high in pairwise(edges)]
    return pl.DataFrame({"low": edges[:-1], "high": edges[1:], "n_neurons": numbers}, schema=schema)


def scatter(neurons: pl.DataFrame, x: Number, y: Number, colour: str) -> alt.Chart:
    """Two numbers of a layer's neurons against each other; a rectangle drawn on it selects neurons ("chosen").

    Args:
        neurons: rows with address and both columns, at most `MOST_POINTS`.
        x: the number across.
        y: the number up.
        colour: of the points.
    """
    chart: alt.Chart = (
        alt.Chart(neurons)
        .mark_circle(size=22, opacity=0.55, color=colour)
        .encode(
            alt.X(f"{x.column}:Q", title=x.title, scale=x.scale, axis=x.axis),
            alt.Y(f"{y.column}:Q", title=y.title, scale=y.scale, axis=y.axis),
            tooltip=[
                alt.Tooltip("address:N"),
                *(alt.Tooltip(f"{one.column}:Q", format=one.tip, title=one.title) for one in (x, y)),
            ],
        )
        .add_params(alt.selection_interval(name="chosen"))
        .properties(height=HEIGHT)
    )
    return chart


def sample(neurons: pl.DataFrame, n: int = MOST_POINTS) -> pl.DataFrame:
    """At most `n` rows, always the same ones of the same rows, in their order."""
    if neurons.height <= n:
        return neurons
    return neurons.with_row_index("row_of_layer").sample(n, seed=0).sort("row_of_layer").drop("row_of_layer")


_LOW = 150


def activation_histogram(bins: pl.DataFrame, colour: str, contrast: str) -> alt.Chart:
    """How many tokens have an activation of each size, as bars beside each other; activations of 0 are left out.

    Bins are half a power of two wide and bars are equally wide, so that the axis is logarithmic on either side of 0;
    the axis of counts is, too.

    Args:
        bins: rows with bin, low, high, n_tokens and n_tokens_counted.
        colour: of activations above 0.
        contrast: of those below.
    """
    bars = bins.filter(pl.col("bin") != 0).with_columns(
        (pl.col("n_tokens") / pl.col("n_tokens_counted")).alias("share"),
        pl.format("{} to {}", _edge_text("low"), _edge_text("high")).alias("activation"),
        pl.when(pl.col("bin") > 0).then(pl.lit("above 0")).otherwise(pl.lit("below 0")).alias("sign"),
        pl.lit(0.8).alias("least"),
    )
    chart: alt.Chart = (
        alt.Chart(bars)
        .mark_bar()
        .encode(
            alt.X(
                "activation:N",
                title="activation",
                sort=bars.sort("bin").get_column("activation").to_list(),
                axis=alt.Axis(labelExpr="split(datum.label, ' to ')[0]", labelOverlap=True, labelAngle=0, grid=False),
            ),
            # Bars of a logarithmic axis need a foot: a bin of one token is drawn, too.
            alt.Y(
                "n_tokens:Q",
                title="tokens",
                scale=alt.Scale(type="log", domainMin=0.8),
                axis=alt.Axis(tickCount=4, grid=False, format="~s"),
            ),
            alt.Y2("least:Q"),
            alt.Color("sign:N", scale=alt.Scale(domain=["above 0", "below 0"], range=[colour, contrast]), legend=None),
            tooltip=[alt.Tooltip("activation:N"), count_tooltip("n_tokens"), count_tooltip("share")],
        )
        .properties(height=_LOW)
    )
    return chart


def _edge_text(column: str) -> pl.Expr:
    """An edge as people read it; the outermost bins have none."""
    return pl.col(column).map_elements(_two_digits, return_dtype=pl.String).fill_null("∞")


def _two_digits(edge: float) -> str:
    """As much as an axis needs of a power of two or half as much again: 0.0059, 1.5, 192."""
    whole = 100
    return f"{edge:.2g}" if abs(edge) < whole else f"{edge:,.0f}"
