"""Compares two models of the warehouse and reports what was found."""

import time
from collections.abc import Sequence
from dataclasses import replace

from neurothek.catalog.malloc import give_back_at_once
from neurothek.catalog.progress import Progress
from neurothek.catalog.publishing.staging import discard_runs
from neurothek.catalog.store.warehouse import Warehouse, first_row
from neurothek.ingest.jobs.counterparts.job import CounterpartsJob, PairContext
from neurothek.ingest.jobs.counterparts.listed import ListedModel
from neurothek.ingest.pipeline.measure import measure_shards
from neurothek.ingest.pipeline.outcomes import PairReport
from neurothek.ingest.planning.pair_plan import PairPlan, PairWork, is_pair_missing, opened, pair_identity, pair_plan
from neurothek.ingest.planning.work import staging_folder
from neurothek.ingest.request import IngestRequest


def compare_pair(
    warehouse: Warehouse, request: IngestRequest, models: Sequence[ListedModel], *, progress: Progress
) -> PairReport:
    """Find the counterparts between two models and publish them; what is finished is not measured again."""
    started, pair = time.monotonic(), PairContext.of(warehouse, models)
    job = CounterpartsJob.from_options(pair, request)
    sides = (job, job.turned)
    identities = [pair_identity(side) for side in sides]
    warehouse.require_writable()
    n_rows = None
    if any(is_pair_missing(side, force=request.force) for side in sides):
        warehouse.require_whole(progress=progress)
        if pair_plan(request, job).is_tight:
            give_back_at_once()
        work = PairWork(warehouse, request, progress, job.within(opened(pair, request)))
        n_rows = sum(measure_shards(work, [(work.job, identities[0])]).values())
    # A process that was killed between publishing and tidying left shards that nobody needs.
    discard_runs(staging_folder(warehouse, request), [identity.key for identity in identities])
    warehouse.settle()
    report = _report(pair, n_rows, time.monotonic() - started)
    return replace(report, finished={identity.model: identity.key for identity in identities})


def plan_pair(warehouse: Warehouse, request: IngestRequest, models: Sequence[ListedModel]) -> PairPlan | None:
    """What comparing two models would take; None if they are compared already."""
    job = CounterpartsJob.from_options(PairContext.of(warehouse, models), request)
    if not any(is_pair_missing(side, force=request.force) for side in (job, job.turned)):
        return None
    return pair_plan(request, job).timed(job)


def _report(pair: PairContext, n_rows: int | None, seconds: float) -> PairReport:
    query = """
        select count_if(is_mutual), count_if(rank = 1 and overlap > null_99) from store.counterparts
        where set_id = ? and other_set_id = ?
    """
    both_ways = """
        select count(*) from store.counterparts as forth
        inner join store.counterparts as back
            on back.set_id = forth.other_set_id and back.other_set_id = forth.set_id
            and back.layer = forth.other_layer and back.neuron = forth.other_neuron
        where forth.set_id = ? and forth.other_set_id = ? and forth.is_mutual and back.is_mutual
            and forth.overlap > forth.null_99 and back.overlap > back.null_99
    """
    ids = [pair.one.model_id, pair.other.model_id]
    with pair.warehouse.current_reader() as connection:
        forth, back = first_row(connection, query, ids), first_row(connection, query, ids[::-1])
        beyond = first_row(connection, both_ways, ids)
    assert forth is not None
    assert back is not None
    assert beyond is not None
    return PairReport(
        models=(pair.one.name, pair.other.name),
        n_rows=n_rows,
        n_mutual=int(forth[0]),
        n_mutual_beyond=int(beyond[0]),
        n_beyond=(int(forth[1]), int(back[1])),
        n_neurons=(pair.one.n_neurons, pair.other.n_neurons),
        seconds=seconds,
    )
