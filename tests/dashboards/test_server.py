"""The server around the pages: its front page tells the browser where it stands."""

from pathlib import Path

from dashboards.addresses import PAGES
from dashboards.screens import __file__ as screens_file
from dashboards.server import front_page


def test_the_front_page_names_itself_and_its_server() -> None:
    page = front_page()
    assert "<title>neurothek</title>" in page
    assert "<title>Streamlit" not in page
    assert "BACKEND_BASE_URL: location.origin" in page


def test_every_page_has_an_address() -> None:
    files = {file.stem for file in Path(screens_file).parent.glob("[a-z]*.py")}
    assert files == {"compare", *PAGES}
