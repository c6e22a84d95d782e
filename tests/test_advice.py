"""What an error, a remark or a report recommends is run where it is printed, and is accepted."""

import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import neurothek
from catalog.maintenance import remove
from tests.support import ingests
from tests.support.models import build

# One worker measures the warehouse that is copied.
pytestmark = pytest.mark.xdist_group("advice")

COMMAND = re.compile(r"`neurothek ([^`]+)`|^ +neurothek (.+)$", flags=re.MULTILINE)

SITUATIONS: Mapping[str, tuple[str, ...]] = {
    "no warehouse": ("models", "--warehouse", "none.duckdb"),
    "no warehouse, search": ("search", "one", "--warehouse", "none.duckdb"),
    "an empty warehouse": ("search", "one", "--warehouse", "empty.duckdb"),
    "a sample without controls": ("annotate", "--sample", "mine"),
    "a sample of another warehouse": ("annotate", "--sample", "mine", "--warehouse", "with blank.duckdb"),
    "no clusters": ("pin", "mine", "--clusters", "3"),
    "other clusters": ("pin", "clustered", "--clusters", "3"),
    "no triggers": ("search", "--triggered-by", "one", "--model", "weights"),
    "no matrices": ("trace", "mine", "one two", "--lens", "mat"),
    "no positions": ("neuron", "weights/L0N0", "--figure", "figure.svg"),
    "no figures": ("compare", "weights", "--figure", "figures"),
    "nothing to verify": ("verify", "bare"),
    "a pair with a new one": ("ingest", "mine", "mini-opt-0.7m", "--job", "counterparts"),
    "a pair without lists": ("ingest", "mine", "bare", "--job", "counterparts"),
    "a pair of one": ("ingest", "mine", "mine", "--job", "counterparts"),
    "a name that is taken": ("ingest", "mine=other-weights"),
    "no such table": ("sql", "from nothing_of_the_kind"),
    "no export": ("import", "nowhere"),
    "a command of no kind": ("nonsense",),
    "a report": ("ingest", "mine", "--corpus", "words=words.txt", "--job", "projections"),
    "a report of another warehouse": (
        *("ingest", "mine", "--corpus", "words=words.txt", "--job", "projections"),
        *("--warehouse", "with blank.duckdb"),
    ),
}

STANDS_FOR: Mapping[str, str] = {
    "MODEL": "mine",
    "OTHER=...": "OTHER=other-weights",
    "NAME": "neurons",
    "NEW_FOLDER": "exported",
    "FILE": "known.duckdb",
}
"""What a person puts in the place of a word in capitals."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Models, a text, and a warehouse of them: one measured on text, one not, one of which nothing is left."""
    folder = tmp_path_factory.mktemp("template")
    (folder / "words.txt").write_text("one two three four five six seven eight nine ten . " * 40)
    (folder / "library").mkdir()
    build(folder / "tiny", "opt", d_ffn=8)
    build(folder / "other-weights", "opt", d_ffn=8, seed=5)
    warehouse = ingests.open_warehouse(folder / "known.duckdb")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        corpora = ("words=words.txt",)
        ingests.measure(warehouse, "mine=tiny", ingests.request(corpora, jobs=("projections", "activity")))
        build(folder / "second", "opt", d_ffn=8, seed=2)
        ingests.measure(warehouse, "weights=second", ingests.request(corpora, jobs=("projections",)))
        build(folder / "third", "opt", d_ffn=8, seed=3)
        ingests.measure(warehouse, "bare=third", ingests.request(corpora, jobs=("projections",)))
        build(folder / "fourth", "opt", d_ffn=8, seed=4)
        asked = ingests.request(corpora, jobs=("projections", "clusters"), clusters=(2, 4))
        ingests.measure(warehouse, "clustered=fourth", asked)
    remove(warehouse, "bare", job="projections")
    shutil.copyfile(folder / "known.duckdb", folder / "with blank.duckdb")
    empty = ingests.open_warehouse(folder / "empty.duckdb")
    with empty.writer():
        pass
    with ingests.small_library(folder / "library"):
        yield folder


