"""The navigation: every page stands in it, those without data last in their group."""

import re
from pathlib import Path

import pytest

from neurothek.dashboards.addresses import FRONT, MENU, PAGES, PLACES, place_with, script_of
from neurothek.dashboards.shell.navigation import NEEDS, in_order, tabs_html
from neurothek.dashboards.widgets.html import plain
from neurothek.ingest.jobs.registry import JOBS
from tests.dashboards.conftest import Opener


def test_a_page_needs_a_job_that_there_is() -> None:
    assert set(NEEDS) <= set(PAGES)
    assert {job for jobs in NEEDS.values() for job in jobs} <= set(JOBS)


def test_pages_without_data_stand_last() -> None:
    look = list(PLACES["Look"])
    assert in_order(look, set(JOBS)) == look
    assert in_order(look, None) == look
    assert in_order(look, {"positions"}) == ["model", "layer", "neuron", "position", "clusters", "events"]
    assert in_order(PLACES["Look"], {"clusters"}) == ["model", "layer", "neuron", "clusters", "position", "events"]


def test_tabs_lead_to_the_pages_of_a_place(subtests: pytest.Subtests) -> None:
    for page in (FRONT, *PAGES):
        with subtests.test(page=page):
            tabs = tabs_html(page, {"model": "a-1m"}, set(JOBS)).partition("</style>")[2]
            if place_with(page) == MENU:
                assert tabs.strip() == f'<span data-place="{MENU}"></span>'
                continue
            titles = PLACES[place_with(page)]
            assert re.findall(r">([^<>]+)</(?:a|span)>", tabs) == list(titles.values())
            assert re.findall(r'aria-current="page">([^<]+)<', tabs) == [titles[page]]
    assert 'href="/layer?model=a-1m"' in tabs_html("model", {"model": "a-1m"}, None)
    assert 'href="/model?model=a-1m"' in tabs_html("neuron", {"neuron": "a-1m/L3N17"}, None)
    assert 'href="/search"' in tabs_html("trace", {"model": "a-1m"}, None)
    assert "<script>" not in tabs_html("model", {"model": "<script>"}, None)


def test_the_model_and_the_neuron_of_one_page_are_those_of_the_next(page: Opener, whole_path: Path) -> None:
    opened = page(whole_path, "neuron", neuron="tiny-1m/L0N4")
    assert opened.title[0].value == plain("tiny-1m/L0N4")
    for name in ("model", "position"):
        opened.query_params.clear()
        opened.switch_page(script_of(name)).run()
        assert not opened.exception
        assert opened.selectbox(key="model").value == "tiny-1m"
    opened.query_params.clear()
    opened.switch_page(script_of("neuron")).run()
    assert opened.title[0].value == plain("tiny-1m/L0N4")
    opened.query_params.clear()
    opened.switch_page(script_of("model")).run()
    opened.selectbox(key="model").set_value("tiny-2m").run()
    opened.query_params.clear()
    opened.switch_page(script_of("neuron")).run()
    assert opened.title[0].value.startswith(plain("tiny-2m/L"))
