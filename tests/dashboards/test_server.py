"""The server around the pages: other names of a page lead to it, with what is asked."""

import pytest
from starlette.routing import Match, Route
from starlette.testclient import TestClient

from neurothek.dashboards.addresses import OTHER_NAMES
from neurothek.dashboards.server import app


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_another_name_leads_to_the_page_with_what_is_asked(name: str) -> None:
    browser = TestClient(app, base_url="http://localhost", follow_redirects=False)
    answer = browser.get(f"/{name}?model=a%2Fb&layer=3")
    assert (answer.status_code, answer.headers["location"]) == (307, f"/{OTHER_NAMES[name]}?model=a%2Fb&layer=3")
    assert browser.get(f"/{name}").headers["location"] == f"/{OTHER_NAMES[name]}"


def test_a_name_that_is_no_pages_leads_to_the_first() -> None:
    browser = TestClient(app, base_url="http://localhost", follow_redirects=False)
    answer = browser.get("/nonsense?model=a")
    assert (answer.status_code, answer.headers["location"]) == (307, "/")


@pytest.mark.parametrize("path", ["/search", "/"])
def test_pages_stay_where_they_are(path: str) -> None:
    assert TestClient(app, base_url="http://localhost", follow_redirects=False).get(path).status_code == 200


@pytest.mark.parametrize("path", ["/favicon.png", "/_stcore/health", "/oauth2callback"])
def test_what_streamlit_serves_is_left_to_it(path: str) -> None:
    route = next(route for route in app._user_routes if isinstance(route, Route) and route.path == "/{name:word}")
    match, _ = route.matches({"type": "http", "path": path, "method": "GET"})
    assert match is Match.NONE
