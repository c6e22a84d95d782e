"""The annotator that is a program: it judges the sample by its tokens alone, again and again alike."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

import neurothek
from neurothek.catalog.problems import Invalid, NeurothekError, NotFound, NotMeasured
from neurothek.catalog.progress import Silent
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.annotations import RULES
from neurothek.catalog.upkeep.checks import broken, checks
from neurothek.queries.annotate.annotations import annotate
from neurothek.queries.annotate.by_rules import annotate_by_rules
from neurothek.queries.annotate.sample import Key, draw_sample
from neurothek.queries.papers.prerequisites import without_rules
from neurothek.queries.rules.chance import Pattern
from neurothek.queries.rules.rulebook import Rulebook
from neurothek.queries.views import install

MODEL, OTHER = "tiny-2m", "tiny-1m"
Judgement = set[tuple[str | None, str | None, tuple[int, ...]]]


@pytest.fixture
def warehouse(full_path: Path, tmp_path: Path) -> Warehouse:
    return Warehouse(Path(shutil.copy(full_path, tmp_path / "w.duckdb")), views=install)


@pytest.fixture
def by_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules that see a pattern in every list, as the hand-made lists are too short for true ones."""

    def judge(_: Rulebook, token_ids: tuple[int, ...]) -> list[Pattern]:
        if sum(token_ids) % 3 == 0:
            return []
        shown = tuple(token_ids)
        return [Pattern("the first", "names", shown[:4]), Pattern("the last", "syntactic", shown[-4:])]

    monkeypatch.setattr(Rulebook, "judge", judge)


def said(warehouse: Warehouse) -> dict[tuple[int, Key], Judgement]:
    found: dict[tuple[int, Key], Judgement] = {}
    with warehouse.reader() as connection:
        for row in connection.sql(f"from store.annotations where annotator = '{RULES}'").to_dicts():
            number = row["neuron"] if row["condition"] == "value" else row["control_id"]
            key = (row["model_id"], (row["condition"], row["layer"], number))
            found.setdefault(key, set()).add((row["concept"], row["class"], tuple(row["token_ids"])))
    return found


def by_hand(warehouse: Warehouse) -> dict[tuple[int, Key], Judgement]:
    """What `by_letters` says of the sample, and of all random vectors of the model."""
    with warehouse.reader() as connection:
        lists = {vector.key: vector.token_ids for vector in draw_sample(connection, MODEL).vectors}
        query = "select layer, control_id, top_token_ids from store.controls where model_id = 1 and kind = 'random'"
        for layer, control_id, token_ids in connection.execute(query).fetchall():
            lists["random", layer, control_id] = tuple(token_ids[:30])
    return {
        (1, key): {("the first", "names", ids[:4]), ("the last", "syntactic", ids[-4:])}
        if sum(ids) % 3
        else {(None, None, ())}
        for key, ids in lists.items()
    }


