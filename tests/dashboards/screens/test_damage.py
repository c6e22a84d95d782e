"""Pages over a damaged warehouse: each says so in a sentence, whatever it was asked, and shows no stack."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from neurothek.dashboards.screens import __file__ as screens_file
from tests.support import damage

Opener = Callable[..., AppTest]
PAGES = sorted(file.stem for file in Path(screens_file).parent.glob("[a-z]*.py"))

ASKING = ("layer", "model", "neuron", "position")
"""Pages that read rows of measurements before anybody asks, in blocks of their own."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("damage") / "w.duckdb"
    damage.create(path)
    return path


@pytest.fixture(scope="module")
def half(whole: Path) -> Path:
    path, content = whole.with_name("half.duckdb"), whole.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    return path


@pytest.fixture(scope="module")
def hollow(whole: Path) -> Path:
    return damage.hollow(whole, whole.with_name("hollow.duckdb"))


def complaints(page: AppTest) -> list[str]:
    assert [error.message for error in page.exception] == []
    return [str(error.value).replace("\\", "") for error in page.error]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_over_half_a_file_says_so(page: Opener, half: Path, name: str) -> None:
    said = complaints(page(half, name))
    assert said
    assert all(f"{half} is damaged: it is truncated after" in one for one in said)


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_needs_a_broken_block_says_so(page: Opener, hollow: Path, name: str) -> None:
    said = complaints(page(hollow, name))
    assert said or name not in ASKING
    assert all(f"{hollow} is damaged: the content at byte" in one for one in said)


QUESTIONS: dict[str, tuple[str, dict[str, str]]] = {
    "search": ("search", {"words": "school"}),
    "search like": ("search", {"like": "tiny-1m/L0N1"}),
    "search in columns": ("search", {"words": "school", "beside": "1"}),
    "neuron": ("neuron", {"address": "tiny-2m/L1N3"}),
    "sql": ("sql", {"query": "from promotions"}),
}


@pytest.mark.parametrize("asked", QUESTIONS)
def test_an_answer_that_needs_a_broken_block_says_so(page: Opener, hollow: Path, asked: str) -> None:
    name, parameters = QUESTIONS[asked]
    said = complaints(page(hollow, name, **parameters))
    assert said
    assert all("is damaged: the content at byte" in one for one in said)
