"""The dashboard in a real browser: the way of a person from the first page to SQL."""

import io
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import duckdb
import polars as pl
import pytest
from playwright.sync_api import BrowserContext, FrameLocator, expect

import neurothek
from tests.dashboards.screens.conftest import LARGE, NEURON, SMALL
from tests.support.browser import Visitor, served, visitor

pytestmark = [pytest.mark.browser, pytest.mark.long]

WITH_COUNTERPARTS = f"{LARGE}/L0N404"
"""It has some in the smaller model, which depends on the weights alone."""


def test_two_sizes_are_compared_and_the_address_keeps_them(person: Visitor) -> None:
    person.open("compare", models=LARGE)
    expect(person.page.get_by_role("button", name="Remove mini-opt")).to_have_count(1)
    person.page.get_by_role("combobox", name="Models").click()
    person.page.get_by_role("option", name=SMALL, exact=True).click()
    person.page.keyboard.press("Escape")
    person.settle()
    expect(person.charts().nth(3)).to_be_visible()
    expect(person.page.locator(".nt-legend")).to_contain_text(SMALL)
    person.shoot("flow-1-compared")


def test_a_search_leads_to_a_neuron_whose_address_can_be_reloaded(person: Visitor) -> None:
    person.open()
    person.go("Ask", "Search")
    person.settle()
    person.page.get_by_role("textbox", name="Words", exact=True).fill("school")
    person.page.keyboard.press("Enter")
    person.settle()
    person.shoot("flow-2-found")
    person.follow_row()
    person.arrive("mini-opt-")
    address = person.title()
    assert f"neuron={address}" in unquote(person.page.url)
    person.shoot("flow-3-neuron")
    person.page.reload()
    person.settle()
    assert person.title() == address
    person.page.get_by_role("button", name="Next").click()
    person.settle()
    assert person.title() != address


def test_the_way_back_leads_to_what_was_asked(person: Visitor) -> None:
    person.open("search", words="school", models=LARGE)
    person.follow_row()
    person.arrive(f"{LARGE}/L")
    first = person.title()
    person.page.go_back()
    person.arrive("Search")
    expect(person.page.get_by_role("textbox", name="Words", exact=True)).to_have_value("school")
    # The row that was followed is not followed again, and another one can be.
    person.settle()
    assert person.title() == "Search"
    person.follow_row(1)
    person.arrive(f"{LARGE}/L")
    assert person.title() != first


def test_the_first_click_counts_after_another_layer_was_chosen(person: Visitor) -> None:
    person.open("layer", model=LARGE, layer="0")
    person.page.get_by_role("combobox", name="Layer").click()
    person.page.get_by_role("option", name="2", exact=True).click()
    person.page.wait_for_url("**layer=2**")
    person.settle()
    person.click_row("neurons", 3)
    person.arrive(f"{LARGE}/L2N3")


def test_an_address_in_a_table_is_a_link(person: Visitor) -> None:
    """A click on it stays in this window, one with Control opens another; beside it the row opens as well."""
    person.open("layer", model=LARGE, layer="2")
    here, n_windows = person.page.url, len(person.page.context.pages)
    with person.page.context.expect_page() as opened:
        person.click_row("neurons", 3, modifiers=["Control"])
    assert parse_qs(urlsplit(opened.value.url).query)["neuron"] == [f"{LARGE}/L2N3"]
    opened.value.close()
    assert person.page.url == here
    for across in (90, 330):
        person.click_row("neurons", 3, across=across)
        person.arrive(f"{LARGE}/L2N3")
        assert len(person.page.context.pages) == n_windows
        person.page.go_back()
        person.arrive("Layer")
        assert person.page.url == here
    # What is no address is not opened, whatever a table holds.
    assert person.page.evaluate("window.open('javascript:alert(1)', '_blank')") is None
    assert len(person.page.context.pages) == n_windows


def test_a_cluster_chosen_in_one_model_is_not_chosen_in_another(person: Visitor) -> None:
    person.open("clusters", model=LARGE)
    person.page.locator("a.nt-row").nth(1).click()
    chosen = person.page.get_by_role("heading", name="Neurons of cluster")
    expect(chosen).to_be_visible()
    assert "cluster=" in person.page.url
    person.page.get_by_role("combobox", name="Model").click()
    person.page.get_by_role("option", name=SMALL, exact=True).click()
    expect(chosen).to_have_count(0)
    person.settle()
    assert "cluster=" not in person.page.url


