"""Which models and layers a search is about, against a loop over layers."""

import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.problems import NotFound, NotMeasured
from neurothek.queries.names.models import choose_models
from neurothek.queries.search.by_word import search
from neurothek.queries.search.condition import AskedModels, layers_of, models_asked, variants_hint
from neurothek.queries.search.question import Question
from tests.support.known import known_model
from tests.support.tiny import MODELS

DEPTHS = st.integers(0, 20).map(lambda number: number / 20)


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    layers=st.none() | st.tuples(st.integers(0, 14), st.integers(0, 14)).map(lambda pair: (min(pair), max(pair))),
    depth=st.none() | st.tuples(DEPTHS, DEPTHS).map(lambda pair: (min(pair), max(pair))),
)
def test_layers_are_those_in_both_ranges(
    sizes: list[int], layers: tuple[int, int] | None, depth: tuple[float, float] | None
) -> None:
    models = [known_model(model_id=number, n_layers=size) for number, size in enumerate(sizes)]
    question = Question(words=("a",), layers=layers, depth=depth)
    first, last = layers or (0, 99)
    # The middle of a layer, in 2 n-ths: whole numbers, so that no rounding decides.
    asked = {
        number: [
            layer
            for layer in range(size)
            if first <= layer <= last
            and (depth is None or depth[0] * 20 * size * 2 <= (2 * layer + 1) * 20 <= depth[1] * 20 * size * 2)
        ]
        for number, size in enumerate(sizes)
    }
    expected = {number: (min(own), max(own)) for number, own in asked.items() if own}
    if first >= max(sizes):
        with pytest.raises(NotFound, match=f"{first}"):
            layers_of(question, models)
    elif not expected:
        with pytest.raises(NotFound):
            layers_of(question, models)
    else:
        assert layers_of(question, models) == expected


def test_models_without_a_layer_in_the_range_are_left_out() -> None:
    models = [known_model(model_id=0, n_layers=2), known_model(model_id=1, n_layers=6)]
    assert layers_of(Question(words=("a",), layers=(1, 99)), models) == {0: (1, 1), 1: (1, 5)}
    assert layers_of(Question(words=("a",), layers=(3, 3)), models) == {1: (3, 3)}
    assert layers_of(Question(words=("a",), depth=(0.0, 0.25)), models) == {0: (0, 0), 1: (0, 1)}
    with pytest.raises(NotFound):
        layers_of(Question(words=("a",), layers=(6, 9)), models)


def names(asked: AskedModels) -> list[str]:
    return [model.name for model in asked.models]


def test_plain_sizes_are_asked_unless_more_is_said(full: duckdb.DuckDBPyConnection) -> None:
    in_order = [plan.name for plan in sorted(MODELS, key=lambda plan: (plan.size, plan.variant is not None))]
    plain = [name for name in in_order if name != "tiny-2m-nopos"]
    usual = models_asked(full, Question(words=("a",)))
    assert (names(usual), usual.left_out) == (plain, ("tiny-2m-nopos",))
    everything = models_asked(full, Question(words=("a",), variants=True))
    assert (names(everything), everything.left_out) == (in_order, ())
    named = models_asked(full, Question(words=("a",), models=("tiny-2m-nopos", "tiny-1m")))
    assert (names(named), named.left_out) == (["tiny-1m", "tiny-2m-nopos"], ())


def test_a_family_in_one_quantization_is_asked_beside_plain_sizes(full_path: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(full_path, tmp_path / "w.duckdb"))
    with duckdb.connect(str(path)) as connection:
        connection.execute("update store.models set variant = 'Q4_1', family = 'brought' where name = 'gelu-1m'")
        asked = models_asked(connection, Question(words=("a",)))
        assert "gelu-1m" in names(asked)
        assert asked.left_out == ("tiny-2m-nopos",)
        # Beside a plain size of its family it is a variant.
        connection.execute("update store.models set family = 'tiny' where name = 'gelu-1m'")
        assert models_asked(connection, Question(words=("a",))).left_out == ("gelu-1m", "tiny-2m-nopos")


def test_alive_is_what_is_not_dead_and_a_gate_that_never_opens_is_no_death(full_path: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(full_path, tmp_path / "w.duckdb"))
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "update store.neuron_facts set n_active = 0 where address in ('gelu-1m/L0N1', 'tiny-1m/L0N1')"
        )
        question = Question(words=("the", "school"), alive=True, limit=10_000, min_count=1)
        found = {row["address"] for row in search(connection, question).neurons.to_dicts()}
        every = {row["address"] for row in search(connection, replace(question, alive=False)).neurons.to_dicts()}
        dead = {row[0] for row in connection.execute("select address from neurons where is_dead").fetchall()}
    assert "gelu-1m/L0N1" in found
    assert "tiny-1m/L0N1" in dead & every
    assert not found & dead


def test_a_variant_is_asked_where_the_question_is_about_one_of_its_neurons(full: duckdb.DuckDBPyConnection) -> None:
    own = models_asked(full, Question(words=("a",)), reference="tiny-2m-nopos")
    assert "tiny-2m-nopos" in names(own)
    assert own.left_out == ()
    assert models_asked(full, Question(words=("a",)), reference="tiny-1m").left_out == ("tiny-2m-nopos",)


def test_no_model_and_an_unknown_one_are_told(
    full: duckdb.DuckDBPyConnection, empty: duckdb.DuckDBPyConnection
) -> None:
    with pytest.raises(NotMeasured):
        models_asked(empty, Question(words=("a",)))
    with pytest.raises(NotFound, match="nearest: tiny-1m"):
        models_asked(full, Question(words=("a",), models=("tiny-1mm",)))


def test_where_all_are_variants_all_are_asked(full_path: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(full_path, tmp_path / "w.duckdb"))
    with duckdb.connect(str(path)) as connection:
        connection.execute("update store.models set variant = 'step ' || model_id")
        found = search(connection, Question(words=("school",), limit=500))
        assert found.left_out == ()
        # Checkpoints of one size stand in the order of training, whatever their names.
        connection.execute("update store.models set n_parameters = 9, n_parameters_embedding = 1, size = 8")
        connection.execute("update store.models set variant = 'step ' || (10 - model_id)")
        assert [model.variant for model in choose_models(connection)] == [f"step {n}" for n in (6, 7, 8, 9, 10)]
    assert {row["model"] for row in found.neurons.to_dicts()} == {plan.name for plan in MODELS}


def test_several_variants_are_counted() -> None:
    assert variants_hint((), "x") == []
    assert variants_hint(("a",), "x includes all") == ["left out the variant a; x includes all"]
    assert variants_hint(("a", "b"), "x includes all") == ["left out 2 variants (a, b); x includes all"]
