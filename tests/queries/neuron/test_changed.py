"""What a neuron's page says of changing it, against plain loops over the rows it was made of."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.neuron.page import NeuronPage, neuron_page
from neurothek.queries.neuron.relatives import INTERVENTION_COLUMNS, MOST_LISTED
from tests.support import continuation_rows, intervention_rows
from tests.support import event_warehouse as made
from tests.support.tiny import MODELS, Row

MODEL_ID, CORPUS_ID = made.MEASURED[0]
MODEL = MODELS[MODEL_ID].name
EVERYWHERE = (*made.MEASURED, made.UNSHOWN)
SINGLE = continuation_rows.rows(EVERYWHERE)["neuron_effects"]
ROWS = intervention_rows.rows(EVERYWHERE)
CLOSE = 1e-12


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("changed") / "w.duckdb"
    made.create(path)
    return path


@pytest.fixture
def connection(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(path).reader() as connection:
        yield connection


def alone(layer: int) -> dict[int, Row]:
    """Neuron -> its row of a layer of the model on its shown corpus."""
    ids = {"model_id": MODEL_ID, "corpus_id": CORPUS_ID, "layer": layer}
    return {row["neuron"]: row for row in SINGLE if all(row[name] == value for name, value in ids.items())}


def effect(row: Row) -> float:
    return float((row["nll"] - row["nll_untouched"]) / row["n_tokens"])


def whole_effect(intervention: str, set_number: int) -> float:
    ids = {"model_id": MODEL_ID, "corpus_id": CORPUS_ID, "intervention": intervention, "set_number": set_number}
    rows = [row for row in ROWS["intervention_effects"] if all(row[name] == value for name, value in ids.items())]
    return float(sum(row["nll"] - row["nll_untouched"] for row in rows) / sum(row["n_tokens"] for row in rows))


def percentile(own: float, others: list[float]) -> float:
    return 100 * sum(1.0 if one < own else 0.5 if one == own else 0.0 for one in others) / len(others)


def page(connection: duckdb.DuckDBPyConnection, layer: int, neuron: int) -> NeuronPage:
    return neuron_page(connection, f"{MODEL}/L{layer}N{neuron}")


def test_a_neuron_alone_stands_beside_random_ones_of_its_layer(connection: duckdb.DuckDBPyConnection) -> None:
    for layer in range(MODELS[MODEL_ID].n_layers):
        rows = alone(layer)
        assert set(rows) == set(range(5))
        for neuron, row in rows.items():
            opened = page(connection, layer, neuron)
            said = opened.changed.alone
            assert said is not None
            others = [effect(other) for number, other in rows.items() if other["is_control"] and number != neuron]
            assert said["effect"] == pytest.approx(effect(row), abs=CLOSE)
            # Three random neurons are too few.
            assert said["percentile"] is opened.facts["effect_percentile"] is None
            assert said["random_effect_least"] == pytest.approx(min(others), abs=CLOSE)
            assert said["random_effect_most"] == pytest.approx(max(others), abs=CLOSE)
            assert opened.facts["effect_on_loss"] == pytest.approx(said["effect"], abs=CLOSE)
            among = f"to compare it with ({min(others):+.3g} to {max(others):+.3g})."
            sentence = f"Turned off alone, it changes the loss by {effect(row):+.3g} nats a token; its layer has fewer"
            assert f"{sentence} than 20 random neurons {among}" in opened.summary
            enough = replace(opened.changed, alone={**said, "percentile": 97.5}).sentence()
            assert "nats a token: percentile 97.5 among random neurons of its layer (" in enough
            assert opened.data()["effect"] == said


def test_a_neuron_that_is_active_in_domains_has_its_effect_there_and_elsewhere(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(path.read_bytes())
    with duckdb.connect(str(copy)) as connection:
        connection.execute(
            "insert into store.selectivity by name select set_id, corpus_id, layer, neuron, 9 as n_active,"
            " ['code', 'prose', 'speech'][1 + neuron] as domain, 0.9 as domain_share, 0.1 as entropy,"
            " 0.005 as p, 1 as n_shuffled_selective, run_id from store.neuron_effects where layer = 0 and neuron < 3"
        )
    stored = continuation_rows.rows(EVERYWHERE)["neuron_effects_by_domain"]
    with Warehouse(copy).reader() as connection:
        for neuron, domain in enumerate(("code", "prose", "speech", None)):
            said = page(connection, 0, neuron).changed
            ids = {"model_id": MODEL_ID, "corpus_id": CORPUS_ID, "layer": 0, "neuron": neuron}
            parts = [row for row in stored if all(row[name] == value for name, value in ids.items())]
            sides = [
                [row for row in parts if domain and (row["domain"] == domain) == is_own] for is_own in (True, False)
            ]
            expected = [
                sum(row["nll"] - row["nll_untouched"] for row in side) / sum(row["n_tokens"] for row in side)
                if side
                else None
                for side in sides
            ]
            assert said.alone is not None
            assert said.alone["domain"] == domain
            own, elsewhere = (said.alone[name] for name in ("effect_on_domain", "effect_elsewhere"))
            assert [own, elsewhere] == [None if one is None else pytest.approx(one, abs=CLOSE) for one in expected]
            if None in expected:
                assert "elsewhere" not in said.sentence()
            else:
                where = f"({own:+.3g} on {domain}, where it is active most often, {elsewhere:+.3g} elsewhere)"
                assert f"nats a token {where}; its layer has fewer" in said.sentence()


def test_it_lists_the_interventions_that_it_was_part_of(connection: duckdb.DuckDBPyConnection) -> None:
    names = [str(one["intervention"]) for one in intervention_rows.INTERVENTIONS]
    opened = page(connection, 0, 1)
    frame = opened.changed.together
    assert dict(frame.schema) == dict(INTERVENTION_COLUMNS)
    assert set(frame["intervention"]) == set(names)
    assert frame["effect"].is_sorted(descending=True)
    for row in frame.to_dicts():
        others = [whole_effect(row["intervention"], number) for number in range(1, intervention_rows.N_SETS + 1)]
        own = whole_effect(row["intervention"], 0)
        assert row["n_neurons"] == 2 * MODELS[MODEL_ID].n_layers
        assert row["effect"] == pytest.approx(own, abs=CLOSE)
        assert row["percentile"] == pytest.approx(percentile(own, others))
        assert row["random_effect"] == pytest.approx(sum(others) / len(others), abs=CLOSE)
    (section,) = [one for one in opened.sections() if one.title == "interventions that included it"]
    assert section.frame.height == len(names)
    assert "random sets" in section.remark
    assert opened.data()["interventions"].equals(frame)


def test_neurons_of_random_sets_were_not_asked_for(path: Path, tmp_path: Path) -> None:
    """Only set 0 holds the neurons of an intervention; neuron 3 is in none."""
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(path.read_bytes())
    with duckdb.connect(str(copy)) as connection:
        connection.execute("update store.intervention_neurons set neuron = 3 where set_number > 0 and neuron = 1")
    with Warehouse(copy).reader() as connection:
        assert page(connection, 0, 3).changed.together.is_empty()
        assert page(connection, 0, 1).changed.together.height == len(intervention_rows.INTERVENTIONS)


def test_at_most_ten_are_shown(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(path.read_bytes())
    with duckdb.connect(str(copy)) as connection:
        for table in ("interventions", "intervention_neurons", "intervention_effects"):
            connection.execute(
                f"insert into store.{table} select {table}.* replace ('more ' || n as intervention)"
                f" from store.{table} as {table}, range(9) as numbers(n) where intervention = 'mine'"
            )
    with Warehouse(copy).reader() as connection:
        opened = page(connection, 0, 0)
    (section,) = [one for one in opened.sections() if one.title == "interventions that included it"]
    assert (section.frame.height, opened.changed.together.height) == (MOST_LISTED, 12)
    assert section.remark.startswith("the first 10 of 12")


def test_of_most_neurons_nothing_more_is_asked(connection: duckdb.DuckDBPyConnection) -> None:
    def statements(address: str) -> list[str]:
        return [one.text for one in neuron_page(connection, address).statements if "neuron_effects" in one.text]

    assert statements("weights-only/L0N0") == []
    assert len(statements(f"{MODEL}/L0N0")) == 1
    opened = neuron_page(connection, "weights-only/L0N0")
    assert (opened.changed.alone, opened.changed.sentence(), opened.changed.sections()) == (None, "", [])


def test_on_another_corpus_it_tells_of_that_one(connection: duckdb.DuckDBPyConnection) -> None:
    model_id, corpus_id = made.UNSHOWN
    name = f"{MODELS[model_id].name}/L0N0"
    shown, asked = neuron_page(connection, name), neuron_page(connection, name, corpus="builtin")
    expected: dict[int, Any] = {
        row["corpus_id"]: effect(row)
        for row in SINGLE
        if (row["model_id"], row["layer"], row["neuron"]) == (model_id, 0, 0)
    }
    assert corpus_id in expected
    assert asked.changed.alone is not None
    assert shown.changed.alone is not None
    assert asked.changed.alone["effect"] == pytest.approx(expected[corpus_id], abs=CLOSE)
    (other,) = [number for number in expected if number != corpus_id]
    assert shown.changed.alone["effect"] == pytest.approx(expected[other], abs=CLOSE)
