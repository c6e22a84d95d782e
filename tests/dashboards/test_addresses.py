"""Pages: each has a file, a title and an address of its own."""

import re
from pathlib import Path

from dashboards.addresses import PAGES
from dashboards.screens import __file__ as screens_file


def test_every_page_has_an_address() -> None:
    files = {file.stem for file in Path(screens_file).parent.glob("[a-z]*.py")}
    assert files == {"compare", *PAGES}


def test_titles_are_told_apart_and_an_address_needs_no_quoting() -> None:
    assert len({*PAGES.values()}) == len(PAGES)
    assert all(title and title == title.strip() for title in PAGES.values())
    assert all(re.fullmatch(r"[a-z]+", name) for name in PAGES)


def test_the_front_page_is_not_among_them() -> None:
    """It stands at the address of the dashboard itself."""
    assert "compare" not in PAGES
