"""The trail: the steps above a page, each a link, and nothing where a page is about no one model."""

import re

import pytest

from neurothek.dashboards.shell.navigation import trail_html

N_LAYERS = {"a-1m": 8}


def steps(page: str, **asked: str) -> list[str]:
    found = trail_html(page, asked, N_LAYERS)
    return re.findall(r">([^<>/]+)</", found.partition("</style>")[2])


def test_the_steps_lead_down_to_the_page(subtests: pytest.Subtests) -> None:
    for page, asked, said in [
        ("neuron", {"neuron": "a-1m/L3N17"}, ["a-1m", "layer 3", "neuron 17"]),
        ("layer", {"model": "a-1m", "layer": "3"}, ["a-1m", "layer 3"]),
        ("model", {"model": "a-1m"}, ["a-1m"]),
        ("position", {"model": "a-1m"}, ["a-1m"]),
        ("compare", {"models": "a-1m"}, []),
        ("neuron", {"neuron": "a-1m/wrong"}, []),
        ("neuron", {"neuron": "stranger/L3N17"}, []),
        ("model", {"model": "stranger"}, []),
        ("layer", {"model": "a-1m", "layer": "999"}, ["a-1m"]),
        ("layer", {"model": "a-1m", "layer": "-1"}, ["a-1m"]),
    ]:
        with subtests.test(page=page, asked=asked, said=said):
            assert steps(page, **asked) == said


def test_each_step_but_the_last_is_a_way_up() -> None:
    found = trail_html("neuron", {"neuron": "a-1m/L3N17"}, N_LAYERS)
    assert re.findall(r'href="([^"]+)"', found) == ["/model?model=a-1m", "/layer?model=a-1m&amp;layer=3"]


def test_an_address_is_text() -> None:
    assert "<script>" not in trail_html("model", {"model": "<script>"}, {"<script>": 1})
