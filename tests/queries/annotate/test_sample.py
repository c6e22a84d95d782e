"""The sample: as many controls as neurons, drawn alike everywhere, under names that tell nothing."""

import csv
import io
import re
import shutil
from collections import Counter
from pathlib import Path

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.problems import NotFound, NotMeasured
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.annotations import N_SHOWN
from neurothek.queries.annotate.sample import (
    Sample,
    Vector,
    _neurons,
    draw_sample,
    judged,
    seed_of,
    tokens_shown,
    unjudged,
)
from neurothek.queries.names.models import choose_model, choose_models
from tests.support import tiny
from tests.support import warehouse as made
from tests.support.known import known_model

MODEL = "tiny-2m"


def test_a_sample_is_ten_neurons_a_layer_mixed_with_as_many_controls(full: duckdb.DuckDBPyConnection) -> None:
    sample = draw_sample(full, MODEL)
    plan = tiny.MODELS[1]
    counted = Counter((condition, layer) for condition, layer, _ in (vector.key for vector in sample.vectors))
    # The hand-made layers have fewer than ten neurons: all are drawn.
    for layer in range(plan.n_layers):
        assert counted["value", layer] == plan.d_ffn
        assert (counted["random", layer], counted["ffn_update", layer]) == (2, 1)
    keys = [vector.key for vector in sample.vectors]
    assert len(set(keys)) == len(keys) == len(sample.by_handle)
    assert keys != sorted(keys)


def test_neurons_are_drawn_alike_everywhere_and_differently_by_seed() -> None:
    model = known_model()
    drawn = _neurons(model, 0)
    assert drawn == _neurons(model, 0)
    assert drawn != _neurons(model, 1)
    assert Counter(layer for _, layer, _ in drawn) == dict.fromkeys(range(4), 10)
    assert len(set(drawn)) == 40
    assert all(0 <= neuron < 3072 for _, _, neuron in drawn)
    # A handle that was handed out must stand for the same neuron in every release.
    assert drawn[:3] == [("value", 0, 1980), ("value", 0, 840), ("value", 0, 1968)]


def test_tokens_are_those_of_the_vectors(full: duckdb.DuckDBPyConnection) -> None:
    data = made.hand_made()
    lists = {("value", row["layer"], row["neuron"]): row for row in data.rows["projections"] if row["model_id"] == 1}
    lists |= {
        (row["kind"], row["layer"], row["control_id"]): row for row in data.rows["controls"] if row["model_id"] == 1
    }
    for vector in draw_sample(full, MODEL).vectors:
        expected = lists[vector.key]["top_token_ids"][:30]
        assert list(vector.token_ids) == expected
        assert list(vector.tokens) == [tiny.ENGLISH[token] for token in expected]


def test_a_model_without_controls_names_the_command(weights_path: Path) -> None:
    with Warehouse(weights_path).reader() as connection, pytest.raises(NotMeasured, match="--job controls"):
        draw_sample(connection, MODEL)


def test_a_model_of_another_tokenizer_has_a_sample_too(full: duckdb.DuckDBPyConnection) -> None:
    for model in choose_models(full, [plan.name for plan in tiny.MODELS if plan.corpora]):
        sample = draw_sample(full, model.name)
        assert {vector.key[0] for vector in sample.vectors} == {"value", "random", "ffn_update"}


def test_another_seed_shuffles_and_the_same_one_does_not(full: duckdb.DuckDBPyConnection) -> None:
    one, again, other = (draw_sample(full, MODEL, seed=seed) for seed in (0, 0, 7))
    assert one == again
    assert {vector.handle for vector in one.vectors}.isdisjoint(vector.handle for vector in other.vectors)
    # All neurons of the small layers are drawn by any seed.
    assert {vector.key for vector in one.vectors} == {vector.key for vector in other.vectors}
    assert [vector.key for vector in one.vectors] != [vector.key for vector in other.vectors]


def test_a_handle_tells_its_seed_and_nothing_else(full: duckdb.DuckDBPyConnection) -> None:
    for seed in (0, 12):
        for vector in draw_sample(full, MODEL, seed=seed).vectors:
            assert seed_of(vector.handle) == seed
            assert re.fullmatch(r"\d+-[0-9a-f]{12}", vector.handle)


