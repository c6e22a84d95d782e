"""A neuron's lists of tokens: bars as long as scores, and the words that were searched for wherever they stand."""

import re

import polars as pl
import pytest

from neurothek.dashboards.parts.one_neuron.token_lists import is_meant, list_html, places_of, places_of_words

TEXTS = [" school", " School", "SCHOOL", " tea", "\n", "<b>", " a,b", " x"]


def side(name: str) -> pl.DataFrame:
    """Eight tokens, whose scores fall by a tenth from 0.8."""
    sign = 1 if name == "promoted" else -1
    rows = [
        {
            "side": name,
            "rank": rank,
            "token": token if name == "promoted" else f"{token}er",
            "score": sign * (0.9 - rank / 10),
            "z_score": sign * (5.0 - rank),
            "corpus_count": 1000 * rank,
        }
        for rank, token in enumerate(TEXTS, start=1)
    ]
    return pl.DataFrame(rows)


def test_a_word_stands_for_all_that_reads_the_same(subtests: pytest.Subtests) -> None:
    for token, words, expected in [
        (" School", ["school"], True),
        (" schools", ["school"], False),
        (" he", ["he,him"], True),
        (" him", ["he,him"], True),
        (" a,b", ["a,b"], True),
        ("\n", ["\n"], True),
        ("\n", ["school"], False),
        ("\n", [""], False),
        (" ", ["", "school"], False),
    ]:
        with subtests.test(token=token, words=words, expected=expected):
            assert is_meant(token, words) == expected


def test_what_was_searched_for_is_found_on_both_sides() -> None:
    tokens = pl.concat([side("promoted"), side("suppressed")])
    assert places_of(tokens, ["school"]).get_column("rank").to_list() == [1, 2, 3]
    assert places_of(tokens, ["teaer"]).select("side", "rank").rows() == [("suppressed", 4)]
    assert places_of_words(tokens, ["tea", "river"]) == [
        "tea: ·tea promoted, rank 4 of 8, z-score 1.00",
        "river: not among the 8 tokens that it promotes most, nor among those that it suppresses most",
    ]


def test_a_token_outside_of_the_shown_ones_is_added_and_marked() -> None:
    page = list_html(side("promoted"), ["x", "school"], colour="#123456", most=3)
    ranks = re.findall(r'<span class="nt-rank">(\d+)</span>', page)
    assert ranks == ["1", "2", "3", "8"]
    assert page.count('class="nt-mark"') == 4
    assert "⋮" in page
    bare = list_html(side("promoted"), [], colour="#123456", most=3)
    assert re.findall(r'<span class="nt-rank">(\d+)</span>', bare) == ["1", "2", "3"]
    assert "⋮" not in bare
    assert 'class="nt-mark"' not in bare


def test_bars_are_shares_of_the_longest_on_either_side() -> None:
    for name in ("promoted", "suppressed"):
        page = list_html(side(name), [], colour="#123456", most=8)
        widths = [float(width) for width in re.findall(r'"width: ([\d.]+)%', page)]
        assert widths == [pytest.approx(100 * (9 - rank) / 8, abs=0.06) for rank in range(1, 9)]


def test_a_token_is_text_and_tells_its_numbers() -> None:
    page = list_html(side("promoted"), [], colour="#123456", most=8)
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "raw score 0.3000, z-score -1.00, 6,000 in the corpus" in page
