"""Contexts as running text: every token is shaded by the size of its activation, and nothing in it is markup."""

import re
from html import unescape
from typing import Any

from neurothek.dashboards.parts.one_neuron.contexts import windows_html

WINDOW: dict[str, Any] = {
    "activation": 2.0,
    "domain": "prose",
    "part": "upper",
    "tokens": [" the", "<b>", "\n", " school", '"'],
    "activations": [0.0, -1.0, 0.5, 2.0, 1e-6],
    "place": 3,
}
SHADE, CONTRAST = "#112233", "#aabbcc"


def tokens_of(page: str) -> list[tuple[str, str | None, str, str]]:
    """(tag, background, title, text) of each token."""
    pattern = r'<(b|span)(?: style="background: (#\w+)")? title="([^"]*)">(.*?)</\1>'
    found = re.findall(pattern, page, re.DOTALL)
    return [(tag, colour or None, unescape(title), unescape(text)) for tag, colour, title, text in found]


def alpha(colour: str | None) -> int:
    assert colour is not None
    return int(colour[-2:], 16)


def test_every_token_is_shaded_by_its_activation() -> None:
    tokens = tokens_of(windows_html([WINDOW], shade=SHADE, contrast=CONTRAST))
    assert [text for *_, text in tokens] == [" the", "<b>", "↵", " school", '"']
    assert [colour and colour[:7] for _, colour, _, _ in tokens] == [None, CONTRAST, SHADE, SHADE, SHADE]
    faint, medium, less, most = (alpha(tokens[at][1]) for at in (4, 1, 2, 3))
    assert faint < less < medium < most <= 0.6 * 255 + 1
    assert [title for _, _, title, _ in tokens] == ["·the 0", "<b> -1", "↵ 0.5", "·school 2", '" 1e-06']
    assert [tag for tag, *_ in tokens] == ["span", "span", "span", "b", "span"]


def test_shades_are_relative_to_the_strongest_of_all() -> None:
    shaded = [tokens_of(windows_html([WINDOW], shade=SHADE, contrast=CONTRAST, strongest=s))[3][1] for s in (2.0, 20.0)]
    assert alpha(shaded[0]) > 3 * alpha(shaded[1])


def test_texts_are_no_markup() -> None:
    page = windows_html(
        [WINDOW | {"domain": "<script>", "tokens": ["<script>", "&amp;", "a", "b", "</p>"]}],
        shade=SHADE,
        contrast=CONTRAST,
    )
    assert "<script>" not in page
    assert "&amp;amp;" in page
    assert page.count("</p>") == 1


def test_a_window_of_a_silent_neuron_has_no_shade() -> None:
    silent = WINDOW | {"activation": 0.0, "activations": [0.0] * 5, "part": None}
    page = windows_html([silent], shade=SHADE, contrast=CONTRAST)
    assert [colour for _, colour, _, _ in tokens_of(page)] == [None] * 5
    assert "upper" not in page


def test_no_windows_are_an_empty_list() -> None:
    assert tokens_of(windows_html([], shade=SHADE, contrast=CONTRAST)) == []