def test_any_other_text_is_no_handle(subtests: pytest.Subtests) -> None:
    for text in [
        "",
        "0",
        "0-",
        "-0123456789ab",
        "0-0123456789a",
        "0-0123456789abc",
        "0-0123456789aB",
        "1234567890-0123456789ab",
    ]:
        with subtests.test(text=text):
            assert seed_of(text) is None


def test_a_handle_changes_with_what_is_shown(full_path: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(full_path, tmp_path / "w.duckdb"))
    with duckdb.connect(str(path)) as connection:
        before = {vector.key: vector for vector in draw_sample(connection, MODEL).vectors}
        connection.execute(
            "update store.projections set top_token_ids = list_reverse(top_token_ids)"
            " where set_id = 1 and layer = 0 and neuron = 0"
        )
        after = {vector.key: vector for vector in draw_sample(connection, MODEL).vectors}
    changed = {key for key in before if before[key].handle != after[key].handle}
    assert changed == {("value", 0, 0)}


def test_tokens_are_shown_of_vectors_that_there_are(full: duckdb.DuckDBPyConnection) -> None:
    model = choose_model(full, MODEL)
    keys = [("value", 0, 0), ("value", 9, 0), ("random", 0, 99), ("random", 0, 1), ("value", 0, 0)]
    shown = tokens_shown(full, model, keys)  # type: ignore[arg-type]  # mypy takes the words for any text
    assert {*shown} == {("value", 0, 0), ("random", 0, 1)}
    assert all(len(ids) == len(tokens) <= N_SHOWN for ids, tokens in shown.values())
    assert tokens_shown(full, model, []) == {}


def test_what_was_judged_is_told_of_each_annotator(full: duckdb.DuckDBPyConnection) -> None:
    """Against the rows themselves; judgements of a list that is another by now do not count."""
    model_id = [plan.name for plan in tiny.MODELS].index(MODEL)
    sample = draw_sample(full, MODEL)
    for annotator in ("anna", "ben", "nobody"):
        rows = [
            row
            for row in made.hand_made().rows["annotations"]
            if row["model_id"] == model_id and row["annotator"] == annotator
        ]
        said = {
            (row["condition"], row["layer"], row["control_id"] if row["neuron"] is None else row["neuron"]): row
            for row in rows
            if row["shown_token_ids"] == list(_ids(sample, row))
        }
        done = judged(full, sample, annotator)
        assert {vector.key for vector in sample.vectors if vector.handle in done} == {*said}
        left = unjudged(full, sample, annotator)
        assert [vector.handle for vector in left.vectors] == [
            vector.handle for vector in sample.vectors if vector.handle not in done
        ]
        assert (left.model, left.seed) == (sample.model, sample.seed)


def _ids(sample: Sample, row: dict[str, object]) -> tuple[int, ...]:
    number = row["control_id"] if row["neuron"] is None else row["neuron"]
    key = (row["condition"], row["layer"], number)
    return next((vector.token_ids for vector in sample.vectors if vector.key == key), ())


def test_an_unknown_model_is_told(full: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(NotFound):
        draw_sample(full, "tiny-9m")


TOKENS = st.lists(st.text(max_size=4), max_size=4).map(tuple)


@given(lists=st.lists(TOKENS, max_size=4))
def test_a_sheet_has_a_cell_for_every_token_and_no_formula(lists: list[tuple[str, ...]]) -> None:
    vectors = tuple(
        Vector(f"0-{number:012x}", ("value", 0, number), tuple(range(len(tokens))), tokens)
        for number, tokens in enumerate(lists)
    )
    sample = Sample(known_model(), 0, vectors)
    longest = max(map(len, lists), default=0)
    sheet = sample.sheet("anna")
    assert sheet.columns == [
        *("model", "vector", "annotator", "concept", "class", "ranks"),
        *map(str, range(1, longest + 1)),
    ]
    assert {*sheet.dtypes} == {pl.String}
    for row, tokens in zip(csv.DictReader(io.StringIO(sheet.write_csv())), lists, strict=True):
        cells = [row[str(rank)] for rank in range(1, longest + 1)]
        assert [bool(cell) for cell in cells] == [rank <= len(tokens) for rank in range(1, longest + 1)]
        assert all(cell.startswith(f"{rank} ") for rank, cell in enumerate(cells, start=1) if cell)
    frame = sample.frame()
    assert frame["tokens"].to_list() == [list(tokens) for tokens in lists]
    assert {*sample.by_handle} == {*frame["vector"]}
