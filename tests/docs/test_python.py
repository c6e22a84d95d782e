"""docs/python.md: whatever it shows is run, on the warehouse that it says, and answers as it says."""

import doctest
import inspect
from pathlib import Path

import pytest

import neurothek
from docs.generators.python_page import GROUPS, INTRODUCTION, Documented, calls
from neurothek import Neurothek
from neurothek.catalog import problems

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

CALLS = [call for group in GROUPS.values() for call in calls(group)]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which what the page says first was done."""
    folder = tmp_path_factory.mktemp("page")
    (code,) = INTRODUCTION.split("```python\n")[1:]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        exec(code.partition("```")[0])
    return folder


@pytest.mark.long
def test_every_example_answers_as_it_is_shown(measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, as somebody would type what the page shows."""
    monkeypatch.chdir(measured)
    examples = [doctest.script_from_examples(PAGE.read_text("utf-8"))]
    assert examples[0].count("warehouse.") > 20
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=FLAGS)
    text = PAGE.read_text("utf-8").replace("```\n", "\n")
    names = {"neurothek": neurothek, "warehouse": neurothek.open("neurothek.duckdb")}
    told: list[str] = []
    runner.run(parser.get_doctest(text, names, "python.md", str(PAGE), 0), out=told.append)
    assert not runner.failures, "".join(told)
    assert runner.tries > 30


def test_the_page_has_every_call_and_each_says_what_it_takes() -> None:
    public = {name for name, _ in inspect.getmembers(Neurothek, inspect.isfunction) if not name.startswith("_")}
    told = {call.__name__ for call in CALLS}
    assert public - told == {"reader", "at"}
    page = PAGE.read_text("utf-8")
    for call in (neurothek.open, *CALLS):
        said = Documented.of(call)
        assert f"### {call.__name__}\n" in page
        parameters = [name for name in inspect.signature(call).parameters if name != "base"]
        assert list(said.entries("Args")) == parameters, call
        assert "Example" in said.sections, call
        raised = said.entries("Raises")
        assert raised, call
        assert all(issubclass(getattr(problems, name), problems.NeurothekError) for name in raised), call


def test_every_argument_is_typed() -> None:
    for call in (neurothek.open, *CALLS):
        for parameter in inspect.signature(call).parameters.values():
            if parameter.name != "base":
                assert parameter.annotation is not parameter.empty, call
                assert parameter.annotation not in ("Any", object), call
