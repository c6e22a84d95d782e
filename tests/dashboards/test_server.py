"""The server around the pages: other names of a page lead to it, with what is asked."""

import pytest
from starlette.testclient import TestClient

from dashboards.addresses import OTHER_NAMES
from dashboards.server import app


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_another_name_leads_to_the_page_with_what_is_asked(name: str) -> None:
    browser = TestClient(app, base_url="http://localhost", follow_redirects=False)
    answer = browser.get(f"/{name}?model=a%2Fb&layer=3")
    assert (answer.status_code, answer.headers["location"]) == (307, f"/{OTHER_NAMES[name]}?model=a%2Fb&layer=3")
    assert browser.get(f"/{name}").headers["location"] == f"/{OTHER_NAMES[name]}"
