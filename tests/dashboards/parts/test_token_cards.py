"""Tokens that lead to a search for themselves, and neurons that lead to their pages."""

import html
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from neurothek.catalog.spelling import visible
from neurothek.dashboards.parts.muted import Muted
from neurothek.dashboards.parts.token_cards import card_html, neuron_html, token_html, tokens_html


def asked(link: str) -> dict[str, list[str]]:
    (address,) = re.findall(r'href="([^"]+)"', link)
    split = urlsplit(html.unescape(address))
    assert split.path == "/search"
    return parse_qs(split.query)


def test_a_token_leads_to_a_search(subtests: pytest.Subtests) -> None:
    for token in [" school", "Ära", "\n", " '", "<script>"]:
        with subtests.test(token=token):
            link = token_html(token, title="3 of 4")
            assert asked(link)["words"]
            assert f">{html.escape(visible(token))}<" in link
            assert "<script>" not in link


def test_what_the_model_mutes_is_pale_unless_it_was_asked_for() -> None:
    muted = Muted({"\x0b": "byte", " rare": "undertrained"})
    links = tokens_html([" a", "\x0b", " rare", "\\xc3"], titles={" a": "3 of 4"}, muted=muted).split("</a>")
    assert ["nt-muted" in link for link in links[:4]] == [False, True, True, False]
    assert "nt-muted" not in token_html(" rare", is_asked=True, muted=muted)
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