def test_exact_scores_of_a_word_are_computed_from_the_weights(person: Visitor) -> None:
    person.open("search", words="school", models=SMALL)
    person.page.get_by_text("Exact scores", exact=True).click()
    expect(person.page.get_by_text("of 768 neurons that promote school most")).to_be_visible()
    expect(person.page.get_by_text(f"scored ' school' in {SMALL}")).to_be_visible()
    person.settle()
    assert "score=yes" in person.page.url
    person.shoot("flow-10-exact-scores")
    person.follow_row()
    person.arrive(f"{SMALL}/L")


def test_a_neuron_is_tried_on_a_prompt_and_the_address_tells_of_it(person: Visitor) -> None:
    person.open("neuron", neuron=NEURON)
    person.page.get_by_role("textbox", name="Text").fill("The river is near the")
    on = person.page.get_by_text(re.compile(r"^on \("))
    # Its own size: the largest activation that the warehouse knows of it.
    value = on.inner_text().removeprefix("on (").removesuffix(")")
    assert float(value) not in (0, 3)
    on.click()
    person.page.get_by_role("button", name="Run").click()
    result = person.page.get_by_text(f"{NEURON} set to {value} at every position")
    expect(result).to_be_visible()
    person.settle()
    # Each token of the text tells the neuron's activation.
    expect(person.page.locator(".nt-along span")).to_have_count(6)
    expect(person.page.locator(".nt-along span").nth(2)).to_have_attribute(
        "title", re.compile(r"·river \(position 2\)")
    )
    assert f"set={value}" in person.page.url
    person.shoot("flow-11-tried")
    person.page.reload()
    person.settle()
    expect(result).to_be_visible()


def test_a_cell_of_a_grid_leads_to_its_neurons_and_to_one_of_them(person: Visitor) -> None:
    person.open("trace", model=LARGE, model2=SMALL)
    grids = person.page.get_by_role("grid")
    expect(grids).to_have_count(2)
    chosen = person.page.locator(".pane h2").first
    cell = grids.first.get_by_role("button", name="layer 1, position 2")
    cell.hover()
    expect(person.page.locator(".tip").first).to_contain_text("layer 1, position 2")
    # With what it predicts hovering tells its strongest neurons.
    expect(person.page.locator(".tip").first.locator(".strongest span").first).to_contain_text("L1N")
    cell.click()
    expect(chosen).to_contain_text("Layer 1, position 2, after")
    person.settle()
    assert "layer=1" in person.page.url
    assert "position=2" in person.page.url
    expect(cell).to_have_attribute("aria-pressed", "true")
    person.shoot("flow-13-cell")
    # By keys: to the cell above, which is the next layer.
    cell.press("ArrowUp")
    person.page.keyboard.press("Enter")
    expect(chosen).to_contain_text("Layer 2, position 2, after")
    person.settle()
    person.page.go_back()
    expect(chosen).to_contain_text("Layer 1, position 2, after")
    person.settle()
    person.page.locator(".pane .neuron").first.click()
    person.page.get_by_role("link", name="Open its page").click()
    person.arrive(f"{LARGE}/L1N")
    person.page.go_back()
    person.arrive("Trace")
    expect(chosen).to_contain_text("Layer 1, position 2, after")


