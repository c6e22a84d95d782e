"""Texts of the warehouse on a page: as themselves."""

import re

import polars as pl

from neurothek.dashboards.widgets.html import (
    columns_html,
    places_html,
    plain,
    prose,
    table_html,
    tables_html,
    texts_html,
)

PLACE = {"activation": 2.0, "domain": "a<b", "before": "if x <", "token": "<script>", "after": "alert(1)\n</script>"}


def test_a_token_of_markup_shows_as_itself() -> None:
    shown = places_html([PLACE], shade="#2f5d8a")
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "alert(1)↵&lt;/script&gt;" in shown
    assert "a&lt;b" in shown


def test_weaker_places_are_paler() -> None:
    shown = places_html([PLACE, PLACE | {"activation": -1.0}], shade="#2f5d8a")
    assert "#2f5d8a8c" in shown
    assert "#2f5d8a52" in shown
    assert "-1.000" in shown


def test_no_place_and_a_silent_place_are_drawn() -> None:
    assert "nt-number" not in places_html([], shade="#2f5d8a").split("</style>")[1]
    assert "0.000" in places_html([PLACE | {"activation": 0.0}], shade="#2f5d8a")


def test_text_is_no_markdown() -> None:
    assert plain("![x](http://h/a.png) *b* $c$ :red[d] <i>") == (
        "\\!\\[x\\]\\(http\u2060\\:\\/\\/h\\/a\\.png\\) \\*b\\* \\$c\\$ \\:red\\[d\\] \\<i\\>"
    )


def test_tokens_of_a_sentence_are_set_like_code_and_the_rest_is_no_markdown() -> None:
    assert prose("After *a* comes “·the”, then “<b>*”.") == "After \\*a\\* comes `·the`\\, then `<b>*`\\."
    assert prose("no token") == plain("no token")
    # Quotation marks and back quotes are tokens, too.
    assert prose("“””") == "`”`"
    assert prose("“““ “a”") == "`““ “a`"
    assert prose("“`”, “a``b”") == "`` ` ``\\, ```a``b```"


# mdast-util-gfm-autolink-literal 2.0, which the page's Markdown runs over texts once their backslashes are gone.
AUTOLINKS = (
    re.compile(r"(https?://|www(?=\.))([-.\w]+)([^ \t\r\n]*)", re.IGNORECASE),
    re.compile(r"([-.\w+]+)@([-\w]+(?:\.[-\w]+)+)"),
)


def test_addresses_become_no_links() -> None:
    texts = ["http://evil.example/x", "HTTPS://h.example", "see www.evil.example", "WwW.h.example", "anna@evil.example"]
    texts += [f"model-{text}/L0N1" for text in texts]
    assert [text for text in texts if not any(link.search(text) for link in AUTOLINKS)] == []
    shown = [re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", plain(text)) for text in texts]
    assert [text for text in shown if any(link.search(text) for link in AUTOLINKS)] == []
    assert [text.replace("\u2060", "") for text in shown] == texts
    assert plain("http or www or a:b") == r"http or www or a\:b"


def test_a_description_is_no_markup() -> None:
    assert "&lt;b&gt;" in columns_html({"column": "smaller <b> than"})


def test_tables_mark_white_space_and_align_numbers() -> None:
    frame = pl.DataFrame({"text": [" <b>"], "n_active": [1200], "tokens before": [[" a", "b\n"]]})
    shown = table_html(frame, tokens=("tokens before",))
    assert '<td class="nt-tokens">·&lt;b&gt;</td>' in shown
    assert '<td class="nt-right">1,200</td>' in shown
    assert '<td class="nt-tokens">·a b↵</td>' in shown
    assert "<b>x &amp; y</b>" in tables_html({"x & y": frame})


def test_shares_are_read_in_percent() -> None:
    shown = table_html(pl.DataFrame({"text": ["a", "b"], "recall": [0.18921, None], "score": [0.5, 0.25]}))
    assert '<td class="nt-right">18.92%</td>' in shown
    assert "0.5" in shown
    assert "None" not in shown


def test_texts_side_by_side_are_a_table_whose_words_may_be_broken() -> None:
    frame = pl.DataFrame({"prompt": ["a <b>"], "untouched": ["long " * 3]})
    shown = texts_html(frame)
    assert table_html(frame) in shown
    assert shown.startswith('<div class="nt-texts">')
    assert ".nt-texts .nt-table td { overflow-wrap: anywhere;" in shown
    assert "a &lt;b&gt;" in shown
