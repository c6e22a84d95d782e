"""Similar neurons, against a loop over all pairs of lists."""

import re

import duckdb
import polars as pl
import pytest

from neurothek.catalog.problems import Invalid, NotFound, Unsupported
from neurothek.queries.search.by_likeness import COLUMNS, alike
from neurothek.queries.search.question import Question
from tests.queries.search.test_by_word import lists_of
from tests.support import overlaps
from tests.support.tiny import MODELS, Neuron, address, neurons_of


def overlap(one: Neuron, other: Neuron) -> float:
    mine, theirs = ([lists_of(neuron)[side] for side in ("promoted", "suppressed")] for neuron in (one, other))
    return overlaps.overlap(overlaps.weigh(mine), overlaps.weigh(theirs))


@pytest.mark.parametrize("variants", [False, True])
@pytest.mark.parametrize("neuron", [(0, 0, 0), (1, 2, 3), (2, 0, 1), (3, 1, 1), (4, 0, 0)])
def test_it_equals_the_loop(full: duckdb.DuckDBPyConnection, neuron: Neuron, variants: bool) -> None:
    result = alike(full, address(neuron), Question(words=(), limit=500, variants=variants))
    tokenizer = MODELS[neuron[0]].tokenizer_id
    others = [
        other
        for model_id, plan in enumerate(MODELS)
        # A neuron of a variant is compared with those of its own model whatever is asked.
        if plan.tokenizer_id == tokenizer and (variants or plan.variant is None or model_id == neuron[0])
        for other in neurons_of(model_id)
        if other != neuron
    ]
    expected = {address(other): overlap(neuron, other) for other in others}
    is_asked = variants or tokenizer != 0 or neuron[0] == 2
    assert result.left_out == (() if is_asked else ("tiny-2m-nopos",))
    found = dict(zip(result.neurons["address"], result.neurons["overlap"], strict=True))
    assert dict(result.neurons.schema) == dict(COLUMNS)
    assert found == pytest.approx({other: value for other, value in expected.items() if value > 0})
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert all(0 < value <= 1 for value in found.values())


def test_it_is_symmetric(full: duckdb.DuckDBPyConnection) -> None:
    there = alike(full, "tiny-1m/L0N1", Question(words=(), limit=500)).neurons
    back = alike(full, "tiny-2m/L2N3", Question(words=(), limit=500)).neurons
    one = there.filter(there["address"] == "tiny-2m/L2N3")["overlap"].item()
    assert back.filter(back["address"] == "tiny-1m/L0N1")["overlap"].item() == pytest.approx(one)


def test_conditions_hold(full: duckdb.DuckDBPyConnection) -> None:
    asked = Question(words=(), models=("tiny-2m",), layers=(1, 2), where="neuron > 1", alive=True, limit=3)
    result = alike(full, "tiny-1m/L0N0", asked)
    assert result.neurons.height == 3
    assert set(result.neurons["model"]) == {"tiny-2m"}
    assert min(result.neurons["layer"]) >= 1
    assert result.title.startswith("the first 3 of ")
    assert "tiny-1m/L0N0" in repr(result)
    deep = alike(full, "tiny-1m/L0N0", Question(words=(), depth=(0.5, 1.0), limit=500)).neurons
    assert min(deep["depth"]) >= 0.5


@pytest.mark.parametrize(
    ("asked", "conditions", "error", "sentence"),
    [
        ("tiny-1m/L9N0", {}, NotFound, "there is no neuron"),
        ("tiny-1m", {}, Invalid, "is not the address"),
        (
            "tiny-1m/L0N0",
            {"models": ("gelu-1m",)},
            Unsupported,
            "gelu-1m and tiny-1m have different tokenizers",
        ),
        ("tiny-1m/L0N0", {"layers": (7, 7)}, NotFound, "no layer 7"),
        ("tiny-1m/L0N0", {"depth": (0.99, 1.0)}, NotFound, "widen the range"),
    ],
)
def test_bad_questions(
    full: duckdb.DuckDBPyConnection, asked: str, conditions: dict[str, object], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=re.escape(sentence)):
        alike(full, asked, Question(words=(), **conditions))  # type: ignore[arg-type]


def test_what_chance_makes_is_said_to_be_unknown_where_it_is(full: duckdb.DuckDBPyConnection) -> None:
    asked = Question(words=(), variants=True)
    result = alike(full, "tiny-1m/L0N0", asked)
    (note,) = [note for note in result.notes if note.endswith(" was not measured")]
    names = set(note.removeprefix("how much random vectors overlap in ").removesuffix(" was not measured").split(", "))
    compared = result.neurons.filter(pl.col("null_99").is_not_null()).get_column("model")
    assert "tiny-1m" in names
    assert compared.len()
    assert not names & set(compared)
