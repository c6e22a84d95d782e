"""The object that joins the packages and the command line's root: paths, answers, leases, exit codes, quick help."""

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import IO, Any

import click
import duckdb
import polars as pl
import pytest
from click.testing import CliRunner, Result

import neurothek
from neurothek import Neurothek
from neurothek.catalog.problems import Conflict, NeurothekError, Unavailable
from neurothek.ingest.pipeline.outcomes import ModelReport
from neurothek.ingest.request import TextRequest
from neurothek.queries.search.question import Question
from tests.support import ingests
from tests.support.models import build

# One worker measures the warehouse.
pytestmark = pytest.mark.xdist_group("api")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(neurothek.main, list(arguments), catch_exceptions=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("front")
    build(folder / "tiny", "opt", d_ffn=8)
    (folder / "words.txt").write_text("one two three four five six school " * 20)
    return folder


@pytest.fixture(scope="module")
def door(folder: Path) -> Neurothek:
    door = neurothek.open(folder / "w.duckdb")
    text = TextRequest(corpora=(f"words={folder / 'words.txt'}",))
    (outcome,) = door.ingest(str(folder / "tiny"), jobs=ingests.JOBS, text=text)
    assert outcome.problem is None
    return door


# Paths


def test_a_path_goes_before_the_environment_and_that_before_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEUROTHEK_WAREHOUSE", raising=False)
    assert neurothek.open().path == Path("neurothek.duckdb")
    monkeypatch.setenv("NEUROTHEK_WAREHOUSE", "/data/w.duckdb")
    assert neurothek.open().path == Path("/data/w.duckdb")
    assert neurothek.open("mine.duckdb").path == Path("mine.duckdb")
    monkeypatch.setenv("NEUROTHEK_WAREHOUSE", "")
    assert neurothek.open().path == Path("neurothek.duckdb")


def test_opening_touches_nothing(tmp_path: Path) -> None:
    door = neurothek.open(tmp_path / "absent.duckdb")
    assert not door.warehouse.exists()
    for ask in (lambda: door.sql("select 1"), lambda: door.search("one"), lambda: door.neuron("a/L0N0"), door.compare):
        with pytest.raises(Unavailable, match="there is no warehouse at"):
            ask()
    assert list(tmp_path.iterdir()) == []


READING: tuple[Callable[[Neurothek], object], ...] = (
    lambda door: door.sql("select 1"),
    lambda door: door.ask("select 1"),
    lambda door: door.explain("select 1"),
    lambda door: door.search("one"),
    lambda door: door.search(like="a/L0N0"),
    lambda door: door.search(triggered_by="one"),
    lambda door: door.answer(Question(words=("one",))),
    lambda door: door.score("one"),
    lambda door: door.neuron("a/L0N0"),
    lambda door: door.compare(),
    lambda door: door.trace("a", "one"),
    lambda door: door.shortcut("a", state=0),
    lambda door: door.verify("a"),
    lambda door: door.export("out"),
    lambda door: door.label("a", family="b"),
    lambda door: door.annotate([{"address": "a/L0N0", "concept": None}], annotator="anna"),
    lambda door: door.annotate_by_rules("a"),
    lambda door: door.models(),
    lambda door: door.corpora(),
    lambda door: door.runs(),
    lambda door: door.schema(),
    lambda door: door.check(),
    lambda door: door.pin("a", corpus="b"),
    lambda door: door.rename("a", "b"),
    lambda door: door.remove("a"),
)


@pytest.mark.parametrize("ask", READING)
def test_whatever_reads_says_that_there_is_no_warehouse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[[Neurothek], object]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Unavailable, match=r"there is no warehouse at .*absent\.duckdb"):
        ask(neurothek.open("absent.duckdb"))
    assert list(tmp_path.iterdir()) == []


