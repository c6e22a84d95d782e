"""Several models one after another, and the end report that a person reads."""

import os
import shlex
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.progress import Progress
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.models.listed import ListedModel
from neurothek.ingest.pipeline import up_to_date
from neurothek.ingest.pipeline.engines.choice import engine_for, require_engine
from neurothek.ingest.pipeline.outcomes import ModelReport, PairReport
from neurothek.ingest.planning.first_look import check_request, check_text, is_about_pairs, look_for, refuse_one_name
from neurothek.ingest.planning.pairs import asked_models, pairs_of
from neurothek.ingest.request import IngestRequest, ModelSource

if TYPE_CHECKING:
    from neurothek.ingest.pipeline.engines.engine import Engine

Report = ModelReport | PairReport

_OF_PAIRS = {
    "counterparts": "select address, other_address, overlap from counterparts where is_mutual and is_beyond_null"
    " order by overlap desc",
    "universality": "select address, other_address, correlation, excess from universality order by excess desc",
}
"""What to ask after a job about pairs."""

LEAST_SEQUENCES = 100
"""Full-length sequences below which the views label no neuron positional."""


@dataclass(frozen=True)
class Outcome:
    """Result of measuring one model, or one pair of models.

    Attributes:
        asked: the model as it was asked for.
        report: what was measured; None if it failed.
        problem: the error's sentence; None if it went well.
    """

    asked: str
    report: Report | None
    problem: str | None


def ingest_all(
    warehouse: Warehouse,
    request: IngestRequest,
    models: Sequence[str],
    *,
    progress: Progress,
    announce: Callable[[str], None] = lambda text: None,
) -> list[Outcome]:
    """Measure every model, or compare every two of them; one that fails does not stop the others.

    `announce` takes what a person should know before a model is measured.
    """
    check_request(request)
    require_engine(request)
    with ExitStack() as stack:
        stack.enter_context(warehouse.lingering())
        if is_about_pairs(request):
            pairs = pairs_of(asked_models(warehouse, request, models))
            asked = [(pair, one_job) for pair in pairs for one_job in _one_by_one(request)]
            compared = [partial(_compared, warehouse, one_job, pair, progress) for pair, one_job in asked]
            return [
                _outcome(_named(pair), compare, progress) for (pair, _), compare in zip(asked, compared, strict=True)
            ]
        refuse_one_name(request, models)
        warehouse.require_writable()
        for remark in check_text(warehouse, request):
            announce(remark)
        problems = _problems(warehouse, request, models, announce)
        # Opened once, by the first model that is to be measured.
        engine = cache(lambda: stack.enter_context(engine_for(request)))
        measured = partial(_measured, warehouse, request, engine=engine, progress=progress, announce=announce)
        return [
            Outcome(model, None, problems[model])
            if model in problems
            else _outcome(model, partial(measured, model), progress)
            for model in models
        ]


def plan_all(
    warehouse: Warehouse,
    request: IngestRequest,
    models: Sequence[str],
    *,
    progress: Progress,
    show: Callable[[str], None],
    complain: Callable[[str], None],
) -> int:
    """Show what measuring each model would take; returns the exit code, 2 if a model could not be measured."""
    check_request(request)
    require_engine(request)
    with warehouse.lingering():
        return _plan_each(warehouse, request, models, progress=progress, show=show, complain=complain)


def _plan_each(
    warehouse: Warehouse,
    request: IngestRequest,
    models: Sequence[str],
    *,
    progress: Progress,
    show: Callable[[str], None],
    complain: Callable[[str], None],
) -> int:
    plans: list[Callable[[], list[str]]]
    if is_about_pairs(request):
        pairs = pairs_of(asked_models(warehouse, request, models))
        plans = [partial(_pair_lines, warehouse, one_job, pair) for pair in pairs for one_job in _one_by_one(request)]
    else:
        refuse_one_name(request, models)
        for remark in check_text(warehouse, request):
            show(remark)
        plans = [partial(_model_lines, warehouse, request, model, progress) for model in models]
    status = 0
    for planned in plans:
        try:
            lines = planned()
        except NeurothekError as error:
            complain(str(error))
            status = 2
            continue
        finally:
            progress.finish()
        for line in lines:
            show(line)
    return status


