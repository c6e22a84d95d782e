"""Where in a sequence neurons fire: positional neurons by layer, their ranges and their profiles."""

from collections.abc import Mapping, Sequence
from itertools import groupby

import altair as alt
import polars as pl

from neurothek.dashboards.charts.models import PANEL_HEIGHT, PANEL_WIDTH, Panel, panels_of
from neurothek.dashboards.colours import ACCENT, DOMAINS, KINDS

KIND_COLOURS = KINDS["light"]
"""On paper."""


_STRENGTHS: Mapping[str, float] = {"strong": 1.0, "weak": 0.4}


_LARGEST_CIRCLE = 12.0


_PROFILE_WIDTH, _PROFILE_HEIGHT = 440, 280
_MOST_IN_A_ROW = 12
"""Circles that stand beside each other over one layer."""


def positional(neurons: pl.DataFrame, panels: Sequence[Panel], n_layers: Mapping[str, int]) -> alt.ConcatChart:
    """Every positional neuron as a circle over its layer, coloured by kind, pale where weak; a panel per model.

    Args:
        neurons: rows with model, layer, address, position_kind, position_strength, mutual_information_corrected.
        panels: the models and what stands under their names.
        n_layers: model -> number of its layers.
    """
    deepest = max(n_layers[model] for model, _ in panels)
    placed, n_columns, diameter = _stacked(neurons, deepest)
    base = (
        alt.Chart()
        .mark_circle(opacity=1, size=(0.85 * diameter) ** 2)
        .encode(
            alt.Y(
                "row:Q",
                title="positional neurons",
                axis=None,
                scale=alt.Scale(domain=[-1, PANEL_HEIGHT / diameter - 1]),
            ),
            alt.Color(
                "position_kind:N",
                scale=alt.Scale(domain=list(KIND_COLOURS), range=list(KIND_COLOURS.values())),
                sort=list(KIND_COLOURS),
                legend=alt.Legend(title=None, orient="top", symbolSize=90),
            ),
            alt.FillOpacity(
                "position_strength:N",
                scale=alt.Scale(domain=list(_STRENGTHS), range=list(_STRENGTHS.values())),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("address:N"),
                alt.Tooltip("position_kind:N"),
                alt.Tooltip("position_strength:N"),
                alt.Tooltip("mutual_information_corrected:Q", format=".3f", title="nats"),
            ],
        )
    )
    drawn = {
        model: base.encode(
            alt.X(
                "x:Q",
                title="layer",
                scale=alt.Scale(domain=[-0.5, n_layers[model] - 0.5], nice=False),
                axis=alt.Axis(values=_ticks(n_layers[model]), format="d", grid=False, tickSize=0, domainColor="#999"),
            )
        )
        for model, _ in panels
    }
    # Columns of a layer stand as close as rows do, also in models of fewer layers.
    steps = {model: diameter * n_layers[model] / PANEL_WIDTH for model, _ in panels}
    step = pl.col("model").replace_strict(steps, return_dtype=pl.Float64)
    x = pl.col("layer") + (pl.col("column") - (n_columns - 1) / 2) * step
    return panels_of(drawn, placed.with_columns(x.alias("x")), panels)


def ranges(neurons: pl.DataFrame, colours: Mapping[str, str] = KIND_COLOURS) -> alt.Chart:
    """The positions that each neuron of a team covers, those that come first at the top.

    Args:
        neurons: rows with address, n_sequences, first_position and counts at every position, position_kind.
        colours: kind -> colour.
    """
    runs = covered_ranges(neurons)
    order = runs.sort("start", "stop", "address").get_column("address").unique(maintain_order=True).to_list()
    last = max(row["first_position"] + len(row["counts"]) for row in neurons.to_dicts())
    chart: alt.Chart = (
        alt.Chart(runs)
        .mark_bar(height=alt.RelativeBandSize(0.7))
        .encode(
            alt.X(
                "start:Q",
                title="position in the sequence",
                scale=alt.Scale(domain=[0, last], nice=False),
                axis=alt.Axis(tickCount=10, format="d"),
            ),
            alt.X2("stop:Q"),
            alt.Y("address:N", sort=order, title=None, axis=alt.Axis(grid=False, domain=False, ticks=False)),
            alt.Color(
                "position_kind:N",
                scale=alt.Scale(domain=list(colours)[:2], range=list(colours.values())[:2]),
                legend=alt.Legend(title=None, orient="top", symbolType="square")
                if neurons.get_column("position_kind").n_unique() > 1
                else None,
            ),
            tooltip=[alt.Tooltip("address:N"), alt.Tooltip("start:Q"), alt.Tooltip("stop:Q")],
        )
        .properties(width=620, height=max(60, 18 * len(order)))
    )
    return chart


def covered_ranges(neurons: pl.DataFrame) -> pl.DataFrame:
    """Maximal runs of positions at which a neuron is active in more than half of the sequences.

    Args:
        neurons: rows as for `ranges`.

    Returns:
        address, position_kind, start and stop (the first position after the run), as in the view `position_teams`.
    """
    runs = []
    for row in neurons.to_dicts():
        covers = [2 * count > row["n_sequences"] for count in row["counts"]]
        place = row["first_position"]
        for is_covered, run in groupby(covers):
            length = len(list(run))
            if is_covered:
                runs.append((row["address"], row["position_kind"], place, place + length))
            place += length
    schema = {"address": pl.String, "position_kind": pl.String, "start": pl.Int64, "stop": pl.Int64}
    return pl.DataFrame(runs, schema=schema, orient="row")


