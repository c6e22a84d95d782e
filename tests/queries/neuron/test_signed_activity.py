"""The card of a gated neuron: both signs with their shares, strongest places and what is promoted there."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import neurothek
from neurothek.catalog.spelling import quoted
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.terminal.cells import percent
from neurothek.queries.neuron.headline import headline, labels_of
from neurothek.queries.neuron.page import NeuronPage, neuron_page
from tests.support import ingests
from tests.support.models import Kind, build

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
    assert titles[:6] == [
        "poles in long+short",
        "strongest contexts at positive activations in long+short",
        "strongest contexts at negative activations in long+short",
        "cases of its gate in long+short",
        "promotes at positive activations",
        "promotes at negative activations",
    ]
    (activity,) = (section for section in page.sections() if section.title == "activity on long+short")
    assert activity.remark == "n_active, frequency: where its gate is open"
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
    assert f"above 3 root mean squares, at {facts['pole']} activations" in printed


def test_before_the_job_ran_the_card_is_what_it_was(tmp_path: Path) -> None:
    made, model = ingests.open_warehouse(tmp_path / "w.duckdb"), build(tmp_path / "gated", "llama", d_ffn=16)
    jobs = ("projections", "activity", "contexts")
    ingests.measure(made, model, ingests.request(ingests.write_corpus(tmp_path), jobs=jobs))
    with made.reader() as connection:
        page = neuron_page(connection, ADDRESS)
    assert page.poles.poles.is_empty()
    assert "strongest contexts in long+short" in [section.title for section in page.sections()]
    assert page.poles.sentence().startswith("Effective frequency")


def said_of(folder: Path, kind: Kind, **fields: Any) -> tuple[NeuronPage, str, str]:
    """The page of a neuron with its headline and what stands under its positions."""
    made, model = ingests.open_warehouse(folder / "w.duckdb"), build(folder / kind, kind, d_ffn=16, **fields)
    jobs = ("projections", "activity", "ngrams", "positions")
    ingests.measure(made, model, ingests.request(ingests.write_corpus(folder), jobs=jobs, text={"sequence_length": 16}))
    with made.reader() as connection:
        page = neuron_page(connection, f"{kind}/L1N3")
    (section,) = [section for section in page.sections() if section.title.startswith("positions in")]
    return page, headline(page), str(section.remark)


def test_the_first_trigger_is_one_of_strong_activations_at_one_pole(warehouse: Warehouse) -> None:
    """Both poles together are strong more often than what the share of the trigger is of."""
    with warehouse.reader() as connection:
        query = "select address from neuron_poles where n_strong > 0 group by address having count(*) = 2 order by all"
        page = neuron_page(connection, connection.sql(f"{query} limit 1").pl().item())
    (first,) = page.triggers.ngrams.filter(n=1, rank=1).to_dicts()
    pole = page.triggers.strong_pole
    of_pole = page.poles.poles.filter(pole=pole)["n_strong"].item()
    assert first["share"] == pytest.approx(first["n_active"] / of_pole)
    assert of_pole < page.poles.poles["n_strong"].sum()
    assert page.poles.strong_frequency is not None
    trigger = f"at {pole} activations most often at {quoted(first['text'])} ({percent(first['share'])} of these)"
    assert f"; strong at {percent(page.poles.strong_frequency)}, {trigger}; " in headline(page)


def test_without_gates_the_first_trigger_is_one_of_strong_activations_too(tmp_path: Path) -> None:
    page, said, profile = said_of(tmp_path, "gpt2")
    (first,) = page.triggers.ngrams.filter(n=1, rank=1).to_dicts()
    share = percent(first["share"])
    assert f", strong most often at {quoted(first['text'])} ({share} of its strong activations)" in said
    assert profile.startswith("profile: how often it is strong at its pole, from 0")


def test_where_exact_zeros_are_the_first_trigger_is_one_of_the_open_gate(tmp_path: Path) -> None:
    page, said, profile = said_of(tmp_path, "llama", activation="relu")
    (first,) = page.triggers.ngrams.filter(n=1, rank=1).to_dicts()
    assert said.startswith("Gate open at ")
    assert f", most often at {quoted(first['text'])} ({percent(first['share'])} of these); " in said
    assert "strong" not in said
    assert profile.startswith("profile: frequency from 0")


def test_a_gate_that_never_opens_is_not_called_silent(page: NeuronPage) -> None:
    shut = replace(page, domains=page.domains.with_columns(n_active=0))
    assert headline(shut).startswith(f"Gate open at none of the {page.domains['n_tokens_seen'].sum():,} tokens of ")


@pytest.fixture(scope="module")
def smooth(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A GPT-2: GELU without gates, whose coefficients have both signs, and are small below 0."""
    folder = tmp_path_factory.mktemp("smooth")
    made, model = ingests.open_warehouse(folder / "w.duckdb"), build(folder / "smooth", "gpt2", d_ffn=16)
    jobs = ("projections", "activity", "contexts", "poles")
    ingests.measure(made, model, ingests.request(ingests.write_corpus(folder), jobs=jobs))
    return made