@pytest.fixture
def folder(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = shutil.copytree(template, tmp_path / "copy", ignore=shutil.ignore_patterns("library", "*.lock"))
    monkeypatch.chdir(copy)
    monkeypatch.setenv("NEUROTHEK_WAREHOUSE", "known.duckdb")
    return copy


def run(arguments: list[str]) -> Result:
    return CliRunner().invoke(neurothek.main, arguments, catch_exceptions=False)


def advised(text: str) -> list[str]:
    return [one or other for one, other in COMMAND.findall(text)]


def in_full(command: str) -> list[str]:
    """The command with what it leaves to the person, and without what would measure for long or ask."""
    words = [STANDS_FOR.get(word, word) for word in shlex.split(command)]
    if words[0] == "ingest":
        return [*words, "--plan", *(["--tokens", "4000"] if "--tokens" not in words else [])]
    return [*words, "--yes"] if words[0] == "remove" else words


@pytest.mark.parametrize("situation", SITUATIONS)
def test_what_is_recommended_is_accepted_where_it_is_printed(situation: str, folder: Path) -> None:
    printed = run(list(SITUATIONS[situation]))
    commands = advised(printed.stderr)
    assert commands, printed.output
    for command in commands:
        if command == "demo" or command.startswith("demo "):
            continue  # minutes; it is what `make demo` runs
        words = in_full(command)
        if situation == "no warehouse" or "none.duckdb" in command or "empty.duckdb" in command:
            words = ["tiny" if word == "mine" else word for word in words]
        result = run(words)
        assert result.exit_code == 0, (command, result.output)


def test_what_a_sample_lacks_is_measured_by_the_name_and_then_drawn(folder: Path) -> None:
    (command,) = advised(run(["annotate", "--sample", "mine", "--warehouse", "with blank.duckdb"]).stderr)
    measured = run([*shlex.split(command), "--corpus", "words"])
    assert measured.exit_code == 0, measured.output
    assert run(["annotate", "--sample", "mine", "--warehouse", "with blank.duckdb"]).exit_code == 0
    # The warehouse that nobody named has nothing of it.
    assert run(["annotate", "--sample", "mine"]).exit_code == 2


@pytest.mark.parametrize("way", ["name", "folder"])
def test_a_name_of_the_warehouse_is_where_its_weights_were_and_a_folder_goes_before_it(way: str, folder: Path) -> None:
    if way == "folder":
        shutil.copytree("other-weights", "mine")
        refused = run(["ingest", "mine", "--job", "activity", "--corpus", "words", "--plan"])
        assert (refused.exit_code, "with other weights" in refused.stderr) == (2, True)
        return
    found = run(["ingest", "mine", "--job", "activity", "--corpus", "words", "--plan"])
    assert found.stdout.splitlines()[0] == "mine: everything is up to date"
    (folder / "tiny").rename(folder / "gone")
    gone = run(["ingest", "mine", "--job", "activity", "--corpus", "words", "--plan"])
    assert gone.exit_code == 2
    assert gone.stderr.startswith("Error: this answer needs the weights of mine, which were looked for at 'tiny'")
    assert gone.stderr.endswith("say where they lie with mine=PATH\n")
    assert run(["ingest", "mine=gone", "--job", "activity", "--corpus", "words", "--plan"]).exit_code == 0


def test_other_settings_replace_with_the_option_that_is_named(folder: Path) -> None:
    asked = ["ingest", "mine", "--corpus", "words", "--job", "activity", "--active-above", "0.5"]
    refused = run(asked)
    assert (refused.exit_code, "add --force to replace it" in refused.stderr) == (2, True)
    planned = run([*asked, "--force", "--plan"])
    assert planned.exit_code == 0
    assert planned.stdout.startswith("mine: activity on words")


def test_weights_that_were_replaced_are_told(folder: Path) -> None:
    shutil.rmtree("tiny")
    shutil.copytree("other-weights", "tiny")
    result = run(["ingest", "mine", "--job", "activity", "--corpus", "words"])
    assert result.exit_code == 2
    assert "are not those that were measured as mine; name the right folder with mine=PATH" in result.stderr