def plant_random_vectors(path: Path, n: int) -> None:
    """So many random vectors in each layer of the model, where the sample draws ten."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            """
            insert into store.controls by name
            select controls.* replace (more.number as control_id)
            from store.controls as controls
            cross join (select unnest(range(100, 100 + ?)) as number) as more
            where controls.model_id = 1 and controls.kind = 'random' and controls.control_id = 0
            """,
            [n],
        )


@pytest.mark.usefixtures("by_letters")
def test_all_random_vectors_are_judged_though_people_see_ten(warehouse: Warehouse) -> None:
    plant_random_vectors(warehouse.path, 40)
    annotate_by_rules(warehouse, [MODEL])
    found = said(warehouse)
    assert found == by_hand(warehouse)
    per_layer = Counter(layer for _, (condition, layer, _) in found if condition == "random")
    assert min(per_layer.values()) > 40
    with warehouse.reader() as connection:
        drawn = Counter(vector.key[:2] for vector in draw_sample(connection, MODEL).vectors)
        # What the rules have judged in part is still to be judged.
        assert without_rules(connection, [MODEL]) == []
    assert {n for (condition, _), n in drawn.items() if condition == "random"} == {10}
    plant_random_vectors(warehouse.path, 60)
    with warehouse.reader() as connection:
        assert without_rules(connection, [MODEL]) == [MODEL]


@pytest.mark.usefixtures("by_letters")
def test_every_vector_of_the_sample_is_judged(warehouse: Warehouse) -> None:
    saved = annotate_by_rules(warehouse, [MODEL])
    expected = by_hand(warehouse)
    assert said(warehouse) == expected
    assert Counter(map(len, expected.values())).keys() == {1, 2}
    assert (saved.n_vectors, saved.n_annotations) == (len(expected), sum(map(len, expected.values())))
    with warehouse.reader() as connection:
        about_annotations = [one for one in checks() if "annotat" in one.name]
        assert len(about_annotations) >= 3
        assert broken(connection, among=about_annotations, progress=Silent()) == []


@pytest.mark.usefixtures("by_letters")
def test_again_replaces_all_that_it_said_and_nothing_else(warehouse: Warehouse) -> None:
    with warehouse.reader() as connection:
        people = connection.sql("from store.annotations order by annotation_id").to_dicts()
    first = annotate_by_rules(warehouse)
    before = said(warehouse)
    assert {model for model, _ in before} == {0, 1, 2, 3}
    assert annotate_by_rules(warehouse, [OTHER], seed=1).n_replaced == sum(
        len(one) for (model, _), one in before.items() if model == 0
    )
    assert {key for key in said(warehouse) if key[0] == 1} == {key for key in before if key[0] == 1}
    again = annotate_by_rules(warehouse)
    assert (again.n_annotations, again.n_replaced > 0) == (first.n_annotations, True)
    assert said(warehouse) == before
    with warehouse.reader() as connection:
        query = f"from store.annotations where annotator <> '{RULES}' order by annotation_id"
        assert connection.sql(query).to_dicts() == people


def test_the_kinds_of_vectors_cannot_be_seen(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neurons and controls whose lists change places change their judgements with them."""
    asked: list[Any] = []

    def judge(_: Rulebook, token_ids: tuple[int, ...]) -> list[Pattern]:
        asked.append(token_ids)
        return [Pattern(f"sum {sum(token_ids)}", "names", tuple(token_ids[:4]))]

    monkeypatch.setattr(Rulebook, "judge", judge)
    annotate_by_rules(warehouse, [MODEL])
    before = said(warehouse)
    assert all(isinstance(token, int) for shown in asked for token in shown)
    with duckdb.connect(str(warehouse.path)) as connection:
        connection.execute(
            """
            create temp table lists as
            select layer, neuron as number, top_token_ids from store.projections where set_id = 1 and neuron = 0;
            update store.projections set top_token_ids = controls.top_token_ids from store.controls as controls
            where projections.set_id = 1 and controls.model_id = 1 and projections.neuron = 0
                and controls.layer = projections.layer and controls.kind = 'random' and controls.control_id = 0;
            update store.controls set top_token_ids = lists.top_token_ids from lists
            where model_id = 1 and kind = 'random' and control_id = 0 and controls.layer = lists.layer;
            delete from store.annotations;
            """
        )
    annotate_by_rules(warehouse, [MODEL])
    after = said(warehouse)
    swapped = {("value", 0): "random", ("random", 0): "value"}
    for (model, (condition, layer, number)), judgement in before.items():
        other: Any = swapped.get((condition, number), condition)
        assert after[model, (other, layer, number)] == judgement
    assert before != after


def test_a_model_without_controls_is_left_out_unless_it_is_named(warehouse: Warehouse, weights_path: Path) -> None:
    annotate_by_rules(warehouse)
    with pytest.raises(NotMeasured, match="weights-only"):
        annotate_by_rules(warehouse, [MODEL, "weights-only"])
    with pytest.raises(NotFound):
        annotate_by_rules(warehouse, ["tiny-9m"])
    with pytest.raises(NotMeasured):
        annotate_by_rules(Warehouse(weights_path, views=install))


def test_no_person_has_its_name(warehouse: Warehouse) -> None:
    line = {"address": f"{MODEL}/L0N0", "concept": None, "annotator": "Rules"}
    with pytest.raises(Invalid, match="annotator of --auto"):
        annotate(warehouse, [line])


def test_the_command_says_what_was_saved(warehouse: Warehouse) -> None:
    command = ["annotate", "--auto", MODEL, "--warehouse", str(warehouse.path)]
    answer = CliRunner().invoke(neurothek.main, command, catch_exceptions=False)
    assert (answer.exit_code, answer.stdout) == (0, "")
    n = len(said(warehouse))
    assert answer.stderr.startswith("saved ")
    assert f"annotations of {n} vectors" in answer.stderr
    saved = neurothek.open(warehouse.path).annotate_by_rules(MODEL)
    assert (saved.n_vectors, saved.n_replaced > 0) == (n, True)
    with pytest.raises(NeurothekError):
        neurothek.open(warehouse.path).annotate_by_rules("tiny-9m")
