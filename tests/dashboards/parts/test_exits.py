"""The page's section on leaving early: what it says of planted curves, and of none."""

from pathlib import Path

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.parts.exits import _numbers, saved_in_words
from neurothek.queries.compare.exits import exit_tradeoff
from tests.dashboards.conftest import Opener
from tests.support import event_warehouse as made
from tests.support import exit_rows
from tests.support.tiny import MODELS

MEASURED = [MODELS[model_id].name for model_id, _ in made.MEASURED]


@pytest.fixture(scope="module")
def curves(whole_path: Path) -> pl.DataFrame:
    with Warehouse(whole_path).reader() as connection:
        return exit_tradeoff(connection, MEASURED)


def test_what_is_saved_is_said_where_a_curve_rises_through_95(curves: pl.DataFrame) -> None:
    said = saved_in_words(curves.filter(model=MEASURED[0]))
    assert said.startswith("Layers saved at 95% precision: mat ")
    assert "fixed mat" in said
    assert "id" not in said.replace("fixed mat", "")
    assert saved_in_words(curves.filter(method="id")) == "No curve crosses 95% from below."


def text(app: AppTest) -> str:
    elements = [*app.header, *app.markdown, *app.caption, *app.info, *app.code]
    return "\n".join(str(element.value) for element in elements)


def test_the_page_draws_them_and_names_splits_and_sentences(page: Opener, whole_path: Path) -> None:
    shown = text(page(whole_path))
    assert "Early exit" in shown
    assert f"On {exit_rows.N_SENTENCES} sentences" in shown
    assert "over 1 to 5 splits" in shown


def test_without_exits_the_page_says_how_to_measure_them(page: Opener, full_path: Path) -> None:
    assert "--job exits" in text(page(full_path))


def saved(*rows: tuple[str, float | None, float | None]) -> str:
    schema = {"method": pl.String, "layers_saved_at_95": pl.Float64, "saved_share_at_95": pl.Float64}
    return saved_in_words(pl.DataFrame(list(rows), schema=schema, orient="row"))


def test_each_method_is_said_once_with_layers_and_share() -> None:
    said = saved(("id", None, None), ("mat", 1.25, 0.3125), ("mat", 1.25, 0.3125), ("fixed_mat", 0.04, 0.01))
    assert said.count("mat 1.2 (31%)") == 1
    assert "fixed mat 0.0 (1%)" in said
    assert "id" not in said
    assert saved() == saved(("id", None, None))


@pytest.mark.parametrize(("values", "said"), [([200, 200], "200"), ([1000, 5, 5], "5 to 1,000"), ([1234], "1,234")])
def test_a_number_that_differs_is_said_from_the_least_to_the_largest(values: list[int], said: str) -> None:
    assert _numbers(pl.DataFrame({"n": values}), "n") == said
