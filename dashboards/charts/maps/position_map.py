"""Where in a sequence neurons fire, a row for each: rows of one shape stand together."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from neurothek.dashboards.charts.axes import HEIGHT, count_axis, layer_axis
from neurothek.dashboards.charts.maps.neuron_map import RAMPS
from neurothek.dashboards.charts.pictures import Drawing
from neurothek.queries.neuron.logits import frequencies

_GAP = 2
"""Rows left free between two kinds."""

_ROW = (4, 16)
_HIGHEST = 620
_EDGES = 104
"""Pixels of the key above and the axis below."""

_SCHEMA = {
    "address": pl.String,
    "position_kind": pl.String,
    "position_strength": pl.String,
    "row": pl.Int64,
    "position": pl.Float64,
    "position_to": pl.Float64,
    "frequency": pl.Float64,
}


def position_cells(profiles: pl.DataFrame, kinds: Sequence[str]) -> pl.DataFrame:
    """A cell for each neuron and stretch of positions, the neurons in rows: by kind, then by where they mostly fire.

    Args:
        profiles: rows with address, position_kind, position_strength, first_position, last_position, n_sequences and
            counts_64.
        kinds: the kinds in the order of their groups.

    Returns:
        Rows with address, position_kind, position_strength, row (with a gap between kinds), position, position_to and
        frequency.
    """
    rows = [row | {"shares": _shares(row)} for row in profiles.to_dicts()]
    rows = [row for row in rows if row["shares"]]
    # The peak of a plateau is anywhere on it; the mean position of the firing is where its middle lies.
    ordered = sorted(rows, key=lambda row: (kinds.index(row["position_kind"]), middle(row["shares"]), row["address"]))
    cells, line, kind = [], 0, None
    for row in ordered:
        if kind not in (None, row["position_kind"]):
            line += _GAP
        kind = row["position_kind"]
        width = (row["last_position"] - row["first_position"] + 1) / len(row["shares"])
        facts = (row["address"], kind, row["position_strength"], line)
        for number, share in enumerate(row["shares"]):
            start = row["first_position"] + number * width
            cells.append((*facts, start, start + width, share))
        line += 1
    return pl.DataFrame(cells, schema=_SCHEMA, orient="row")


def middle(shares: Sequence[float]) -> float:
    """Mean stretch at which a neuron fires: sum of number x share, over the sum of shares; 0 if it never does."""
    total = sum(shares)
    return sum(number * share for number, share in enumerate(shares)) / total if total else 0.0


def position_map(
    cells: pl.DataFrame, colours: Mapping[str, str], theme: str, *, counts_strong: bool = False
) -> Drawing:
    """A heat map; a click chooses a neuron ("chosen", by address).

    Args:
        cells: see `position_cells`.
        colours: kind -> colour of the mark at the left of its rows.
        theme: "light" or "dark".
        counts_strong: whether strong activations are counted, as of models without exact zeros, and not all.
    """
    n_rows = 1 + max(cells.get_column("row"), default=0)
    scale = alt.Scale(domain=[0, n_rows], reverse=True, nice=False)
    heat = clickable(_heat(cells, scale, theme, "is strong" if counts_strong else "fires"))
    groups = pl.DataFrame(list(_groups(cells, colours)), infer_schema_length=None)
    mark = alt.Chart(groups).encode(alt.Y("row:Q", scale=scale, axis=None))
    strip = mark.mark_rect().encode(
        alt.Y2("row_to:Q"), x=alt.value(-9), x2=alt.value(-3), color=alt.Color("colour:N", scale=None)
    )
    names = mark.mark_text(align="right", baseline="middle", fontSize=11).encode(
        alt.Y("middle:Q", scale=scale, axis=None),
        alt.Text("said:N"),
        x=alt.value(-14),
        color=alt.Color("colour:N", scale=None),
    )
    least, most = _ROW
    height = _EDGES + n_rows * max(least, min(most, _HIGHEST // n_rows))
    return alt.layer(heat, strip, names).properties(height=height)


def _heat(cells: pl.DataFrame, scale: alt.Scale, theme: str, fires: str) -> alt.Chart:
    first, last = min(cells.get_column("position"), default=0), max(cells.get_column("position_to"), default=1)
    heat: alt.Chart = (
        alt.Chart(cells.with_columns(row_to=pl.col("row") + 1))
        .mark_rect(cursor="pointer")
        .encode(
            alt.X(
                "position:Q",
                title="position in the sequence",
                axis=alt.Axis(format="d", labelBound=True, grid=False),
                scale=alt.Scale(domain=[first, last], nice=False),
            ),
            alt.X2("position_to:Q"),
            alt.Y("row:Q", scale=scale, axis=None),
            alt.Y2("row_to:Q"),
            alt.Color(
                "frequency:Q",
                scale=alt.Scale(domain=[0, 1], range=list(RAMPS[theme])),
                legend=alt.Legend(
                    title=f"share of the sequences in which it {fires}",
                    titleLimit=300,
                    orient="top",
                    format="~%",
                    gradientLength=180,
                    gradientThickness=8,
                    tickCount=3,
                    offset=4,
                ),
            ),
            tooltip=[
                alt.Tooltip("address:N", title="opens"),
                alt.Tooltip("position_kind:N", title="kind"),
                alt.Tooltip("position_strength:N", title="strength"),
                alt.Tooltip("position:Q", format=".0f", title="from position"),
                alt.Tooltip("frequency:Q", format=".1%", title=f"{fires} in"),
            ],
        )
    )
    return heat


def clickable(chart: alt.Chart) -> alt.Chart:
    """The drawing on which a click chooses a neuron ("chosen", by address)."""
    chosen: alt.Chart = chart.add_params(
        alt.selection_point(name="chosen", fields=["address"], on="click", empty=False)
    )
    return chosen


def _shares(row: Mapping[str, Any]) -> list[float]:
    n_positions = row["last_position"] - row["first_position"] + 1
    return frequencies(row["counts_64"], row["n_sequences"], n_positions) or []


def _groups(cells: pl.DataFrame, colours: Mapping[str, str]) -> list[dict[str, Any]]:
    made = []
    for kind, colour in colours.items():
        rows = cells.filter(pl.col("position_kind") == kind).get_column("row").unique()
        if not rows.is_empty():
            low, high = min(rows), max(rows) + 1
            label = f"{kind} ({len(rows):,})"
            made.append({"row": low, "row_to": high, "middle": (low + high) / 2, "said": label, "colour": colour})
    return made


def kinds_by_layer(rows: pl.DataFrame, colours: Mapping[str, str], n_layers: int) -> alt.Chart:
    """The positional neurons of each layer, stacked by kind; weak ones are pale.

    Args:
        rows: rows with layer, position_kind, position_strength, n_neurons, n_sequences.
        colours: kind -> colour, in the order of the stack.
        n_layers: layers of the model; those without a row stand empty.
    """
    domain = [kind for kind in colours if kind in set(rows.get_column("position_kind"))]
    order = {kind: place for place, kind in enumerate(colours)}
    stacked = rows.with_columns(pl.col("position_kind").replace_strict(order, return_dtype=pl.Int64).alias("place"))
    most = rows.group_by("layer").agg(pl.col("n_neurons").sum()).get_column("n_neurons")
    chart: alt.Chart = (
        alt.Chart(stacked)
        # Bars of a layer each, with room between them.
        .mark_bar(size=max(2, min(40, 300 // n_layers)))
        .encode(
            alt.X(
                "layer:Q",
                scale=alt.Scale(domain=[-0.5, n_layers - 0.5], nice=False),
                axis=layer_axis(pl.Series([n_layers - 1])),
            ),
            alt.Y("n_neurons:Q", title="positional neurons", axis=count_axis(most)),
            alt.Color(
                "position_kind:N",
                scale=alt.Scale(domain=domain, range=[colours[kind] for kind in domain]),
                legend=alt.Legend(title=None, orient="top", symbolType="square"),
            ),
            alt.Opacity("position_strength:N", scale=alt.Scale(domain=["strong", "weak"], range=[1, 0.5]), legend=None),
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("layer:Q"),
                alt.Tooltip("position_kind:N", title="kind"),
                alt.Tooltip("position_strength:N", title="strength"),
                alt.Tooltip("n_neurons:Q", title="neurons"),
                alt.Tooltip("n_sequences:Q", format=",", title="sequences"),
            ],
        )
        .properties(height=HEIGHT)
    )
    return chart