def test_what_is_hovered_links_the_grid_and_the_list_without_the_server(person: Visitor) -> None:
    person.open("trace", model=LARGE, prompt="The capital of France is", layer="3", position="4")
    page = person.page
    expect(page.locator(".pane > table tr[data-place]")).to_have_count(10)
    # A neuron marks the cells of its layer in which it is among the strongest.
    page.locator(".pane > table tr[data-place]").first.hover()
    marked = page.locator("[role=grid] button.linked")
    expect(marked.first).to_have_attribute("aria-label", re.compile("^layer 3, "))
    expect(page.locator(".hint")).to_have_text(re.compile(r"^L3N\d+: among the 5 strongest at \d of \d positions$"))
    assert marked.count() == int(page.locator(".hint").inner_text().split(" at ")[1].split()[0])
    # A cell of that layer marks its neurons in the list; of another layer there are none.
    page.get_by_role("grid").get_by_role("button", name="layer 3, position 4").hover()
    expect(page.locator(".pane > table tr.linked")).to_have_count(5)
    expect(marked).to_have_count(0)
    page.get_by_role("grid").get_by_role("button", name="layer 2, position 4").hover()
    expect(page.locator(".pane > table tr.linked")).to_have_count(0)
    # The order is another one at once, and the address holds it.
    shares = page.locator(".pane > table tr[data-place] .neuron").all_inner_texts()
    page.locator(".pane .sort").nth(1).click()
    added = [float(text) for text in page.locator(".pane > table tr[data-place] td:nth-child(4)").all_inner_texts()]
    assert added == sorted(added, reverse=True)
    assert sorted(page.locator(".pane > table tr[data-place] .neuron").all_inner_texts()) == sorted(shares)
    page.wait_for_url("**by=adds**")


def test_a_neuron_that_another_layer_adds_with_is_opened_in_its_cell(person: Visitor) -> None:
    person.open("trace", model=LARGE, prompt="The capital of France is", layer="3", position="4")
    page = person.page
    raising = page.locator(".raising .neuron")
    place = next(name for name in raising.all_inner_texts() if not name.startswith("L3N"))
    layer = place[1 : place.index("N")]
    # Its own layer lights up.
    raising.get_by_text(place, exact=True).hover()
    expect(page.locator("[role=grid] th.linked")).to_have_text(f"layer {layer}")
    raising.get_by_text(place, exact=True).click()
    expect(page.locator(".pane h2")).to_contain_text(f"Layer {layer}, position 4, after")
    page.wait_for_url(f"**inspect={place}**")
    person.settle()
    # Among that cell's neurons it is open, and can be switched off.
    expect(page.locator(".pane > table tr.open")).to_have_attribute("data-place", place)
    expect(page.locator(".inspected .switch").first).to_be_enabled()
    expect(page.locator(".raising .neuron").first).to_have_text(raising.first.inner_text())
    page.go_back()
    expect(page.locator(".pane h2")).to_contain_text("Layer 3, position 4, after")


def test_a_click_on_a_cell_leaves_the_rest_of_the_page_as_it_is(person: Visitor) -> None:
    person.open("trace", model=LARGE, prompt="The capital of France is")
    page = person.page
    # Whatever the page draws anew loses a mark that only the browser knows of.
    page.evaluate("document.querySelector('h1').parentElement.dataset.mark = 'same'")
    runs = page.evaluate(
        """() => { window.runs = 0; new MutationObserver(() => window.runs++).observe(
            document.querySelector('.nt-above'), {childList: true, subtree: true, attributes: true}); return 0 }"""
    )
    page.get_by_role("grid").get_by_role("button", name="layer 1, position 2").click()
    # At once, whatever the server does meanwhile.
    assert page.locator(".pane h2").inner_text().startswith("Layer 1, position 2, after")
    page.wait_for_url("**position=2**")
    person.settle()
    expect(page.locator(".pane > table tr[data-place]")).to_have_count(10)
    assert page.evaluate("window.runs") == runs
    assert page.evaluate("document.querySelector('h1').parentElement.dataset.mark") == "same"
    page.reload()
    person.settle()
    assert page.locator(".pane h2").inner_text().startswith("Layer 1, position 2, after")


def test_in_a_narrow_window_a_click_brings_the_neurons_of_the_cell_into_sight(person: Visitor) -> None:
    page = person.page
    page.set_viewport_size({"width": 800, "height": 600})
    person.open("trace", model=LARGE, prompt="The river was wide and", layer="0", position="1")
    last = page.locator(".pane > table tr[data-place]").last
    expect(last).not_to_be_in_viewport()
    page.locator(".grid .cell").nth(3).click()
    expect(last).to_be_in_viewport()
    person.settle()
    expect(last).to_be_in_viewport()
    # The pointer rests where it was, now on another cell: nothing of that one covers the list.
    expect(page.locator(".tip")).to_be_hidden()


