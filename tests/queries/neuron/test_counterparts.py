"""Counterparts below chance are none: the view, a neuron's page, the command and `search --like` say so alike."""

import json
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner, Result

from neurothek import main
from neurothek.queries.ask.statements import records
from neurothek.queries.neuron.page import NeuronPage, neuron_page
from neurothek.queries.search.by_likeness import alike
from neurothek.queries.search.question import Question
from tests.support import tiny
from tests.support import warehouse as made
from tests.support.tiny import MODELS, Neuron, Row, address, neurons_of


def others_of(model_id: int) -> list[int]:
    """The models that it was compared with, smaller ones first."""
    found = [other for pair in tiny.COMPARED for other in pair if model_id in pair and other != model_id]
    return sorted(found, key=lambda other: MODELS[other].size)


def nearest(neuron: Neuron, other_id: int) -> list[Row]:
    """What was measured of it in one other model, best first."""
    names = ("model_id", "layer", "neuron", "other_model_id")
    rows = made.hand_made().rows["counterparts"]
    found = [row for row in rows if tuple(row[name] for name in names) == (*neuron, other_id)]
    return sorted(found, key=lambda row: row["rank"])


def is_above(row: Row) -> bool:
    return bool(row["overlap"] > tiny.made_up_null(row["model_id"], row["layer"]))


def compared_neurons() -> Iterator[Neuron]:
    for model_id in range(len(MODELS)):
        yield from neurons_of(model_id) if others_of(model_id) else ()


def found_at(row: Row) -> str:
    return address((row["other_model_id"], row["other_layer"], row["other_neuron"]))


def test_the_hand_made_nulls_leave_something_on_either_side() -> None:
    above = [
        sum(map(is_above, nearest(neuron, other))) for neuron in compared_neurons() for other in others_of(neuron[0])
    ]
    assert 0 in above
    assert 5 in above
    assert set(above) - {0, 5}


def test_the_view_counts_what_is_beyond_chance(full: duckdb.DuckDBPyConnection) -> None:
    rows = records(full, "select * from counterparts")
    assert len(rows) == len(made.hand_made().rows["counterparts"])
    ids = {plan.name: model_id for model_id, plan in enumerate(MODELS)}
    for row in rows:
        stored = nearest((ids[row["model"]], row["layer"], row["neuron"]), ids[row["other_model"]])
        assert row["is_beyond_null"] == is_above(stored[row["rank"] - 1])
        assert row["n_beyond_null"] == sum(map(is_above, stored))


def test_a_page_lists_only_what_is_above_chance(full: duckdb.DuckDBPyConnection) -> None:
    # Every second one: a page takes some ten milliseconds.
    for neuron in list(compared_neurons())[::2]:
        page = neuron_page(full, address(neuron))
        stored = [row for other in others_of(neuron[0]) for row in nearest(neuron, other)]
        assert page.relatives.counterparts["address"].to_list() == [found_at(row) for row in stored if is_above(row)]
        assert page.relatives.below_chance["address"].to_list() == [
            found_at(row) for row in stored if not is_above(row)
        ]
        for row, other in zip(page.relatives.compared.to_dicts(), others_of(neuron[0]), strict=True):
            own = nearest(neuron, other)
            assert row["other_model"] == MODELS[other].name
            assert row["n_above_chance"] == sum(map(is_above, own))
            assert row["best_overlap"] == max((one["overlap"] for one in own), default=0)
            assert row["null_99"] == (tiny.made_up_null(neuron[0], neuron[1]) if own else None)
            says_none = f"none above chance in {row['other_model']}: " in repr(page)
            assert says_none == (row["n_above_chance"] == 0)


def folded_page(connection: duckdb.DuckDBPyConnection) -> NeuronPage:
    """The first neuron that has no counterpart in any model, though it was compared."""
    for neuron in compared_neurons():
        page = neuron_page(connection, address(neuron), show_all=True)
        if page.relatives.counterparts.is_empty() and page.relatives.below_chance.height:
            return page
    raise AssertionError


def ask(full_path: Any, *arguments: str) -> Result:  # noqa: ANN401 - a path, as the fixture gives it
    return CliRunner().invoke(main, [*arguments, "--warehouse", str(full_path)], catch_exceptions=False)


def test_the_command_folds_what_is_none_and_unfolds_it(full: duckdb.DuckDBPyConnection, full_path: Any) -> None:  # noqa: ANN401 - as above
    page = folded_page(full)
    rest, null = page.relatives.below_chance, page.relatives.compared["null_99"][0]
    short = ask(full_path, "neuron", page.address)
    assert "counterparts in other models\n(none)\nnone above chance in " in short.stdout
    assert f"99% of random vectors by up to {null:.3f}" in short.stdout
    assert f"{rest.height} of the nearest in other models are not above chance; use --all to list them" in short.stderr
    assert "no more similar than random vectors" not in short.stdout
    whole = ask(full_path, "neuron", page.address, "--all")
    section = whole.stdout.partition("no more similar than random vectors")[2]
    assert [line.split()[0] for line in section.splitlines()[2 : 2 + rest.height]] == rest["address"].to_list()
    assert all(f"{null:.4f}" in line for line in section.splitlines()[2 : 2 + rest.height] if rest.height)
    assert "--all" not in whole.stderr
    said = json.loads(ask(full_path, "neuron", page.address, "--format", "json").stdout)
    assert said["counterparts"] == []
    assert [row["n_above_chance"] for row in said["compared"]] == [0] * len(said["compared"])
    assert "below_chance" not in said
    said = json.loads(ask(full_path, "neuron", page.address, "--all", "--format", "json").stdout)
    assert [row["address"] for row in said["below_chance"]] == rest["address"].to_list()


def test_a_page_of_a_model_that_was_not_compared_says_nothing(full: duckdb.DuckDBPyConnection) -> None:
    page = neuron_page(full, "gelu-1m/L0N1")
    assert page.relatives.compared.is_empty()
    assert "counterparts" not in repr(page)


@pytest.mark.parametrize("limit", [1, 4, 500])
def test_neurons_alike_stand_beside_the_null(full: duckdb.DuckDBPyConnection, limit: int) -> None:
    for neuron in list(neurons_of(0))[::3]:
        result = alike(full, address(neuron), Question(words=(), limit=limit))
        null = tiny.made_up_null(*neuron[:2])
        compared = {MODELS[other].name for other in others_of(0)}
        for row in result.neurons.to_dicts():
            assert row["null_99"] == (null if row["model"] in compared else None)
            assert row["is_beyond_null"] == (row["overlap"] > null if row["model"] in compared else None)
        for name in compared:
            whole = alike(full, address(neuron), Question(words=(), limit=500)).neurons.filter(model=name)
            n_shown = result.neurons.filter(model=name)["is_beyond_null"].sum()
            (said,) = (note for note in result.notes if f"above chance in {name}:" in note)
            assert said.startswith(f"{n_shown or 'none'} ")
            # Where nothing is said of being cut, it is the number of all.
            assert " of these " in said or n_shown == whole["is_beyond_null"].sum()
