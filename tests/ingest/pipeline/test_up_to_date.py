"""What is finished is known without measuring, as long as nothing that decides it has changed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from platformdirs import user_cache_path

import neurothek
from neurothek.catalog.progress import Silent
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.upkeep.changes import Label, label, label_of, remove
from neurothek.ingest.pipeline import ingest_model, up_to_date
from neurothek.ingest.pipeline.ingest_all import ingest_all
from neurothek.ingest.pipeline.outcomes import ModelReport, PairReport
from neurothek.ingest.request import IngestRequest, ModelSource
from tests.support import ingests
from tests.support.models import build, edit_config

LONG_AGO = 1_500_000_000
JOBS = ("projections", "activity")


class Opened(Exception):
    """The model was opened."""


def settle(folder: Path) -> None:
    for path in folder.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO))


@pytest.fixture
def measured(tmp_path: Path) -> tuple[Warehouse, IngestRequest, str]:
    model = build(tmp_path / "tiny", "opt", d_ffn=8)
    (tmp_path / "words.txt").write_text("one two three four five six seven eight nine ten . " * 20)
    settle(tmp_path)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    asked = ingests.request((f"words={tmp_path / 'words.txt'}",), jobs=JOBS)
    assert ask(warehouse, asked, str(model)).jobs == JOBS
    return warehouse, asked, str(model)


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch, measured: object) -> Iterator[None]:
    """From now on opening a model is an error."""

    def opened(*_: object, **__: object) -> None:
        raise Opened

    with monkeypatch.context() as patch:
        patch.setattr(ingest_model, "prepare_model", opened)
        yield


def ask(warehouse: Warehouse, asked: IngestRequest, model: str) -> ModelReport:
    (outcome,) = ingest_all(warehouse, asked, [model], progress=Silent())
    assert isinstance(outcome.report, ModelReport), outcome.problem
    return outcome.report


def test_nothing_is_opened_when_the_same_is_asked_again(
    measured: tuple[Warehouse, IngestRequest, str], closed: None
) -> None:
    again = ask(*measured)
    assert (again.model, again.jobs, again.up_to_date) == ("tiny", (), JOBS)


def rewrite_unseen(path: Path) -> None:
    """Other content under the size and the time of the last writing that were there, as `cp -p` or `tar` leave it."""
    content = path.read_bytes()
    path.write_bytes(content[:-2] + content[-2:][::-1])
    os.utime(path, (LONG_AGO, LONG_AGO))


CHANGES: dict[str, Callable[[Warehouse, Path], object]] = {
    "weights": lambda _, folder: os.utime(folder / "tiny/model.safetensors", (LONG_AGO + 9, LONG_AGO + 9)),
    "config": lambda _, folder: edit_config(folder / "tiny", initializer_range=0.5),
    "tokenizer": lambda _, folder: os.utime(folder / "tiny/tokenizer.json", (LONG_AGO + 9, LONG_AGO + 9)),
    "text": lambda _, folder: (folder / "words.txt").write_text("others " * 90),
    "text of the same length and time": lambda _, folder: rewrite_unseen(folder / "words.txt"),
    "weights of the same size and time": lambda _, folder: rewrite_unseen(folder / "tiny/model.safetensors"),
    "a removed run": lambda warehouse, _: remove(warehouse, "tiny", job="activity"),
    "another warehouse": lambda warehouse, _: warehouse.path.unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_is_looked_at_again(
    change: str, measured: tuple[Warehouse, IngestRequest, str], closed: None, tmp_path: Path
) -> None:
    CHANGES[change](measured[0], tmp_path)
    with pytest.raises(Opened):
        ask(*measured)


def test_a_run_that_goes_while_it_is_remembered_is_looked_at_again(
    measured: tuple[Warehouse, IngestRequest, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse, asked, model = measured
    user_cache_path("neurothek", appauthor=False).joinpath("finished.json").unlink()
    remembered = up_to_date.remember

    def removed_first(*of: Any) -> None:
        remove(warehouse, "tiny", job="activity")
        remembered(*of)

    with monkeypatch.context() as patch:
        patch.setattr(up_to_date, "remember", removed_first)
        ask(warehouse, asked, model)
    assert ask(warehouse, asked, model).jobs == ("activity",)


def test_what_others_are_measured_changes_nothing(
    measured: tuple[Warehouse, IngestRequest, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several models that are measured by one command each is up to date at the first repetition."""
    warehouse, asked, model = measured
    other = build(tmp_path / "other", "gpt2", d_ffn=16, seed=3)
    settle(other)
    ask(warehouse, asked, str(other))
    pair = IngestRequest(jobs=("counterparts",))
    third = build(tmp_path / "third", "opt", d_ffn=16, seed=4)
    settle(third)
    ask(warehouse, asked, str(third))
    (compared,) = ingest_all(warehouse, pair, ["tiny", "third"], progress=Silent())
    assert compared.problem is None
    with monkeypatch.context() as patch:
        patch.setattr(ingest_model, "prepare_model", lambda *_, **__: pytest.fail("a model was opened"))
        assert [ask(warehouse, asked, str(one)).up_to_date for one in (model, other, third)] == [JOBS] * 3
    (again,) = ingest_all(warehouse, pair, ["tiny", "third"], progress=Silent())
    assert isinstance(again.report, PairReport)
    assert again.report.n_rows is None


