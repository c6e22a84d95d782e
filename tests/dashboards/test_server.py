"""The server around the pages: its front page tells the browser where it stands."""

from dashboards.server import front_page


def test_the_front_page_names_itself_and_its_server() -> None:
    page = front_page()
    assert "<title>neurothek</title>" in page
    assert "<title>Streamlit" not in page
    assert "BACKEND_BASE_URL: location.origin" in page
