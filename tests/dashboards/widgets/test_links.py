"""Links: what they ask of a page survives any text, and nothing in it becomes HTML."""

from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit

import pytest

from neurothek.dashboards.widgets.links import href, link_html

HOSTILE = """a "b" <i>&amp; 'c' #d?e=f ☃"""


class Anchors(HTMLParser):
    """Every tag of a piece of HTML, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_an_address_holds_what_is_asked() -> None:
    address = urlsplit(href("search", words=HOSTILE, side="suppressed"))
    assert address.path == "/search"
    assert parse_qs(address.query) == {"words": [HOSTILE], "side": ["suppressed"]}
    assert href("neuron", neuron="mini-opt-2m/L3N170") == "/neuron?neuron=mini-opt-2m/L3N170"


def test_the_first_page_stands_at_the_root_and_what_is_empty_is_not_asked() -> None:
    assert href("ask") == "/"
    assert href("compare", models="a,b", corpus="") == "/compare?models=a,b"


def test_an_address_may_name_a_place_on_the_page() -> None:
    assert href("compare", anchor="a-figure", models="a,b") == "/compare?models=a,b#a-figure"
    assert 'href="/compare#a-figure"' in link_html("there", "compare", anchor="a-figure")


def test_a_page_that_is_none_has_no_address() -> None:
    with pytest.raises(KeyError, match="no page is called tokens"):
        href("tokens")


def test_a_link_is_one_tag_whatever_it_says() -> None:
    read = Anchors()
    read.feed(link_html(HOSTILE, "search", title=HOSTILE, css="nt-row", words=HOSTILE))
    ((tag, attributes),) = read.tags
    assert (tag, read.text) == ("a", HOSTILE)
    assert attributes["title"] == HOSTILE
    assert attributes["class"] == "nt-link nt-row"
    assert parse_qs(urlsplit(attributes["href"] or "").query) == {"words": [HOSTILE]}
