"""Charts of one neuron's switch: the tokens that change most, and its divergence among random neurons."""

import altair as alt
import polars as pl

from neurothek.catalog.spelling import visible
from neurothek.dashboards.widgets.page import Theme

_STEP, _LINE = 24, 44
"""Pixels of a token's row, and of the random neurons' line."""

_GREY = {"light": "#767676", "dark": "#9a9a9a"}
_ZERO_WIDTH = "\u200b"


def changes_chart(changes: pl.DataFrame, colours: tuple[str, str], *, largest: float, on: Theme) -> alt.LayerChart:
    """Tokens under each other, the largest change first: a bar of the change, and the probabilities before and after.

    Args:
        changes: one neuron's rows of `SwitchPage.changes`.
        colours: of what becomes more probable, and of what becomes less.
        largest: the end of the axis on either side, so that two charts can be compared.
        on: the page's theme.
    """
    labels = _told_apart([visible(token) for token in changes["token"]])
    rows = changes.with_columns(pl.Series("label", labels, dtype=pl.String), points=100 * pl.col("change"))
    axis = alt.Axis(labelFont="monospace", labelLimit=130, labelOverlap=False, ticks=False, domain=False)
    end = 100 * largest or 1.0
    scale = alt.Scale(domain=[-end, end], nice=False)
    told = [
        alt.Tooltip("label:N", title="token"),
        alt.Tooltip("probability_before:Q", title="before", format=".3%"),
        alt.Tooltip("probability_after:Q", title="after", format=".3%"),
    ]
    x = alt.X("points:Q", scale=scale, title="change of its probability, percentage points", axis=alt.Axis(tickCount=5))
    base = alt.Chart(rows).encode(y=alt.Y("label:N", sort=labels, title=None, axis=axis), tooltip=told)
    numbers = "format(datum.probability_before, '.1%') + ' → ' + format(datum.probability_after, '.1%')"
    words = base.transform_calculate(numbers=numbers).encode(text="numbers:N", x=x)
    up, down = "datum.change > 0", "datum.change <= 0"
    bars = alt.condition(up, alt.value(colours[0]), alt.value(colours[1]))
    chart = alt.LayerChart(
        layer=[
            base.mark_bar(size=13).encode(x=x, color=bars),
            words.transform_filter(up).mark_text(align="right", dx=-6, color=_GREY[on]).encode(x=alt.datum(0)),
            words.transform_filter(down).mark_text(align="left", dx=6, color=_GREY[on]).encode(x=alt.datum(0)),
        ]
    )
    return _sized(chart, _STEP * max(1, rows.height))


def divergence_chart(neurons: pl.DataFrame, colour: str, *, on: Theme) -> alt.LayerChart:
    """Ticks of the random neurons' divergences on one line, and the neuron's own among them.

    Args:
        neurons: rows of `SwitchPage.neurons`.
        colour: of the neuron's own.
        on: the page's theme.
    """
    told = [alt.Tooltip("address:N", title="neuron"), alt.Tooltip("kl:Q", title="divergence, nats", format=".3g")]
    x = alt.X(
        "kl:Q", title="divergence of the next token, nats", axis=alt.Axis(tickCount=5), scale=alt.Scale(zero=True)
    )
    base = alt.Chart(neurons).encode(x=x, tooltip=told)
    chart = alt.LayerChart(
        layer=[
            base.transform_filter("datum.is_random").mark_tick(color=_GREY[on], thickness=1.5, height=18, opacity=0.7),
            base.transform_filter("!datum.is_random").mark_point(color=colour, filled=True, size=110, opacity=1),
        ]
    )
    return _sized(chart, _LINE)


def _sized(chart: alt.LayerChart, height: int) -> alt.LayerChart:
    """A chart of so many pixels."""
    chart.height = height
    return chart


def _told_apart(labels: list[str]) -> list[str]:
    """The labels, each once: tokens of the same look are told apart by what cannot be seen."""
    seen: dict[str, int] = {}
    apart = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        apart.append(label + _ZERO_WIDTH * (seen[label] - 1))
    return apart
