"""What an error, a remark or a report recommends is run where it is printed, and is accepted."""

import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import neurothek
from neurothek.catalog.advice import about, command_line
from neurothek.catalog.exchange.manifest import MANIFEST
from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables import versions
from neurothek.ingest.planning import timing
from neurothek.queries.errors.unknown_subjects import unknown_column_among
from tests.support import ingests
from tests.support.advice import Place, advised, copy_to, in_full, other_ways, places, run, watched
from tests.support.foreign import feature, write_neuronpedia

# One worker prints all of it, and sees what is left.
pytestmark = pytest.mark.xdist_group("advice")

THEIRS = "their own.duckdb"


def nothing() -> None:
    """Nothing happened before."""


def ask_the_next_release() -> None:
    """Open a file as a release with later tables does that may not write it."""
    later = mock.patch.object(versions, "VERSION", versions.VERSION + 1)
    with later, mock.patch.object(Warehouse, "_is_writable", return_value=False), neurothek.open().reader():
        pass


@dataclass(frozen=True)
class Situation:
    """Where something is recommended."""

    ask: tuple[str, ...] | Callable[[], object]  # the command that recommends it, or what does so in Python
    prepare: Callable[[], object] = nothing  # what happened before, in the folder
    stands_for: Mapping[str, str] = field(default_factory=dict)  # what a person puts in the place of words in capitals
    stdin: str | None = None  # what the command reads
    file: str | None = None  # where it is recommended; else on the terminal


def theirs(*command: str, statement: str | None = None) -> Callable[[], None]:
    """A second warehouse, changed by a command or a statement."""

    def prepare() -> None:
        shutil.copyfile("known.duckdb", THEIRS)
        if command:
            assert run([*command, "--warehouse", THEIRS]).exit_code == 0
        if statement is not None:
            with ingests.open_warehouse(Path(THEIRS)).writer() as connection:
                connection.execute(statement)

    return prepare


def their_catalog(model: str) -> Callable[[], None]:
    """An export of Neuronpedia, of one neuron."""

    def prepare() -> None:
        write_neuronpedia(Path("theirs"), model, [feature(model, 0, 0)])

    return prepare


def their_mine_is_another() -> None:
    theirs("rename", "mine", "old")()
    assert run(["rename", "weights", "mine", "--warehouse", THEIRS]).exit_code == 0


