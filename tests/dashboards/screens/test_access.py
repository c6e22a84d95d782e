"""Every page by its address in a real browser: whole, and as axe-core judges it for pale eyes and screen readers."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types

from neurothek.dashboards.addresses import PAGES as ADDRESSES
from tests.dashboards.screens.conftest import LARGE, NEURON, SMALL
from tests.support.browser import Visitor

pytestmark = pytest.mark.browser

PAGES = {
    "ask": ("", {}),
    "compare": ("compare", {}),
    "search": ("search", {"words": "school university"}),
    "alike": ("search", {"like": NEURON, "models": SMALL}),
    "neuron": ("neuron", {"neuron": NEURON}),
    "layer": ("layer", {"model": LARGE, "layer": "3"}),
    "model": ("model", {"model": LARGE}),
    "position": ("position", {"model": LARGE}),
    "clusters": ("clusters", {"model": LARGE, "cluster": "3"}),
    "events": ("events", {"word": "the"}),
    "shortcuts": ("shortcuts", {"model": SMALL}),
    "claims": ("claims", {}),
    "interventions": ("interventions", {"model": SMALL, "intervention": "few"}),
    "trace": ("trace", {"model": SMALL, "prompt": "The capital of France is"}),
    "annotate": ("annotate", {"model": LARGE, "annotator": "anna"}),
    "sql": ("sql", {"query": "from scaling_long limit 20"}),
}
TITLES = {**ADDRESSES, "ask": "Ask", "compare": "Compare sizes", "alike": "Search", "neuron": NEURON}

RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
COLOURS = {"type": "rule", "values": ["color-contrast"]}
"""All that differs on a dark screen."""

OF_LIBRARIES = {"svg-img-alt": "chosen_brush"}
"""Rule -> what Vega draws for a rectangle that a person drags; its chart has a description."""


def violations(looking: Visitor, rules: dict[str, Any]) -> list[tuple[str, str]]:
    """The rules that the page breaks, and where."""
    broken = Axe().run(looking.page, options={"runOnly": rules, "resultTypes": ["violations"]}).response["violations"]
    return [
        (rule["id"], node["html"][:200])
        for rule in broken
        for node in rule["nodes"]
        if OF_LIBRARIES.get(rule["id"], "nothing") not in str(node["target"][-1])
    ]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_and_read_by_everybody(person: Visitor, name: str) -> None:
    path, parameters = PAGES[name]
    person.page.emulate_media(color_scheme="light")
    person.open(path, **parameters)
    assert person.title() == TITLES[name]
    assert violations(person, RULES) == []
    look(person, f"{name}-light", shot=1440)
    # At dusk the page that stands there turns dark, with all that the server coloured.
    with person.runs_again():
        person.page.emulate_media(color_scheme="dark")
    assert violations(person, COLOURS) == []
    look(person, f"{name}-dark", shot=800)


def look(person: Visitor, name: str, *, shot: int) -> None:
    """Look at the page, narrow and wide: nothing is cut off. Of one width a picture is kept, where somebody asks."""
    assert person.page.get_by_test_id("stException").count() == 0
    for width in (800, 1440):
        person.page.set_viewport_size({"width": width, "height": 1000})
        if width == shot:
            person.shoot(f"{name}-{width}")
        # No table hides rows of its own: what is kept free for it is as high as it is.
        assert person.hidden_rows() == []
        # Nothing is wider than the window.
        assert person.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert person.wide_texts() == []


def test_what_is_too_pale_is_found(person: Visitor) -> None:
    person.open("sql")
    person.page.evaluate(
        "document.querySelector('h1').insertAdjacentHTML('afterend', '<h5 style=\"color: #aaa\">pale</h5>')"
    )
    assert {rule for rule, _ in violations(person, RULES)} >= {"color-contrast", "heading-order"}
    assert {rule for rule, _ in violations(person, COLOURS)} == {"color-contrast"}
