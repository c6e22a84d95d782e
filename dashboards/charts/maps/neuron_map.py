"""All neurons of a model in one picture: a row for each layer, a cell for a neuron or a few."""

from collections.abc import Mapping
from typing import Literal

import altair as alt
import polars as pl

By = Literal["kind", "frequency", "first firing", "kurtosis"]
"""What colours the cells, and puts a layer's neurons in order."""

ORDERS: Mapping[By, str] = {
    "kind": (
        "Within a layer: token detectors, positional neurons, all others, dead or negligible; of each the most active "
        "first, and paler the less active."
    ),
    "frequency": "Within a layer: from the most to the least active, dead or negligible last.",
    "first firing": "Within a layer: by the tokens read before a neuron first fired, dead last.",
    "kurtosis": "Within a layer: from the neuron whose token scores stand out most to the flattest, dead or negligible "
    "last.",
}

FIRST_ACTIVE = (
    "Within a layer: by the tokens read before a neuron was first active (its gate open, or its activation above 0), "
    "never active last."
)
"""The order by first firing of a model without exact zeros, whose neurons all write something at every token."""

KINDS: Mapping[str, Mapping[str, str]] = {
    "light": {
        "token detector": "#332288",
        "positional": "#2a9d6f",
        "fires": "#6d8cab",
        "others": "#6d8cab",
        "not run on text": "#6d8cab",
        "dead": "#b5532a",
        "never active": "#b5532a",
        "negligible": "#b5532a",
        "provably dead": "#5c2410",
    },
    "dark": {
        "token detector": "#a99bf5",
        "positional": "#3fae7a",
        "fires": "#6f8dad",
        "others": "#6f8dad",
        "not run on text": "#6f8dad",
        "dead": "#cf7a45",
        "never active": "#cf7a45",
        "negligible": "#cf7a45",
        "provably dead": "#f3c9a8",
    },
}
"""Colours of kinds of neurons, told apart with any colour vision."""

_SILENT = ("dead", "never active", "provably dead", "negligible")

_IS_SILENT = " || ".join(f"datum.kind === '{kind}'" for kind in _SILENT)

RAMPS = {"light": ("#dfe8f1", "#12355b"), "dark": ("#1f2d3b", "#b9d9fa")}
"""From little to much, away from the background."""

_TITLES: Mapping[By, str] = {
    "kind": "frequency",
    "frequency": "frequency",
    "first firing": "tokens before it first fired",
    "kurtosis": "excess kurtosis of its scores",
}
_TITLES_WITHOUT_ZEROS: Mapping[By, str] = {
    "kind": "effective frequency",
    "frequency": "effective frequency",
    "first firing": "tokens before it was first active",
    "kurtosis": _TITLES["kurtosis"],
}
_HIGHEST = 560
_ROW = (8, 40)
"""Least and most pixels of a layer."""

_EDGES = 116
"""Pixels of the legend above and the axis below."""

MOST_CELLS = 8192
_ROW_CELLS = (64, 512)


