"""Tokens that lead to a search for themselves, and neurons that lead to their pages."""

import html
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from catalog.spelling import typed, visible
from dashboards.parts.explore.token_links import card_html, neuron_html, token_html, tokens_html
from dashboards.parts.search_fields import words_of


def asked(link: str) -> dict[str, list[str]]:
    (address,) = re.findall(r'href="([^"]+)"', link)
    split = urlsplit(html.unescape(address))
    assert split.path == "/search"
    return parse_qs(split.query)


@pytest.mark.parametrize("token", [" school", "school", "Ära", "42"])
def test_a_word_leads_to_all_tokens_that_read_the_same(token: str) -> None:
    link = token_html(token)
    assert asked(link) == {"words": [token.strip()]}
    assert f">{visible(token)}<" in link


@pytest.mark.parametrize("token", [" ", "\n", " '", '"', " don't", "\x0b", "<script>", "a b", "·", "\\"])
def test_what_is_no_word_leads_to_the_exact_token(token: str) -> None:
    wanted = asked(token_html(token))
    assert wanted["exact"] == ["yes"]
    (word,) = words_of(wanted["words"][0])
    assert word == visible(token)
    if token.isprintable() and token not in "·\\":
        assert typed(word) == token
    assert "<script>" not in token_html(token)


def test_bytes_are_muted() -> None:
    links = tokens_html([" a", "\x0b"], told={" a": "3 of 4"}).split("</a>")
    assert "nt-muted" not in links[0]
    assert 'title="3 of 4"' in links[0]
    assert "nt-muted" in links[1]


def test_a_neuron_leads_to_its_page() -> None:
    assert 'href="/neuron?neuron=m/L0N3"' in neuron_html("m/L0N3")
    assert ">m/L0N3<" in neuron_html("m/L0N3")
    assert ">L0N3<" in neuron_html("m/L0N3", short=True)


def test_what_a_card_tells_is_text() -> None:
    card = card_html("<b>name</b>", "a<b", "<i>", "body")
    assert "<b>name</b>" in card
    assert "a&lt;b" in card
    assert "&lt;i&gt;" in card
