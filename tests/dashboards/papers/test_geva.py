"""The figures of Geva et al. 2022 as files: which are drawn of hand-made numbers, and why others are not."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.papers.figure import Figure, Setting, draw_sheets
from neurothek.dashboards.papers.geva import SKETCHES, judged
from neurothek.queries.papers import geva as paper
from neurothek.queries.papers.exhibit import Picture, Sheet
from neurothek.queries.views.neuron_facts import rows_of_models
from tests.support import event_warehouse
from tests.support.paper_figures import sheet_of, sheets
from tests.support.tiny import MODELS

NAMES = [model.name for model in MODELS]
MEASURED = [MODELS[model_id].name for model_id, _ in event_warehouse.MEASURED]
LOOK = Look(dict.fromkeys(NAMES, "#444444"), {MEASURED[0]: "another text"})
Rows = dict[Sheet, pl.DataFrame]
SLUGS = ["concepts", "candidates", "final-norm", "dominant", "extreme-updates"]
PLACES = ["Figure 2", "Figure 3", "Figure 4", "Figure 6", "Section 5.2"]


@pytest.fixture(scope="module")
def rows(whole_path: Path) -> Rows:
    with Warehouse(whole_path).reader() as connection:
        return sheets(connection, paper.GEVA, *NAMES)


def draw(rows: Rows, setting: Setting | None = None) -> list[Figure]:
    return draw_sheets(paper.GEVA.exhibits, SKETCHES, rows, setting or Setting(LOOK))


def of(picture: Picture, rows: Rows) -> pl.DataFrame:
    """The rows that a picture shows."""
    return SKETCHES[picture].of(rows[sheet_of(paper.GEVA, picture)])


@pytest.fixture(scope="module")
def figures(rows: Rows) -> Mapping[str, Figure]:
    return {figure.picture.slug: figure for figure in draw(rows)}


def drawing(figure: Figure) -> dict[str, Any]:
    assert figure.chart is not None
    return dict(figure.chart.to_dict())


def drawn_rows(figure: Figure) -> list[dict[str, Any]]:
    return [row for data in drawing(figure)["datasets"].values() for row in data]


def test_all_are_drawn_where_all_was_measured(figures: Mapping[str, Figure]) -> None:
    assert set(figures) == set(SLUGS)
    for figure, place in zip((figures[slug] for slug in SLUGS), PLACES, strict=True):
        assert figure.why_not == ""
        caption = " ".join(drawing(figure)["title"]["subtitle"])
        assert f"{place} of Geva et al. 2022" in caption
        assert f"{MEASURED[0]} (another text)" in caption


def test_concepts_stand_beside_those_of_random_vectors(rows: Rows, figures: Mapping[str, Figure]) -> None:
    whole = drawing(figures["concepts"])
    concepts = of(paper.CONCEPTS, rows)
    shown = {name: set(concepts.filter(model=name)["condition"]) for name in concepts["model"].unique()}
    assert len(whole["concat"]) == whole["columns"] * len(shown)
    assert {"value", "random"} <= set.union(*shown.values())
    titles = [panel["title"]["text"] for panel in whole["concat"]]
    assert f"{MEASURED[0]}: value vectors" in titles
    assert f"{MEASURED[0]}: random vectors" in titles
    heights = {tuple(panel["encoding"]["y"]["scale"]["domain"]) for panel in whole["concat"]}
    stacks = concepts.group_by("model", "condition", "layer").agg(pl.col("token_share").sum())
    assert heights == {(0, max(stacks["token_share"]))}
    assert all(panel["encoding"]["y"]["title"] == "tokens of a concept" for panel in whole["concat"])


def test_a_token_is_counted_once_however_many_judged_it(rows: Rows) -> None:
    key = ("model", "condition", "layer", "class")
    concepts = of(paper.CONCEPTS, rows)
    assert concepts.select(key).n_unique() == concepts.height
    assert set(concepts["annotator"]) == {"all"}


def test_rules_stand_in_where_no_person_judged(rows: Rows, whole_path: Path) -> None:
    with Warehouse(whole_path).reader() as connection:
        everything = rows_of_models(connection, "concepts_by_layer", NAMES, order=("model",))
    people = everything.filter(annotator="all")
    rules = people.with_columns(pl.lit("rules").alias("annotator"), pl.lit(0.25).alias("token_share"))
    of_rules = people.filter(pl.col("model") != MEASURED[0])
    chosen = judged(pl.concat([of_rules, rules]))
    assert set(chosen.select("model", "annotator").unique().iter_rows()) == {
        (model, "rules" if model == MEASURED[0] else "all") for model in people["model"].unique()
    }
    (figure, *_) = draw(rows | {sheet_of(paper.GEVA, paper.CONCEPTS): chosen})
    assert f"not by people: {MEASURED[0]}." in " ".join(drawing(figure)["title"]["subtitle"])


def test_each_draws_the_rows_of_its_view(rows: Rows, figures: Mapping[str, Figure]) -> None:
    # Largest, mean and smallest are rows of their own, and so are the two shares.
    assert len(drawn_rows(figures["candidates"])) == 3 * of(paper.CANDIDATES, rows).height
    assert len(drawn_rows(figures["extreme-updates"])) == 2 * of(paper.EXTREME_UPDATES, rows).height
    assert len(drawn_rows(figures["final-norm"])) == of(paper.FINAL_NORM, rows).height
    shares = {(row["model"], row["layer"], row["kind"]): row["share"] for row in drawn_rows(figures["dominant"])}
    for row in of(paper.DOMINANT, rows).to_dicts():
        assert shares[row["model"], row["layer"], "dominant"] == row["dominant_share"]
        assert shares[row["model"], row["layer"], "random"] == row["random_share"]


def test_what_was_not_measured_is_not_drawn_and_says_how_to_measure_it(rows: Rows) -> None:
    setting = Setting(LOOK, "builtin", ("--corpus", "builtin"))
    lacking = [sheet_of(paper.GEVA, one) for one in (paper.DOMINANT, paper.FINAL_NORM)]
    nothing = {sheet: rows[sheet][:0] for sheet in lacking}
    missing = {one.picture.slug: one.why_not for one in draw(rows | nothing, setting) if one.chart is None}
    assert missing == {
        "dominant": "events were not measured on the built-in text;"
        " measure them with `neurothek ingest MODEL --corpus builtin --job events`",
        "final-norm": "the final norm has not been compared, or there is none;"
        " compare it with `neurothek ingest MODEL --job controls`",
    }


def test_of_weights_alone_no_figure_of_events_is_drawn(weights_path: Path) -> None:
    with Warehouse(weights_path).reader() as connection:
        figures = draw(sheets(connection, paper.GEVA, *NAMES))
    assert [figure.picture.slug for figure in figures if figure.chart is None] == [
        *("concepts", "candidates", "extreme-updates", "final-norm", "dominant")
    ]
    assert "annotate" in figures[0].why_not
