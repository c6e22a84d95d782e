"""Several models one after another, and what is said at the end."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from neurothek.catalog.problems import Conflict, Invalid, NotFound
from neurothek.catalog.progress import Silent
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.pipeline.ingest_all import Outcome, ingest_all, print_report, report_lines
from neurothek.ingest.pipeline.outcomes import ModelReport
from neurothek.ingest.planning.model_plan import plan_model
from neurothek.ingest.request import IngestRequest, ModelSource, TextRequest
from neurothek.queries.views import install
from tests.support import ingests
from tests.support.models import build

DONE = ModelReport(
    model="tiny",
    jobs=("projections", "activity"),
    rows={"projections": 1_000, "postings": 99_000, "activity": 2_000},
    up_to_date=("contexts",),
    corpus="builtin",
    n_tokens=600_000,
    seconds=12.34,
)
IDLE = ModelReport("tiny", (), {}, ("projections", "activity"), "builtin", 600_000, 0.2)


def test_a_report_says_what_was_measured_how_much_and_for_how_long() -> None:
    line, *_ = report_lines([Outcome("tiny", DONE, None)], Path("neurothek.duckdb"))
    assert line == (
        "tiny: measured projections, activity (102,000 rows, 600,000 tokens of builtin) in 12.3 s;"
        " already up to date: contexts"
    )


def test_a_report_says_that_everything_is_up_to_date() -> None:
    line, *_ = report_lines([Outcome("tiny", IDLE, None)], Path("neurothek.duckdb"))
    assert line == "tiny: everything is up to date (projections, activity)"


def test_a_report_says_where_it_lies_and_what_to_try_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEUROTHEK_WAREHOUSE", raising=False)
    outcomes = [Outcome("tiny", DONE, None)]
    default = report_lines(outcomes, Path("neurothek.duckdb"))
    assert default[1] == "the warehouse is neurothek.duckdb"
    assert "  neurothek neuron tiny/L0N0" in default
    elsewhere = report_lines(outcomes, Path("my data/w.duckdb"))
    assert "  neurothek compare --warehouse 'my data/w.duckdb'" in elsewhere
    monkeypatch.setenv("NEUROTHEK_WAREHOUSE", "my data/w.duckdb")
    assert "  neurothek compare" in report_lines(outcomes, Path("my data/w.duckdb"))


def test_what_to_try_has_something_to_show(subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEUROTHEK_WAREHOUSE", raising=False)
    for report, names in (
        (DONE, ["search", "neuron", "compare", "sql"]),
        (IDLE, ["search", "neuron", "compare", "sql"]),
        (replace(DONE, jobs=("keys",), up_to_date=()), ["search school --reads", "neuron"]),
        (replace(DONE, jobs=("contexts",), up_to_date=()), ["neuron"]),
    ):
        with subtests.test(jobs=report.jobs):
            lines = report_lines([Outcome("tiny", report, None)], Path("neurothek.duckdb"))
            commands = lines[lines.index("try next:") + 1 :]
            assert len(commands) == len(names)
            assert all(line.startswith(f"  neurothek {name}") for line, name in zip(commands, names, strict=True))


def test_problems_are_complained_about_one_by_one_and_decide_the_exit_code() -> None:
    said: list[str] = []
    complaints: list[str] = []

    def printed(outcomes: list[Outcome]) -> int:
        return print_report(outcomes, Path("w.duckdb"), say=said.append, complain=complaints.append)

    assert printed([Outcome("a", DONE, None)]) == 0
    assert complaints == []
    assert printed([Outcome("a", None, "no such model"), Outcome("b", DONE, None), Outcome("c", None, "NaN")]) == 2
    assert complaints == ["no such model", "NaN"]
    said.clear()
    assert printed([Outcome("a", None, "no such model")]) == 2
    # Nothing was measured: there is no warehouse to point at.
    assert said == []


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    (tmp_path / "here").mkdir()
    return ingests.open_warehouse(tmp_path / "here" / "w.duckdb")


def test_a_model_that_fails_does_not_stop_the_others(tmp_path: Path, warehouse: Warehouse) -> None:
    folder = build(tmp_path / "tiny", "opt", d_ffn=8)
    models = [str(tmp_path / "missing"), str(folder), f"again={folder}"]
    outcomes = ingest_all(warehouse, IngestRequest(jobs=("projections",)), models, progress=Silent())
    assert [outcome.report is not None for outcome in outcomes] == [False, True, True]
    assert outcomes[0].problem is not None
    assert "there is no model at" in outcomes[0].problem
    assert ingests.table(warehouse, "models")["name"].to_list() == ["tiny", "again"]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (IngestRequest(jobs=("projections", "activty")), NotFound),
        (IngestRequest(active_above=float("nan")), Invalid),
        (IngestRequest(active_above=float("inf")), Invalid),
        (IngestRequest(active_above=-1e308), Invalid),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_before_any_model(
    warehouse: Warehouse, request_: IngestRequest, error: type[Exception]
) -> None:
    with pytest.raises(error):
        ingest_all(warehouse, request_, ["/no/model"], progress=Silent())
    assert list(warehouse.path.parent.iterdir()) == []


@pytest.mark.parametrize(
    "models",
    [
        ["a/tiny", "b/tiny"],
        ["a/tiny", "tiny=b/other"],
        ["x=a/tiny", "x=a/tiny"],
        ["facebook/opt-125m", "mine/opt-125m"],
    ],
)
def test_two_models_with_one_name_are_refused_before_either(
    tmp_path: Path, warehouse: Warehouse, models: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build(tmp_path / "a" / "tiny", "opt", d_ffn=8)
    shutil.copytree(tmp_path / "a" / "tiny", tmp_path / "b" / "tiny")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Conflict, match=r"would both be called .* give one of them another name"):
        ingest_all(warehouse, IngestRequest(jobs=("projections",)), models, progress=Silent())
    assert list(warehouse.path.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("facebook/opt-125m", ModelSource("facebook/opt-125m")),
        ("mine=/models/a", ModelSource("/models/a", "mine")),
        ("mine=a=b", ModelSource("a=b", "mine")),
    ],
)
def test_a_name_stands_before_the_first_equals_sign(text: str, expected: ModelSource) -> None:
    assert ModelSource.parse(text) == expected


@pytest.mark.parametrize("text", ["", " ", "=a", "name="])
def test_a_model_without_a_name_or_a_source_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="does not name a model"):
        ModelSource.parse(text)


def test_a_text_that_views_leave_aside_is_named_with_the_command_that_shows_it(
    tiny_models: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("Rain falls on the old town. " * 40, "utf-8")
    warehouse = Warehouse(tmp_path / "w.duckdb", views=install)

    def measured(name: str, tokens: int) -> list[str]:
        text = TextRequest(corpora=(f"{name}={tmp_path / 'a.txt'}",), tokens_per_domain=tokens, sequence_length=16)
        outcomes = ingest_all(
            warehouse, IngestRequest(jobs=("activity",), text=text), [f"tiny={tiny_models['opt']}"], progress=Silent()
        )
        return [line for line in report_lines(outcomes, warehouse.path) if "shows this text" in line]

    assert measured("long", 135) == []
    (line,) = measured("short", 30)
    assert "show it on long, which has more tokens or is pinned" in line
    assert "`neurothek pin tiny --corpus short`" in line
    (line,) = measured("long", 75)
    assert "show it on long with 135 tokens" in line
    assert "`neurothek pin tiny --corpus long@75`" in line
    assert measured("longest", 270) == []


def test_a_name_for_a_text_that_has_one_is_told(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    corpora, model = ingests.write_corpus(tmp_path), tiny_models["opt"]
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")

    def asked(name: str, *jobs: str) -> IngestRequest:
        return ingests.request(corpora, jobs=jobs, text={"name": name})

    told = "the same ids are already in the warehouse as first: --corpus-name second has no effect, it names new texts"
    assert told not in ingests.measure(warehouse, model, asked("first", "activity")).remarks
    for jobs in (("activity",), ("activity", "ngrams")):
        plan = plan_model(warehouse, asked("second", *jobs), ModelSource.parse(str(model)))
        assert f"{model.name}: {told}" in plan.lines()
        report = ingests.measure(warehouse, model, asked("second", *jobs))
        assert (report.corpus, told in report.remarks, told in report.standing) == ("first", True, True)
    assert told not in ingests.measure(warehouse, model, asked("first", "activity")).remarks
    assert ingests.table(warehouse, "corpora")["name"].to_list() == ["first"]
