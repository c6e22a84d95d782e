"""The page of linear shortcuts and its charts: what they draw of planted numbers, and what is said where some lack."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt
import duckdb
import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.charts.predictions import shortcuts
from neurothek.dashboards.parts.shortcuts import (
    BESIDE_OTHERS,
    SHORTCUT_FIT,
    SUB_MODULE_FITS,
    UNDETERMINED,
    shortcuts_sentence,
    undetermined,
)
from neurothek.dashboards.widgets.figures import anchor_of, data_of_models, data_of_query, without_legend
from tests.dashboards.conftest import Opener
from tests.support import event_warehouse, shortcut_rows
from tests.support.tiny import MODELS, Row

MEASURED = [MODELS[model_id].name for model_id, _ in event_warehouse.MEASURED]
LOOK = Look(dict(zip(MEASURED, ("#44bf70", "#440154", "#21918c"), strict=True)), {MEASURED[1]: "another text"})


def quality_of(path: Path, models: Sequence[str]) -> pl.DataFrame:
    with Warehouse(path).reader() as connection:
        return data_of_models(connection, "shortcut_quality", models, "method", "state").frame


def asked(path: Path, query: str, **parameters: Any) -> pl.DataFrame:
    with Warehouse(path).reader() as connection:
        return data_of_query(connection, "asked", query, parameters).frame


def drawn(chart: alt.LayerChart, mark: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A layer by its mark, and its rows."""
    whole = chart.to_dict()
    layer = next(layer for layer in whole["layer"] if layer["mark"]["type"] == mark)
    (rows,) = whole["datasets"].values()
    return layer, rows


def planted(model_id: int, rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["model_id"] == model_id]


@pytest.mark.parametrize("method", shortcut_rows.WHOLE)
def test_a_heat_map_has_a_cell_for_every_pair_of_states(whole_path: Path, method: str) -> None:
    fits = asked(whole_path, SHORTCUT_FIT, model=MEASURED[1], method=method)
    _, rows = drawn(shortcuts.heat_map(fits, "dark"), "rect")
    model_id = event_warehouse.MEASURED[1][0]
    expected = {
        (row["source_state"], row["target_state"]): row["r2"]
        for row in planted(model_id, shortcut_rows.fits(event_warehouse.MEASURED))
        if row["method"] == method
    }
    assert {(row["source_state"], row["target_state"]): row["r2"] for row in rows} == expected
    n_layers = MODELS[model_id].n_layers
    assert len(rows) == n_layers * (n_layers + 1) // 2


def test_the_best_prediction_is_further_from_the_background_in_both_themes() -> None:
    def lightness(colour: str) -> int:
        return sum(int(colour[start : start + 2], 16) for start in (1, 3, 5))

    pale, full = (lightness(colour) for colour in shortcuts.RAMPS["light"])
    assert full < pale
    pale, full = (lightness(colour) for colour in shortcuts.RAMPS["dark"])
    assert full > pale


def test_a_map_of_many_layers_has_no_numbers_in_its_cells() -> None:
    def fits(n_layers: int) -> pl.DataFrame:
        pairs = [(source, target) for source in range(n_layers) for target in range(source + 1, n_layers + 1)]
        frame = pl.DataFrame(pairs, schema=["source_state", "target_state"], orient="row")
        more = {"r2": 0.5, "condition": 2.5, "rank": 4, "n_fit": 9, "n_validation": 3}
        return frame.with_columns(pl.lit(value).alias(name) for name, value in more.items())

    def marks(n_layers: int) -> list[str]:
        return [layer["mark"]["type"] for layer in shortcuts.heat_map(fits(n_layers), "light").to_dict()["layer"]]

    assert marks(shortcuts.MOST_NUMBERS) == ["rect", "text"]
    assert marks(shortcuts.MOST_NUMBERS + 1) == ["rect"]


@pytest.mark.parametrize("number", ["precision_1", "surprisal"])
def test_models_are_compared_with_their_intervals_and_dashed_where_they_may_not_be(
    whole_path: Path, number: str
) -> None:
    quality = quality_of(whole_path, MEASURED)
    chart = shortcuts.by_model(quality.filter(pl.col("method").is_in(["mat", "id"])), number, LOOK)
    band, rows = drawn(chart, "area")
    assert band["encoding"]["y"]["field"] == f"{number}_low"
    assert band["encoding"]["y2"]["field"] == f"{number}_high"
    assert len(rows) == 2 * sum(MODELS[model_id].n_layers + 1 for model_id, _ in event_warehouse.MEASURED)
    line, _ = drawn(chart, "line")
    assert line["encoding"]["strokeDash"]["condition"]["test"]["oneOf"] == [MEASURED[1]]
    assert line["encoding"]["strokeWidth"]["scale"]["domain"] == ["mat", "id"]
    points, _ = drawn(chart, "point")
    assert {"model", "method", "state", f"{number}_low", "n"} <= {tip["field"] for tip in points["encoding"]["tooltip"]}
    assert drawn(without_legend(chart), "line")[0]["encoding"]["color"]["legend"] is None  # type: ignore[arg-type]