@pytest.mark.parametrize(
    "other", [{"jobs": (*JOBS, "contexts")}, {"active_above": 0.5}, {"dtype": "float16"}, {"batch_tokens": 512}]
)
def test_another_request_is_looked_at(
    other: dict[str, object], measured: tuple[Warehouse, IngestRequest, str], closed: None
) -> None:
    warehouse, asked, model = measured
    with pytest.raises(Opened):
        ask(warehouse, replace(asked, **other), model)  # type: ignore[arg-type]


def test_what_a_person_said_of_a_model_is_remembered_and_said_again(
    measured: tuple[Warehouse, IngestRequest, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse, asked, model = measured
    labelled = replace(asked, family="small", variant="step 1000")
    first = ask(warehouse, labelled, model)
    assert any("it counts as" in remark and "step 1000" in remark for remark in first.remarks)
    with monkeypatch.context() as patch:
        patch.setattr(ingest_model, "prepare_model", None)
        assert ask(warehouse, labelled, model).remarks == first.remarks
    label(warehouse, "tiny", variant="step 2000")
    again = ask(warehouse, labelled, model)
    assert again.remarks == first.remarks
    assert label_of(warehouse, "tiny") == Label("small", "step 1000")


@pytest.mark.parametrize(("revision", "is_told"), [("0" * 40, True), ("main", False), (None, False)])
def test_a_text_of_the_hub_is_told_where_its_commit_is_named(
    revision: str | None, is_told: bool, measured: tuple[Warehouse, IngestRequest, str]
) -> None:
    warehouse, asked, model = measured
    at = f"@{revision}" if revision else ""
    text = replace(asked.text, corpora=(f"news=hub:org/news{at}",))
    known = up_to_date.model_inputs(warehouse, replace(asked, text=text), ModelSource.parse(model))
    assert (known is not None) == is_told


SCRIPT = """
import json, sys
from click.testing import CliRunner
import neurothek
result = CliRunner().invoke(neurothek.main, json.loads(sys.argv[1]))
print(json.dumps([result.exit_code, result.stderr, [m for m in ("torch", "transformers") if m in sys.modules]]))
"""


def in_a_process(command: Sequence[str]) -> tuple[int, str, list[str]]:
    """Exit code, what was told on stderr, and what was loaded that measures."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(list(command))],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    status, told, loaded = json.loads(found.stdout)
    return status, told, loaded


def test_pairs_that_are_compared_load_nothing_that_measures(tmp_path: Path) -> None:
    folders = [build(tmp_path / name, "opt", d_ffn=d_ffn) for name, d_ffn in (("one", 8), ("other", 16))]
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    for folder in folders:
        ask(warehouse, ingests.request((), jobs=("projections",)), str(folder))
    command = ["ingest", "one", "other", "--job", "counterparts", "--warehouse", str(warehouse.path)]
    first = CliRunner().invoke(neurothek.main, command)
    assert first.exit_code == 0
    assert "measured counterparts" in first.stderr
    status, told, loaded = in_a_process(command)
    assert (status, loaded) == (0, [])
    assert told.startswith("one and other: everything is up to date (counterparts)")
    remove(warehouse, "other", job="counterparts")
    again = CliRunner().invoke(neurothek.main, command)
    assert again.exit_code == 0
    assert "measured counterparts" in again.stderr


def test_a_process_that_finds_nothing_to_do_loads_nothing_that_measures(
    measured: tuple[Warehouse, IngestRequest, str], tmp_path: Path
) -> None:
    command = [
        "ingest",
        measured[2],
        "--corpus",
        f"words={tmp_path / 'words.txt'}",
        "--warehouse",
        str(tmp_path / "w.duckdb"),
    ]
    command += [word for job in JOBS for word in ("--job", job)]
    # Another request than what was measured: the command line allows another budget.
    first = CliRunner().invoke(neurothek.main, command)
    assert first.exit_code == 0
    status, told, loaded = in_a_process(command)
    assert (status, loaded) == (0, [])
    assert told.startswith("tiny: everything is up to date (projections, activity)")
    assert first.stderr.startswith("tiny: everything is up to date (projections, activity)")


def test_the_code_that_measures_is_part_of_what_is_remembered() -> None:
    root = Path(__file__).parents[3] / "neurothek"
    assert {root / "ingest/forward/sweep.py", root / "catalog/publishing/publish.py"} <= set(up_to_date._code())
