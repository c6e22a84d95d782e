"""A person's ways through the dashboard in a real browser: down to a neuron, along a word, by keys, and back."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from playwright.sync_api import expect

from neurothek.dashboards.addresses import MENU, PAGES
from tests.dashboards.screens.conftest import LARGE, NEURON, SMALL
from tests.support.browser import Visitor

pytestmark = pytest.mark.browser

CELL = re.compile("^Layer 1, position 2, after")


def asked_of(person: Visitor) -> dict[str, list[str]]:
    """What the page's address asks for."""
    return parse_qs(urlsplit(person.page.url).query)


def path_of(person: Visitor) -> str:
    return urlsplit(person.page.url).path


def test_a_prompt_a_cell_and_a_neuron_that_is_switched_off(person: Visitor) -> None:
    """From the first page: the prompt, and a click each on a cell, a neuron and its switch."""
    person.open()
    assert person.title() == "Ask"
    fill(person, "Word, prompt or address", "The capital of France is")
    person.arrive("Trace")
    grid = person.page.get_by_role("grid")
    expect(grid).to_be_visible()
    person.page.locator("[role=grid] button").nth(2).click()
    person.page.locator(".pane .neuron").first.click()
    person.page.get_by_role("button", name="Switch it o").click()
    written = person.page.locator(".written")
    expect(written).to_have_count(3)
    expect(written.first).to_contain_text("Untouched")
    expect(written.nth(1)).to_contain_text("With it switched")
    expect(person.page.locator(".switched")).to_contain_text(" set to ")
    assert {"layer", "position", "inspect", "switch", "set"} <= asked_of(person).keys()
    person.page.get_by_role("button", name="Leave it as it is").click()
    expect(written).to_have_count(0)
    assert "switch" not in asked_of(person)
    person.shoot("way-0-asked")
    # The first page has the grid now, and its cells lead back.
    person.page.get_by_role("link", name="Ask", exact=True).first.click()
    person.arrive("Ask")
    expect(person.page.get_by_text("Last prompt")).to_be_visible()
    person.page.locator("[role=grid] button").nth(1).click()
    person.arrive("Trace")
    assert asked_of(person)["prompt"] == ["The capital of France is"]


@pytest.mark.long
def test_from_the_sizes_to_a_neuron_that_is_switched_off(person: Visitor) -> None:
    person.open("compare")
    person.page.locator("a.nt-link[href^='/model']").filter(has_text=LARGE).first.click()
    person.arrive("Model")
    assert asked_of(person)["model"] == [LARGE]
    person.page.locator("a.nt-link[href^='/neuron']").first.click()
    person.arrive(f"{LARGE}/L")
    address = person.title()
    person.page.get_by_role("textbox", name="Text").fill("The river is near the")
    person.page.get_by_role("button", name="Run").click()
    expect(person.page.get_by_text(f"{address} set to 0")).to_be_visible()
    person.shoot("way-1-switched-off")
    # What was tried stands in the address.
    person.page.reload()
    person.settle()
    expect(person.page.get_by_text(f"{address} set to 0")).to_be_visible()


def test_a_word_is_taken_along_to_the_neuron_and_back(person: Visitor) -> None:
    person.open("search")
    person.page.get_by_role("textbox", name="Words", exact=True).fill("river")
    person.page.keyboard.press("Enter")
    person.settle()
    row = person.page.locator("a.nt-row").first
    found = row.inner_text()
    row.click()
    person.arrive(found)
    told = person.page.locator(".nt-told")
    expect(told).to_contain_text("river: ")
    expect(told).to_contain_text("rank ")
    marked = person.page.locator(".nt-mark")
    expect(marked.first).to_contain_text("iver")
    person.shoot("way-2-marked")
    person.page.get_by_role("link", name="back to the results").click()
    person.arrive("Search")
    expect(person.page.get_by_role("textbox", name="Words", exact=True)).to_have_value("river")
    assert person.page.locator("a.nt-row").first.inner_text() == found