def test_precision_at_1_5_and_10_are_drawn_of_every_state(whole_path: Path) -> None:
    model_id = event_warehouse.MEASURED[0][0]
    quality = quality_of(whole_path, MEASURED[:1])
    whole = quality.filter(pl.col("method").is_in(["mat", "id"]))
    _, rows = drawn(shortcuts.precision_of_model(whole), "line")
    found = {(row["method"], row["state"], row["k"]): (row["precision_low"], row["precision"]) for row in rows}
    assert found == {
        (row["method"], row["state"], k): (row[f"precision_{k}_low"], row[f"precision_{k}"])
        for row in planted(model_id, shortcut_rows.predictions(event_warehouse.MEASURED))
        for k in (1, 5, 10)
    }


def test_a_method_has_one_colour_whichever_are_drawn(whole_path: Path) -> None:
    quality = quality_of(whole_path, MEASURED[:1])

    def colours(frame: pl.DataFrame) -> dict[str, str]:
        scale = drawn(shortcuts.of_one_model(frame, "surprisal"), "line")[0]["encoding"]["color"]["scale"]
        return dict(zip(scale["domain"], scale["range"], strict=True))

    everything = colours(quality)
    assert set(everything) == {*shortcut_rows.WHOLE, *shortcut_rows.PARTIAL}
    assert len(set(everything.values())) == len(everything)
    assert colours(quality.filter(method="mat_ffn")) == {"mat_ffn": everything["mat_ffn"]}


def test_the_statement_of_parts_has_the_shown_corpus_alone(whole_path: Path) -> None:
    rows = asked(whole_path, SUB_MODULE_FITS, model=MEASURED[1])
    model_id = event_warehouse.MEASURED[1][0]
    expected = planted(model_id, shortcut_rows.part_fits(event_warehouse.MEASURED))
    assert {(row["layer"], row["sub_module"]): row["r2"] for row in rows.to_dicts()} == {
        (row["layer"], row["sub_module"]): row["r2"] for row in expected
    }
    n_layers = MODELS[model_id].n_layers
    assert all(row["depth"] == (row["layer"] + 0.5) / n_layers for row in rows.to_dicts())


def text(page: AppTest) -> str:
    elements = [*page.header, *page.markdown, *page.caption, *page.info, *page.code]
    return "\n".join(str(element.value) for element in elements).replace("\\", "")


def test_the_page_is_about_the_largest_model_or_the_one_of_the_address(page: Opener, whole_path: Path) -> None:
    opened = page(whole_path, "shortcuts")
    assert not opened.exception
    assert not opened.error
    largest = max(MEASURED, key=lambda name: next(plan.size for plan in MODELS if plan.name == name))
    assert opened.selectbox(key="model").value == largest
    other = page(whole_path, "shortcuts", model=MEASURED[0])
    shown = text(other)
    for title in (
        "Linear map (mat) of",
        "Identity (id) of",
        "Precision by state,",
        "Surprisal by state,",
        "Fits, parts of",
    ):
        assert f"{title} {MEASURED[0]}" in shown
    assert f"The cost of exiting early, {MEASURED[0]}" in shown


def test_what_compare_shows_is_not_repeated_but_linked(page: Opener, whole_path: Path) -> None:
    opened = page(whole_path, "shortcuts")
    assert "by depth" not in text(opened)
    (link,) = [part.proto.body for part in opened.get("html") if "Compare with other sizes" in part.proto.body]
    assert f'href="/compare#{BESIDE_OTHERS}"' in link
    # The place is one that Compare has.
    assert BESIDE_OTHERS in figures(page(whole_path))
    assert BESIDE_OTHERS not in figures(opened)


def test_a_variant_is_compared_with_the_plain_sizes_and_itself(page: Opener, tmp_path: Path, whole_path: Path) -> None:
    path = tmp_path / "variant.duckdb"
    shutil.copy(whole_path, path)
    variant = MEASURED[1]
    with duckdb.connect(str(path)) as connection:
        connection.execute("update store.models set variant = 'other' where name = ?", [variant])
    opened = page(path, "shortcuts", model=variant)
    (link,) = [part.proto.body for part in opened.get("html") if "Compare with other sizes" in part.proto.body]
    models = link.split('href="/compare?models=')[1].split("#")[0].split(",")
    assert sorted(models) == sorted(MEASURED)
    other = page(path, "shortcuts", model=MEASURED[0])
    (link,) = [part.proto.body for part in other.get("html") if "Compare with other sizes" in part.proto.body]
    assert f'href="/compare#{BESIDE_OTHERS}"' in link