def damage() -> None:
    """Half of the file is gone; the export of it is not."""
    content = Path("known.duckdb").read_bytes()
    Path("known.duckdb").write_bytes(content[: len(content) // 2])


def publish() -> None:
    """A catalog, of which others know the address."""
    assert run(["publish", "--to", "published"]).exit_code == 0


def leave_phrases_at_home() -> None:
    """As published without texts: n-grams of one token alone."""
    assert run(["ingest", "mine", "--job", "ngrams", "--corpus", "words"]).exit_code == 0
    with ingests.open_warehouse(Path("known.duckdb")).writer() as connection:
        connection.execute("delete from store.triggers where n > 1")


def publish_with(changed: Callable[[dict[str, Any]], object]) -> Callable[[], None]:
    """A catalog whose manifest was written otherwise."""

    def prepare() -> None:
        publish()
        manifest = Path("published", MANIFEST)
        content = json.loads(manifest.read_bytes())
        changed(content)
        manifest.write_text(json.dumps(content))

    return prepare


def forget_histograms() -> None:
    """Those that releases before this one did not write."""
    with ingests.open_warehouse(Path("known.duckdb")).writer() as connection:
        connection.execute("delete from store.logit_histograms")


def fail(error: NeurothekError) -> None:
    raise error


def lose_matrices() -> None:
    shutil.rmtree("known.duckdb.shortcuts")


def change_matrices() -> None:
    for file in Path("known.duckdb.shortcuts").rglob("*.safetensors"):
        content = file.read_bytes()
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def share_ids() -> None:
    """Two models on the ids of one text, and nothing of a tokenizer but its vocabulary."""
    assert run(["ingest", "weights", "--corpus", "words", "--job", "activity"]).exit_code == 0
    with ingests.open_warehouse(Path("known.duckdb")).writer() as connection:
        connection.execute("update store.runs set tokenizer_identity = null")


def change_tokenizer() -> None:
    """The vocabulary stays, and makes other ids of a text, whose sentences begin with capitals."""
    file = Path("fifth/tokenizer.json")
    said = json.loads(file.read_text())
    said["normalizer"] = {"type": "Lowercase"}
    file.write_text(json.dumps(said))


def judged(**said: object) -> str:
    return json.dumps({"concept": "numbers", "class": "semantic", "ranks": [1, 2, 3, 4], "annotator": "me", **said})


HERE = {"FOLDER": "saved", "FILE": "new.duckdb"}
OTHER = ("--warehouse", "with blank.duckdb")
# The model reads 64 tokens.
SHORT_PROMPTS = {
    "MODEL": "mine",
    "builtin:code": "builtin:questions",
    "builtin:prose": "builtin:statements",
    "NAME": "questions",
}

SITUATIONS: Mapping[str, Situation] = {
    "no warehouse": Situation(("models", "--warehouse", "none.duckdb"), stands_for={"MODEL": "tiny"}),
    "no warehouse, search": Situation(("search", "one", "--warehouse", "none.duckdb"), stands_for={"MODEL": "tiny"}),
    "an empty warehouse": Situation(("search", "one", "--warehouse", "empty.duckdb"), stands_for={"MODEL": "tiny"}),
    "a sample without controls": Situation(("annotate", "--sample", "mine")),
    "rules for a model without controls": Situation(("annotate", "--auto", "mine")),
    "a sample of another warehouse": Situation(("annotate", "--sample", "mine", *OTHER)),
    "no clusters": Situation(("pin", "mine", "--clusters", "3")),
    "other clusters": Situation(("pin", "clustered", "--clusters", "3")),
    "no triggers": Situation(("search", "--triggered-by", "one", "--model", "weights")),
    "phrases that stayed at home": Situation(
        ("search", "--triggered-by", "one two", "--model", "mine"),
        leave_phrases_at_home,
        stands_for={"MODEL": "mine", "FILE": "known.duckdb"},
    ),
    "no matrices": Situation(("trace", "mine", "one two", "--lens", "mat")),
    "no matrices of a text": Situation(("trace", "mine", "one two", "--lens", "mat", "--corpus", "words")),
    "no positions": Situation(("neuron", "weights/L0N0", "--figure", "figure.svg")),
    "no positions on a text": Situation(("neuron", "linear/L0N0", "--figure", "figure.svg")),
    "no figures": Situation(("compare", "weights", "--figure", "figures")),
    "some figures": Situation(("compare", "mine", "--figure", "figures")),
    "some figures of a text": Situation(("compare", "mine", "--corpus", "words", "--figure", "figures")),
    "a text that one did not read": Situation(("compare", "mine", "weights", "--corpus", "words")),
    "a neuron on a text": Situation(("neuron", "mine/L0N0", "--corpus", "words", *OTHER)),
    "nothing to verify": Situation(("verify", "bare")),
    "rows that an earlier release did not measure": Situation(("verify", "weights"), forget_histograms),
    "a pair with a new one": Situation(("ingest", "mine", "mini-opt-0.7m", "--job", "counterparts")),
    "a pair with a path": Situation(
        ("ingest", "mine", "my models/another", "--job", "counterparts"),
        lambda: shutil.copytree("other-weights", "my models/another"),
    ),
    "a pair without lists": Situation(("ingest", "mine", "bare", "--job", "counterparts")),
    "a condition on a model without facts": Situation(
        ("ingest", "mini-opt-0.7m", "--job", "output_scores", "--where", "layer = 0"),
    ),
    "a pair on no common text": Situation(("ingest", "mine", "bare", "--job", "universality")),
    "a pair of one": Situation(("ingest", "mine", "mine", "--job", "counterparts")),
    "a name that is taken": Situation(("ingest", "mine=other-weights")),
    "a variant": Situation(
        ("ingest", "mine", "--corpus", "words", "--job", "projections", "--variant", "seed 2", *OTHER)
    ),
    "no such table": Situation(("sql", "from nothing_of_the_kind")),
    # DuckDB names a likely column of nearly every query.
    "no such column": Situation(lambda: fail(unknown_column_among("what", [], []))),
    "an empty query": Situation(("sql", "")),
    "a query that fails": Situation(("sql", "select from from")),
    "a file in a query": Situation(("sql", "from 'words.txt'")),
    "a function that is refused": Situation(("sql", "select current_setting('threads')", *OTHER)),
    "no words": Situation(("search",)),
    "a search that hangs on text": Situation(
        ("search", "one", "--where", "frequency >= 0", "--model", "mine"),
        lambda: run(["ingest", "mine", "--corpus", "prose", "--job", "activity"]),
    ),
    "a likeness across tokenizers": Situation(("search", "--like", "mine/L0N0", "--model", "linear")),
    "no annotations": Situation(("annotate", "--stdin"), stdin="", stands_for={"MODEL": "clustered"}),
    "a vector of no sample": Situation(
        ("annotate", "--stdin"), stdin=judged(model="clustered", vector="0-12ab34cd56ef")
    ),
    "no sample to be of": Situation(("annotate", "--stdin"), stdin=judged(model="mine", vector="what")),
    "no lists to judge": Situation(("annotate", "--plausibility", "mine")),
    "a list of no sample": Situation(
        ("annotate", "--stdin"),
        stdin=json.dumps({"model": "linear", "item": "0-12ab34cd56ef", "plausible": True, "annotator": "me"}),
    ),
    "a vector without a list": Situation(("annotate", "--stdin"), stdin=judged(address="bare/L0N0")),
    "no export": Situation(("import", "nowhere"), stands_for={"NEW_FOLDER": "exported", "FILE": "known.duckdb"}),
    "no export for another": Situation(
        ("import", "nowhere", "--warehouse", "new.duckdb"),
        stands_for={"NEW_FOLDER": "exported", "FILE": "known.duckdb"},
    ),
    "somebody else's catalog": Situation(("import", "theirs", "--from", "neuronpedia"), their_catalog("mine")),
    "a catalog of another model": Situation(
        ("import", "theirs", "--from", "neuronpedia"), their_catalog("gpt2-small"), stands_for={"MODEL": "tiny"}
    ),
    "rows in the way of an import": Situation(
        ("import", "saved"),
        lambda: run(["rename", "weights", "light"]),
        stands_for={"OTHER": "with blank.duckdb"},
    ),
    "a catalog's card": Situation(
        ("publish", "--to", "published"),
        file="published/README.md",
        stands_for={"ADDRESS": "published", "TOKEN": "one"},
    ),
    "what writes to a catalog": Situation(
        ("pin", "mine", "--corpus", "words", "--warehouse", "published"), publish, stands_for={"FILE": "new.duckdb"}
    ),
    "an export in the place of a catalog": Situation(
        ("models", "--warehouse", "saved"), stands_for={"FOLDER": "saved", "FILE": "brought.duckdb"}
    ),
    "a catalog of another release": Situation(
        ("models", "--warehouse", "published"),
        publish_with(lambda content: content.update(schema_version=content["schema_version"] - 1)),
        stands_for={"FILE": "new.duckdb"},
    ),
    "an export's card": Situation(("export", "new"), file="new/README.md", stands_for={"FOLDER": "new"}),
    "other labels": Situation(("merge", THEIRS), theirs("label", "mine", "--family", "ours", "--variant", "seed 2")),
    "one name of two models": Situation(("merge", THEIRS), their_mine_is_another),
    "one job in two ways": Situation(
        ("merge", THEIRS), theirs(statement="update store.runs set run_key = 'other' where job = 'activity'")
    ),
    "rows without a run": Situation(
        ("merge", THEIRS, "--warehouse", "new.duckdb"),
        theirs(statement="update store.postings set run_id = 999 where rowid = 0"),
    ),
    "an earlier release": Situation(
        ("merge", THEIRS), theirs(statement="update store.schema_versions set version = 27"), HERE
    ),
    "a file that may not be brought up to date": Situation(ask_the_next_release),
    "ids that an earlier release shared": Situation(("models",), share_ids),
    "a damaged warehouse": Situation(("models",), damage, HERE),
    "a damaged warehouse, checked": Situation(("check",), damage, HERE),
    "lost matrices": Situation(("check",), lose_matrices),
    "matrices left behind": Situation(("check", *OTHER)),
    "matrices that neither has": Situation(("merge", THEIRS, "--warehouse", "new.duckdb"), theirs()),
    "changed matrices": Situation(("check",), change_matrices),
    "a lost matrix": Situation(("trace", "linear", "one two", "--lens", "mat"), lose_matrices),
    "a changed matrix": Situation(("trace", "linear", "one two", "--lens", "mat"), change_matrices),
    "a matrix that was not kept": Situation(lambda: neurothek.open().shortcut("linear", state=0, target=1)),
    "a command of no kind": Situation(("nonsense",)),
    "a job on what a query finds": Situation(
        ("ingest", "mine", "--job", "interventions"), stands_for={"MODEL": "mine"}
    ),
    "explanations without contexts": Situation(
        ("explain", "weights", "--where", "layer = 0", "--endpoint", "http://localhost:9", "--model-name", "any")
    ),
    "contrasts of no prompts": Situation(("ingest", "mine", "--job", "contrasts"), stands_for=SHORT_PROMPTS),
    "interventions with other settings": Situation(
        ("intervene", "mine", "--where", "neuron < 2", "--tokens", "40", "--sets", "2"),
        lambda: run(["intervene", "mine", "--where", "neuron = 1", "--tokens", "40", "--sets", "1"]),
    ),
    "a query that finds nothing": Situation(("intervene", "mine", "--where", "neuron > 99999")),
    "a report": Situation(("ingest", "mine", "--corpus", "words=words.txt", "--job", "projections")),
    "a report on what neurons read": Situation(("ingest", "weights", "--job", "keys")),
    "a report of another warehouse": Situation(
        ("ingest", "mine", "--corpus", "words=words.txt", "--job", "projections", *OTHER)
    ),
    "a report on a text that is not shown": Situation(
        ("ingest", "mine", "--corpus", "few=few.txt", "--job", "activity"),
        lambda: Path("few.txt").write_text("one two three . " * 20),
    ),
    "a report on ids that are others now": Situation(
        ("ingest", "linear", "--corpus", "prose", "--sequence-length", "24", "--job", "activity", "--force"),
        change_tokenizer,
    ),
    "a report on a pair": Situation(("ingest", "mine", "weights", "--job", "counterparts")),
}

SLOW = (
    "interventions with other settings",
    "a job on what a query finds",
    "a search that hangs on text",
    "a report of another warehouse",
    "a report on a pair",
    "a report on a text that is not shown",
    "a report on ids that are others now",
    "ids that an earlier release shared",
    "a variant",
    "some figures",
    "a vector without a list",
    "no positions on a text",
    "a neuron on a text",
    "an export's card",
    "rows in the way of an import",
    "one name of two models",
    "one job in two ways",
    "an earlier release",
    "matrices that neither has",
    "changed matrices",
    "a lost matrix",
    "a query that fails",
    "a file in a query",
    "a function that is refused",
    "a damaged warehouse, checked",
    "no export for another",
    "no matrices of a text",
    "a pair without lists",
)
"""Situations of a kind that another one is of, too, which go with the long tests."""

OF_PAGES = (
    "dashboards/widgets/page.py",
    "dashboards/widgets/figures.py",
    "dashboards/live/",
    "dashboards/parts/",
    "dashboards/screens/",
)
"""Where pages write commands: tests/dashboards/test_advice.py opens them."""

ELSEWHERE = {
    "ingest/golden/checked.py": "a cell of its table, which asks the hub: tests/ingest/golden/test_checked.py",
    "neurothek/cli/ingest.py": "what to look at after demo --model: tests/cli/test_ingest.py",
    "neurothek/cli/train.py": "training takes a minute: tests/cli/test_train.py",
    "ingest/training/card.py": "likewise",
    "ingest/jobs/continuations/job.py": "a run that another rests on is measured anew: its job's own tests",
    "dashboards/papers/figure.py": "why a figure of reproduce is missing: tests/dashboards/papers/test_geva.py",
    "dashboards/papers/geva.py": "likewise: tests/dashboards/papers/test_geva.py",
    "queries/papers/family.py": "a claim that was not judged: tests/queries/papers/test_family.py",
    "queries/papers/geva_vectors.py": "likewise, in findings.md: tests/docs/test_commands_in_documents.py",
    "queries/papers/din.py": "likewise, and a remark on a page: the same on papers.md",
    "queries/papers/geva.py": "likewise",
    "catalog/hub/fetched_matrices.py": "not published with a catalog: tests/catalog/hub/test_fetched_matrices.py",
    "dashboards/session.py": "pages without a backend, which no command opens: tests/dashboards/test_session.py",
}

MENTIONED = {
    "catalog/exchange/manifest.py": "the name of the format",
    "ingest/training/card.py": "says what made the model",
    "queries/compare/comparability.py": "is compared with the words of a view in SQL, which names the command alone",
}
"""Files with a string that names a command and recommends none in full, and why."""


@pytest.fixture(scope="module", autouse=True)
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Left out is what takes seconds and is tested elsewhere: built-in texts, trials."""
    with ingests.small_library(tmp_path_factory.mktemp("library")), pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "product_rate", lambda *_: 1e9)
        yield


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = copy_to(tmp_path / "copy")
    monkeypatch.chdir(copy)
    monkeypatch.setenv("NEUROTHEK_WAREHOUSE", "known.duckdb")
    return copy


@pytest.fixture(scope="module")
def reached() -> set[Place]:
    """Places in the sources whose commands were printed so far."""
    return set()


SEEN: set[str] = set()
ACCEPTED: list[list[str]] = []


def printed(name: str, reached: set[Place]) -> str:
    """What is recommended in a situation, once it was brought about."""
    SEEN.add(name)
    situation = SITUATIONS[name]
    situation.prepare()
    with watched(reached):
        if callable(situation.ask):
            with pytest.raises(NeurothekError) as refused:
                situation.ask()
            return str(refused.value)
        told = run(list(situation.ask), stdin=situation.stdin)
    return Path(situation.file).read_text() if situation.file else told.output


def delete(text: str) -> None:
    """What the text says is to be deleted."""
    for files in re.findall(r"delete (.+), then (?:recreate them with )?`", text):
        for file in shlex.split(files):
            Path(file).unlink()
    for file in re.findall(r"Error: (.+) is not the stored matrix: .*; delete it", text):
        Path(file).unlink()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in SLOW else name for name in SITUATIONS]
)
def test_what_is_recommended_is_accepted_where_it_is_printed(name: str, folder: Path, reached: set[Place]) -> None:
    text = printed(name, reached)
    commands = advised(text)
    assert commands, text
    delete(text)
    for command in commands:
        if command == "demo" or command.startswith("demo "):
            continue  # minutes; it is what `make demo` runs
        words = in_full(command, dict(SITUATIONS[name].stands_for))
        # As much was asked already where nothing had been changed before.
        if SITUATIONS[name].prepare is nothing and words in ACCEPTED:
            continue
        ACCEPTED.append(words)
        result = run(words)
        # A check that finds something was understood.
        assert result.exit_code == 0 or (words[0], result.exit_code) == ("check", 1), (command, result.output)
        if words[0] == "ingest" and "matri" in name:
            assert "everything is up to date" not in result.output, command


def test_no_command_of_the_sources_is_written_without_being_quoted() -> None:
    assert {file for file, _ in other_ways()} == set(MENTIONED)


@pytest.mark.long
def test_every_command_of_the_sources_was_recommended_in_a_situation(
    reached: set[Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that this test runs alone, or after others, are brought about here."""
    monkeypatch.setenv("NEUROTHEK_WAREHOUSE", "known.duckdb")
    for number, name in enumerate(sorted(SITUATIONS.keys() - SEEN)):
        monkeypatch.chdir(copy_to(tmp_path / str(number)))
        printed(name, reached)
    left = {place for place in places() if not place.file.startswith(OF_PAGES) and place.file not in ELSEWHERE}
    assert left - reached == set()


def test_a_command_is_quoted_and_names_the_warehouse_it_is_about() -> None:
    command = command_line("ingest", "my model", "--corpus", "it's")
    assert shlex.split(command) == ["neurothek", "ingest", "my model", "--corpus", "it's"]
    told = about(
        "first `neurothek check`, then `neurothek merge X --warehouse Y`, see `neurothek sql --help`", Path("a b")
    )
    assert advised(told) == ["check --warehouse 'a b'", "merge X --warehouse Y", "sql --help"]
    assert about("`neurothek train --size 2m`", Path("a b")) == "`neurothek train --size 2m`"


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
    assert gone.stderr.startswith("Error: this answer needs the weights of mine, which were not usable at 'tiny'")
    assert gone.stderr.endswith("give their location with mine=PATH\n")
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
    assert "are not the ones that were measured as mine; give the right folder with mine=PATH" in result.stderr