@pytest.mark.long
def test_a_cell_of_a_trace_leads_to_a_neuron(person: Visitor) -> None:
    person.open("trace", model=SMALL, prompt="The capital of France is")
    person.page.get_by_role("grid").get_by_role("button", name="layer 1, position 2").click()
    person.page.wait_for_url("**position=2**")
    person.settle()
    assert (asked_of(person)["layer"], asked_of(person)["position"]) == (["1"], ["2"])
    expect(person.page.get_by_text(CELL)).to_be_visible()
    person.page.locator(".pane .neuron").first.click()
    person.page.get_by_role("link", name="Open its page").click()
    person.arrive(f"{SMALL}/L1N")
    person.page.go_back()
    person.arrive("Trace")
    expect(person.page.get_by_text(CELL)).to_be_visible()


def test_the_box_takes_a_word_or_an_address(person: Visitor) -> None:
    person.open("sql", query="from models")
    before = person.page.url
    for typed, path, heading in (
        ("school", "/search", "Search"),
        (NEURON, "/neuron", NEURON),
        (f"{LARGE}/L2", "/layer", "Layer"),
        (LARGE, "/model", "Model"),
    ):
        person.page.locator("h1").first.click()
        person.page.keyboard.press("/")
        person.page.keyboard.type(typed)
        person.page.keyboard.press("Enter")
        person.arrive(heading)
        assert path_of(person) == path
        assert typed.partition("/")[0] in unquote(person.page.url)
        person.page.go_back()
        person.arrive("SQL")
        assert person.page.url == before


@pytest.mark.long
def test_the_box_leads_afresh_to_the_page_it_stands_on(person: Visitor) -> None:
    person.open("search", words="school", side="suppressed")
    for word in ("river", "music"):
        person.page.locator("h1").first.click()
        person.page.keyboard.press("/")
        person.page.keyboard.type(word)
        person.page.keyboard.press("Enter")
        expect(person.page.get_by_role("textbox", name="Words", exact=True)).to_have_value(word)
        person.settle()
        assert asked_of(person) == {"words": [word]}


@pytest.mark.long
def test_rows_are_walked_by_keys(person: Visitor) -> None:
    person.open("search", words="the")
    person.page.locator("h1").first.click()
    rows = person.page.locator("a.nt-row").all_inner_texts()
    for key, place in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
        person.page.keyboard.press(key)
        assert person.page.evaluate("document.activeElement.innerText") == rows[place]
    person.page.keyboard.press("Enter")
    person.arrive(rows[1])
    # On its page the same keys lead to the next neuron and the one before.
    person.page.locator("h1").first.click()
    layer, _, neuron = rows[1].partition("/L")[2].partition("N")
    if person.page.locator("a.nt-row").count() == 0:
        person.page.keyboard.press("j")
        person.arrive(f"L{layer}N{int(neuron) + 1}")


def test_the_model_is_kept_from_page_to_page(person: Visitor) -> None:
    person.open("neuron", neuron=NEURON)
    for group, title in (("Look", "Model"), ("Look", "Positions"), ("Ask", "Trace")):
        person.go(group, title)
        person.arrive(title)
        assert asked_of(person)["model"] == [LARGE], title
    person.go("Look", "Neuron")
    person.arrive(NEURON)
    expect(person.page.locator(".nt-trail")).to_contain_text(LARGE)
    person.page.locator(".nt-trail a").nth(1).click()
    person.arrive("Layer")
    assert asked_of(person) | {"model": [LARGE], "layer": ["3"]} == asked_of(person)


@pytest.mark.long
def test_another_name_of_a_page_finds_it(person: Visitor) -> None:
    person.open("neurons", model=LARGE)
    assert path_of(person) == "/neuron"
    assert person.title().startswith(f"{LARGE}/L")


def choose(person: Visitor, label: str, option: str) -> None:
    """Choose in a field with a list."""
    person.page.get_by_role("combobox", name=label).first.click()
    person.page.get_by_role("option", name=option, exact=True).click()


