"""The navigation: every page stands in it, those without data last in their group."""

from pathlib import Path

from neurothek.dashboards.addresses import PAGES, SECTIONS, script_of
from neurothek.dashboards.shell.box import NEEDS, in_order
from neurothek.dashboards.widgets.html import plain
from neurothek.ingest.jobs.registry import JOBS
from tests.dashboards.conftest import Opener


def test_a_page_needs_a_job_that_there_is() -> None:
    assert set(NEEDS) <= set(PAGES)
    assert {job for jobs in NEEDS.values() for job in jobs} <= set(JOBS)


def test_pages_without_data_stand_last() -> None:
    explore = list(SECTIONS["Explore"])
    assert in_order(explore, set(JOBS)) == explore
    assert in_order(explore, None) == explore
    assert in_order(explore, {"positions"}) == ["search", "model", "layer", "neuron", "position", "clusters"]
    assert in_order(SECTIONS["Predictions"], {"shortcuts"}) == ["trace", "shortcuts", "events", "interventions"]


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