def test_a_long_prompt_fits_the_window(person: Visitor) -> None:
    words = "the house near the river was quiet and children went to school " * 3
    person.open("trace", model=LARGE, prompt=words.strip())
    page = person.page
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(page.get_by_role("grid")).to_be_visible()
    assert page.locator(".room [role=grid] tr").first.locator("button").count() > 30
    box = page.evaluate(
        """() => { const host = [...document.querySelectorAll('*')].find(one => one.shadowRoot?.querySelector('.room'));
            const root = host.shadowRoot;
            const at = name => root.querySelector(name).getBoundingClientRect().toJSON();
            const scroll = root.querySelector('.scroll');
            const over = scroll.scrollWidth - scroll.clientWidth;
            return {grid: at('.room [role=grid]'), pane: at('.pane'), over} }"""
    )
    assert box["over"] <= 1
    assert box["grid"]["bottom"] <= 900
    assert box["pane"]["left"] >= box["grid"]["right"]
    assert box["pane"]["right"] <= 1440


def test_a_neuron_that_nobody_listed_is_switched_in_a_trace(person: Visitor) -> None:
    person.open("trace", model=SMALL, prompt="The capital of France is")
    picker = person.page.get_by_role("combobox", name="Neuron")
    picker.fill("L2N17")
    picker.press("Enter")
    person.page.get_by_role("button", name="Run").click()
    expect(person.page.get_by_text(f"{SMALL}/L2N17 set to 0 at every position")).to_be_visible()
    person.settle()
    assert "switch=L2N17" in person.page.url
    person.shoot("flow-12-switched")


@pytest.fixture
def annotated(browser: BrowserContext, demo_like: Path, tmp_path: Path) -> Iterator[tuple[Visitor, Path]]:
    """A window on a warehouse of its own, which is written to."""
    path = tmp_path / "annotated.duckdb"
    shutil.copy(demo_like, path)
    with served(path, tmp_path / "server.log") as base, visitor(browser, base) as looking:
        yield looking, path


def write_concept(looking: Visitor, name: str, kind: str, *places: int) -> None:
    tokens = looking.page.locator(".st-key-shown button")
    for place in places:
        tokens.nth(place).click()
    looking.page.get_by_role("textbox", name="Concept").fill(name)
    looking.page.get_by_text(kind, exact=True).click()


def judged(looking: Visitor, number: int) -> None:
    """Wait until so many vectors are judged."""
    expect(looking.page.get_by_text(f"{number} of 120 vectors judged")).to_be_visible()
    looking.settle()


def test_concepts_are_named_by_keyboard(annotated: tuple[Visitor, Path]) -> None:
    looking, path = annotated
    page = looking.page
    looking.open("annotate", model=LARGE)
    expect(page.get_by_text("Enter your name")).to_be_visible()
    page.get_by_role("textbox", name="Your name").fill("anna <b>")
    page.keyboard.press("Enter")
    judged(looking, 0)
    tokens = page.locator(".st-key-shown button")
    expect(tokens).to_have_count(30)
    # Too little is held back, and what was typed a moment before stays.
    tokens.first.focus()
    for key in ("Space", "ArrowRight", "Space", "ArrowRight", "Space"):
        page.keyboard.press(key)
    page.get_by_role("textbox", name="Concept").fill("first <script>")
    page.keyboard.press("Control+s")
    expect(page.get_by_text("3 tokens are marked, but a concept needs 4")).to_be_visible()
    looking.settle()
    write_concept(looking, "first <script>", "semantic", 9)
    page.keyboard.press("Alt+a")
    expect(page.get_by_text("first <script>")).to_be_visible()
    looking.settle()
    write_concept(looking, "second", "names", 1, 4, 5, 6, 7)
    looking.shoot("flow-6-annotating")
    page.keyboard.press("Control+s")
    judged(looking, 1)
    page.keyboard.press("Alt+n")
    judged(looking, 2)
    rows = neurothek.open(path).sql("select annotator, concept, n_tokens from annotations order by concept nulls last")
    assert rows.rows() == [("anna <b>", "first <script>", 4), ("anna <b>", "second", 5), ("anna <b>", None, 0)]


