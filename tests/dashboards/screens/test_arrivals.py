"""A person who arrives in a real browser: at a neuron from a card, at one model alone, at what is unknown."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

import neurothek
from tests.dashboards.screens.conftest import LARGE, SMALL
from tests.support.browser import Visitor, served, visitor

pytestmark = pytest.mark.browser


def test_dead_neurons_of_a_card_lead_to_one_that_is_switched_on(person: Visitor) -> None:
    person.open("compare")
    person.page.locator(".nt-card-number a[href*='is_dead']").first.click()
    person.arrive("SQL")
    expect(person.page.get_by_text(re.compile("rows in "))).to_be_visible()
    person.click_row("answer", across=300)
    person.arrive("mini-opt-")
    address = person.title()
    # It is silent: turning it off would change nothing.
    person.page.get_by_role("button", name="Run").click()
    expect(person.page.get_by_text(f"{address} set to 3 at every position")).to_be_visible()


@pytest.fixture(scope="module")
def alone(demo_like: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a dashboard whose warehouse has one model."""
    folder = tmp_path_factory.mktemp("alone")
    shutil.copy(demo_like, folder / "one.duckdb")
    neurothek.open(folder / "one.duckdb").remove(SMALL)
    with served(folder / "one.duckdb", folder / "server.log") as address:
        yield address


def test_one_model_alone_is_landed_on_and_told_of_a_second(browser: BrowserContext, alone: str) -> None:
    with visitor(browser, alone) as looking:
        looking.open()
        expect(looking.page.get_by_text(f"In {LARGE}")).to_be_visible()
        expect(looking.page.get_by_text("A word finds neurons; a prompt is run through a model")).to_be_visible()
        looking.page.get_by_role("link", name="Look", exact=True).first.click()
        looking.arrive("Model")
        assert LARGE in looking.page.locator("[data-testid=stMain]").inner_text()
        looking.page.get_by_role("link", name="Compare", exact=True).first.click()
        looking.arrive("Compare sizes")
        expect(looking.page.get_by_text("One size shows no trend")).to_be_visible()


@pytest.mark.parametrize(
    ("path", "parameters", "sentence"),
    [
        ("model", {"model": "nobody"}, f"No model “nobody”; this is {LARGE}."),
        ("layer", {"model": LARGE, "layer": "99"}, "unknown layer: 99"),
        ("trace", {"model": LARGE, "prompt": "one two three", "position": "99"}, "unknown position: 99"),
        ("neuron", {"neuron": f"{LARGE}/L99N0"}, "99"),
    ],
)
def test_what_is_unknown_is_said_and_the_page_stands(
    person: Visitor, path: str, parameters: dict[str, str], sentence: str
) -> None:
    person.open(path, **parameters)
    expect(person.page.get_by_test_id("stAlert").first).to_contain_text(sentence)
    assert person.page.get_by_test_id("stException").count() == 0


def test_a_page_that_there_is_not_leads_to_the_first(person: Visitor) -> None:
    person.open("nowhere")
    assert person.title() == "Ask"
