"""Jobs on models, and the verification of their results."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from neurothek.catalog.advice import command_line
from neurothek.catalog.arguments import bad_argument, validated
from neurothek.queries.papers.paper_names import PaperName

if TYPE_CHECKING:
    from neurothek.api.warehouse import Neurothek
    from neurothek.catalog.upkeep.verification import Agreement
    from neurothek.ingest.options import IngestOptions
    from neurothek.ingest.pipeline.ingest_all import Outcome
    from neurothek.ingest.pipeline.verify import Skipped
    from neurothek.ingest.planning.model_plan import ModelPlan
    from neurothek.ingest.request import IngestRequest
    from neurothek.queries.papers.prerequisites import MissingJobs


@validated
def ingest(
    base: "Neurothek", *models: str, progress: bool = False, **options: Unpack["IngestOptions"]
) -> "list[Outcome]":
    """Measure models and publish the results, as the command `ingest` does.

    The keywords are its options: `job`, `corpus`, `tokens`, `device`, `memory` and so on, and `force`. For an
    option that can be repeated on the command line, give a list.

    Args:
        models: folders, hub ids, shipped models or models in the warehouse, each optionally with `NAME=` before it.
        progress: show bars on stderr.
        options: what to measure and how.

    Returns:
        One outcome per model, with its `report`, or a `problem` as a sentence; a failure does not stop the others.

    Raises:
        NeurothekError: the request is invalid for any model, or the warehouse cannot be written.

    Example:
        >>> (outcome,) = warehouse.ingest("mini-opt-0.7m", job="projections")
        >>> outcome.report.up_to_date
        ('projections',)
    """
    from neurothek.catalog.terminal.console import progress_bars
    from neurothek.ingest.options import ingest_request

    if not models:
        raise bad_argument("models", models, "name at least one model, such as mini-opt-2m")
    request = with_neurons(base, ingest_request(**options), models)
    from neurothek.ingest.pipeline.ingest_all import ingest_all

    with progress_bars(visible=progress) as bars:
        return list(ingest_all(base.warehouse, request, models, progress=bars))


@validated
def plan(
    base: "Neurothek", *models: str, progress: bool = False, **options: Unpack["IngestOptions"]
) -> "list[ModelPlan]":
    """The cost of measuring models, without measuring them: memory, disk and hours, in `lines()`.

    Args:
        models: as for `ingest`.
        progress: show bars on stderr.
        options: what to measure and how, as for `ingest`.

    Raises:
        NeurothekError: a model could not be measured in this way.

    Example:
        >>> (plan,) = warehouse.plan("mini-opt-0.7m", job="projections")
        >>> plan.lines()
        ['mini-opt-0.7m: everything is up to date']
    """
    from neurothek.catalog.terminal.console import progress_bars
    from neurothek.ingest.options import ingest_request
    from neurothek.ingest.planning.first_look import look_for
    from neurothek.ingest.planning.model_plan import plan_model
    from neurothek.ingest.request import ModelSource

    if not models:
        raise bad_argument("models", models, "name at least one model, such as mini-opt-2m")
    request = with_neurons(base, ingest_request(**options), models)
    with base.warehouse.lingering(), progress_bars(visible=progress) as bars:
        for one in models:
            look_for(base.warehouse, request, one)
        return [plan_model(base.warehouse, request, ModelSource.parse(one), progress=bars) for one in models]


def with_neurons(base: "Neurothek", request: "IngestRequest", models: Sequence[str]) -> "IngestRequest":
    """The request with the neurons that its condition on the shown corpus keeps, where it has one.

    Raises:
        Invalid: the condition is wrong, or about a model that has no facts yet, or no job that is asked for takes one.
        NotFound: it keeps no neuron.
    """
    if request.where is None:
        return request
    if "output_scores" not in request.jobs:
        raise bad_argument("where", request.where, "add --job output_scores, which turns these neurons up")
    if len(models) != 1:
        raise bad_argument("where", request.where, "name one model", why=f"{len(models)} are named")
    from neurothek.queries.papers.prerequisites import known_as
    from neurothek.queries.search.chosen import neurons_where

    measured = None
    if base.warehouse.exists():
        with base.reader() as connection:
            measured = known_as(connection, models)[models[0]]
            if measured is not None:
                return replace(request, scored_neurons=neurons_where(connection, measured, request.where))
    raise bad_argument(
        "where",
        request.where,
        f"measure it first with `{command_line('ingest', models[0])}`",
        why=f"it chooses among neurons that were measured, and there are none of {models[0]}",
    )


@validated
def lacking(base: "Neurothek", paper: PaperName, *models: str, corpus: str | None = None) -> "list[MissingJobs]":
    """Jobs to run before a paper can be reproduced.

    Args:
        paper: "voita", "geva" or "din".
        models: names of models in the warehouse, or new models as for `ingest`; none: all in the warehouse.
        corpus: name of the corpus to use; None: each model's shown one.

    Returns:
        Jobs by model, and the keywords of `ingest` that measure them: `ingest(one.model, **one.options)`.

    Raises:
        NotFound: there is no such corpus.

    Example:
        >>> {job for one in warehouse.lacking("din") for job in one.jobs} <= {"shortcuts", "exits"}
        True
    """
    from neurothek.queries.papers.prerequisites import MissingJobs, known_as, missing_jobs, of_new
    from neurothek.queries.papers.registry import PAPERS

    of = PAPERS[paper]
    if not base.warehouse.exists():
        return [MissingJobs(one, of.jobs, {"jobs": of.jobs, "named": ()}) for one in models]
    with base.reader() as connection:
        names = known_as(connection, models)
        existing = [name for name in names.values() if name is not None]
        lacks = missing_jobs(connection, of, existing, corpus=corpus) if existing or not models else []
        new = [one for one, name in names.items() if name is None]
        return [*lacks, *(of_new(connection, of, one, existing, corpus) for one in new)]


@validated
def verify(
    base: "Neurothek", model: str, *, sample: int = 1, weights: str | Path | None = None, progress: bool = False
) -> "list[Agreement | Skipped]":
    """Tokenize a model's texts again, measure some of its layers again, and compare with the warehouse.

    Args:
        model: name of the model.
        sample: number of layers to measure again, for each job.
        weights: hub id or folder of its weights, if they have moved.
        progress: show bars on stderr.

    Raises:
        NotFound: there is no such model.
        Unavailable: its weights are missing.
        Conflict: the weights differ from those that were measured.

    Example:
        >>> agreements = warehouse.verify("mini-opt-0.7m")
        >>> {agreement.n_different for agreement in agreements}
        {0}
    """
    from neurothek.catalog.terminal.console import progress_bars

    if sample < 1:
        raise bad_argument("sample", sample, "give 1 or more")
    from neurothek.catalog.upkeep.verification import Agreement, agreement, combined
    from neurothek.ingest.planning.first_look import measured_as, require_weights

    require_weights(measured_as(base.warehouse, model), weights=weights)
    from neurothek.ingest.pipeline.verify import Skipped, remeasure

    folder = None if weights is None else str(weights)
    agreements, skipped = [], []
    with progress_bars(visible=progress) as bars:
        for part in remeasure(base.warehouse, model, weights=folder, n_shards=sample, progress=bars):
            if isinstance(part, Skipped):
                skipped.append(part)
                continue
            if isinstance(part, Agreement):
                agreements.append(part)
                continue
            with base.reader() as connection:
                agreements.append(agreement(connection, part))
    return [*combined(agreements), *skipped]
