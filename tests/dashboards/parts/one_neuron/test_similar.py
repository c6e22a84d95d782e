"""Cards of neurons: each a link, how near it is, and the tokens that it promotes."""

import re

import polars as pl

from neurothek.dashboards.parts.one_neuron.token_lists import MOST_CARDS, cards_html


def test_a_card_leads_to_its_neuron_and_says_how_near_it_is() -> None:
    rows = pl.DataFrame(
        {
            "address": ["a/L0N1", "b/L2N3"],
            "overlap": [0.5, 0.25],
            "null_99": [0.125, None],
            "is_mutual": [True, False],
            "top_tokens": [[" tea", "<i>"], None],
        }
    )
    page = cards_html(rows, "overlap", name="overlap")
    assert re.findall(r"<span>([^<]+)</span></header>", page) == ["overlap 0.50, random 0.12, mutual", "overlap 0.25"]
    assert re.findall(r'nt-row" target="_self" href="([^"]+)"', page) == [
        "/neuron?neuron=a/L0N1",
        "/neuron?neuron=b/L2N3",
    ]
    assert re.findall(r'href="(/search[^"]+)"', page) == ["/search?words=tea", "/search?words=%27%3Ci%3E%27"]
    assert "<i>" not in page


def test_no_more_cards_than_there_is_room_for() -> None:
    n = MOST_CARDS + 3
    rows = pl.DataFrame(
        {"address": [f"a/L0N{place}" for place in range(n)], "cosine": [0.5] * n, "top_tokens": [[" tea"]] * n}
    )
    assert cards_html(rows, "cosine", name="cosine").count('class="nt-card"') == MOST_CARDS
