"""Neurons that a query finds for whoever changes them: by a condition, by words, by address, by kind."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.problems import Invalid, NotFound
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.names.models import choose_model
from neurothek.queries.search.by_word import search
from neurothek.queries.search.chosen import (
    neurons_found,
    neurons_named,
    neurons_of_kinds,
    neurons_where,
    notes_on_kinds,
)
from neurothek.queries.search.question import Question
from tests.support import event_warehouse as made


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chosen") / "w.duckdb"
    made.create(path)
    return path


@pytest.fixture
def connection(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(path).reader() as connection:
        yield connection


def models(connection: duckdb.DuckDBPyConnection) -> list[str]:
    return [str(name) for (name,) in connection.execute("select model from models order by size, model").fetchall()]


def pairs(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[int, int]]:
    return [(int(layer), int(neuron)) for layer, neuron in connection.execute(query).fetchall()]


def test_a_condition_keeps_what_the_same_sql_keeps(connection: duckdb.DuckDBPyConnection) -> None:
    for model in models(connection)[:2]:
        expected = pairs(
            connection, f"select layer, neuron from neurons where model = '{model}' and neuron % 3 = 1 order by all"
        )
        assert list(neurons_where(connection, model, "neuron % 3 = 1")) == expected
    with pytest.raises(NotFound, match="where neuron < 0"):
        neurons_where(connection, model, "neuron < 0")
    with pytest.raises(NotFound):
        neurons_where(connection, model, "nonsense")
    with pytest.raises(Invalid):
        neurons_where(connection, model, "true) or (select 1) = 1 --")
    with pytest.raises(NotFound):
        neurons_where(connection, "none", "true")


def test_words_find_the_first_of_a_search(connection: duckdb.DuckDBPyConnection) -> None:
    model = models(connection)[0]
    word = connection.execute(
        f"select word from neuron_tokens where model = '{model}' and side = 'promoted' and len(word) > 2"
        " group by word order by count(*) desc, word limit 1"
    ).fetchall()[0][0]
    found = search(connection, Question(words=(word,), models=(model,), limit=3)).neurons
    expected = sorted(zip(found["layer"].to_list(), found["neuron"].to_list(), strict=True))
    assert list(neurons_found(connection, model, [word], limit=3)) == expected
    assert len(expected) <= 3


def test_addresses_are_sorted_and_counted_once(connection: duckdb.DuckDBPyConnection) -> None:
    deep = connection.execute(
        "select model from neurons group by model having max(layer) > 0 order by model"
    ).fetchall()
    model, other = (str(name) for (name,) in deep[:2])
    named = [f"{model}/L1N3", f"{model}/L0N2", f"{model}/L1N3"]
    assert neurons_named(connection, model, named) == ((0, 2), (1, 3))
    with pytest.raises(NotFound):
        neurons_named(connection, model, [])
    with pytest.raises(Invalid, match=f"{other}/L0N0 is not a neuron of {model}"):
        neurons_named(connection, model, [*named, f"{other}/L0N0"])
    with pytest.raises(NotFound):
        neurons_named(connection, model, [f"{model}/L99N0"])
    with pytest.raises(Invalid):
        neurons_named(connection, model, ["L0N0"])


def test_kinds_are_what_the_views_call_so(connection: duckdb.DuckDBPyConnection) -> None:
    conditions = {
        "dead": "is_dead",
        "token detectors": "is_token_detector",
        "positional": "position_strength in ('strong', 'weak')",
    }
    seen: set[str] = set()
    for model in models(connection):
        try:
            kinds = neurons_of_kinds(connection, model)
        except NotFound:
            continue
        for kind, condition in conditions.items():
            query = f"select layer, neuron from neurons where model = '{model}' and {condition} order by all"
            assert list(kinds.get(kind, ())) == pairs(connection, query)
        rows = connection.execute(
            f"select times_dominant, layer, neuron from neurons where model = '{model}' and times_dominant is not null"
        ).fetchall()
        ranked = sorted(rows, key=lambda row: (-row[0], row[1], row[2]))
        dominant = [(layer, neuron) for times, layer, neuron in ranked[: max(1, len(ranked) // 100)] if times > 0]
        assert list(kinds.get("dominant", ())) == sorted(dominant)
        assert all(list(some) == sorted(set(some)) for some in kinds.values())
        seen |= kinds.keys()
    assert "dominant" in seen


def test_of_a_model_without_exact_zeros_the_negligible_are_a_kind_and_none_is_dead(tmp_path: Path) -> None:
    """The same small contributions make no kind of a ReLU model, whose silent neurons are dead."""
    made.create(tmp_path / "w.duckdb")
    with duckdb.connect(str(tmp_path / "w.duckdb")) as connection:
        connection.execute(
            "update store.neuron_facts set contribution_max = case neuron when 1 then 0.009 else 0.5 end"
        )
    with Warehouse(tmp_path / "w.duckdb").reader() as connection:
        kinds = neurons_of_kinds(connection, "gelu-1m")
        assert kinds["negligible"] == ((0, 1), (1, 1))
        assert "dead" not in kinds
        assert notes_on_kinds(choose_model(connection, "gelu-1m"), kinds) == [
            "no neuron of gelu-1m is ever exactly 0, so none is dead: negligible ones take their place"
        ]
        (unknown,) = notes_on_kinds(choose_model(connection, "gelu-1m"), {"dominant"})
        assert unknown.endswith("of which none is known (the job poles measures contributions)")
        relu = neurons_of_kinds(connection, "tiny-1m")
        assert "dead" in relu
        assert "negligible" not in relu
        assert notes_on_kinds(choose_model(connection, "tiny-1m"), ()) == []
