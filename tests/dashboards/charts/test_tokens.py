"""Bars of a neuron's tokens: the strongest is the longest on either side, and numbers have room."""

from typing import Any

import altair as alt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurothek.dashboards.charts import tokens as tokens_charts


def rows(chart: alt.LayerChart) -> list[dict[str, Any]]:
    (data,) = chart.to_dict()["datasets"].values()
    return list(data)


def test_bars_show_white_space_and_keep_markup_as_text() -> None:
    tokens = pl.DataFrame(
        {
            "rank": [1, 2, 3],
            "token": [" school", "<script>", "\n"],
            "score": [3.0, 2.0, 1.0],
            "z_score": [3.0, 2.0, 1.0],
            "corpus_count": [5, 0, None],
        }
    )
    assert [row["token"] for row in rows(tokens_charts.token_bars(tokens, "#000000"))] == ["·school", "<script>", "↵"]


@pytest.mark.parametrize(("scores", "is_reversed"), [([3.0, 1.0], False), ([-3.0, -1.0], True)])
def test_the_strongest_bar_is_the_longest_on_either_side(scores: list[float], is_reversed: bool) -> None:
    numbers = {"rank": [1, 2], "token": ["a", "b"], "score": scores, "z_score": scores, "corpus_count": [1, 1]}
    encoding = tokens_charts.token_bars(pl.DataFrame(numbers), "#000000").to_dict()["layer"][0]["encoding"]
    assert encoding["x"]["scale"]["reverse"] is is_reversed


def test_bars_leave_room_for_their_numbers() -> None:
    for scores in ([4.0, 1.0], [-4.0, -1.0], [4.0, -1.0], [0.0, 0.0]):
        tokens = pl.DataFrame({"rank": [1, 2], "token": ["a", "b"], "score": scores, "z_score": scores})
        drawn = tokens_charts.token_bars(tokens.with_columns(pl.lit(1).alias("corpus_count")), "#000000").to_dict()
        low, high = drawn["layer"][0]["encoding"]["x"]["scale"]["domain"]
        longest = max(scores, key=abs)
        assert low <= min(0, *scores)
        assert high >= max(0, *scores)
        assert (high if longest >= 0 else -low) > abs(longest)


def of_scores(scores: list[float]) -> pl.DataFrame:
    n = len(scores)
    return pl.DataFrame(
        {
            "rank": range(1, n + 1),
            "token": [f"t{number}" for number in range(n)],
            "score": scores,
            "z_score": scores,
            "corpus_count": [None] * n,
        },
        schema_overrides={"score": pl.Float64, "z_score": pl.Float64, "corpus_count": pl.Int64},
    )


@settings(max_examples=30)
@given(scores=st.lists(st.integers(-800, 800).map(lambda number: number / 8), max_size=12))
def test_every_bar_lies_within_the_scale_and_has_a_row(scores: list[float]) -> None:
    chart = tokens_charts.token_bars(of_scores(scores), "#000000")
    drawn = chart.to_dict()
    low, high = drawn["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert low < high
    assert low <= min(0.0, *scores, 0.0)
    assert high >= max(0.0, *scores, 0.0)
    assert drawn["height"] == 20 * max(1, len(scores))


def test_bars_stand_by_rank_and_tell_their_numbers() -> None:
    frame = of_scores([3.0, 2.0, 1.0]).sample(fraction=1, shuffle=True, seed=1)
    encoding = tokens_charts.token_bars(frame, "#123456").to_dict()["layer"][0]["encoding"]
    assert encoding["y"]["sort"]["field"] == "rank"
    assert {tip["field"] for tip in encoding["tooltip"]} == {"rank", "token", "score", "z_score", "corpus_count"}


def test_two_tokens_that_look_alike_keep_their_rows() -> None:
    frame = of_scores([2.0, 1.0]).with_columns(token=pl.Series([" a", "\u00b7a"]))
    shown = [row["token"] for row in rows(tokens_charts.token_bars(frame, "#000000"))]
    assert len({*shown}) == 2


DETECTORS = pl.DataFrame(
    {
        "address": ["a/L0N1", "b/L2N3"],
        "detected_tokens": [[" the", "a", "b", "c", "d", "e"], ["x" * 40]],
        "recalls": [[1.0, 0.96, 1.0, 1.0, 1.0, 1.0], [0.95]],
        "scores": [[-0.5, 0.25, 0.1, 0.1, 0.1, 0.1], [1.0]],
        "detected_share": [0.96, 1.0],
        "n_active": [1234, 100],
        "pole": ["negative", None],
        "top_tokens": [["a", *(f"t{number}" for number in range(1, 12))], None],
        "bottom_tokens": [[" the", "z"], None],
    }
)


def table_cells(detectors: pl.DataFrame, theme: str = "light") -> list[dict[str, Any]]:
    chart = tokens_charts.detector_table(detectors, theme).to_dict()
    rows = [row for data in chart["datasets"].values() for row in data if "text" in row]
    # Blanks as wide as a figure.
    return [row | {"text": row["text"].replace("\u2007", " ")} for row in rows]


def test_a_detector_stands_beside_what_it_promotes_and_suppresses() -> None:
    cells = table_cells(DETECTORS)
    by_role = {role: [cell["text"] for cell in cells if cell["role"] == role] for role in ("promoted", "suppressed")}
    # Ten of its tokens, and the numbers of the triggers that it promotes.
    assert [text for text in by_role["promoted"] if "%" not in text] == [
        "a",
        *(f"t{number}" for number in range(1, 10)),
    ]
    assert [text for text in by_role["suppressed"] if "%" not in text] == ["·the", "z"]
    assert "100% -0.50" in by_role["suppressed"]
    assert " 96% +0.25" in by_role["promoted"]
    assert {"a/L0N1", "96% of 1,234 times", "1 more tokens", "at its negative pole"} <= {cell["text"] for cell in cells}
    # What it fires on is bold where it is promoted or suppressed, and nothing else is.
    assert [cell["text"] for cell in cells if cell["is_bold"]] == ["a", "·the"]


def test_lines_of_detectors_do_not_meet_and_long_tokens_are_cut() -> None:
    cells = table_cells(DETECTORS)
    first, second = (next(cell["line"] for cell in cells if cell["text"] == name) for name in ("a/L0N1", "b/L2N3"))
    assert max(cell["line"] for cell in cells if cell["line"] < second) - first == 4
    assert second - first == 6
    places = [(cell["x"], cell["line"]) for cell in cells]
    assert len(set(places)) == len(places)
    assert tokens_charts.shortened("x" * 40) == "x" * 14 + "…"
    assert tokens_charts.shortened(" school") == "·school"


def test_a_table_can_be_read_on_black() -> None:
    def ink(theme: str) -> list[str]:
        layers = tokens_charts.detector_table(DETECTORS, theme).to_dict()["layer"]
        return list(layers[1]["encoding"]["color"]["scale"]["range"])

    assert not set(ink("light")[:1]) & set(ink("dark")[:1])
    assert len(ink("light")) == len(ink("dark")) == 4
