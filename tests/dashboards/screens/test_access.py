"""What every page says to eyes that need contrast and to screen readers, judged by axe-core in a real browser."""

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types
from playwright.sync_api import BrowserContext

from tests.dashboards.screens.test_browser import PAGES
from tests.support.browser import visitor

pytestmark = pytest.mark.browser

RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}}

OF_LIBRARIES = {"svg-img-alt": "chosen_brush"}
"""Rule -> what Vega draws for a rectangle that a person drags; its chart has a description."""


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("screen", ["light", "dark"])
def test_a_page_has_contrast_headings_in_order_and_names(
    request: pytest.FixtureRequest, base: str, name: str, screen: str
) -> None:
    path, parameters = PAGES[name]
    with visitor(request.getfixturevalue(screen), base) as looking:
        looking.open(path, **parameters)
        violations = Axe().run(looking.page, options=RULES).response["violations"]
        found = [
            (broken["id"], node["html"][:200])
            for broken in violations
            for node in broken["nodes"]
            if OF_LIBRARIES.get(broken["id"], "nothing") not in str(node["target"][-1])
        ]
        assert found == []


def test_what_is_too_pale_is_found(base: str, light: BrowserContext) -> None:
    with visitor(light, base) as looking:
        looking.open("sql")
        looking.page.evaluate(
            "document.querySelector('h1').insertAdjacentHTML('afterend', '<h5 style=\"color: #aaa\">pale</h5>')"
        )
        violations = Axe().run(looking.page, options=RULES).response["violations"]
        assert {broken["id"] for broken in violations} >= {"color-contrast", "heading-order"}
