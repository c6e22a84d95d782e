"""Figures 8 to 11: every positional neuron once, the largest team, and variants beside their plain model."""

from collections import Counter
from dataclasses import replace

import polars as pl
import pytest

from neurothek.dashboards.papers.figure import NotDrawn
from neurothek.dashboards.papers.material import Material
from neurothek.dashboards.papers.voita import during_training, position_ranges, without_positions
from tests.support.paper_figures import caption, figures, panels


def test_every_positional_neuron_is_one_circle(whole: Material) -> None:
    for number, models in ((8, ["tiny-1m", "tiny-2m"]), (10, ["tiny-2m", "tiny-2m-nopos"])):
        drawn = panels(figures(whole)[number])
        assert [part["title"]["text"] for part, _ in drawn] == models
        for (_, rows), model in zip(drawn, models, strict=True):
            expected = whole.positional.filter(pl.col("model") == model).get_column("address").to_list()
            assert sorted(row["address"] for row in rows) == sorted(expected)
            assert len({(row["x"], row["row"]) for row in rows}) == len(rows)
            assert all(abs(row["x"] - row["layer"]) < 0.5 for row in rows)
    assert "gelu-1m: too few sequences of full length." in caption(figures(whole)[8])


def test_the_team_is_the_largest_of_the_strongest_kind(whole: Material) -> None:
    strong = whole.positional.filter(
        (pl.col("position_kind") == "oscillatory")
        & (pl.col("position_strength") == "strong")
        & pl.col("model").is_in(whole.sizes())
    )
    sizes = Counter(strong.select("model", "layer").iter_rows())
    figure = figures(whole)[9]
    assert f"has the most: {max(sizes.values())} neurons" in caption(figure)
    ((_, rows),) = panels(figure)
    model, layer = next(iter({tuple(row["address"].split("N")[0].split("/L")) for row in rows}))
    assert sizes[model, int(layer)] == max(sizes.values())
    weak = replaced(whole, position_strength=pl.lit("weak"))
    assert "strong oscillatory neurons; there are none here: these are" in caption(figures(weak)[9])


def test_checkpoints_stand_in_the_order_of_training(whole: Material) -> None:
    names = {"tiny-2m-nopos": "step 1000", "tiny-1m": "step 250"}
    models = whole.comparison.models.with_columns(
        pl.col("model").replace_strict(names, default=None, return_dtype=pl.String).alias("variant"),
        pl.lit("tiny").alias("family"),
        pl.lit(2_000_000).alias("size"),
    ).filter(pl.col("model") != "weights-only")
    # As if all were built alike.
    trained = replace(whole, comparison=replace(whole.comparison, models=models), built={})
    drawn = panels(figures(trained)[11])
    # The plain model comes last; the gelu model, plain too, has too few sequences.
    assert [part["title"]["text"] for part, _ in drawn][:2] == ["tiny-1m", "tiny-2m-nopos"]


def replaced(of: Material, **columns: object) -> Material:
    """The same with other values in columns of the positional neurons."""
    return replace(of, positional=of.positional.with_columns(**columns))  # type: ignore[arg-type]


def test_panels_count_the_circles_and_all_neurons(whole: Material) -> None:
    rows = whole.kinds.positions.group_by("model").agg(pl.col("n_positional", "n_neurons").sum()).to_dicts()
    counts = {row["model"]: row for row in rows}
    for part, circles in panels(figures(whole)[8]):
        own = counts[part["title"]["text"]]
        assert len(circles) == own["n_positional"]
        assert f"{own['n_positional']:,} of {own['n_neurons']:,}" in part["title"]["subtitle"]


def test_a_model_that_may_not_be_compared_has_a_star(whole: Material) -> None:
    stars = {part["title"]["text"]: part["title"]["subtitle"].endswith("*") for part, _ in panels(figures(whole)[8])}
    assert stars == {model: model in whole.look.why_not for model in stars}
    assert any(stars.values())


def test_without_a_team_there_is_no_range_and_it_says_why(whole: Material) -> None:
    for nothing in (
        replaced(whole, position_kind=pl.lit("one extreme")),
        replaced(whole, counts=pl.lit(None, pl.List(pl.Int64))),
    ):
        drawn = position_ranges(nothing)
        assert isinstance(drawn, NotDrawn)
        assert drawn.reason


@pytest.mark.parametrize("figure", [without_positions, during_training])
def test_a_variant_needs_a_plain_model_of_its_size(whole: Material, figure: object) -> None:
    models = whole.comparison.models.with_columns(variant=pl.lit(None, pl.String))
    assert callable(figure)
    assert isinstance(figure(replace(whole, comparison=replace(whole.comparison, models=models))), NotDrawn)