def test_a_warehouse_shows_its_path_and_models_or_that_it_is_not_there(door: Neurothek, tmp_path: Path) -> None:
    assert repr(door) == f"Neurothek('{door.path}')"
    assert "<td" in door._repr_html_()
    assert "tiny" in door._repr_html_()
    absent = neurothek.open(tmp_path / "<b>.duckdb")
    assert repr(absent) == f"Neurothek('{tmp_path}/<b>.duckdb'), which does not exist yet: ingest creates it"
    assert "&lt;b&gt;.duckdb" in absent._repr_html_()
    assert "which does not exist yet" in absent._repr_html_()
    (tmp_path / "text.duckdb").write_text("no warehouse")
    assert "text.duckdb" in neurothek.open(tmp_path / "text.duckdb")._repr_html_()
    assert "<small>" in neurothek.open(tmp_path / "text.duckdb")._repr_html_()


def test_the_command_line_takes_the_same_paths(door: Neurothek, monkeypatch: pytest.MonkeyPatch) -> None:
    given = run("models", "--format", "json", "--warehouse", str(door.path))
    monkeypatch.setenv("NEUROTHEK_WAREHOUSE", str(door.path))
    from_environment = run("models", "--format", "json")
    monkeypatch.delenv("NEUROTHEK_WAREHOUSE")
    monkeypatch.chdir(door.path.parent)
    door.path.with_name("neurothek.duckdb").hardlink_to(door.path)
    from_here = run("models", "--format", "json")
    door.path.with_name("neurothek.duckdb").unlink()
    assert given.stdout == from_environment.stdout == from_here.stdout
    assert [row["model"] for row in json.loads(given.stdout)] == ["tiny"]


def test_the_module_runs_as_the_command_does(door: Neurothek) -> None:
    command = [sys.executable, "-m", "neurothek", "models", "--format", "json", "--warehouse", str(door.path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == run(*command[3:]).stdout
    assert done.stderr == ""


# Answers


def test_sql_binds_values_and_returns_polars(door: Neurothek) -> None:
    frame = door.sql(
        "select neuron from neurons where model = $model and layer = $layer", {"model": "tiny", "layer": 1}
    )
    assert isinstance(frame, pl.DataFrame)
    assert sorted(frame["neuron"]) == list(range(8))


def test_search_neuron_and_compare_answer_as_the_commands_do(door: Neurothek) -> None:
    where = ["--warehouse", str(door.path), "--format", "json"]
    found = door.search("school", "one", side="both", limit=5)
    assert json.loads(found.neurons.write_json()) == json.loads(
        run("search", "school", "one", "--side", "both", "--limit", "5", *where).stdout
    )
    page = door.neuron("tiny/L1N3")
    said = json.loads(run("neuron", "tiny/L1N3", *where).stdout)
    assert said["tokens"] == json.loads(page.tokens.write_json())
    assert page.facts["address"] == said["neuron"]["address"] == "tiny/L1N3"
    comparison = door.compare("tiny")
    assert json.loads(run("compare", "tiny", *where).stdout).keys() == comparison.data().keys()


@pytest.mark.parametrize(
    "ask",
    [
        lambda door: door.search("school"),
        lambda door: door.neuron("tiny/L1N3"),
        lambda door: door.compare(),
    ],
    ids=["search", "neuron", "compare"],
)
def test_answers_show_themselves_and_cannot_be_changed(door: Neurothek, ask: Callable[[Neurothek], Any]) -> None:
    answer = ask(door)
    assert "tiny" in repr(answer)
    assert "<table" in answer._repr_html_()
    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.anything = 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda door: door.sql("drop view neurons"),
        lambda door: door.sql("select adress from neurons"),
        lambda door: door.search("schol"),
        lambda door: door.neuron("tiny/L9N0"),
        lambda door: door.compare("tinny"),
    ],
)
def test_wrong_questions_raise_the_one_base_error(door: Neurothek, ask: Callable[[Neurothek], Any]) -> None:
    with pytest.raises(NeurothekError) as caught:
        ask(door)
    assert "\n" not in str(caught.value)