def figures(opened: AppTest) -> set[str]:
    """The places of a page's figures, by the files that they offer."""
    ids = [element.proto.id for element in opened.get("download_button")]
    return {anchor_of(found[1]) for one in ids if (found := re.search(r"csv-(\w+)", one))}


def test_the_model_of_the_page_before_is_kept_where_it_was_measured(page: Opener, whole_path: Path) -> None:
    unmeasured = next(plan.name for plan in MODELS if plan.name not in MEASURED)
    opened = page(whole_path, "shortcuts", model=unmeasured)
    assert f"No linear shortcuts have been fitted to {unmeasured} yet." in text(opened)
    assert f"neurothek ingest {unmeasured} --job shortcuts" in text(opened)
    assert not opened.get("vega_lite_chart")
    opened.selectbox(key="model").set_value(MEASURED[0]).run()
    assert f"Linear map (mat) of {MEASURED[0]}" in text(opened)
    assert opened.query_params["model"] == MEASURED[0]


def test_every_caption_says_whose_figure_it_is_and_on_how_many_sentences(page: Opener, whole_path: Path) -> None:
    opened = page(whole_path, "shortcuts")
    captions = [caption.value.replace("\\", "") for caption in opened.caption]
    assert sum(bool(re.search(r"\b\d+ sentences", caption)) for caption in captions) == 8
    sources = [str(title.proto.help).replace("\\", "") for title in opened.markdown if title.proto.help]
    told = [source for source in (*sources, *captions) if "Din et al. 2023" in source]
    assert len(told) == 8
    assert all("Jump to Conclusions" in source for source in told)
    # Which of its figures it is nobody looked up in the paper itself.
    assert not any(re.search(r"(Figures?|[Ss]ections?) \d+", source) for source in told)


def test_where_only_some_methods_ran_the_page_says_which_lack(page: Opener, tmp_path: Path, whole_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    shutil.copy(whole_path, path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("delete from store.shortcut_predictions where method like 'mat_%' and method <> 'mat'")
        connection.execute("delete from store.sub_module_fits")
        connection.execute("delete from store.shortcuts where method = 'id'")
        connection.execute("delete from store.exits")
    opened = page(path, "shortcuts")
    assert not opened.exception
    shown = text(opened)
    assert "No part of" in shown
    assert "id of" not in shown
    assert "--job exits" in shown


def test_sizes_are_compared_by_what_their_states_say(page: Opener, whole_path: Path, full_path: Path) -> None:
    assert "Precision of shortcuts by depth" in text(page(whole_path))
    assert "--job shortcuts" in text(page(full_path))


def test_the_sentence_is_of_the_first_state_and_the_one_before_the_last() -> None:
    rows = [
        {"model": model, "method": method, "state": state, "precision_1": share}
        for model, shift in (("a", 0.0), ("b", 0.01))
        for method, shares in (
            ("mat", (0.44, 0.6, 0.8, 1.0)),
            ("id", (0.01, 0.3, 0.4, 1.0)),
            ("mat_ffn", (0.1, 0.2, 0.3, 1.0)),
        )
        for state, share in enumerate([part + shift * (part < 1) for part in shares])
    ]
    told = shortcuts_sentence(pl.DataFrame(rows), "b")
    assert told == (
        "The token that b predicts can be read off its earlier states: by a linear map (mat) 45% of the time at state "
        "0, 81% at state 2; from the state as it is (id) 2% of the time at state 0, 41% at state 2."
    )
    assert shortcuts_sentence(pl.DataFrame(rows), "c") == ""


def test_maps_of_too_few_sentences_are_said_to_be_one_of_many(whole_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    shutil.copyfile(whole_path, path)
    few, enough, *_ = MEASURED
    with duckdb.connect(str(path)) as connection:
        widths = dict(connection.execute("select model, d_model from models").fetchall())
        for model, rank in ((few, widths[few] - 1), (enough, widths[enough])):
            connection.execute(
                "update store.shortcuts set rank = $rank, n_fit = 1234 where method = 'mat' and model_id ="
                " (select model_id from store.models where name = $model)",
                {"model": model, "rank": rank},
            )
    (row,) = asked(path, UNDETERMINED, models=[few, enough]).to_dicts()
    assert row == {"model": few, "rank": widths[few] - 1, "n_fit": 1234, "d_model": widths[few]}
    sentence = undetermined(row)
    assert f"the 1,234 to fit determine {widths[few] - 1} of the {widths[few]} directions" in sentence