def test_without_gates_the_card_opens_with_both_signs_too(smooth: Warehouse) -> None:
    """Its lists stay what it promotes and suppresses: a search for words names no pole of such a model."""
    with smooth.reader() as connection:
        page = neuron_page(connection, "smooth/L1N3")
        rows = connection.sql("from neuron_poles where address = 'smooth/L1N3' order by pole desc").pl().to_dicts()
    titles = [section.title for section in page.sections()]
    assert titles[:5] == [
        "poles in long+short",
        "strongest contexts at positive activations in long+short",
        "strongest contexts at negative activations in long+short",
        "promotes",
        "suppresses",
    ]
    assert "cases of its gate in long+short" not in titles
    shown = page.poles.poles.select("pole", "frequency", "abs_share").to_dicts()
    assert shown == [
        {name: pytest.approx(row[name]) for name in one} | {"pole": row["pole"]}
        for one, row in zip(shown, rows, strict=True)
    ]
    assert all(0 < row["abs_share"] < 1 for row in shown)
    assert headline(page).startswith("Active (m > 0) at ")
    assert (
        "negative"
        in CliRunner().invoke(neurothek.main, ["neuron", "smooth/L1N3", "--warehouse", str(smooth.path)]).stdout
    )


def test_sampled_places_are_of_all_sequences_where_none_leaves_it_at_0(smooth: Warehouse, page: NeuronPage) -> None:
    with smooth.reader() as connection:
        of_gelu = neuron_page(connection, "smooth/L1N3")
    for one, sample in ((page, "all sequences"), (of_gelu, "all sequences")):
        (section,) = [section for section in one.sections() if section.title.startswith("sampled contexts")]
        assert f"thirds of a random sample of {sample}, by" in str(section.remark)
        (as_relu,) = [
            section
            for section in replace(one, has_exact_zeros=True).sections()
            if section.title.startswith("sampled contexts")
        ]
        assert "thirds of a random sample of the sequences in which it fires, by" in str(as_relu.remark)


def test_at_the_bos_it_is_active_and_does_not_fire(page: NeuronPage) -> None:
    only = replace(page, facts={**page.facts, "fires_only_at_bos": True})
    assert "It is active at the prepended BOS, which is not counted." in only.summary
    assert "active only at BOS" in labels_of(only.facts)
    assert "It fires at the prepended BOS, which is not counted." in replace(only, has_exact_zeros=True).summary


def test_a_search_by_trigger_says_what_firing_is(warehouse: Warehouse, page: NeuronPage) -> None:
    (first,) = page.triggers.ngrams.filter(n=1, rank=1).to_dicts()
    found = neurothek.open(warehouse.path).search(triggered_by=first["text"].replace("·", " "), exact=True)
    assert "in gated firing is a strong activation, |m| above 3 root mean squares, at one pole" in found.notes


def test_where_a_bound_was_asked_for_activity_is_of_coefficients_above_it(tmp_path: Path) -> None:
    """Neither the gate is said to open nor firing to be strong: `--active-above` asks about the product."""
    made, model = ingests.open_warehouse(tmp_path / "w.duckdb"), build(tmp_path / "gated", "llama", d_ffn=16)
    jobs = ("projections", "activity", "contexts", "ngrams")
    asked = ingests.request(ingests.write_corpus(tmp_path), jobs=jobs, active_above=0.01)
    ingests.measure(made, model, asked)
    with made.reader() as connection:
        page = neuron_page(connection, ADDRESS)
    n_active = page.domains["n_active"].sum()
    share = f"{n_active:,} of the {page.domains['n_tokens_seen'].sum():,} tokens"
    assert f"Active (m > 0.01) at {share}" in page.summary
    assert headline(page).startswith("Active (m > 0.01) at ")
    assert page.triggers.strong_pole is None
    (first,) = page.triggers.ngrams.filter(n=1, rank=1).to_dicts()
    found = neurothek.open(made.path).search(triggered_by=first["text"].replace("·", " "), exact=True)
    assert not any("firing is" in note for note in found.notes)


def test_a_gate_that_never_opens_is_not_called_inactive(page: NeuronPage, smooth: Warehouse) -> None:
    """It lets a little through all the same; without a gate there is nothing that could."""
    assert "gate never open" in labels_of({**page.facts, "never_active": True})
    with smooth.reader() as connection:
        of_gelu = neuron_page(connection, "smooth/L1N3")
    assert "never active" in labels_of({**of_gelu.facts, "never_active": True})
