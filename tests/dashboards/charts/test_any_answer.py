"""What can be drawn of any answer: the columns that are chosen, and drawings of them."""

from typing import Any

import polars as pl
import pytest

from neurothek.dashboards.charts.any_answer import MOST_BARS, Fit, answer_chart, fitting
from neurothek.dashboards.charts.spread import MOST_POINTS
from neurothek.dashboards.colours import DOMAINS

LAYERS = pl.DataFrame(
    {
        "model": ["a", "a", "b", "b"],
        "layer": [0, 1, 0, 1],
        "n_dead": [3, 1, 4, 1],
        "dead_share": [0.3, 0.1, None, 0.1],
    }
)
MODELS = {"b": "#440154", "a": "#44bf70", "c": "#21918c"}


def drawn(answer: pl.DataFrame, number: str | None = None) -> dict[str, Any]:
    fit = fitting(answer)
    assert fit is not None
    whole = answer_chart(answer, fit, number or fit.numbers[0], accent="#123456", models=MODELS).to_dict()
    (rows,) = whole["datasets"].values()
    return whole | {"rows": rows}


def test_numbers_of_layers_are_lines_a_model() -> None:
    assert fitting(LAYERS) == Fit("line", "layer", ("n_dead", "dead_share"), "model")
    chart = drawn(LAYERS)
    assert chart["mark"]["type"] == "line"
    encoding = chart["encoding"]
    assert (encoding["x"]["title"], encoding["y"]["title"]) == ("layer", "dead")
    assert encoding["color"]["scale"] == {"domain": ["b", "a"], "range": ["#440154", "#44bf70"]}
    assert [tip["title"] for tip in encoding["tooltip"]] == ["layer", "dead", "model"]


def test_what_others_are_counted_of_is_drawn_where_it_is_asked_for() -> None:
    answer = LAYERS.select("model", "layer", pl.lit(10).alias("n_neurons"), "n_dead")
    fit = fitting(answer)
    assert fit is not None
    assert fit.numbers == ("n_dead", "n_neurons")


def test_layers_have_whole_ticks() -> None:
    assert drawn(LAYERS)["encoding"]["x"]["axis"]["tickMinStep"] == 1
    halves = LAYERS.with_columns((pl.col("layer") / 2).alias("depth")).drop("layer")
    assert "tickMinStep" not in drawn(halves)["encoding"]["x"]["axis"]


def test_what_is_unknown_is_not_drawn() -> None:
    values = {row[drawn(LAYERS, "dead_share")["encoding"]["y"]["field"]] for row in drawn(LAYERS, "dead_share")["rows"]}
    assert values == {0.3, 0.1}


def test_named_things_are_bars_in_the_order_of_the_answer() -> None:
    answer = pl.DataFrame({"token": [" b", "a", "c"], "n_neurons": [5, 9, 1]})
    assert fitting(answer) == Fit("bar", "token", ("n_neurons",), None)
    chart = drawn(answer)
    assert chart["mark"] == {"type": "bar", "color": "#123456"}
    assert chart["encoding"]["y"]["sort"] is None
    # White space is marked as everywhere.
    assert [row[chart["encoding"]["y"]["field"]] for row in chart["rows"]] == ["·b", "a", "c"]


def test_two_texts_tell_bars_apart() -> None:
    answer = pl.DataFrame({"word": ["x", "x", "y", "y"], "side": ["up", "down"] * 2, "n": [1, 2, 3, 4]})
    assert fitting(answer) == Fit("bar", "word", ("n",), "side")
    encoding = drawn(answer)["encoding"]
    assert encoding["color"]["scale"] == {"domain": ["up", "down"], "range": list(DOMAINS[:2])}
    assert encoding["yOffset"]["field"] == encoding["color"]["field"]


def test_two_numbers_of_many_things_are_points() -> None:
    n = MOST_BARS + 1
    answer = pl.DataFrame({"address": [f"m/L0N{i}" for i in range(n)], "kurtosis": range(n), "frequency": range(n)})
    assert fitting(answer) == Fit("point", "kurtosis", ("frequency",), None)
    assert drawn(answer)["mark"]["type"] == "circle"


NOTHING_TO_DRAW = {
    "no rows": LAYERS.clear(),
    "one row": LAYERS.head(1),
    "texts only": pl.DataFrame({"a": ["x", "y"], "b": ["z", "w"]}),
    "lists": pl.DataFrame({"a": [[1], [2]], "b": [[3], [4]]}),
    "an id and nothing measured": pl.DataFrame({"neuron": [1, 2], "address": ["m/L0N1", "m/L0N2"]}),
    "unknown numbers": pl.DataFrame({"word": ["x", "y"], "n": [None, None]}, schema_overrides={"n": pl.Int64}),
    "too many rows": pl.DataFrame({"layer": range(MOST_POINTS + 1), "n": range(MOST_POINTS + 1)}),
    "layers that come again": pl.DataFrame({"layer": [1, 1, 2], "n": [1, 2, 3]}),
}


def test_nothing_is_drawn_where_a_drawing_says_no_more_than_the_table(subtests: pytest.Subtests) -> None:
    for name, rows in NOTHING_TO_DRAW.items():
        with subtests.test(name):
            assert fitting(rows) is None


@pytest.mark.parametrize("name", ["a.b", "a[0]", "a:Q", "a'b", "<script>", "count()", "ä b"])
def test_any_name_of_a_column_can_be_drawn(name: str) -> None:
    answer = pl.DataFrame({"layer": [0, 1], name: [2.5, 3.5]})
    chart = drawn(answer)
    assert [row[chart["encoding"]["y"]["field"]] for row in chart["rows"]] == [2.5, 3.5]
    assert chart["encoding"]["y"]["type"] == "quantitative"


def test_decimals_are_numbers() -> None:
    answer = pl.DataFrame({"layer": [0, 1], "n": [1, 2]}).with_columns(pl.col("n").cast(pl.Decimal(10, 2)))
    chart = drawn(answer)
    assert [row[chart["encoding"]["y"]["field"]] for row in chart["rows"]] == [1.0, 2.0]