def cells_of_a_row(n_layers: int) -> int:
    """How many cells a layer gets at most: as many as a browser draws at once, and the eye tells apart."""
    least, most = _ROW_CELLS
    return max(least, min(most, MOST_CELLS // n_layers))


def order(by: By, *, lacks_zeros: bool = False) -> str:
    """The order of a layer's neurons, in a sentence; of a model without exact zeros none is said to fire."""
    return FIRST_ACTIVE if lacks_zeros and by == "first firing" else ORDERS[by]


def neuron_map(cells: pl.DataFrame, by: By, theme: str, *, lacks_zeros: bool = False) -> alt.Chart:
    """A row for each layer, the first at the top; a click on a cell chooses its neuron ("chosen", by address).

    Args:
        cells: rows with layer, cell_from, cell_to, n_neurons, kind, address, number, and told (tokens that the neuron
            promotes) where it is known.
        by: what colours the cells.
        theme: "light" or "dark".
        lacks_zeros: whether no activation of the model is exactly 0.
    """
    titles = _TITLES_WITHOUT_ZEROS if lacks_zeros else _TITLES
    n_layers = cells.get_column("layer").n_unique()
    least, most = _ROW
    tooltip = [
        alt.Tooltip("address:N", title="opens"),
        *([alt.Tooltip("told:N", title="promotes")] if "told" in cells.columns else []),
        alt.Tooltip("kind:N"),
        alt.Tooltip("number:Q", title=titles[by], format={"first firing": ",", "kurtosis": ".1f"}.get(by, ".2%")),
        *(
            [alt.Tooltip("n_neurons:Q", title="neurons in the cell")]
            if cells.get_column("n_neurons").max() != 1
            else []
        ),
    ]
    chart: alt.Chart = (
        alt.Chart(cells.with_columns(pl.col("number").fill_null(0)))
        .mark_rect(cursor="pointer")
        .encode(
            alt.X(
                "cell_from:Q",
                title="share of the layer's neurons",
                scale=alt.Scale(domain=[0, 1], nice=False),
                axis=alt.Axis(format="~%", tickCount=5, grid=False, domain=False),
            ),
            alt.X2("cell_to:Q"),
            alt.Y(
                "layer:O",
                scale=alt.Scale(paddingInner=0.14 if n_layers <= 40 else 0.06, paddingOuter=0),
                axis=alt.Axis(labelOverlap=True, ticks=False, domain=False),
            ),
            color=_colour(cells, by, theme, titles[by]),
            opacity=_opacity(cells, by),
            tooltip=tooltip,
        )
        .add_params(alt.selection_point(name="chosen", fields=["address"], on="click", empty=False))
        .properties(height=_EDGES + n_layers * max(least, min(most, _HIGHEST // n_layers)))
    )
    return chart


def _colour(cells: pl.DataFrame, by: By, theme: str, title: str) -> alt.Color:
    kinds = KINDS[theme]
    present = set(cells.get_column("kind"))
    if by == "kind":
        domain = [kind for kind in kinds if kind in present]
        return alt.Color(
            "kind:N",
            scale=alt.Scale(domain=domain, range=[kinds[kind] for kind in domain]),
            sort=domain,
            legend=alt.Legend(title=None, orient="top", symbolType="square", offset=4),
        )
    numbers = _firing(cells)
    colour = alt.Color(
        "number:Q",
        scale=alt.Scale(
            type="symlog" if by == "kurtosis" else "log",
            domain=_domain(numbers, by),
            range=list(RAMPS[theme]),
            clamp=True,
            reverse=by == "first firing",
        ),
        legend=alt.Legend(
            title=title,
            orient="top",
            format={"first firing": "~s", "kurtosis": "~r"}.get(by, "~%"),
            gradientLength=180,
            gradientThickness=8,
            tickCount=4,
            offset=4,
        ),
    )
    coloured: alt.Color = alt.condition(_IS_SILENT, alt.value(kinds["dead"]), colour)
    return coloured


def _opacity(cells: pl.DataFrame, by: By) -> alt.Opacity | alt.OpacityValue:
    """Among kinds, paler where a neuron is less active; those that never fired are as strong as any."""
    if by != "kind" or cells.get_column("number").drop_nulls().is_empty():
        return alt.OpacityValue(1)
    scale = alt.Scale(type="log", domain=_domain(_firing(cells), by), range=[0.15, 1], clamp=True)
    paler: alt.Opacity = alt.condition(_IS_SILENT, alt.value(1), alt.Opacity("number:Q", scale=scale, legend=None))
    return paler


def _firing(cells: pl.DataFrame) -> pl.Series:
    return cells.filter(~pl.col("kind").is_in(_SILENT)).get_column("number").drop_nulls()


def _domain(numbers: pl.Series, by: By) -> list[float]:
    """From the smallest to the largest, in a scale that has room for both."""
    values = numbers.cast(pl.Float64)
    if by != "kurtosis":
        values = values.filter(values > 0)
    if values.is_empty():
        return [0.1, 1.0]
    low, high = float(values.quantile(0.01) or 0.0), float(values.quantile(0.99) or 0.0)
    return [low, high if high > low else low + abs(low) + 1e-9]