def test_what_is_typed_outlives_a_busy_warehouse_and_is_shown_at_the_neuron(annotated: tuple[Visitor, Path]) -> None:
    looking, path = annotated
    page = looking.page
    looking.open("annotate", model=LARGE, annotator="anna")
    write_concept(looking, "third", "syntactic", 0, 1, 2, 3)
    with duckdb.connect(str(path)):
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("was still in use")).to_be_visible()
        looking.shoot("flow-7-busy", is_running=True)
    looking.settle()
    expect(page.get_by_role("textbox", name="Concept")).to_have_value("third")
    page.get_by_role("button", name="Save").click()
    judged(looking, 1)
    page.get_by_text("Results", exact=True).click()
    looking.settle()
    expect(page.get_by_text("Concepts that people named in")).to_be_visible()
    looking.shoot("flow-8-results")
    said = {"concept": "<script>", "class": "names", "ranks": [1, 2, 3, 4]}
    neurothek.open(path).annotate([{"address": NEURON, **said}], annotator="ben")
    looking.open("neuron", neuron=NEURON)
    expect(page.get_by_text("Concepts named by people")).to_be_visible()
    looking.shoot("flow-9-annotated")


def test_a_neighbour_is_followed_and_stayed_at(person: Visitor) -> None:
    person.open("neuron", neuron=NEURON)
    person.page.locator(".nt-cards a.nt-row:visible").first.click()
    heading = person.page.locator("h1").first
    expect(heading).not_to_have_text(NEURON)
    person.arrive(f"{LARGE}/")
    followed = person.title()
    # Each is the nearest of the other: a choice that outlived its page would lead back, and there again.
    assert unquote(person.page.url).endswith(f"neuron={followed}")
    person.settle()
    assert person.title() == followed
    person.page.locator(".nt-cards a.nt-row:visible").first.click()
    person.arrive(NEURON)
    person.settle()
    assert person.title() == NEURON


def test_a_counterpart_is_followed_into_another_model(person: Visitor) -> None:
    person.open("neuron", neuron=WITH_COUNTERPARTS)
    person.shoot("flow-6-counterparts")
    person.page.get_by_role("tab", name="In other models").click()
    person.page.locator(f".nt-cards a.nt-row:visible[href*='{SMALL}']").first.click()
    person.arrive(f"{SMALL}/L")
    back = person.title()
    assert f"neuron={back}" in unquote(person.page.url)
    person.page.get_by_role("link", name="Search the other models for similar neurons").click()
    person.settle()
    assert person.title() == "Search"
    expect(person.page.get_by_text(f"neurons that share tokens (promoted + suppressed) with {back}")).to_be_visible()
    person.shoot("flow-7-alike")
    person.follow_row()
    person.arrive(f"{LARGE}/L")


def test_a_model_published_meanwhile_is_there_after_a_reload(
    browser: BrowserContext, demo_like: Path, tmp_path: Path
) -> None:
    path = tmp_path / "growing.duckdb"
    shutil.copy(demo_like, path)
    with served(path, tmp_path / "server.log") as base, visitor(browser, base) as looking:
        looking.open()
        with ThreadPoolExecutor() as workers:
            # Only the weights are read: it is the publishing that meets the clicks.
            measuring = workers.submit(neurothek.open(path).ingest, "mini-opt-0.7m-seed1", jobs=("projections",))
            while not measuring.done():
                looking.go("Look", "Layer")
                looking.page.get_by_role("link", name="Compare", exact=True).first.click()
                looking.settle()
                assert looking.page.get_by_test_id("stAlertContentError").count() == 0
            assert [outcome.problem for outcome in measuring.result()] == [None]
        looking.open("model", model="mini-opt-0.7m-seed1")
        expect(looking.page.get_by_text("The activity of this model has not been measured yet.")).to_be_visible()


def sql_frame(person: Visitor) -> FrameLocator:
    """The frame of the SQL page's editor, drawn."""
    frame = person.page.frame_locator("iframe[title^='code_editor']")
    expect(frame.locator("#REACT_ACE_EDITOR .ace_content")).to_be_visible()
    return frame


def expect_query(person: Visitor, query: str | re.Pattern[str]) -> None:
    expect(sql_frame(person).locator("#REACT_ACE_EDITOR .ace_text-layer")).to_have_text(query)


