"""The page of interventions: what it draws and lists of planted rows, and what is said where some lack."""

import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from neurothek.catalog.problems import NotFound
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.parts.interventions import (
    HAS_KINDS,
    MOST_NEURONS,
    MOST_PROMPTS,
    STEERED_CONTINUATIONS,
    STEERED_PLACES,
    STEERED_SHARES,
    worth_sentence,
)
from neurothek.dashboards.widgets.figures import data_of_query
from neurothek.queries.ask.one_query import run_query
from neurothek.queries.search.chosen import neurons_of_kinds
from tests.dashboards.conftest import Opener
from tests.support import continuation_rows, event_warehouse, intervention_rows
from tests.support.tiny import MODELS

MEASURED = [MODELS[model_id].name for model_id, _ in event_warehouse.MEASURED]
LARGEST = max(MEASURED, key=lambda name: next(plan.size for plan in MODELS if plan.name == name))
NAMES = {str(one["intervention"]) for one in intervention_rows.INTERVENTIONS}
WITHOUT_TEXT = "positional set to 0"
"""No prompts were continued with its neurons changed."""


def text(page: AppTest) -> str:
    elements = [*page.header, *page.markdown, *page.caption, *page.info, *page.code]
    return "\n".join(str(element.value) for element in elements).replace("\\", "")


def picker(page: AppTest, label: str) -> Selectbox[str]:
    (found,) = [one for one in page.selectbox if one.label == label]
    return found


def tables(page: AppTest) -> str:
    return "".join(str(one.proto.body) for one in page.get("html"))


def test_the_page_is_about_the_largest_model_and_its_largest_effect(page: Opener, whole_path: Path) -> None:
    opened = page(whole_path, "interventions")
    assert not opened.exception
    assert not opened.error
    model, intervention = picker(opened, "Model"), picker(opened, "Intervention")
    assert model.value == LARGEST
    with Warehouse(whole_path).reader() as connection:
        ((largest,),) = connection.execute(
            "select arg_max(intervention, effect) from interventions where model = $model", {"model": LARGEST}
        ).fetchall()
    assert intervention.value == largest
    assert set(intervention.options) == NAMES
    shown = text(opened)
    for title in (
        "Worth of each kind of neuron, by size",
        f"Effects on {LARGEST}",
        f"Single neurons of {LARGEST}",
    ):
        assert f"**{title}**" in shown
    assert f"{intervention_rows.N_SETS} random sets" in shown


def test_model_and_intervention_stand_in_the_address(page: Opener, whole_path: Path) -> None:
    opened = page(whole_path, "interventions", model=MEASURED[0], intervention="mine")
    model, intervention = picker(opened, "Model"), picker(opened, "Intervention")
    assert (model.value, intervention.value) == (MEASURED[0], "mine")
    intervention.set_value("dead set to 0").run()
    assert opened.query_params["intervention"] == "dead set to 0"
    # Of another model another intervention may be the first.
    picker(opened, "Model").set_value(MEASURED[1]).run()
    assert not opened.exception
    assert opened.query_params["model"] == MEASURED[1]
    assert opened.query_params["intervention"] == picker(opened, "Intervention").value
    unknown = page(whole_path, "interventions", intervention="none")
    assert [warning.value for warning in unknown.warning] == [r"The address has an unknown intervention\: none\."]


def test_texts_stand_side_by_side(page: Opener, whole_path: Path) -> None:
    opened = page(whole_path, "interventions", model=MEASURED[0], intervention="mine")
    model_id, corpus_id = event_warehouse.MEASURED[0]
    parameters = {"model": MEASURED[0], "intervention": "mine"}
    with duckdb.connect(str(whole_path), read_only=True) as connection:
        data = data_of_query(connection, "texts", STEERED_CONTINUATIONS, parameters)
    wanted = {"model_id": model_id, "corpus_id": corpus_id, "intervention": "mine"}
    measured = (*event_warehouse.MEASURED, event_warehouse.UNSHOWN)
    rows = [
        row
        for row in continuation_rows.rows(measured)["continuations"]
        if all(row[name] == value for name, value in wanted.items())
    ]
    said = {(row["prompt"], row["method"]): row["continuation"] for row in rows if row["set_number"] in (0, 1)}
    assert data.frame.height == len(continuation_rows.PROMPTS) <= MOST_PROMPTS
    for row in data.frame.to_dicts():
        for method in ("untouched", "changed", "random", "word_filter", "self_debiasing"):
            assert row[method] == said[row["prompt"], method]
    shown = tables(opened)
    for column in ("prompt", "untouched", "changed", "random", "word filter", "self debiasing"):
        assert f">{column}</th>" in shown
    assert all(prompt in shown for prompt in continuation_rows.PROMPTS)
    assert "Random: the first random set" in text(opened)


def test_without_prompts_it_says_how_to_have_some_continued(page: Opener, whole_path: Path) -> None:
    opened = page(whole_path, "interventions", intervention=WITHOUT_TEXT)
    shown = text(opened)
    assert "No prompts have been continued with these neurons changed" in shown
    assert "**Continuations**" not in shown
    assert "Effect by position and domain" in shown


