"""Models by name: the smallest first, plain before variants, and what is not there is told with the nearest."""

import duckdb
import pytest

from neurothek.catalog.problems import NotFound, NotMeasured
from neurothek.queries.names.models import choose_model, choose_models, models_alike
from tests.support.tiny import MODELS


def test_all_models_stand_by_size_and_plain_before_variants(full: duckdb.DuckDBPyConnection) -> None:
    names = [model.name for model in choose_models(full)]
    assert names == ["weights-only", "tiny-1m", "gelu-1m", "tiny-2m", "tiny-2m-nopos"]


def test_what_is_known_of_a_model_is_its_row(full: duckdb.DuckDBPyConnection) -> None:
    for model_id, plan in enumerate(MODELS):
        known = choose_model(full, plan.name)
        assert (known.model_id, known.n_layers, known.d_ffn) == (model_id, plan.n_layers, plan.d_ffn)
        assert (known.size, known.variant, known.tokenizer_id) == (plan.size, plan.variant, plan.tokenizer_id)
        assert known.has_exact_zeros == plan.is_relu
        assert known.is_measured_on_text == bool(plan.corpora)


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        (["tiny-2m", "weights-only"], ["weights-only", "tiny-2m"]),
        (["tiny-1m", "tiny-1m"], ["tiny-1m"]),
        (["tiny-2m-nopos"], ["tiny-2m-nopos"]),
    ],
)
def test_some_models_stand_in_the_same_order_and_once(
    full: duckdb.DuckDBPyConnection, asked: list[str], chosen: list[str]
) -> None:
    assert [model.name for model in choose_models(full, asked)] == chosen


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tiny-3m", "there is no model tiny-3m in the warehouse; nearest: tiny-2m"),
        ("TINY-1M", "there is no model TINY-1M in the warehouse; nearest: tiny-1m"),
        (" tiny-1m", "there is no model ' tiny-1m' in the warehouse; nearest: tiny-1m"),
        ("", "there is no model '' in the warehouse; there are: weights-only, tiny-1m, "),
    ],
)
def test_an_unknown_model_is_told_with_the_nearest(full: duckdb.DuckDBPyConnection, name: str, said: str) -> None:
    for ask in (lambda: choose_model(full, name), lambda: choose_models(full, ["tiny-1m", name])):
        with pytest.raises(NotFound) as refused:
            ask()
        assert str(refused.value).startswith(said)


def test_alike_are_the_others_with_the_same_tokens(full: duckdb.DuckDBPyConnection) -> None:
    assert models_alike(full, "tiny-1m") == ["weights-only", "tiny-2m", "tiny-2m-nopos"]
    assert models_alike(full, "gelu-1m") == []
    with pytest.raises(NotFound):
        models_alike(full, "gelu-2m")


def test_an_empty_warehouse_has_none(empty: duckdb.DuckDBPyConnection) -> None:
    for ask in (lambda: choose_models(empty), lambda: choose_model(empty, "m"), lambda: models_alike(empty, "m")):
        with pytest.raises(NotMeasured):
            ask()
