"""What a page recommends is accepted where the page shows it, and is about the warehouse of the page."""

import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from neurothek.dashboards.screens import __file__ as screens_file
from tests.support import ingests
from tests.support.advice import Place, advised, copy_to, in_full, places, run, watched

# One worker opens all of them, and sees what is left.
pytestmark = pytest.mark.xdist_group("advice")

Opener = Callable[..., AppTest]
PAGES = sorted(file.stem for file in Path(screens_file).parent.rglob("[a-z]*.py"))
OF_PAGES = (
    "dashboards/widgets/page.py",
    "dashboards/widgets/figures.py",
    "dashboards/parts/explore/",
    "dashboards/parts/interventions.py",
    "dashboards/screens/",
)

BLANK = "with blank.duckdb"

SITUATIONS: Mapping[str, tuple[str, str, dict[str, str]]] = {
    # Of nothing but projections every page has something to recommend.
    **{f"{page} of weights": (page, "known.duckdb", {"model": "weights", "models": "weights"}) for page in PAGES},
    "neuron of weights": ("neuron", "known.duckdb", {"neuron": "weights/L0N0"}),
    "neuron of text": ("neuron", BLANK, {"neuron": "mine/L0N0", "corpus": "words"}),
    "neuron of nothing": ("neuron", "known.duckdb", {"neuron": "bare/L0N0"}),
    "model of nothing": ("model", "known.duckdb", {"model": "bare"}),
    "compare on one text": ("compare", BLANK, {"models": "mine,linear", "corpus": "words"}),
    "compare on another text": ("compare", "known.duckdb", {"models": "mine,linear", "corpus": "prose"}),
    "position on a text": ("position", BLANK, {"model": "mine", "corpus": "words"}),
    "clusters of an earlier release": ("clusters", "without controls.duckdb", {"model": "clustered"}),
    "events on a text": ("events", BLANK, {"models": "mine", "corpus": "words"}),
    "shortcuts on a text": ("shortcuts", BLANK, {"model": "mine", "corpus": "words"}),
    "interventions on a text": ("interventions", BLANK, {"models": "mine", "corpus": "words"}),
    "interventions of all": ("interventions", "known.duckdb", {"models": "linear"}),
    "trace without matrices": ("trace", BLANK, {"model": "mine", "prompt": "one two", "lens": "mat"}),
    "an answer that is cut": ("sql", BLANK, {"query": "from range(20000)"}),
    "an answer that is cut, on a text": ("sql", BLANK, {"query": "from range(20000)", "corpus": "words"}),
    "a query that fails": ("sql", BLANK, {"query": "from nothing_of_the_kind"}),
    "search without words": ("search", BLANK, {"words": "one", "triggered_by": "one", "models": "weights"}),
    "no warehouse": ("compare", "none.duckdb", {}),
    "an empty warehouse": ("compare", "empty.duckdb", {}),
}

QUICK = (
    "annotate of weights",
    "compare of weights",
    "neuron of nothing",
    "neuron of text",
    "no warehouse",
)
"""One of each kind; the others go with the long tests."""

SILENT = ("search of weights", "sql of weights", "trace of weights", "search without words")
"""Situations in which a page need not recommend anything: it waits for a question, or has an answer."""


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with ingests.small_library(tmp_path_factory.mktemp("library")):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages and plans change nothing: one copy serves all."""
    return copy_to(tmp_path_factory.mktemp("pages") / "copy")


@pytest.fixture(scope="module")
def reached() -> set[Place]:
    return set()


def said(page: AppTest) -> str:
    """All that a page tells, as it would be copied: text without the marks of Markdown, and code."""
    told = [*page.markdown, *page.caption, *page.info, *page.error, *page.warning]
    assert [error.message for error in page.exception] == []
    code = [str(one.value) for one in page.code]
    lines = [line for one in code for line in one.splitlines() if line.startswith("neurothek ")]
    return "\n".join([*(str(one.value).replace("\\", "") for one in told), *(f"`{line}`" for line in lines)])


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in SITUATIONS]
)
def test_what_a_page_recommends_is_accepted_there(
    name: str, page: Opener, folder: Path, reached: set[Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    view, file, parameters = SITUATIONS[name]
    with watched(reached):
        text = said(page(folder / file, view, **parameters))
    commands = advised(text)
    assert commands or name in SILENT, text
    for command in commands:
        words = shlex.split(command)
        assert words[words.index("--warehouse") + 1] == str(folder / file), command
        if words[0] == "demo":
            continue  # minutes
        fills = {"QUERY": "from range(3)", **({"MODEL": "tiny"} if file in ("none.duckdb", "empty.duckdb") else {})}
        result = run(in_full(command, fills))
        assert result.exit_code == 0, (command, result.output)


@pytest.mark.long
def test_every_command_of_the_pages_was_recommended_in_a_situation(
    page: Opener, folder: Path, reached: set[Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    left = {place for place in places() if place.file.startswith(OF_PAGES)}
    for view, file, parameters in SITUATIONS.values():
        if left <= reached:
            break
        with watched(reached):
            said(page(folder / file, view, **parameters))
    assert left - reached == set()


def test_in_the_folder_of_the_warehouse_nothing_need_be_said_of_it(
    page: Opener, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copyfile(folder / "known.duckdb", tmp_path / "neurothek.duckdb")
    monkeypatch.chdir(tmp_path)
    commands = advised(said(page(tmp_path / "neurothek.duckdb", "clusters", model="weights")))
    assert commands == ["ingest weights --job clusters"]


def test_a_pair_is_recommended_where_both_have_lists(page: Opener, folder: Path) -> None:
    def asked(model: str) -> list[str]:
        text = said(page(folder / "known.duckdb", "neuron", neuron=f"{model}/L0N0"))
        return [command for command in advised(text) if "counterparts" in command]

    (command,) = asked("weights")
    assert "bare" not in command
    # One has no list, the other no model of its own tokenizer.
    assert asked("bare") == asked("linear") == []
