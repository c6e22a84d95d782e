"""The rules of the rooms can be broken, and whoever breaks one is told which; the drawing is that of the contracts."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from docs.generators import generate, house
from docs.generators.house import PACKAGES, ROOT, complaints, drawing

CONTRACTS = """
[tool.importlinter]
root_packages = ["neurothek"]

[[tool.importlinter.contracts]]
name = "The house"
type = "layers"
containers = ["neurothek.ingest"]
layers = ["commands", "jobs | trace", "models", "minis"]

[[tool.importlinter.contracts]]
name = "Leaves"
type = "forbidden"
source_modules = ["neurothek.ingest"]
forbidden_modules = ["click"]

[[tool.importlinter.contracts]]
name = "Neighbours"
type = "independence"
modules = ["neurothek.ingest", "neurothek.queries"]

[[tool.importlinter.contracts]]
name = "The jobs"
type = "independence"
modules = ["neurothek.ingest.jobs.*"]
ignore_imports = [
    "neurothek.ingest.jobs.** -> neurothek.ingest.jobs.job",
    "neurothek.ingest.jobs.two.two_0 -> neurothek.ingest.jobs.one.one_1",
]
"""


def write(place: Path, *lines: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("\n".join(lines) + "\n", "utf-8")


def room(folder: Path, n_modules: int = 3, said: str = "A room.") -> None:
    write(folder / "__init__.py", f'"""{said}"""')
    for number in range(n_modules):
        write(folder / f"{folder.name}_{number}.py", f'"""Step {number}."""')


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A house with all that the rules allow at most and at least."""
    write(tmp_path / "pyproject.toml", CONTRACTS)
    room(tmp_path / "ingest", 7, "Measures.")
    (tmp_path / "neurothek").mkdir()
    (tmp_path / "neurothek" / "ingest").symlink_to("../ingest")
    write(tmp_path / "ingest" / "commands.py", '"""The commands."""')
    room(tmp_path / "ingest" / "models", 12, "From a name. Imports\nnothing of ours.")
    room(tmp_path / "ingest" / "trace", 3, "Answers that need\na model.\n\nImports models.\n")
    room(tmp_path / "ingest" / "jobs", 0, "The jobs.")
    write(tmp_path / "ingest" / "jobs" / "registry.py", '"""All jobs."""')
    write(tmp_path / "ingest" / "jobs" / "job.py", '"""What a job is."""')
    for name in ("one", "two", "three"):
        room(tmp_path / "ingest" / "jobs" / name, 3, f"Job {name}.")
    room(tmp_path / "ingest" / "minis", 0, "Trained models.")
    room(tmp_path / "ingest" / "pipeline")
    write(tmp_path / "ingest" / "models" / "models_0.py", '"""Long."""', *["", "def f() -> int:", *["    1"] * 59])
    write(tmp_path / "ingest" / "models" / "models_2.py", '"""A block."""', "class Block:", "    pass")
    write(tmp_path / "ingest" / "jobs" / "one" / "job.py", '"""A job."""')
    write(tmp_path / "ingest" / "jobs" / "one" / "one_0.py", '"""One."""', "def one_0() -> None: ...", "_Block = int")
    write(tmp_path / "ingest" / "models" / "models_1.py", '"""Longest."""', *["X = 1"] * 499)
    return tmp_path


def test_a_house_that_keeps_the_rules_is_not_complained_of(tree: Path) -> None:
    assert list(complaints(tree)) == []


BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "no opening": (lambda i: (i / "trace" / "__init__.py").unlink(), "ingest/trace/ has no __init__.py"),
    "silent": (lambda i: write(i / "trace" / "__init__.py", "X = 1"), "ingest/trace/__init__.py has no docstring"),
    "long file": (
        lambda i: write(i / "models" / "models_1.py", '"""Longest."""', *["X = 1"] * 500),
        "ingest/models/models_1.py has 501 lines, and 500 are allowed",
    ),
    "long function": (
        lambda i: write(
            i / "models" / "models_0.py", '"""Long."""', "", "class A:", "    def f():", *["        1"] * 60
        ),
        "ingest/models/models_0.py:4: f has 61 lines, and 60 are allowed",
    ),
    "one name": (
        lambda i: write(i / "trace" / "trace_2.py", '"""Step."""', "class Block:", "    pass"),
        "Block is a name of several things, in ingest/models/models_2.py, ingest/trace/trace_2.py",
    ),
    "a module's name": (
        lambda i: write(i / "jobs" / "two" / "two_2.py", '"""Step."""', "def trace_0() -> None: ..."),
        "trace_0 is a name of several things, in ingest/jobs/two/two_2.py, ingest/trace/trace_0.py",
    ),
    "a type": (
        lambda i: write(i / "trace" / "trace_2.py", '"""Step."""', "Block = int"),
        "Block is a name of several things, in ingest/models/models_2.py, ingest/trace/trace_2.py",
    ),
}


