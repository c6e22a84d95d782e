"""Pages: each has a file, a title and an address of its own."""

import re
from pathlib import Path

import pytest

from neurothek.dashboards.addresses import FRONT, OTHER_NAMES, PAGES, PLACES, script_of
from neurothek.dashboards.screens import __file__ as screens_file


def test_every_page_has_an_address() -> None:
    folder = Path(screens_file).parent
    files = set(folder.rglob("[a-z]*.py"))
    assert files == {folder.parent / script_of(name) for name in (FRONT, *PAGES)}


def test_titles_are_told_apart_and_an_address_needs_no_quoting() -> None:
    assert len({*PAGES.values()}) == len(PAGES)
    assert all(title and title == title.strip() for title in PAGES.values())
    assert all(re.fullmatch(r"[a-z]+", name) for name in PAGES)


def test_the_front_page_is_not_among_them() -> None:
    """It stands at the address of the dashboard itself."""
    assert FRONT not in PAGES


def test_every_page_stands_in_one_place() -> None:
    names = [name for pages in PLACES.values() for name in pages]
    assert len(names) == len(set(names))
    assert set(names) == {FRONT, *PAGES}


def test_other_names_lead_to_pages_and_are_none() -> None:
    assert set(OTHER_NAMES.values()) <= {"", *PAGES}
    assert not set(OTHER_NAMES) & set(PAGES)


def test_there_is_no_file_of_an_unknown_page() -> None:
    with pytest.raises(KeyError, match="no page is called tokens"):
        script_of("tokens")