def _problems(
    warehouse: Warehouse, request: IngestRequest, models: Sequence[str], announce: Callable[[str], None]
) -> dict[str, str]:
    """Models that cannot be measured, and why, known before anything large is loaded; told now if others go on."""
    problems: dict[str, str] = {}
    for model in models:
        try:
            look_for(warehouse, request, model)
        except NeurothekError as error:
            problems[model] = str(error)
    if len(problems) < len(models):
        for model, problem in problems.items():
            announce(f"{model} is left out: {problem}")
    return problems


def _model_lines(warehouse: Warehouse, request: IngestRequest, model: str, progress: Progress) -> list[str]:
    look_for(warehouse, request, model)
    source = ModelSource.parse(model)
    done = up_to_date.recall(warehouse, up_to_date.model_inputs(warehouse, request, source))
    if done is not None:
        return [f"{done.model}: everything is up to date"]
    from neurothek.ingest.planning.model_plan import plan_model

    if request.engine == "local":
        return plan_model(warehouse, request, source, progress=progress).lines()
    from neurothek.ingest.pipeline.cluster.workers_plan import by_workers

    return plan_model(warehouse, request, source, progress=progress, by_workers=by_workers).lines()


def _pair_lines(warehouse: Warehouse, request: IngestRequest, pair: Sequence[ListedModel]) -> list[str]:
    done = up_to_date.recall_pair(warehouse, up_to_date.pair_inputs(warehouse, request, [model.name for model in pair]))
    if done is not None:
        return [f"{_named(pair)}: everything is up to date"]
    from neurothek.ingest.pipeline.compare_pair import plan_pair

    plan = plan_pair(warehouse, request, pair)
    return [f"{_named(pair)}: everything is up to date"] if plan is None else plan.lines()


def _one_by_one(request: IngestRequest) -> list[IngestRequest]:
    """The request once for each of its jobs."""
    return [replace(request, jobs=(job,)) for job in dict.fromkeys(request.jobs)]


def _named(pair: Sequence[ListedModel]) -> str:
    return " and ".join(model.name for model in pair)


def report_lines(outcomes: Sequence[Outcome], path: Path) -> list[str]:
    """The end report: what was measured, how many rows, in how many seconds, where it lies, what to try next."""
    done = [outcome.report for outcome in outcomes if outcome.report is not None]
    lines = [line for report in done for line in _lines(report)]
    if done:
        lines += [f"the warehouse is {path}", *_next_steps(done, path)]
    return lines


def print_report(
    outcomes: Sequence[Outcome],
    path: Path,
    *,
    say: Callable[[str], None],
    complain: Callable[[str], None],
    detail: Callable[[str], None] = lambda text: None,
) -> int:
    """Say the report and the problems, and in detail how texts were read; the exit code is 2 if a model failed."""
    for outcome in outcomes:
        if isinstance(outcome.report, ModelReport):
            for sentence in outcome.report.detail_lines():
                detail(f"{outcome.report.model}: {sentence}")
    for line in report_lines(outcomes, path):
        say(line)
    problems = [outcome.problem for outcome in outcomes if outcome.problem is not None]
    for problem in problems:
        complain(problem)
    return 2 if problems else 0


def _measured(
    warehouse: Warehouse,
    request: IngestRequest,
    model: str,
    *,
    engine: "Callable[[], Engine]",
    progress: Progress,
    announce: Callable[[str], None],
) -> ModelReport:
    source = ModelSource.parse(model)
    inputs = up_to_date.model_inputs(warehouse, request, source)
    report = up_to_date.recall(warehouse, inputs)
    if report is not None:
        warehouse.settle()
        return report
    from neurothek.ingest.pipeline.ingest_model import ingest_model

    report = ingest_model(warehouse, request, source, progress=progress, announce=announce, engine=engine())
    if report.finished and inputs == up_to_date.model_inputs(warehouse, request, source):
        up_to_date.remember(warehouse, inputs, report)
    return report