@pytest.mark.parametrize(
    "code",
    [
        "def f(found: int) -> int: ...",
        "def f() -> None:\n    told = 1",
        "def f() -> None:\n    for _, kept in ():\n        ...",
        "def _asked() -> None: ...",
        "class Wanted:\n    pass",
        "class A:\n    known: int",
        "class A:\n    def __init__(self) -> None:\n        self._own = 1",
        "from neurothek.ingest.models import models_0 as said",
        "x = [there for there in ()]",
        "y = (shown := 1)",
        "def f() -> None:\n    try: ...\n    except OSError as some_2: ...\n    some_2_ = 1",
        "KEPT = 1",
    ],
)
def test_an_identifier_says_what_it_names(code: str, tree: Path) -> None:
    write(tree / "ingest" / "trace" / "trace_2.py", '"""Step."""', code)
    *_, complaint = complaints(tree)
    assert re.fullmatch(r"ingest/trace/trace_2\.py:\d+: \w+ is no name: call it after what it holds", complaint)


@pytest.mark.parametrize("package", [*PACKAGES, "neurothek"])
def test_identifiers_of_every_package_say_what_they_name(package: str, tree: Path) -> None:
    write(tree / package / "__init__.py", '"""A package."""')
    write(tree / package / "told_here.py", '"""A module."""', "told = 1")
    assert f"{package}/told_here.py:2: told is no name: call it after what it holds" in list(complaints(tree))


def test_words_within_names_and_promised_fields_stay(tree: Path) -> None:
    write(tree / "ingest" / "trace" / "trace_2.py", '"""Step."""', "def g(n_found: int, known_as: str) -> None: ...")
    write(tree / "ingest" / "request.py", '"""A request."""', "class Chosen:\n    asked: str")
    assert list(complaints(tree)) == []


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_a_rule_is_told(name: str, tree: Path) -> None:
    change, said = BROKEN[name]
    change(tree / "ingest")
    (complaint,) = complaints(tree)
    assert complaint.startswith(f"{said}: ")


def test_the_command_fails_when_a_rule_is_broken(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(complaints, "__defaults__", (tree,))
    assert (house.main(), capsys.readouterr().err) == (0, "")
    (tree / "ingest" / "trace" / "__init__.py").unlink()
    assert house.main() == 1
    assert capsys.readouterr().err.startswith("ingest/trace/ has no __init__.py: ")


def test_this_tree_keeps_the_rules() -> None:
    assert list(complaints()) == []


def test_make_check_looks() -> None:
    planned = subprocess.run(["make", "-n", "check"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert "-m docs.generators.house" in planned


def test_the_drawing_is_that_of_the_contracts(tree: Path) -> None:
    assert drawing(tree) == (
        "```text\n"
        "ingest/\n"
        "-----------\n"
        "commands.py  The commands.\n"
        "-----------\n"
        "jobs/        The jobs.\n"
        "trace/       Answers that need a model.\n"
        "-----------\n"
        "models/      From a name.\n"
        "-----------\n"
        "minis/       Trained models.\n"
        "```\n"
        "\n"
        "```text\n"
        "ingest/jobs/\n"
        "-----------\n"
        "registry.py  All jobs.\n"
        "-----------\n"
        "two/         Job two.\n"
        "-----------\n"
        "one/         Job one.\n"
        "three/       Job three.\n"
        "-----------\n"
        "job.py       What a job is.\n"
        "```"
    )


def test_every_room_is_drawn() -> None:
    found = set(re.findall(r"^(\w+)/ ", drawing(), flags=re.MULTILINE))
    rooms = {
        path.parent.name
        for package in (*PACKAGES, "neurothek")
        for pattern in ("*", "jobs/*")
        for path in (ROOT / package).glob(f"{pattern}/__init__.py")
    }
    assert found == rooms | set(PACKAGES)


def test_a_stale_drawing_is_out_of_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    guide = (ROOT / "docs" / "contributing.md").read_text("utf-8")
    monkeypatch.setattr(generate, "FOLDER", tmp_path)
    monkeypatch.setattr(generate, "DOCUMENTS", {"contributing.md": generate.contributing})
    (tmp_path / "contributing.md").write_text(guide, "utf-8")
    assert generate.main(["--check"]) == 0
    (tmp_path / "contributing.md").write_text(guide.replace("Measures and publishes.", "Publishes."), "utf-8")
    assert generate.main(["--check"]) == 1
    assert "contributing.md" in capsys.readouterr().err
    assert generate.main([]) == 0
    assert (tmp_path / "contributing.md").read_text("utf-8") == guide


def test_a_guide_without_its_marks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "FOLDER", tmp_path)
    (tmp_path / "contributing.md").write_text("# Contributing\n", "utf-8")
    with pytest.raises(ValueError, match="needs the lines"):
        generate.contributing()


def test_the_readme_leads_to_the_guide() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "(docs/contributing.md)" in readme.partition("## Development")[2]
