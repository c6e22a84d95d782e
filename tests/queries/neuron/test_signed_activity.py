"""The card of a gated neuron: both signs with their shares, strongest places and what is promoted there."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import neurothek
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.neuron.headline import headline
from neurothek.queries.neuron.page import NeuronPage, neuron_page
from tests.support import ingests
from tests.support.models import build

ADDRESS = "gated/L1N3"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    folder = tmp_path_factory.mktemp("signed")
    made, model = ingests.open_warehouse(folder / "w.duckdb"), build(folder / "gated", "llama", d_ffn=16)
    jobs = ("projections", "activity", "contexts", "poles", "ngrams")
    ingests.measure(made, model, ingests.request(ingests.write_corpus(folder), jobs=jobs))
    return made


@pytest.fixture(scope="module")
def page(warehouse: Warehouse) -> NeuronPage:
    with warehouse.reader() as connection:
        return neuron_page(connection, ADDRESS)


def view(warehouse: Warehouse, name: str) -> list[dict[str, Any]]:
    with warehouse.reader() as connection:
        rows: list[dict[str, Any]] = connection.sql(f"from {name} where address = '{ADDRESS}'").pl().to_dicts()
    return rows


def test_its_numbers_are_those_of_the_views(warehouse: Warehouse, page: NeuronPage) -> None:
    by_pole = {row["pole"]: row for row in view(warehouse, "neuron_poles")}
    assert [row["pole"] for row in page.poles.poles.to_dicts()] == ["positive", "negative"]
    for row in page.poles.poles.to_dicts():
        same = by_pole[row["pole"]]
        assert {name: row[name] for name in row} == {
            name: same[name] if name in {"promotes", "pole"} else pytest.approx(same[name]) for name in row
        }
    cases = {row["gate_case"]: row for row in view(warehouse, "gate_cases")}
    assert len(cases) == page.poles.cases.height == 4
    for row in page.poles.cases.to_dicts():
        assert row["abs_share"] == pytest.approx(cases[row["gate_case"]]["abs_share"])
    (activity,) = view(warehouse, "neuron_activity")
    for name in ("effective_frequency", "root_mean_square", "contribution_mean", "contribution_max"):
        assert page.poles.strength[name] == pytest.approx(activity[name])
    assert page.poles.strong_frequency == pytest.approx(activity["strong_frequency"])
    places = view(warehouse, "pole_contexts")
    found = page.poles.contexts.select("pole", "rank", "activation", "token", "sequence_id", "position").rows()
    names = ("pole", "rank", "activation", "token", "sequence_id", "position")
    assert sorted(found) == sorted(tuple(row[name] for name in names) for row in places)


def test_the_card_opens_with_both_signs(page: NeuronPage) -> None:
    titles = [section.title for section in page.sections()]
    assert titles[:4] == [
        "poles in long+short",
        "cases of its gate in long+short",
        "writes at positive coefficients",
        "writes at negative coefficients",
    ]
    assert titles[4:6] == [
        "strongest contexts at positive coefficients in long+short",
        "strongest contexts at negative coefficients in long+short",
    ]
    assert "strongest contexts in long+short" not in titles


def test_the_words_are_not_those_of_relu(page: NeuronPage) -> None:
    assert "Its gate is open at" in page.summary
    assert "Effective frequency" in page.summary
    assert "Active (gate" not in page.summary
    assert headline(page).startswith("Gate open at ")
    assert "strong at" in headline(page)


def test_what_activations_are_counted_stands_under_the_triggers(warehouse: Warehouse, page: NeuronPage) -> None:
    (facts,) = view(warehouse, "neurons")
    assert page.triggers.strong_pole == facts["pole"]
    printed = CliRunner().invoke(neurothek.main, ["neuron", ADDRESS, "--warehouse", str(warehouse.path)]).stdout
    assert f"above 3 root mean squares, at {facts['pole']} coefficients" in printed


def test_before_the_job_ran_the_card_is_what_it_was(tmp_path: Path) -> None:
    made, model = ingests.open_warehouse(tmp_path / "w.duckdb"), build(tmp_path / "gated", "llama", d_ffn=16)
    jobs = ("projections", "activity", "contexts")
    ingests.measure(made, model, ingests.request(ingests.write_corpus(tmp_path), jobs=jobs))
    with made.reader() as connection:
        page = neuron_page(connection, ADDRESS)
    assert page.poles.poles.is_empty()
    assert "strongest contexts in long+short" in [section.title for section in page.sections()]
    assert page.poles.sentence().startswith("Effective frequency")
