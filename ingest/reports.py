"""Several models one after another, and the end report that a person reads."""

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from catalog.errors import NeurothekError
from catalog.progress import Progress
from catalog.warehouse import Warehouse
from ingest.checkpoints import model_name
from ingest.errors import ModelNamedTwice
from ingest.pipeline import ModelReport, check_request, ingest_model
from ingest.planning import plan_model
from ingest.request import IngestRequest, ModelSource

LEAST_SEQUENCES = 100
"""Full-length sequences below which the views label no neuron positional."""


@dataclass(frozen=True)
class Outcome:
    """How it went with one model.

    Attributes:
        asked: the model as it was asked for.
        report: what was measured; None if it failed.
        problem: the error's sentence; None if it went well.
    """

    asked: str
    report: ModelReport | None
    problem: str | None


def ingest_all(
    warehouse: Warehouse,
    request: IngestRequest,
    models: Sequence[str],
    *,
    progress: Progress,
    announce: Callable[[str], None] = lambda text: None,
) -> list[Outcome]:
    """Measure every model; one that fails does not stop the others.

    `announce` takes what a person should know before a model is measured.

    Raises:
        JobUnknown, ThresholdInvalid: the request makes no sense, whatever the model.
        ModelNamedTwice: two of the models would get one name.
        WarehouseInvalid, WarehouseBusy, WarehouseUnwritable: the warehouse cannot be published to.
    """
    check_request(request)
    _refuse_one_name(request, models)
    warehouse.require_writable()
    return [_outcome(warehouse, request, asked, progress, announce) for asked in models]


def plan_all(
    warehouse: Warehouse,
    request: IngestRequest,
    models: Sequence[str],
    *,
    progress: Progress,
    show: Callable[[str], None],
    complain: Callable[[str], None],
) -> int:
    """Show what measuring each model would take; returns the exit code, 2 if a model could not be measured.

    Raises:
        JobUnknown, ThresholdInvalid, ModelNamedTwice: as `ingest_all`.
    """
    check_request(request)
    _refuse_one_name(request, models)
    status = 0
    for asked in models:
        try:
            found = plan_model(warehouse, request, ModelSource.parse(asked), progress=progress)
        except NeurothekError as error:
            complain(f"Error: {error}")
            status = 2
            continue
        finally:
            progress.finish()
        for line in found.lines():
            show(line)
    return status


def report_lines(outcomes: Sequence[Outcome], path: Path) -> list[str]:
    """The end report: what was measured, how many rows, in how many seconds, where it lies, what to try next."""
    done = [outcome.report for outcome in outcomes if outcome.report is not None]
    lines = [line for report in done for line in (_line(report), *_remarks(report))]
    if done:
        lines += [f"the warehouse is {path}", *_next_steps([report.model for report in done], path)]
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
        if outcome.report is not None and outcome.report.sweep is not None:
            sweep = outcome.report.sweep
            detail(f"{outcome.report.model}: {sweep.order} outside, since {sweep.why}")
            detail(f"{outcome.report.model}: planned with up to {sweep.memory_bytes / 1e9:.2f} GB of memory")
    for line in report_lines(outcomes, path):
        say(line)
    problems = [outcome.problem for outcome in outcomes if outcome.problem is not None]
    for problem in problems:
        complain(f"Error: {problem}")
    return 2 if problems else 0


def _refuse_one_name(request: IngestRequest, models: Sequence[str]) -> None:
    sources: dict[str, str] = {}
    for model in map(ModelSource.parse, models):
        name = model_name(model.source, name=model.name, revision=request.revision)
        if name in sources:
            raise ModelNamedTwice(name, [sources[name], model.source])
        sources[name] = model.source


def _outcome(
    warehouse: Warehouse, request: IngestRequest, asked: str, progress: Progress, announce: Callable[[str], None]
) -> Outcome:
    try:
        report = ingest_model(warehouse, request, ModelSource.parse(asked), progress=progress, announce=announce)
        return Outcome(asked, report, None)
    except NeurothekError as error:
        return Outcome(asked, None, str(error))
    finally:
        progress.finish()


def _line(report: ModelReport) -> str:
    if not report.jobs:
        return f"{report.model}: everything is up to date ({', '.join(report.up_to_date)})"
    rows = f"{sum(report.rows.values()):,} rows"
    text = f", {report.n_tokens:,} tokens of {report.corpus}" if report.corpus else ""
    earlier = f"; up to date before: {', '.join(report.up_to_date)}" if report.up_to_date else ""
    return f"{report.model}: measured {', '.join(report.jobs)} ({rows}{text}) in {report.seconds:.1f} s{earlier}"


def _remarks(report: ModelReport) -> list[str]:
    """What the text was too short for, and what else jobs have to say."""
    remarks = [f"{report.model}: {remark}" for remark in report.remarks]
    full = report.n_full_length
    if "positions" not in report.jobs or full is None or full >= LEAST_SEQUENCES:
        return remarks
    return [
        *remarks,
        f"{report.model}: {report.corpus} has {full} full-length sequences, and positional neurons cannot be labelled"
        f" on fewer than {LEAST_SEQUENCES}; for labels give more --tokens or a shorter --sequence-length",
    ]


def _next_steps(models: Sequence[str], path: Path) -> list[str]:
    here = "" if str(path) == (os.environ.get("NEUROTHEK_WAREHOUSE") or "neurothek.duckdb") else _option(path)
    commands = (
        "search school --limit 10",
        f"neuron {models[-1]}/L0N0",
        "compare",
        'sql "select * from scaling"',
    )
    return ["try next:", *(f"  neurothek {command}{here}" for command in commands)]


def _option(path: Path) -> str:
    return f" --warehouse {shlex.quote(str(path))}"
