"""Compares two models of the warehouse and reports what was found."""

import time
from collections.abc import Sequence

from neurothek.catalog.malloc import give_back_at_once
from neurothek.catalog.progress import Progress
from neurothek.catalog.publishing.staging import discard_runs
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.jobs import registry
from neurothek.ingest.jobs.pair_job import PairContext, PairJob
from neurothek.ingest.models.listed import ListedModel
from neurothek.ingest.models.measured import require_causal
from neurothek.ingest.pipeline.measure import measure_shards
from neurothek.ingest.pipeline.outcomes import PairReport
from neurothek.ingest.planning.pair_plan import PairPlan, PairWork, is_pair_missing, opened, pair_identity, pair_plan
from neurothek.ingest.planning.work import staging_folder
from neurothek.ingest.request import IngestRequest


def compare_pair(
    warehouse: Warehouse, request: IngestRequest, models: Sequence[ListedModel], *, progress: Progress
) -> PairReport:
    """Run the one job of a request on two models and publish its rows; what is finished is not measured again."""
    started, job = time.monotonic(), _job_of(warehouse, request, models)
    sides = (job, job.turned)
    identities = [pair_identity(side) for side in sides]
    warehouse.require_writable()
    n_rows = None
    if any(is_pair_missing(side, force=request.force) for side in sides):
        warehouse.require_whole(progress=progress)
        if pair_plan(request, job).is_tight:
            give_back_at_once()
        work = PairWork(warehouse, request, progress, job.within(opened(job.context, request)))
        n_rows = sum(measure_shards(work, [(work.job, identities[0])]).values())
    # A process that was killed between publishing and tidying left shards that nobody needs.
    discard_runs(staging_folder(warehouse, request), [identity.key for identity in identities])
    warehouse.settle()
    return PairReport(
        models=(job.context.one.name, job.context.other.name),
        job=job.name,
        n_rows=n_rows,
        findings=job.findings(),
        seconds=time.monotonic() - started,
        finished={identity.model: identity.key for identity in identities},
    )


def plan_pair(warehouse: Warehouse, request: IngestRequest, models: Sequence[ListedModel]) -> PairPlan | None:
    """What comparing two models would take; None if they are compared already."""
    job = _job_of(warehouse, request, models)
    if not any(is_pair_missing(side, force=request.force) for side in (job, job.turned)):
        return None
    return pair_plan(request, job).timed(job)


def _job_of(warehouse: Warehouse, request: IngestRequest, models: Sequence[ListedModel]) -> PairJob:
    """The one job of a request."""
    (name,) = request.jobs
    if not registry.JOBS[name].fits_masked:
        possible = [one for one in registry.PAIR_NAMES if registry.JOBS[one].fits_masked]
        for model in models:
            require_causal(warehouse, model.name, name, possible=possible)
    job = registry.job_class(name).from_options(PairContext.of(warehouse, models), request)
    assert isinstance(job, PairJob)
    return job
