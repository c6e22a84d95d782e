"""Rows of a view about some models, in an order that is the one of the models themselves."""

import duckdb
import pytest

from neurothek.catalog.problems import NotFound
from neurothek.queries.names.models import choose_models
from neurothek.queries.views.install import view
from neurothek.queries.views.neuron_facts import SMALLEST_FIRST, of_models, rows_of_models

ALL = ["weights-only", "tiny-1m", "gelu-1m", "tiny-2m", "tiny-2m-nopos"]


def test_models_stand_as_they_do_everywhere(full: duckdb.DuckDBPyConnection) -> None:
    names = [model.name for model in choose_models(full)]
    assert rows_of_models(full, "models", names[::-1])["model"].to_list() == names == ALL


def test_steps_of_training_stand_in_their_order() -> None:
    """By the number, and not by its digits."""
    with duckdb.connect() as connection:
        connection.execute("""
            create table models as select 7 as size, variant, 'm' || i as model
            from (values (0, 'step 10'), (1, 'step 9'), (2, null), (3, 'seed 2'), (4, 'step 100')) as t(i, variant)
        """)
        found = connection.execute(f"select variant from models order by {', '.join(SMALLEST_FIRST)}").fetchall()
    assert [variant for (variant,) in found] == [None, "seed 2", "step 9", "step 10", "step 100"]


@pytest.mark.parametrize("models", [[], ["nobody"], ["tiny-2m"], ["tiny-2m", "tiny-1m", "nobody", "tiny-2m"]])
def test_rows_are_those_of_the_models(full: duckdb.DuckDBPyConnection, models: list[str]) -> None:
    found = rows_of_models(full, "layer_activity", models, "layer")
    expected = full.sql("select * from layer_activity").pl()
    assert found.columns == list(view("layer_activity").columns)
    assert set(found["model"]) == {*models} & set(expected["model"])
    assert found.height == expected.filter(expected["model"].is_in(models)).height
    places = found.select("model", "layer").rows()
    assert places == sorted(places, key=lambda place: (ALL.index(place[0]), place[1]))


def test_columns_can_be_left_out_and_rows_kept_by_a_condition(full: duckdb.DuckDBPyConnection) -> None:
    less = rows_of_models(full, "models", ALL, without=("revision", "source"))
    assert less.columns == [name for name in view("models").columns if name not in ("revision", "source")]
    text = of_models("neurons", ["address"], where="layer = 0 and neuron = 0")
    rows = full.execute(text, {"models": ["tiny-1m", "tiny-2m"]}).fetchall()
    assert len(rows) == 2


def test_a_name_with_quotes_is_a_value(full: duckdb.DuckDBPyConnection) -> None:
    assert rows_of_models(full, "models", ["'; drop view models; --", 'a"b'], order=("model",)).is_empty()


def test_an_unknown_view_is_told() -> None:
    with pytest.raises(NotFound, match="nearest: models"):
        of_models("modles", ["model"])
