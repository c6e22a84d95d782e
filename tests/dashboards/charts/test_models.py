"""How models look: a colour and a legend for those that are drawn, dashes for those that may not be compared."""

from typing import Any

import altair as alt
import polars as pl
import pytest

from neurothek.dashboards.charts.models import DASHED, Look, panels_of

NAMES = ("small", "large", "gelu")
LOOK = Look(dict(zip(NAMES, ("#44bf70", "#440154", "#21918c"), strict=True)), {"gelu": "another text"})


def drawn_as(part: alt.SchemaBase) -> dict[str, Any]:
    spec = part.to_dict()
    assert isinstance(spec, dict)
    return spec


@pytest.mark.parametrize(
    ("models", "shown"),
    [((), []), (("large", "small", "large"), ["small", "large"]), (("gelu", "stranger"), ["gelu"])],
)
def test_the_legend_is_of_the_models_that_are_drawn_in_their_order(models: tuple[str, ...], shown: list[str]) -> None:
    drawn = drawn_as(LOOK.colour(models))
    assert drawn["scale"] == {"domain": shown, "range": [LOOK.colours[name] for name in shown]}
    assert drawn["sort"] == shown


def test_long_names_stand_in_fewer_columns() -> None:
    look = Look({"a" * 14: "#000000", "b" * 15: "#000001"}, {})
    assert drawn_as(look.colour(["a" * 14]))["legend"]["columns"] == 3
    assert drawn_as(look.colour(look.colours))["legend"]["columns"] == 2
    assert drawn_as(look.colour(look.colours, "right"))["legend"]["columns"] == 1


def test_what_may_not_be_compared_is_dashed_and_told_with_its_reason() -> None:
    dash = drawn_as(LOOK.dash())
    assert dash["condition"] == {"test": {"field": "model", "oneOf": ["gelu"]}, "value": list(DASHED)}
    assert dash["value"] == [1, 0]
    assert LOOK.not_comparable(["small", "gelu"]) == "gelu (another text)"
    (caption,) = LOOK.caption(NAMES)
    assert "gelu (another text)" in caption
    assert (LOOK.not_comparable(["small"]), LOOK.caption(["small", "large"]), LOOK.caption([])) == ("", [], [])


ROWS = pl.DataFrame({"model": ["small", "large", "small"], "x": [1, 2, 3]})


@pytest.mark.parametrize(
    ("n", "columns"), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 3), (6, 3), (7, 4), (8, 4), (9, 3), (12, 4), (13, 4)]
)
def test_panels_stand_in_rows_of_about_equal_length(n: int, columns: int) -> None:
    base = alt.Chart().mark_bar().encode(x="x:Q")
    drawn = panels_of(base, ROWS, [("small", "")] * n).to_dict()
    assert len(drawn["concat"]) == n
    assert drawn["columns"] == columns <= 4
    # No row is more than one panel shorter than it must be.
    n_rows = -(-n // columns)
    assert n_rows == -(-n // 4)


def test_a_panel_has_the_rows_of_its_model_and_a_name_above() -> None:
    base = alt.Chart().mark_bar().encode(x="x:Q")
    drawn = panels_of(base, ROWS, [("large", "one"), ("small", "two"), ("stranger", "")]).to_dict()
    told = [(one["title"]["text"], one["title"]["subtitle"]) for one in drawn["concat"]]
    assert told == [("large", "one"), ("small", "two"), ("stranger", "")]
    rows = [[row["x"] for row in drawn["datasets"][one["data"]["name"]]] for one in drawn["concat"]]
    assert rows == [[2], [1, 3], []]
    assert drawn["resolve"]["scale"] == {"color": "shared", "fillOpacity": "shared", "y": "shared"}


def test_a_panel_may_have_a_chart_of_its_own() -> None:
    bars, points = (alt.Chart().encode(x="x:Q") for _ in range(2))
    own = {"small": bars.mark_bar(), "large": points.mark_circle()}
    drawn = panels_of(own, ROWS, [("small", ""), ("large", "")]).to_dict()
    assert [one["mark"]["type"] for one in drawn["concat"]] == ["bar", "circle"]