# Measuring


def test_python_measures_as_the_command_does(door: Neurothek, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "w.duckdb"
    command = ["ingest", str(folder / "tiny"), "--corpus", f"words={folder / 'words.txt'}", "--warehouse", str(other)]
    jobs = [part for job in ingests.JOBS for part in ("--job", job)]
    assert run(*command, *jobs).exit_code == 0
    ingests.assert_same(
        ingests.everything(ingests.open_warehouse(other)), ingests.everything(ingests.open_warehouse(door.path))
    )


@pytest.mark.long
def test_python_carries_a_warehouse_elsewhere_and_joins_two(door: Neurothek, tmp_path: Path) -> None:
    written = door.export(tmp_path / "out")
    brought, joined = (neurothek.open(tmp_path / f"{name}.duckdb") for name in ("brought", "joined"))
    assert brought.import_(tmp_path / "out") == written
    merged = joined.merge(door.path)
    query = "select model from models order by model"
    names = door.sql(query)["model"].to_list()
    assert (
        sorted(merged.models) == names == brought.sql(query)["model"].to_list() == joined.sql(query)["model"].to_list()
    )
    assert joined.merge(brought.path).models == ()
    run("rename", "tiny", "renamed", "--warehouse", str(joined.path))
    with pytest.raises(NeurothekError, match=r"already has rows in .*; choose another file"):
        joined.import_(tmp_path / "out")
    with pytest.raises(NeurothekError, match="there is no warehouse at"):
        joined.merge(tmp_path / "none.duckdb")


def test_outcomes_tell_what_went_well_and_what_did_not(door: Neurothek, folder: Path) -> None:
    text = TextRequest(corpora=("words",))
    done, failed = door.ingest(str(folder / "tiny"), str(folder / "none"), jobs=ingests.JOBS, text=text)
    assert isinstance(done.report, ModelReport)
    assert (done.report.jobs, done.report.up_to_date, done.problem) == ((), ingests.JOBS, None)
    assert failed.report is None
    assert failed.problem is not None
    assert "there is no model at" in failed.problem
    with pytest.raises(Conflict, match="would both be called"):
        door.ingest(str(folder / "tiny"), str(folder / "tiny"))
    with pytest.raises(TypeError, match=r"ingest\(\) has no argument token; nearest: tokens"):
        door.ingest(str(folder / "tiny"), token=5)  # type: ignore[call-arg]


# Leases


def test_no_connection_is_held_between_calls(door: Neurothek) -> None:
    answers = [door.sql("select 1 as one"), door.search("school"), door.neuron("tiny/L0N0"), door.compare()]
    # Another process can write although all answers are still at hand.
    write = "import sys, duckdb; duckdb.connect(sys.argv[1]).execute('create table t as select 1; drop table t')"
    subprocess.run([sys.executable, "-c", write, str(door.path)], check=True, timeout=60)
    with duckdb.connect(str(door.path)) as connection:
        connection.execute("create table t as select 1")
        connection.execute("drop table t")
    assert len(answers) == 4


def test_a_lease_ends_with_an_error_too(door: Neurothek) -> None:
    with pytest.raises(NeurothekError):
        door.sql("select nothing from nowhere")
    with door.warehouse.writer() as connection:
        assert connection.execute("select 1").fetchall() == [(1,)]


def test_a_reader_reaches_no_file_and_no_setting(door: Neurothek, folder: Path) -> None:
    with door.reader() as connection:
        for query in (
            f"select * from read_text('{folder / 'words.txt'}')",
            "set threads = 1",
            "create table t (a int)",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(query)


# The root


def test_the_version_is_the_packages() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"neurothek, version {neurothek.__version__}\n")
    assert metadata.version("neurothek") == neurothek.__version__


COMMANDS = {
    "demo",
    "ingest",
    "models",
    "corpora",
    "runs",
    "pin",
    "rename",
    "remove",
    "export",
    "import",
    "merge",
    "search",
    "neuron",
    "compare",
    "claims",
    "sql",
    "views",
    "schema",
    "train",
}


def test_every_command_is_there_and_explains_itself() -> None:
    assert set(neurothek.main.commands) >= COMMANDS
    listed = run("--help").stdout
    for name, command in neurothek.main.commands.items():
        assert name in listed
        page = run(name, "--help")
        assert page.exit_code == 0
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.name != "help":
                assert parameter.opts[0] in page.stdout
        # No option is left without words or choices of its own.
        options = [one for one in command.params if isinstance(one, click.Option)]
        assert all(option.help or isinstance(option.type, click.Choice) for option in options)
    assert run("-h").stdout == listed


HEAVY = ("torch", "transformers", "duckdb", "polars", "streamlit", "pandas", "sqlglot", "rich", "numpy")


def test_help_imports_nothing_that_takes_long() -> None:
    script = (
        "import sys, neurothek\n"
        "try: neurothek.main(['ingest', '--help'])\n"
        "except SystemExit: pass\n"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)\n"
    )
    found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)
    assert "Usage: " in found.stdout
    assert found.stderr.strip() == "[]"