def choose_another(person: Visitor, label: str) -> None:
    """Choose the last of a field's list that is not chosen."""
    person.page.get_by_role("combobox", name=label).first.click()
    person.page.locator("[role=option][aria-selected=false]").last.click()


def fill(person: Visitor, label: str, text: str) -> None:
    """Type into a field."""
    person.page.get_by_role("textbox", name=label, exact=True).fill(text)
    person.page.keyboard.press("Enter")


CHANGES: dict[str, tuple[dict[str, str], Callable[[Visitor], None]]] = {
    "compare": ({}, lambda person: person.page.get_by_role("button", name=f"Remove {SMALL}").first.click()),
    "search": ({"words": "school"}, lambda person: fill(person, "Words", "river")),
    "model": ({"model": SMALL}, lambda person: choose(person, "Model", LARGE)),
    "layer": (
        {"model": LARGE, "layer": "1"},
        lambda person: person.page.get_by_role("button", name="Next").click(),
    ),
    "neuron": ({"neuron": NEURON}, lambda person: person.page.get_by_role("button", name="Next").click()),
    "clusters": ({"model": SMALL}, lambda person: choose(person, "Model", LARGE)),
    "position": ({"model": SMALL}, lambda person: choose(person, "Model", LARGE)),
    "trace": (
        {"model": SMALL, "prompt": "The old house"},
        lambda person: fill(person, "Prompt", "The river is near the"),
    ),
    "events": ({"word": "the"}, lambda person: fill(person, "Word", "of")),
    "shortcuts": ({"model": SMALL}, lambda person: choose(person, "Model", LARGE)),
    "claims": (
        {},
        lambda person: person.page.get_by_role("radio", name="Din et al. 2023").click(),
    ),
    "interventions": (
        {"model": SMALL, "intervention": "few"},
        lambda person: choose_another(person, "Intervention"),
    ),
    "annotate": ({"model": SMALL, "annotator": "anna"}, lambda person: choose(person, "Model", LARGE)),
    "sql": (
        {"query": "from models"},
        lambda person: person.page.get_by_role("button", name=re.compile("How many neurons never fire")).click(),
    ),
}
"""For each page what it is asked first, and what a person changes then."""

_SEEN = """
() => [document.querySelector("h1").innerText,
  ...[...document.querySelectorAll("[data-testid=stMain] input, [data-testid=stMain] textarea")]
    .map(field => `${field.getAttribute("aria-label")}: ${field.value}`),
  ...[...document.querySelectorAll("[data-testid=stMain] [aria-label^=Remove], .nt-legend")].map(
    tag => tag.getAttribute("aria-label") ?? tag.innerText),
  ...[...document.querySelectorAll("[data-testid=stMain] .nt-row, [data-testid=stMain] .nt-claims b")]
    .map(row => row.innerText)].join("\\n")
"""
"""What a person sees in the fields of a page, and the rows under them."""


def test_every_page_has_something_to_go_back_from() -> None:
    # The first page shows what was asked since, on the way back too.
    assert set(CHANGES) == {*PAGES}


IN_SAMPLES = ("compare", "search", "trace", "events", "claims", "sql")
"""Pages of which something else is changed each: a list of models, words, a prompt, a row of buttons, a query."""


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [name if name in IN_SAMPLES else pytest.param(name, marks=pytest.mark.series) for name in CHANGES]
)
def test_back_and_forward_lead_to_what_was_seen(person: Visitor, name: str) -> None:
    parameters, change = CHANGES[name]
    person.open(name, **parameters)
    before, address = person.page.evaluate(_SEEN), person.page.url
    change(person)
    person.page.wait_for_function("address => location.href !== address", arg=address)
    person.settle()
    after, later = person.page.evaluate(_SEEN), person.page.url
    assert after != before
    person.page.go_back()
    person.page.wait_for_url(address)
    person.page.wait_for_selector("h1")
    person.settle()
    assert person.page.evaluate(_SEEN) == before
    assert person.page.url == address
    person.page.go_forward()
    person.page.wait_for_url(later)
    person.page.wait_for_selector("h1")
    person.settle()
    assert person.page.evaluate(_SEEN) == after