def _compared(
    warehouse: Warehouse, request: IngestRequest, pair: Sequence[ListedModel], progress: Progress
) -> PairReport:
    inputs = up_to_date.pair_inputs(warehouse, request, [model.name for model in pair])
    report = up_to_date.recall_pair(warehouse, inputs)
    if report is not None:
        warehouse.settle()
        return report
    from neurothek.ingest.pipeline.compare_pair import compare_pair

    report = compare_pair(warehouse, request, pair, progress=progress)
    up_to_date.remember(warehouse, inputs, report)
    return report


def _outcome(model: str, measure: Callable[[], Report], progress: Progress) -> Outcome:
    try:
        return Outcome(model, measure(), None)
    except NeurothekError as error:
        return Outcome(model, None, str(error))
    finally:
        progress.finish()


def _lines(report: Report) -> list[str]:
    return _pair_report(report) if isinstance(report, PairReport) else [_line(report), *_remarks(report)]


def _pair_report(report: PairReport) -> list[str]:
    named = " and ".join(report.models)
    if report.n_rows is None:
        return [f"{named}: everything is up to date ({report.job})"]
    return [
        f"{named}: measured {report.job} ({report.n_rows:,} rows) in {report.seconds:.1f} s",
        *(f"{named}: {sentence}" for sentence in report.findings),
    ]


def _line(report: ModelReport) -> str:
    if not report.jobs:
        return f"{report.model}: everything is up to date ({', '.join(report.up_to_date)})"
    rows = f"{sum(report.rows.values()):,} rows"
    text = f", {report.n_tokens:,} tokens of {report.corpus}" if report.corpus else ""
    earlier = f"; already up to date: {', '.join(report.up_to_date)}" if report.up_to_date else ""
    return f"{report.model}: measured {', '.join(report.jobs)} ({rows}{text}) in {report.seconds:.1f} s{earlier}"


def _remarks(report: ModelReport) -> list[str]:
    """What the text was too short for, and what else jobs have to say."""
    remarks = [f"{report.model}: {remark}" for remark in report.remarks]
    full = report.n_full_length
    if "positions" not in report.jobs or full is None or full >= LEAST_SEQUENCES:
        return remarks
    return [
        *remarks,
        f"{report.model}: {report.corpus} has {full} full-length sequences, but at least {LEAST_SEQUENCES} are needed"
        " to label positional neurons; use more --tokens or a shorter --sequence-length",
    ]


def _next_steps(done: Sequence[Report], path: Path) -> list[str]:
    models = [report for report in done if isinstance(report, ModelReport)]
    report = models[-1] if models else done[-1]
    here = "" if str(path) == (os.environ.get("NEUROTHEK_WAREHOUSE") or "neurothek.duckdb") else _option(path)
    commands = _examples(report)
    return ["try next:", *(f"  {command}{here}" for command in commands)]


def _examples(report: Report) -> tuple[str, ...]:
    """Commands that have something to show after what was measured."""
    if isinstance(report, PairReport):
        return (command_line("neuron", f"{report.model}/L0N0"), command_line("sql", _OF_PAIRS[report.job]))
    finished = {*report.jobs, *report.up_to_date}
    commands = {
        command_line("search", "school", "--limit", "10"): "projections",
        command_line("search", "school", "--reads"): "keys",
        command_line("neuron", f"{report.model}/L0N0"): None,
        command_line("compare"): "activity",
        command_line("sql", "select * from scaling"): "activity",
    }
    return tuple(command for command, job in commands.items() if job is None or job in finished)


def _option(path: Path) -> str:
    return f" --warehouse {shlex.quote(str(path))}"