def test_questions_import_no_torch(door: Neurothek) -> None:
    script = (
        "import sys, neurothek\n"
        f"try: neurothek.main(['search', 'school', '--warehouse', {str(door.path)!r}])\n"
        "except SystemExit: pass\n"
        "print('torch' in sys.modules or 'transformers' in sys.modules, file=sys.stderr)\n"
    )
    found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)
    assert "tiny/L" in found.stdout
    assert found.stderr.splitlines()[-1] == "False"


class Unkind(NeurothekError):
    """A handled error."""

    def __init__(self) -> None:
        super().__init__("it was asked for this, that was found; do so")


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (Unkind(), 2, "Error: it was asked for this, that was found; do so\n"),
        (KeyboardInterrupt(), 130, "\ninterrupted; finished work is kept: repeat the command to continue\n"),
    ],
    ids=["handled", "interrupted"],
)
def test_an_error_of_any_command_becomes_its_sentence_and_exit_code(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, said: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(neurothek.main.commands["models"], "callback", fail)
    result = run("models")
    assert (result.exit_code, result.stdout, result.stderr) == (status, "", said)


def test_an_error_that_nobody_expected_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(neurothek.main.commands["models"], "callback", fail)
    with pytest.raises(ZeroDivisionError):
        run("models")


# Outputs that fail


def started(
    door: Neurothek, *arguments: str, stdout: int | IO[bytes], encoding: str = "utf-8"
) -> tuple[int, str, bytes]:
    command = [sys.executable, "-c", "import neurothek; neurothek.main()", *arguments]
    environment = {**os.environ, "NEUROTHEK_WAREHOUSE": str(door.path), "PYTHONIOENCODING": encoding}
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, env=environment, check=False)
    return done.returncode, done.stderr.decode(), done.stdout or b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("arguments", [("models",), ("models", "--format", "json"), ("models", "--format", "parquet")])
def test_an_answer_that_cannot_be_written_is_one_sentence(door: Neurothek, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        status, said, _ = started(door, *arguments, stdout=full)
    assert status == 2
    assert said == (
        "Error: the answer could not be written: No space left on device; free some space there, or send it elsewhere\n"
    )


def test_a_terminal_without_unicode_gets_escapes_and_json_stays_json(door: Neurothek) -> None:
    question = ("sql", "select 'é' as text")
    assert b"\\xe9" in started(door, *question, stdout=subprocess.PIPE, encoding="ascii")[2]
    answer = started(door, *question, "--format", "json", stdout=subprocess.PIPE, encoding="ascii")[2]
    assert json.loads(answer) == [{"text": "é"}]
    assert "é".encode() in started(door, *question, stdout=subprocess.PIPE)[2]
