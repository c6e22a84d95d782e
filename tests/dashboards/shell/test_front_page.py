"""The front page tells the browser where its server stands, and what the pages need of it."""

from neurothek.dashboards.server import front_page


def test_the_front_page_names_itself_and_its_server() -> None:
    page = front_page()
    assert "<title>neurothek</title>" in page
    assert "<title>Streamlit" not in page
    assert "BACKEND_BASE_URL: location.origin" in page


def test_our_script_stands_before_streamlits_own() -> None:
    page = front_page()
    assert page.index("popstate") < page.index("/static/js/")
