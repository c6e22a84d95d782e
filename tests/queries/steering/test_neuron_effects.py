"""The answer about neurons that were turned off one by one."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.steering.effects import Effects, effects_of
from tests.support import event_warehouse as made
from tests.support.tiny import MODELS

MODEL = MODELS[made.MEASURED[0][0]].name


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    made.create(tmp_path / "w.duckdb")
    with Warehouse(tmp_path / "w.duckdb").reader() as connection:
        yield connection


def neuron_effects_of(
    connection: duckdb.DuckDBPyConnection, model: str, neurons: list[tuple[int, int]]
) -> tuple[Effects, pl.DataFrame]:
    answer = effects_of(connection, model, (), neurons)
    assert answer.neurons is not None
    return answer, answer.neurons


def test_it_holds_those_that_were_asked_for_the_largest_first(connection: duckdb.DuckDBPyConnection) -> None:
    answer, found = neuron_effects_of(connection, MODEL, [(0, 1), (1, 4), (0, 3), (1, 99)])
    assert {(row["layer"], row["neuron"]) for row in found.to_dicts()} == {(0, 1), (1, 4), (0, 3)}
    effects = found["effect_on_loss"].to_list()
    assert effects == sorted(effects, reverse=True)
    section, by_domain = answer.sections()
    assert section.frame["neuron"].to_list() == found["address"].to_list() == by_domain.frame["neuron"].to_list()
    assert answer.neurons_by_domain is not None
    parts = {(row["address"], row["domain"]): row["effect_on_loss"] for row in answer.neurons_by_domain.to_dicts()}
    for row in by_domain.frame.to_dicts():
        address = row.pop("neuron")
        assert row == {domain: parts[address, domain] for domain in ("code", "prose")}
    assert "random mean" in section.frame.columns
    assert answer.summary.startswith(f"{MODEL}: 3 neurons, each turned off alone on 64 tokens of ")
    assert "from neuron_effects" in answer.sql
    assert answer.data() == {
        "neuron_effects": found.to_dicts(),
        "neuron_effects_by_domain": answer.neurons_by_domain.to_dicts(),
    }


def test_without_rows_on_the_shown_corpus_it_says_so(connection: duckdb.DuckDBPyConnection) -> None:
    answer, found = neuron_effects_of(connection, MODEL, [(0, 99)])
    assert found.is_empty()
    assert "not its shown one" in answer.summary
    assert "(none)" in repr(answer)


def test_of_many_the_first_are_shown(connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neurothek.queries.steering.effects._N_SHOWN", 2)
    section, by_domain = neuron_effects_of(connection, MODEL, [(0, 0), (0, 1), (0, 2)])[0].sections()
    assert section.title == "what turning each off adds to the loss, the largest 2"
    assert section.frame.height == by_domain.frame.height == 2
