"""Charts of a switch, drawn by altair's own renderer: valid, on one scale, and each token in a row of its own."""

import polars as pl

from neurothek.dashboards.charts.pictures import drawn
from neurothek.dashboards.live.switch import changes_chart, divergence_chart
from neurothek.queries.trace.switch import CHANGE_COLUMNS, SWITCHED_COLUMNS

COLOURS = ("#112233", "#445566")


def changes() -> pl.DataFrame:
    rows = [
        ("tiny/L0N1", False, 1, " a", 0.5, 0.1, -0.4),
        ("tiny/L0N1", False, 2, " b", 0.1, 0.3, 0.2),
        # Two tokens of one look.
        ("tiny/L0N1", False, 3, "\n", 0.1, 0.2, 0.1),
        ("tiny/L0N1", False, 4, "\n", 0.1, 0.15, 0.05),
    ]
    return pl.DataFrame(rows, schema=dict(CHANGE_COLUMNS), orient="row")


def test_every_token_has_a_row_and_a_bar_of_its_change() -> None:
    chart = changes_chart(changes(), COLOURS, largest=0.6, on="light")
    said = chart.to_dict()
    (rows,) = said["datasets"].values()
    assert [row["points"] for row in rows] == [-40, 20, 10, 5]
    labels = [row["label"] for row in rows]
    assert [label.replace("\u200b", "") for label in labels] == ["·a", "·b", "↵", "↵"]
    assert len(set(labels)) == 4
    bars, *_ = said["layer"]
    assert bars["encoding"]["y"]["sort"] == labels
    # Both sides of the axis reach as far, and so do those of a chart beside it.
    assert bars["encoding"]["x"]["scale"]["domain"] == [-60, 60]
    svg = drawn(chart, "svg").decode()
    assert "50.0% → 10.0%" in svg
    assert "10.0% → 30.0%" in svg
    assert COLOURS[0] in svg
    assert COLOURS[1] in svg


def test_a_change_of_nothing_is_drawn_too() -> None:
    assert drawn(changes_chart(changes(), COLOURS, largest=0.0, on="dark"), "svg")


def test_a_neuron_stands_among_the_random_ones() -> None:
    rows = [
        ("tiny/L0N1", False, 0.5, 0.9, " a", 0.5),
        *((f"tiny/L0N{i}", True, 0.0, i / 100, " a", 0.5) for i in (2, 3)),
    ]
    chart = divergence_chart(pl.DataFrame(rows, schema=dict(SWITCHED_COLUMNS), orient="row"), "#112233", on="light")
    ticks, spot = chart.to_dict()["layer"]
    assert [ticks["mark"]["type"], spot["mark"]["type"]] == ["tick", "point"]
    assert [part["transform"][0]["filter"] for part in (ticks, spot)] == ["datum.is_random", "!datum.is_random"]
    assert "#112233" in drawn(chart, "svg").decode()