@pytest.mark.long
def test_a_link_to_a_figure_of_another_page_leads_to_it(person: Visitor) -> None:
    person.open("search")
    person.page.evaluate(
        """() => document.querySelector("h1").insertAdjacentHTML(
        "afterend", "<a class='nt-link' id='there' href='/compare#frequency-distribution'>there</a>")"""
    )
    person.page.click("#there")
    person.page.wait_for_function(
        """() => {
        const top = document.querySelector(".st-key-at-frequency-distribution")?.getBoundingClientRect().top;
        return top !== undefined && top >= 0 && top < 200;
    }"""
    )
    assert person.title() == "Compare sizes"


SHIFTS = """
    window.shifts = [];
    const told = ({node, previousRect, currentRect}) =>
        `${(node?.textContent ?? "").slice(0, 40)}: ${previousRect.top} to ${currentRect.top}`;
    new PerformanceObserver(list => window.shifts.push(
        ...list.getEntries().map(one => [one.value, one.sources.map(told)])
    )).observe({type: "layout-shift", buffered: true});
"""
MOST_SHIFTED = 0.15
"""Cumulative layout shift, between a page that is called good, 0.1, and a poor one, 0.25 (web.dev, Core Web
Vitals): on a quiet machine pages stay below 0.05, on a busy one their pieces arrive one by one."""

CONTROLS: dict[str, tuple[dict[str, str], Callable[[Visitor], None]]] = {
    "model": ({"model": LARGE}, lambda person: person.page.get_by_text("Kurtosis", exact=True).first.click()),
    # Of two models each one that is removed changes all that follows.
    "compare": ({}, lambda person: person.page.keyboard.press("/")),
    "neuron": ({"neuron": NEURON}, lambda person: person.page.get_by_role("tab", name="Sampled").click()),
    "trace": (
        {"model": LARGE, "prompt": "The capital of France is"},
        lambda person: person.page.locator(".room [role=grid] button").nth(8).click(),
    ),
}


def shifted(person: Visitor) -> list[tuple[float, list[str]]]:
    """What moved since this was asked last, by how much, the furthest first."""
    shifts: list[tuple[float, list[str]]] = person.page.evaluate("window.shifts.splice(0)")
    return sorted(shifts, reverse=True)


@pytest.mark.long
@pytest.mark.parametrize("name", CONTROLS)
def test_what_is_drawn_keeps_its_place(person: Visitor, name: str) -> None:
    parameters, change = CONTROLS[name]
    person.page.add_init_script(SHIFTS)
    for _ in range(2):
        # Where imports take their time, too, a page is drawn in pieces.
        person.open(name, **parameters)
    moved = shifted(person)
    assert sum(share for share, _ in moved) < MOST_SHIFTED, moved
    change(person)
    person.settle()
    moved = shifted(person)
    assert sum(share for share, _ in moved) < MOST_SHIFTED / 10, moved


@pytest.mark.long
def test_a_page_that_moves_is_found(person: Visitor) -> None:
    person.page.add_init_script(SHIFTS)
    person.open("compare")
    shifted(person)
    person.page.evaluate("document.querySelector('h1').style.marginTop = '300px'")
    person.page.wait_for_function("window.shifts.reduce((sum, [share]) => sum + share, 0) > 0.05")


@pytest.mark.long
def test_the_navigation_marks_the_place_of_a_page(person: Visitor) -> None:
    person.open("neuron")
    marked = person.page.locator("[data-testid=stTopNav] [aria-current]")
    expect(marked).to_have_text("Look")
    # The mark goes with the place.
    for place, title in (("Ask", "Trace"), ("Compare", "Shortcuts"), (MENU, "SQL"), ("Ask", "Ask")):
        person.go(place, title)
        person.arrive(title)
        expect(marked).to_have_text(place)
