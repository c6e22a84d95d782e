"""Titles in the browser: pages about different things are called differently, and each says what it is about."""

import pytest

from neurothek.dashboards.addresses import FRONT, PAGES
from neurothek.dashboards.shell.navigation import title_of


def test_a_title_begins_with_what_the_page_is_about(subtests: pytest.Subtests) -> None:
    for page, asked, title in [
        ("neuron", {"neuron": "a-1m/L3N17", "word": "school"}, "a-1m/L3N17 · neurothek"),
        ("search", {"words": "school", "side": "both"}, "school · Search · neurothek"),
        ("search", {"triggered_by": "of the"}, "fires on of the · Search · neurothek"),
        ("search", {"like": "a-1m/L3N17"}, "like a-1m/L3N17 · Search · neurothek"),
        ("layer", {"model": "a-1m", "layer": "3"}, "a-1m/L3 · Layer · neurothek"),
        ("model", {"model": "a-1m"}, "a-1m · Model · neurothek"),
        ("trace", {"model": "a-1m", "prompt": "one\ntwo"}, "one two · Trace · neurothek"),
        ("events", {"word": "the"}, "the · Events · neurothek"),
        ("compare", {"models": "a-1m,b-2m"}, "Sizes · neurothek"),
        ("ask", {}, "Ask · neurothek"),
    ]:
        with subtests.test(page=page, asked=asked, title=title):
            assert title_of(page, asked) == title


def test_pages_that_are_asked_for_nothing_differ_too() -> None:
    titles = [title_of(page, {}) for page in (FRONT, *PAGES)]
    assert len(set(titles)) == len(titles)
    assert all(title.endswith(" · neurothek") for title in titles)


def test_a_long_prompt_is_cut() -> None:
    title = title_of("trace", {"prompt": "word " * 100})
    assert len(title.removesuffix(" · Trace · neurothek")) <= 60
    assert "…" in title
