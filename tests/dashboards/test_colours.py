"""Colours: ordered by lightness, so that any colour vision tells them apart, and seen on their background."""

import re
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.dashboards.colours import (
    ACCENT,
    CONTRAST,
    DOMAINS,
    FILLED,
    KINDS,
    _colour,
    model_colours,
    verdict_colour,
)
from neurothek.queries.papers.findings import OUTCOMES
from tests.support.colours import contrast, luminance

BACKGROUNDS = {"light": 1.0, "dark": luminance("#171714")}
PAGES = {"light": "#ffffff", "dark": "#171714"}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 9])
def test_the_larger_a_model_the_further_its_colour_is_from_the_background(theme: str, n: int) -> None:
    colours = list(model_colours([f"m{i}" for i in range(n)], theme=theme).values())
    # Lightness alone tells them apart, so any colour vision does.
    levels = [luminance(colour) for colour in colours]
    assert levels == sorted(levels, reverse=theme == "light")
    assert len(set(colours)) == n
    # Of lines and bars WCAG 2.1 asks 3; the one beside is seen to be another.
    assert min(contrast(colour, PAGES[theme]) for colour in colours) >= 3
    if n <= 7:
        assert all(contrast(*pair) > 1.15 for pair in pairwise(colours))


@pytest.mark.parametrize("theme", KINDS)
def test_kinds_are_seen_on_their_background(theme: str) -> None:
    assert list(KINDS[theme]) == list(KINDS["light"])
    for colour in KINDS[theme].values():
        low, high = sorted((luminance(colour), BACKGROUNDS[theme]))
        # Pale where weak, so that full ones need more than the 3 of WCAG 2.1 on black; yellow on white is what it is.
        assert (high + 0.05) / (low + 0.05) > (5 if theme == "dark" else 2)


@given(n=st.integers(0, 40), theme=st.sampled_from(["light", "dark"]))
def test_every_model_has_a_colour_of_its_own_in_the_order_given(n: int, theme: str) -> None:
    models = [f"m{number}" for number in range(n)]
    colours = model_colours(models, theme=theme)
    assert list(colours) == models
    assert len({*colours.values()}) == n
    assert all(re.fullmatch(r"#[0-9a-f]{6}", colour) for colour in colours.values())


VIRIDIS = {0.0: "#440154", 0.25: "#3b528b", 0.5: "#21918c", 0.75: "#5ec962", 1.0: "#fde725"}
"""As it is published, where no mixing and no rounding decides."""


def test_the_scale_is_viridis_and_mixes_what_lies_beside() -> None:
    assert {place: _colour(place) for place in VIRIDIS} == VIRIDIS
    # Half way between two of them, channel by channel, to the nearest whole number.
    mixed = [int(_colour(0.125)[at : at + 2], 16) for at in (1, 3, 5)]
    assert all(abs(2 * one - low - high) <= 1 for one, low, high in zip(mixed, (68, 1, 84), (59, 82, 139), strict=True))


def test_the_largest_model_has_an_end_of_the_scale() -> None:
    assert list(model_colours(["small", "large"]).values())[-1] == "#440154"
    assert list(model_colours(["small", "large"], theme="dark").values())[-1] == "#fde725"
    assert model_colours(["alone"]) == {"alone": "#440154"}
    with pytest.raises(KeyError):
        model_colours(["a"], theme="sepia")


@pytest.mark.parametrize("theme", PAGES)
def test_what_belongs_to_no_model_stands_out(theme: str) -> None:
    for colour in (ACCENT[theme], CONTRAST[theme]):
        # As WCAG 2.1 asks of what is no text.
        assert contrast(colour, PAGES[theme]) > 3
    assert ACCENT[theme] != CONTRAST[theme]
    # As it asks of text: links, and white words.
    assert contrast(ACCENT[theme], PAGES[theme]) > 4.5
    assert contrast(FILLED[theme], "#ffffff") > 4.5


def test_domains_are_told_apart_and_none_is_the_accent() -> None:
    assert len({*DOMAINS}) == len(DOMAINS)
    for one, other in combinations((*DOMAINS, ACCENT["light"], ACCENT["dark"]), 2):
        distance = sum(abs(int(one[i : i + 2], 16) - int(other[i : i + 2], 16)) for i in (1, 3, 5))
        assert distance > 40, (one, other)


@pytest.mark.parametrize(("theme", "background"), [("light", "#ffffff"), ("dark", "#171614")])
def test_verdicts_are_read_and_told_apart(theme: str, background: str) -> None:
    colours = {outcome: verdict_colour(outcome, theme=theme) for outcome in OUTCOMES}
    assert len({colours["holds"], colours["does not hold"], colours["undecided"]}) == 3
    assert all(contrast(colour, background) >= 4.5 for colour in colours.values())
