"""A small demo's warehouse, and a person who looks at it in a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, sync_playwright

import neurothek
from neurothek.ingest.request import DEFAULT_JOBS, TextRequest
from tests.support.browser import Visitor, served, visitor, windows
from tests.support.ingests import small_library
from tests.support.templates import made_once

SMALL, LARGE = "mini-opt-0.7m", "mini-opt-2m"
NEURON = f"{LARGE}/L3N170"


@pytest.fixture(scope="session")
def demo_like() -> Path:
    """Two of the family that ships, measured on a little text: the demo in small."""
    return made_once("demo-like", measure) / "demo.duckdb"


def measure(folder: Path) -> None:
    text = TextRequest(tokens_per_domain=2_000)
    jobs = (*DEFAULT_JOBS, "clusters", "events", "controls")
    door = neurothek.open(folder / "demo.duckdb")
    (folder / "library").mkdir()
    with small_library(folder / "library"):
        outcomes = door.ingest(SMALL, LARGE, jobs=jobs, text=text, device="cpu")
        # Of one model, the pages of shortcuts are as full.
        outcomes += door.ingest(SMALL, jobs=("shortcuts",), text=text, device="cpu")
        change_neurons(door, folder)
    outcomes += door.ingest(SMALL, LARGE, jobs=("counterparts",), device="cpu")
    assert [outcome.problem for outcome in outcomes] == [None] * 4


def change_neurons(door: neurothek.Neurothek, folder: Path) -> None:
    """Kinds that are turned off, some neurons that write on, and some that are turned off one by one."""
    few = "layer = 1 and neuron < 9"
    how: dict[str, Any] = {"tokens": 500, "sets": 3}
    (folder / "unwanted.txt").write_text("if\nreturn\n")
    door.run_intervention(door.plan_intervention(SMALL, each="kind", **how))
    # A word without an end is broken.
    prompts = ["def read(path):", f"The old house near the river said {40 * 'long'}"]
    score = f"words:{folder / 'unwanted.txt'}"
    door.run_intervention(door.plan_intervention(SMALL, where=few, name="few", prompts=prompts, score=score, **how))
    door.run_intervention(door.plan_intervention(SMALL, where=few, one_by_one=True, tokens=500))


@pytest.fixture(scope="session")
def base(demo_like: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(demo_like, tmp_path_factory.mktemp("server") / "server.log") as address:
        yield address


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    with sync_playwright() as playwright, windows(playwright, tmp_path_factory.mktemp("profile")) as context:
        yield context


@pytest.fixture
def person(browser: BrowserContext, base: str) -> Iterator[Visitor]:
    with visitor(browser, base) as looking:
        yield looking
