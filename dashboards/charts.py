"""The charts: each a function from a frame to an altair chart, without state and without the page.

What is encoded is given as channels, alt.Tooltip("model:N") and not "model:N": for a bare string altair hashes its
whole schema, 12 ms each time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import altair as alt
import polars as pl

from catalog.spelling import visible
from dashboards.looks import Look, Place

HEIGHT = 300
MOST_POINTS = 5000
"""More points are neither told apart by an eye nor drawn by altair."""

_MONOSPACED = "monospace"
_ROW_HEIGHT = 20
_GREY = "#8a8a8a"
"""Read on white and on black."""
_FEW = 5
"""Up to so many, every number has its tick."""

_LOG_TICKS = 6
"""Log axes would draw a line at every digit of every power: they go without lines, with a few ticks."""

OfLayer = Literal[
    "dead_share",
    "mean_frequency",
    "n_detectors",
    "n_detected",
    "n_cumulative",
    "n_new",
    "positional_share",
    "saturated_share",
    "dominant_share",
]

_OF_LAYERS: Mapping[OfLayer, tuple[str, tuple[str, ...]]] = {
    "dead_share": ("dead neurons of the layer", ("n_dead", "n_neurons", "n_tokens_seen")),
    "mean_frequency": ("mean frequency of those that fired", ("median_frequency", "n_alive", "n_tokens_seen")),
    "n_detectors": ("detectors in the layer", ("n_neurons",)),
    "n_detected": ("detected in the layer", ("n_frequent",)),
    "n_cumulative": ("detected in it or below", ("n_frequent",)),
    "n_new": ("detected in it and not below", ("n_detected", "n_frequent")),
    "positional_share": ("positional neurons of the layer", ("n_positional", "n_strong", "n_neurons", "n_sequences")),
    "saturated_share": ("examples that settle in the layer", ("n_saturated", "n_by_ffn", "n_examples")),
    "dominant_share": ("share of the update", ("n_examples",)),
}
_FORMATS = {
    "saturated_share": ".2%",
    "dominant_share": ".2%",
    "dead_share": ".2%",
    "mean_frequency": ".2%",
    "median_frequency": ".2%",
    "positional_share": ".2%",
    "share": ".2%",
}


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
        return alt.Scale(type="log") if self.is_log else alt.Scale(zero=False)

    @property
    def axis(self) -> alt.Axis:
        """Its axis."""
        return alt.Axis(grid=False, tickCount=_LOG_TICKS) if self.is_log else alt.Axis(tickCount=6)


def by_depth(layers: pl.DataFrame, number: OfLayer, look: Look, *, orient: Place = "top") -> alt.Chart:
    """A number of each layer against relative depth, a line a model; dashed where models may not be compared.

    Args:
        layers: rows with model, layer, depth, the number and what its tooltip names.
        number: the column to draw.
        look: colours and dashes of the models.
        orient: where the legend stands.
    """
    title, more = _OF_LAYERS[number]
    is_share = number in _FORMATS
    counts = layers.get_column(number)
    axis = alt.Axis(format="~%", tickCount=_FEW) if is_share else count_axis(counts)
    # As many steps as ticks, so that the highest tick is the top.
    scale = alt.Scale(nice=_FEW, zero=True) if is_share else count_scale(counts)
    tooltip = [
        alt.Tooltip("model:N"),
        alt.Tooltip("layer:Q"),
        _counted(number),
        *(_counted(name) for name in more if name in layers.columns),
    ]
    chart: alt.Chart = (
        alt.Chart(layers.filter(pl.col(number).is_not_null()))
        .mark_line(point=alt.OverlayMarkDef(size=36), strokeWidth=2)
        .encode(
            alt.X(
                "depth:Q",
                title="relative depth",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format=".1f", tickCount=5),
            ),
            alt.Y(f"{number}:Q", title=title, axis=axis, scale=scale),
            look.colour(layers.get_column("model"), orient),
            strokeDash=look.dash(),
            tooltip=tooltip,
        )
        .properties(height=HEIGHT)
    )
    return chart


def frequency_distribution(bins: pl.DataFrame, look: Look) -> alt.Chart:
    """How the neurons that fired spread over frequencies, a line a model.

    Args:
        bins: rows with model, frequency (a bin's middle), frequency_from, frequency_to, share, n_neurons.
        look: colours and dashes of the models.
    """
    chart: alt.Chart = (
        alt.Chart(bins)
        .mark_line(interpolate="monotone", point=alt.OverlayMarkDef(size=20), strokeWidth=2)
        .encode(
            alt.X(
                "frequency:Q",
                title="frequency",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format="~%", grid=False, tickCount=_LOG_TICKS),
            ),
            alt.Y("share:Q", title="share of the neurons that fired", axis=alt.Axis(format="~%")),
            look.colour(bins.get_column("model")),
            strokeDash=look.dash(),
            tooltip=[
                alt.Tooltip("model:N"),
                alt.Tooltip("frequency_from:Q", format=".2~%", title="frequency from"),
                alt.Tooltip("frequency_to:Q", format=".2~%", title="to"),
                alt.Tooltip("share:Q", format=".2%"),
                _counted("n_neurons"),
                _counted("n_tokens_seen"),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart


def dead_by_tokens(points: pl.DataFrame, look: Look) -> alt.Chart:
    """How the share of neurons that never fired falls with the tokens seen, a line a model.

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
                axis=alt.Axis(format="~s", grid=False, tickCount=_LOG_TICKS),
            ),
            alt.Y(
                "dead_share:Q",
                title="neurons not fired yet (root scale)",
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
                _counted("n_dead"),
                _counted("n_neurons"),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart


def bars_by_model(
    rows: pl.DataFrame, category: str, number: str, look: Look, *, title: str, order: str | None = None
) -> alt.Chart:
    """A number of each category as bars side by side, one a model.

    Args:
        rows: rows with model, the category and the number.
        category: the column whose values stand below the bars.
        number: the column to draw, a share or a count.
        look: colours of the models.
        title: what the number is.
        order: the column that orders the categories; their order in the rows, unless given.
    """
    ordered = rows if order is None else rows.sort(order)
    categories = ordered.get_column(category).unique(maintain_order=True).to_list()
    models = [model for model in look.colours if model in set(rows.get_column("model"))]
    axis = alt.Axis(format="~%", tickCount=_FEW) if number in _FORMATS else count_axis(rows.get_column(number))
    more = [name for name in ("n_neurons", "n_strong", "n_alive") if name in rows.columns and name != number]
    chart: alt.Chart = (
        alt.Chart(rows)
        .mark_bar()
        .encode(
            alt.X(
                f"{category}:N",
                sort=categories,
                title=None,
                axis=alt.Axis(labelAngle=0 if len(categories) <= _FEW else -40, ticks=False, labelOverlap=False),
            ),
            alt.Y(f"{number}:Q", title=title, axis=axis),
            look.colour(rows.get_column("model")),
            xOffset=alt.XOffset("model:N", sort=models),
            tooltip=[
                alt.Tooltip("model:N"),
                alt.Tooltip(f"{category}:N"),
                _counted(number),
                *(_counted(name) for name in more),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart


def token_bars(tokens: pl.DataFrame, colour: str) -> alt.LayerChart:
    """The scores of a neuron's tokens as bars under each other, best first.

    Args:
        tokens: rows of one side with rank, token, score, z_score, corpus_count.
        colour: of the bars.
    """
    rows = tokens.with_columns(pl.col("token").map_elements(visible, return_dtype=pl.String))
    is_negative = float(rows.get_column("score").sum()) < 0
    # Room for the number behind the longest bar.
    edges = [0.0, *rows.get_column("score")]
    room = 0.18 * (max(edges) - min(edges)) or 1.0
    domain = [min(edges) - room, max(edges)] if is_negative else [min(edges), max(edges) + room]
    base = alt.Chart(rows).encode(
        alt.Y(
            "token:N",
            sort=alt.EncodingSortField("rank"),
            title=None,
            axis=alt.Axis(
                labelFont=_MONOSPACED,
                labelFontSize=12,
                labelLimit=190,
                labelOverlap=False,
                labelFlush=False,
                ticks=False,
                domain=False,
            ),
        ),
        # Both sides grow away from their tokens, so that the longest bar is the strongest on either.
        alt.X(
            "score:Q",
            title="score",
            axis=alt.Axis(tickCount=4),
            scale=alt.Scale(domain=domain, nice=False, reverse=is_negative),
        ),
        tooltip=[
            alt.Tooltip("rank:Q"),
            alt.Tooltip("token:N"),
            alt.Tooltip("score:Q", format=".3f"),
            alt.Tooltip("z_score:Q", format=".2f", title="z-score"),
            _counted("corpus_count"),
        ],
    )
    numbers = base.mark_text(align="left", dx=4, fontSize=11, color=_GREY)
    layers = [base.mark_bar(color=colour, height=12), numbers.encode(alt.Text("score:Q", format=".2f"))]
    bars = alt.LayerChart(layer=layers)
    # On the chart and not in its configuration, so that it can stand beside others.
    bars.view = alt.ViewBackground(strokeWidth=0)
    bars.height = _ROW_HEIGHT * max(1, rows.height)
    return bars


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
                alt.Tooltip("low:Q", format=".4~g", title="from"),
                alt.Tooltip("high:Q", format=".4~g", title="to"),
                alt.Tooltip("n_neurons:Q", format=",", title=counted),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart


def binned(values: pl.Series, *, is_log: bool, n_bins: int = 40) -> pl.DataFrame:
    """Bins of equal width, or of equal ratio for positive numbers; a value on the last edge is in the last bin.

    Returns:
        low, high and n_neurons of every bin from the smallest to the largest value; nulls and, for ratios, values
        that are not positive are left out.
    """
    known = values.drop_nulls().cast(pl.Float64)
    numbers = known.filter(known > 0).log10() if is_log else known
    schema = pl.Schema({"low": pl.Float64, "high": pl.Float64, "n_neurons": pl.UInt32})
    if numbers.is_empty():
        return pl.DataFrame(schema=schema)
    low, high = (float(edge) for edge in (numbers.to_numpy().min(), numbers.to_numpy().max()))
    # Numbers that differ by rounding only, or not at all, still need a bar that can be seen.
    is_flat = high - low <= max(1e-30, 1e-12 * max(abs(low), abs(high)))
    width = (max(abs(low), 1.0) if is_flat else high - low) / n_bins
    index = ((numbers - low) / width).floor().clip(0, n_bins - 1).cast(pl.Int64)
    counted = index.value_counts(name="n_neurons").rename({values.name: "bin"}).sort("bin")
    edges = [low + width * pl.col("bin"), low + width * (pl.col("bin") + 1)]
    first, last = ([10**edge for edge in edges]) if is_log else edges
    return counted.select(first.alias("low"), last.alias("high"), "n_neurons").cast(schema)


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
                *(alt.Tooltip(f"{one.column}:Q", format=".4~g", title=one.title) for one in (x, y)),
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


def _counted(name: str) -> alt.Tooltip:
    if name in _FORMATS:
        return alt.Tooltip(f"{name}:Q", format=_FORMATS[name], title=spoken(name))
    return alt.Tooltip(f"{name}:Q", format=",", title=spoken(name))


def count_axis(counts: pl.Series) -> alt.Axis:
    """An axis of whole numbers: ticks between 1 and 2 would say nothing."""
    most = max((int(count) for count in counts.drop_nulls()), default=0)
    return alt.Axis(values=list(range(max(1, most) + 1)), format="d") if most <= _FEW else alt.Axis(tickCount=_FEW)


def count_scale(counts: pl.Series) -> alt.Scale:
    """A scale of whole numbers from 0, which has a height even where all are 0."""
    return alt.Scale(domain=[0, max((int(count) for count in counts.drop_nulls()), default=0) or 1], nice=_FEW)


def spoken(column: str) -> str:
    """A column's name as people say it: n_tokens_seen is "tokens seen"."""
    return column.removeprefix("n_").replace("_", " ")