def test_single_neurons_are_listed_the_largest_effect_first(page: Opener, whole_path: Path) -> None:
    opened = page(whole_path, "interventions", model=MEASURED[0])
    (table,) = [one.value for one in opened.dataframe]
    with duckdb.connect(str(whole_path), read_only=True) as connection:
        expected = connection.execute(
            "select address, effect_on_loss, effect_percentile from neuron_effects where model = $model"
            " order by effect_on_loss desc, layer, neuron",
            {"model": MEASURED[0]},
        ).fetchall()
    assert 0 < len(expected) <= MOST_NEURONS
    found = pl.from_pandas(table)
    assert found["address"].to_list() == [row[0] for row in expected]
    assert found["effect_on_loss"].to_list() == pytest.approx([row[1] for row in expected])
    # Among so few random neurons nobody has a percentile, and no empty column stands there.
    assert {row[2] for row in expected} == {None}
    assert "effect_percentile" not in found.columns


def test_every_caption_says_what_random_neurons_did_and_whose_figure_it_is(page: Opener, whole_path: Path) -> None:
    opened = page(whole_path, "interventions", model=MEASURED[0], intervention="mine")
    captions = [caption.value.replace("\\", "") for caption in opened.caption]
    assert sum("random" in caption for caption in captions) == 6
    sources = [str(title.proto.help).replace("\\", "") for title in opened.markdown if title.proto.help]
    told = [source for source in (*sources, *captions) if "this project" in source]
    assert len(told) == 6
    assert all("Geva et al. 2022" in source for source in told)


def test_of_models_without_interventions_the_page_is_a_sentence_and_a_command(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "interventions")
    assert not opened.exception
    assert opened.get("vega_lite_chart") == []
    assert {one.label for one in opened.selectbox} <= {"Corpus"}
    (sentence,) = opened.info
    assert "No interventions have been run on these models yet" in sentence.value
    (command,) = opened.code
    assert command.value.startswith("neurothek intervene tiny-1m --each kind")


def test_what_is_recommended_chooses_some_neurons(whole_path: Path) -> None:
    """A kind that no neuron is of would choose none."""
    with Warehouse(whole_path).reader() as connection:
        for model in MODELS:
            (has_kinds,) = data_of_query(connection, "has_kinds", HAS_KINDS, {"model": model.name}).frame["has_kinds"]
            if has_kinds:
                assert neurons_of_kinds(connection, model.name)
                continue
            with pytest.raises(NotFound):
                neurons_of_kinds(connection, model.name)


def test_where_neurons_were_only_turned_off_one_by_one_the_rest_is_left_out(
    page: Opener, tmp_path: Path, whole_path: Path
) -> None:
    path = tmp_path / "single.duckdb"
    shutil.copy(whole_path, path)
    with duckdb.connect(str(path)) as connection:
        for table in ("interventions", "intervention_neurons", "intervention_effects"):
            connection.execute(f"delete from store.{table}")
    opened = page(path, "interventions", model=MEASURED[0])
    assert not opened.exception
    assert [one.value for one in opened.header] == ["One model", "Neurons turned off one by one"]
    assert {one.label for one in opened.selectbox} == {"Corpus", "Model"}


@pytest.mark.parametrize(
    "query",
    [STEERED_PLACES, STEERED_SHARES, STEERED_CONTINUATIONS],
    ids=["steered_places", "steered_shares", "steered_continuations"],
)
def test_the_sql_behind_a_figure_yields_its_data(whole_path: Path, query: str) -> None:
    with duckdb.connect(str(whole_path), read_only=True) as connection:
        data = data_of_query(connection, "steered", query, {"model": MEASURED[0], "intervention": "mine"})
        assert data.frame.height
        # Means of doubles end in other bits from one run to the next.
        assert_frame_equal(run_query(connection, data.sql), data.frame, rel_tol=1e-12)
        nobody = run_query(connection, query, {"model": MEASURED[0], "intervention": "it's none"})
        assert nobody.is_empty()


def worth(kind: str, effect: float, least: float, most: float, model: str = "b") -> dict[str, object]:
    mean = (least + most) / 2
    numbers = {"effect": effect, "random_effect_most": most, "worth": effect - mean, "n_sets": 20}
    return {"model": model, "kind": kind, "n_neurons": len(kind), "random_effect_least": least, **numbers}


def test_the_sentence_tells_kinds_beyond_all_random_sets_from_the_others() -> None:
    smaller = worth("dead", 9.0, 0.0, 1.0, model="a")
    dead, detectors = worth("dead", 0.0, 0.0, 0.0), worth("token detectors", 0.5, 0.25, 0.5)
    dominant, positional = worth("dominant", 1.5, 0.25, 0.75), worth("positional", 1.25, 0.0, 0.5)
    assert worth_sentence(pl.DataFrame([smaller, dead, dominant, positional, detectors])) == (
        "In b, turning off these kinds of neurons costs more than any of 20 random sets of the same size, "
        "in nats per token: "
        "dominant (8 neurons: +1.500, random sets 0.250 to 0.750), "
        "positional (10 neurons: +1.250, random sets 0.000 to 0.500); "
        "token detectors and dead cost no more than random sets do."
    )
    assert worth_sentence(pl.DataFrame([dominant | {"n_neurons": 1}]), 3.4871) == (
        "In b, turning off these kinds of neurons costs more than any of 20 random sets of the same size, "
        "in nats per token: "
        "dominant (1 neuron: +1.500, random sets 0.250 to 0.750). Untouched, its loss is 3.487."
    )
    assert worth_sentence(pl.DataFrame([dead])) == "In b, none costs more than random sets do: dead."