def _stacked(neurons: pl.DataFrame, deepest: int) -> tuple[pl.DataFrame, int, float]:
    """A row and a column within its layer for each neuron, kinds on each other, strong ones first.

    Returns:
        The neurons with their places, the columns of a layer, and the diameter of a circle: the arrangement with the
        largest circles that fit between the layers of the deepest model.
    """
    kinds = {kind: number for number, kind in enumerate(KIND_COLOURS)}
    ordered = neurons.with_columns(pl.col("position_kind").replace_strict(kinds).alias("kind")).sort(
        "model", "layer", "kind", "position_strength", "neuron"
    )
    most = max(ordered.group_by("model", "layer").len().get_column("len"), default=1)

    def largest(n_columns: int) -> float:
        n_rows = -(-most // n_columns)
        return min(_LARGEST_CIRCLE, PANEL_HEIGHT / (n_rows + 1), 0.9 * PANEL_WIDTH / (deepest * n_columns))

    n_columns = max(range(1, _MOST_IN_A_ROW + 1), key=largest)
    number = pl.int_range(pl.len()).over("model", "layer")
    places = ((number % n_columns).alias("column"), (number // n_columns).alias("row"))
    return ordered.with_columns(places), n_columns, largest(n_columns)


def _ticks(n_layers: int) -> list[int]:
    step = max(1, -(-n_layers // 12))
    return list(range(0, n_layers, step))


def position_profile(positions: pl.DataFrame, accent: str = ACCENT["light"], *, is_close: bool = False) -> alt.Chart:
    """Frequency against position: the whole corpus as a strong line, its domains as thin ones.

    Args:
        positions: rows with domain, n_sequences, first_position, last_position, and the counts at every position or
            the frequencies over equal bins of them.
        accent: the colour of the whole; domains beside it have their own.
        is_close: whether the axis ends above the largest frequency and not at 100%, with means of at most 64 bins of
            positions, and the whole on top.
    """
    rows = positions if positions.height <= len(DOMAINS) + 1 else positions.head(1)
    domains = rows.get_column("domain").to_list()
    colours = [accent, *DOMAINS[: len(domains) - 1]]
    points = [_points(row) for row in rows.to_dicts()]
    highest = 1.0
    if is_close:
        # Lines are drawn in the order of the rows.
        points = [_means(of_domain) for of_domain in reversed(points)]
        largest = max((row for of_domain in points for row in of_domain.get_column("frequency")), default=0.0)
        highest = min(1.0, _ROOM * largest) or 1.0
    chart: alt.Chart = (
        alt.Chart(pl.concat(points))
        .mark_line(interpolate="linear", strokeJoin="round")
        .encode(
            alt.X("position:Q", title="position in the sequence", axis=alt.Axis(tickCount=8, format="d")),
            alt.Y("frequency:Q", scale=alt.Scale(domain=[0, highest]), axis=alt.Axis(format="%", tickCount=5)),
            alt.Color(
                "domain:N",
                scale=alt.Scale(domain=domains, range=colours),
                sort=domains,
                legend=alt.Legend(title=None, orient="right", symbolStrokeWidth=3) if len(domains) > 1 else None,
            ),
            strokeWidth=alt.condition(alt.datum.domain == "all", alt.value(2.2), alt.value(0.9)),
            order="position:Q",
            tooltip=["domain:N", "position:Q", alt.Tooltip("frequency:Q", format=".2%")],
        )
        .properties(width=_PROFILE_WIDTH, height=_PROFILE_HEIGHT)
    )
    return chart


_MOST_POINTS = 64
_ROOM = 1.15
"""How far above the largest frequency the axis ends."""


def _means(points: pl.DataFrame) -> pl.DataFrame:
    """Means over at most 64 runs of neighbouring points, as equal as can be."""
    if points.height <= _MOST_POINTS:
        return points
    bins = (pl.int_range(pl.len()) * _MOST_POINTS // points.height).alias("bin")
    means = points.group_by(bins, maintain_order=True).agg(
        pl.col("domain").first(), pl.col("position", "frequency").mean()
    )
    return means.select(points.columns)


def _points(row: dict[str, object]) -> pl.DataFrame:
    """One domain's frequencies with the positions they belong to; a bin stands at its middle."""
    first, last, n_sequences = row["first_position"], row["last_position"], row["n_sequences"]
    assert isinstance(first, int)
    assert isinstance(last, int)
    assert isinstance(n_sequences, int)
    counts, binned = row["counts"], row["frequencies"]
    if isinstance(counts, list) and n_sequences:
        shares = [count / n_sequences for count in counts]
    else:
        shares = binned if isinstance(binned, list) else []
    width = (last - first + 1) / max(len(shares), 1)
    places = [first + width * (number + 0.5) - 0.5 for number in range(len(shares))]
    return pl.DataFrame(
        {"domain": [row["domain"]] * len(shares), "position": places, "frequency": shares},
        schema={"domain": pl.String, "position": pl.Float64, "frequency": pl.Float64},
    )