def type_query(person: Visitor, query: str) -> None:
    """Type a query in the place of what stands in the editor, with nothing offered in the end."""
    sql_frame(person).locator("#REACT_ACE_EDITOR .ace_content").click()
    person.page.keyboard.press("Control+A")
    person.page.keyboard.type(query, delay=20)
    person.page.wait_for_timeout(200)
    person.page.keyboard.press("Escape")


def test_sql_answers_and_refuses(person: Visitor) -> None:
    person.open("sql")
    type_query(person, "select count(*) as n from neurons")
    sql_frame(person).get_by_role("button", name="Run").click()
    expect(person.page.get_by_text("1 row in")).to_be_visible()
    person.settle()
    person.shoot("flow-4-answered")
    type_query(person, "delete from store.models")
    person.page.keyboard.press("Control+Enter")
    expect(person.page.get_by_test_id("stAlert")).to_be_visible()
    person.settle()
    assert person.page.get_by_test_id("stDataFrame").count() == 0
    person.shoot("flow-5-refused")
    # Back leads to the query before.
    person.page.go_back()
    expect(person.page.get_by_text("1 row in")).to_be_visible()
    person.settle()
    expect_query(person, "select count(*) as n from neurons")


def test_sql_is_completed_and_a_card_asks_its_question(person: Visitor) -> None:
    person.open("sql")
    offered = sql_frame(person).locator(".ace_autocomplete .ace_line")
    # A letter and a slash are keys of the page elsewhere.
    type_query(person, "select 6 / 3, ")
    person.page.keyboard.type("kur", delay=20)
    expect(offered.first).to_contain_text("kurtosis")
    person.page.keyboard.press("Tab")
    person.page.keyboard.type(" from neur", delay=20)
    expect(offered.first).to_contain_text("neurons view")
    person.page.keyboard.press("Tab")
    person.page.keyboard.type(" join models using (model) limit 3", delay=20)
    person.page.keyboard.press("Control+Enter")
    expect(person.page.get_by_text("3 rows in")).to_be_visible()
    person.settle()
    query = "select 6 / 3, kurtosis from neurons join models using (model) limit 3"
    expect_query(person, query)
    assert parse_qs(urlsplit(person.page.url).query)["query"] == [query]
    person.page.locator(".st-key-card-7 button").click()
    expect(person.page.get_by_text("7 rows in")).to_be_visible()
    # Until the page has run the editor before stands there, too.
    person.settle()
    expect_query(person, re.compile("from layer_activity"))
    assert "layer_activity" in person.page.url


def test_a_chart_and_its_data_are_taken_along(person: Visitor, tmp_path: Path) -> None:
    person.open("compare")
    person.page.locator(".st-key-at-dead-by-depth").get_by_role("button", name="⋯").click()
    files = {}
    for label in ("PNG", "SVG", "CSV", "Parquet"):
        download = person.download(label)
        assert download.suggested_filename == f"dead_by_depth.{label.lower()}"
        download.save_as(tmp_path / label)
        files[label] = (tmp_path / label).read_bytes()
    assert files["PNG"].startswith(b"\x89PNG")
    assert ET.fromstring(files["SVG"]).tag == "{http://www.w3.org/2000/svg}svg"
    assert LARGE in files["SVG"].decode()  # the legend, which the page shows once for all of its charts
    rows = pl.read_parquet(io.BytesIO(files["Parquet"]))
    assert set(rows.get_column("model")) == {SMALL, LARGE}
    assert pl.read_csv(io.BytesIO(files["CSV"])).height == rows.height == 3 + 4


def test_the_sql_behind_a_chart_opens_in_the_console(person: Visitor) -> None:
    person.open("compare")
    person.page.get_by_role("button", name="⋯").first.click()
    person.page.get_by_role("link", name="Open on the SQL page").click()
    person.settle()
    assert person.title() == "SQL"
    # The first chart has a row a model.
    expect(person.page.get_by_text("2 rows in")).to_be_visible()


def test_a_script_token_shows_as_itself(browser: BrowserContext, full_path: Path, tmp_path: Path) -> None:
    with served(full_path, tmp_path / "server.log") as base, visitor(browser, base) as looking:
        found = neurothek.open(full_path).sql("select address from contexts_text where token = ' <script>' limit 1")
        looking.open("neuron", neuron=found.item())
        expect(looking.page.get_by_text("·<script>").first).to_be_visible()
        looking.shoot("script-token")
