"""The commands that measure, from the command line: options, reports, exit codes, interruptions."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import click
import duckdb
import pytest
from click.testing import CliRunner, Result

import neurothek
from neurothek.api.warehouse import Neurothek
from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.progress import Progress
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.cli.ingest import (
    DEMO_CHANGED,
    DEMO_EXAMPLES,
    DEMO_PROMPTS,
    DEMO_SHORTCUTS,
    DEMO_TOKENS,
    DEMO_WORDS,
    REAL_TOKENS,
    change_neurons,
)
from neurothek.cli.options import Size
from neurothek.ingest import minis
from neurothek.ingest.jobs import registry
from neurothek.ingest.models import packages
from neurothek.ingest.pipeline import ingest_all, ingest_model
from neurothek.ingest.pipeline.ingest_all import Outcome
from neurothek.ingest.request import DEFAULT_JOBS, IngestRequest, TextRequest, default_memory
from tests.support import ingests
from tests.support.models import build


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(neurothek.main, [str(part) for part in arguments], catch_exceptions=False)


def test_sizes_are_read_as_people_write_them(subtests: pytest.Subtests) -> None:
    for text, size in [
        ("4GB", 4 * 10**9),
        ("500mb", 500 * 10**6),
        ("1.5g", 1_500_000_000),
        ("2 TB", 2 * 10**12),
        ("64k", 64_000),
        ("1073741824", 1 << 30),
        ("1e9", 10**9),
    ]:
        with subtests.test(text=text, size=size):
            assert Size().convert(text, None, None) == size


def test_a_word_that_is_no_size_is_refused(subtests: pytest.Subtests) -> None:
    for text in ["", "GB", "lots", "-1GB", "0", "nan", "infGB", "4 GB RAM", "1g2m", "99999999TB"]:
        with subtests.test(text=text), pytest.raises(click.BadParameter, match="write for example 4GB"):
            Size().convert(text, None, None)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, IngestRequest, Sequence[str]]]:
    """What the commands ask to have measured, instead of measuring it."""
    found: list[tuple[Path, IngestRequest, Sequence[str]]] = []

    def note(
        warehouse: Warehouse,
        request: IngestRequest,
        models: Sequence[str],
        *,
        progress: Progress,
        announce: Callable[[str], None],
    ) -> list[Outcome]:
        found.append((warehouse.path, request, models))
        return []

    monkeypatch.setattr(ingest_all, "ingest_all", note)
    return found


def test_the_defaults_are_those_of_the_library(asked: list[Any]) -> None:
    assert run("ingest", "some/model").exit_code == 0
    ((path, request, models),) = asked
    assert (path, request, models) == (Path("neurothek.duckdb").resolve(), IngestRequest(), ("some/model",))


def test_every_option_reaches_the_request(asked: list[Any], tmp_path: Path) -> None:
    options = {
        "--corpus": "a=x.txt",
        "--corpus-name": "mine",
        "--tokens": "1000",
        "--sequence-length": "32",
        "--family": "opt",
        "--variant": "seed 2",
        "--revision": "main",
        "--examples": "77",
        "--fit": "400",
        "--validate": "200",
        "--positions": "500",
        "--scored": "9",
        "--neighbours": "7",
        "--clusters": "12",
        "--device": "cpu",
        "--dtype": "bfloat16",
        "--active-above": "0.25",
        "--memory": "2GB",
        "--batch-tokens": "512",
        "--method": "mat",
        "--keep": "all",
        "--domain": "code",
        "--staging": str(tmp_path),
        "--engine": "ray",
        "--address": "auto",
        "--workers": "3",
        "--gpus-per-worker": "0.5",
        "--warehouse": "w.duckdb",
    }
    flags = ["--no-packing", "--allow-pickle", "--tokenizer-from-file", "--no-baselines", "--force"]
    pairs = [part for pair in options.items() for part in pair]
    assert run("ingest", "a", "b=c", "--corpus", "builtin:code", *pairs, *flags).exit_code == 0
    ((path, request, models),) = asked
    assert (path, models) == (Path("w.duckdb").resolve(), ("a", "b=c"))
    text = TextRequest(("builtin:code", "a=x.txt"), "mine", tokens_per_domain=1000, sequence_length=32, packing=False)
    assert request == IngestRequest(
        text=text,
        family="opt",
        variant="seed 2",
        revision="main",
        allow_pickle=True,
        tokenizer_from_file=True,
        examples=77,
        fit=400,
        validate=200,
        baselines=False,
        positions=500,
        scored=9,
        neighbours=7,
        clusters=(12,),
        device="cpu",
        dtype="bfloat16",
        active_above=0.25,
        memory_bytes=2 * 10**9,
        batch_tokens=512,
        methods=("mat",),
        keep="all",
        domains=("code",),
        staging=tmp_path,
        engine="ray",
        address="auto",
        workers=3,
        gpus_per_worker=0.5,
        force=True,
    )
    usual = IngestRequest()
    # Whatever is an option was given here, and as something else than is usual, but for one that asks the warehouse.
    of_queries = ["interventions", "intervention_tokens", "random_sets", "steering", "single_neurons", "scored_neurons"]
    same = [name for name, given in vars(request).items() if given == vars(usual)[name]]
    assert same == ["jobs", "named", "where", *of_queries, "contrasts"]


@pytest.mark.parametrize(
    ("options", "jobs"),
    [
        ([], DEFAULT_JOBS),
        (["--job", "contexts"], ("contexts",)),
        (["--job", "contexts", "--job", "projections"], ("contexts", "projections")),
        (["--job", "all"], registry.NAMES),
        (["--job", "nonsense", "--job", "all"], ("nonsense", *registry.NAMES)),
    ],
)
def test_jobs_are_chosen_by_name(asked: list[Any], options: list[str], jobs: tuple[str, ...]) -> None:
    run("ingest", "some/model", *options)
    assert asked[0][1].jobs == jobs


@pytest.mark.parametrize(("options", "tokens"), [((), DEMO_TOKENS), (("--tokens", "500"), 500)])
def test_the_demo_measures_the_family_that_ships(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], tokens: int
) -> None:
    monkeypatch.setattr(minis, "names", lambda: ["mini-a", "mini-b", "mini-b-seed1"])
    monkeypatch.setattr(minis, "sizes", lambda: ["mini-a", "mini-b"])
    codes = iter([0, 2])
    monkeypatch.setattr(ingest_all, "print_report", lambda *_, **__: next(codes))
    done = run("demo", *options)
    assert done.exit_code == 2
    (_, first, small), (_, request, models), (_, compared, sizes), (_, states, two) = asked
    # What people ask first is there within a minute.
    assert (first, small) == (IngestRequest(text=TextRequest(tokens_per_domain=tokens)), ["mini-a", "mini-b"])
    assert "the sizes can be searched and compared from now on" in done.stderr
    assert (models, sizes) == (["mini-a", "mini-b", "mini-b-seed1"], ["mini-a", "mini-b"])
    assert compared == IngestRequest(jobs=("counterparts",))
    text = TextRequest(tokens_per_domain=tokens)
    assert request == IngestRequest(
        jobs=(*DEFAULT_JOBS, "clusters", "controls", "events"), text=text, examples=DEMO_EXAMPLES
    )
    # Examples are those of the job events, on which exits rest.
    assert states == IngestRequest(jobs=("shortcuts", "exits"), text=text, examples=DEMO_EXAMPLES, baselines=False)
    assert two == DEMO_SHORTCUTS
    assert all(minis.folder(name) is not None for name in (*DEMO_SHORTCUTS, DEMO_CHANGED))


@pytest.mark.parametrize(("options", "tokens"), [((), REAL_TOKENS), (("--tokens", "500"), 500)])
def test_the_demo_measures_a_model_that_people_use(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: tuple[str, ...], tokens: int
) -> None:
    monkeypatch.setattr(packages, "fetched", lambda model, *, progress: tmp_path / model.file)
    planned = []

    def plan(*given: Any, show: Callable[[str], None], **_: Any) -> int:
        planned.append(given[1:])
        show("a plan")
        return 0

    monkeypatch.setattr(ingest_all, "plan_all", plan)
    done = run("demo", "--model", "smollm2", *options)
    assert (done.exit_code, done.stdout) == (0, "")
    ((_, request, models),) = asked
    assert planned == [(request, models)]
    assert models == (f"smollm2-135m={tmp_path / 'SmolLM2-135M-Instruct.Q4_1.gguf'}",)
    assert request == IngestRequest(
        jobs=(*DEFAULT_JOBS, "keys", "clusters", "events", "shortcuts"),
        methods=("id", "mat"),
        text=TextRequest(tokens_per_domain=tokens),
        examples=DEMO_EXAMPLES,
        memory_bytes=min(default_memory(), 4 * 2**30),
    )
    assert set(request.jobs) <= set(registry.NAMES)
    assert done.stderr.startswith("a plan\n")
    for command in ("search ' Paris'", "search school", "trace smollm2-135m 'The capital of France is'"):
        assert f"`neurothek {command}`" in done.stderr


def test_the_demo_ends_where_a_plan_does_not_go_on(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "fetched", lambda model, *, progress: Path(model.file))
    monkeypatch.setattr(ingest_all, "plan_all", lambda *given, **named: 2)
    done = run("demo", "--model", "smollm2")
    assert (done.exit_code, asked) == (2, [])
    assert "Paris" not in done.stderr


@dataclass
class Door:
    """What `demo` asks of the interface, instead of it."""

    jobs: tuple[str, ...] = ()
    problem: str | None = None
    planned: list[dict[str, Any]] = field(default_factory=list)

    @contextmanager
    def reader(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with duckdb.connect() as connection:
            connection.execute("create table runs (model text, job text)")
            rows = [[DEMO_CHANGED, job] for job in self.jobs] + [["another", "continuations"]]
            connection.executemany("insert into runs values (?, ?)", rows)
            yield connection

    def plan_intervention(self, model: str, **asked: Any) -> SimpleNamespace:
        self.planned.append({"model": model, **asked})
        return SimpleNamespace(names=("a kind",))

    def run_intervention(self, planned: SimpleNamespace, *, progress: Progress) -> None:
        if self.problem is not None:
            raise NeurothekError(self.problem)


@pytest.mark.parametrize("jobs", [(), ("interventions",)])
def test_the_demo_changes_neurons_of_one_model(jobs: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    door = Door(jobs)
    change_neurons(cast("Neurothek", door))
    kinds, words = door.planned
    assert (kinds["each"], words["words"], words["prompts"]) == ("kind", DEMO_WORDS, DEMO_PROMPTS)
    # Interventions on one model are measured alike.
    assert {(one["model"], one["tokens"], one["sets"]) for one in door.planned} == {(DEMO_CHANGED, 500, 10)}
    assert capsys.readouterr().err.count(f"{DEMO_CHANGED}: changed neurons (a kind)") == 2


def test_the_demo_leaves_interventions_as_they_are() -> None:
    door = Door(("interventions", "continuations"))
    change_neurons(cast("Neurothek", door))
    assert door.planned == []


def test_the_demo_goes_on_where_interventions_were_measured_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    door = Door(problem="they were measured with --tokens 7")
    change_neurons(cast("Neurothek", door))
    assert f"no neurons of {DEMO_CHANGED} were changed: they were measured with --tokens 7" in capsys.readouterr().err


def test_a_run_reports_and_a_second_says_that_all_is_done(tmp_path: Path) -> None:
    model = build(tmp_path / "tiny", "opt", d_ffn=8)
    corpora = [part for spec in ingests.write_corpus(tmp_path) for part in ("--corpus", spec)]
    command = ["ingest", str(model), *corpora, "--warehouse", str(tmp_path / "w.duckdb")]
    first = run(*command)
    assert (first.exit_code, first.stdout) == (0, "")
    assert first.stderr.startswith(f"tiny: measured {', '.join(DEFAULT_JOBS)} (")
    assert f"the warehouse is {tmp_path / 'w.duckdb'}" in first.stderr
    second = run(*command)
    assert (second.exit_code, second.stdout) == (0, "")
    assert second.stderr.startswith(f"tiny: everything is up to date ({', '.join(DEFAULT_JOBS)})")
    quiet = run(*command, "--quiet")
    assert (quiet.exit_code, quiet.output) == (0, "")


def test_one_failing_model_makes_the_exit_code_two_and_the_others_are_measured(tmp_path: Path) -> None:
    model = build(tmp_path / "tiny", "opt", d_ffn=8)
    warehouse = ["--warehouse", str(tmp_path / "w.duckdb")]
    result = run("ingest", tmp_path / "none", model, "--job", "projections", *warehouse)
    assert result.exit_code == 2
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert errors == [f"Error: {outcome}" for outcome in [missing(tmp_path / "none")]]
    assert "tiny: measured projections" in result.stderr
    listed = run("models", *warehouse, "--format", "csv")
    assert "tiny" in listed.stdout


def missing(folder: Path) -> str:
    return (
        f"there is no model at {str(folder)!r}: no such folder exists;"
        " give a folder with config.json and weights, or a hub id such as facebook/opt-125m"
    )


def test_an_interrupted_run_says_so_and_is_shown_as_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build(tmp_path / "tiny", "opt", d_ffn=8)
    warehouse = ["--warehouse", str(tmp_path / "w.duckdb")]

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    # At the last moment: all shards lie there, nothing is published.
    with monkeypatch.context() as patch:
        patch.setattr("neurothek.ingest.planning.work.publish", interrupt)
        stopped = run("ingest", model, "--job", "projections", *warehouse)
    assert stopped.exit_code == 130
    assert "finished work is kept: repeat the command to continue" in stopped.stderr
    runs = run("runs", *warehouse, "--format", "csv").stdout
    assert "interrupted" in runs
    assert run("ingest", model, "--job", "projections", *warehouse).exit_code == 0
    assert "interrupted" not in run("runs", *warehouse, "--format", "csv").stdout


def test_no_bar_is_drawn_where_stderr_is_no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(tmp_path / "tiny", "opt", d_ffn=8)
    shown: list[str] = []
    original = ingest_model.ingest_model

    def watched(*arguments: Any, progress: Progress, **options: Any) -> Any:  # noqa: ANN401 - passed on
        shown.append(type(progress).__name__)
        return original(*arguments, progress=progress, **options)

    monkeypatch.setattr(ingest_model, "ingest_model", watched)
    run("ingest", model, "--job", "projections", "--warehouse", tmp_path / "w.duckdb")
    assert shown == ["Silent"]
