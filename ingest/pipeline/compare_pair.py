"""Two models of the warehouse are compared layer by layer, staged, and published together from either side."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from jaxtyping import Int

from catalog.progress import Progress
from catalog.publish import PairedRun, publish_pair
from catalog.staging import StagedRun, discard_runs
from catalog.tables import COUNTERPARTS
from catalog.warehouse import Warehouse, first_row
from ingest.jobs.counterparts.job import CounterpartsJob
from ingest.jobs.counterparts.overlaps import Best
from ingest.jobs.counterparts.sides import PARTS, Compared, Side
from ingest.models.measured import find_measured
from ingest.models.tokenizer import Tokenizer
from ingest.models.transformer import open_transformer
from ingest.models.weights import Checkpoint
from ingest.pipeline.measure import finished_run, staged
from ingest.pipeline.outcomes import PairReport
from ingest.planning.agenda import device_of
from ingest.planning.malloc import give_back_at_once
from ingest.planning.pair_plan import PairPlan, pair_plan
from ingest.planning.pairs import ListedModel, Pair
from ingest.planning.work import staging_folder
from ingest.request import IngestRequest

_LISTS = "lists"


def compare_pair(
    warehouse: Warehouse, request: IngestRequest, models: Sequence[ListedModel], *, progress: Progress
) -> PairReport:
    """Find the counterparts between two models and publish them; what is finished is not measured again.

    Raises:
        ListsMissing, PairTokenizers, ParametersDiffer: they cannot be compared so.
        JobMemoryTooSmall, DiskTooSmall: the budgets cannot be kept.
        WeightsNotAtHand, OtherWeights: what random vectors are drawn from is not there.
        NeurothekError: one of its many kinds; what was staged by then is kept for the next attempt.
    """
    started, job, pair = time.monotonic(), CounterpartsJob(), Pair.of(models)
    warehouse.require_writable()
    staging = staging_folder(warehouse, request)
    n_rows = None
    if pair.is_missing(warehouse, job, force=request.force):
        warehouse.require_whole(progress=progress)
        planned = pair_plan(warehouse, request, pair, job)
        if planned.is_tight:
            give_back_at_once()
        n_rows = _measure(_Comparison.of(warehouse, request, job, pair, progress=progress))
    # A process that was killed between publishing and tidying left shards that nobody needs.
    discard_runs(staging, [identity.key for identity in pair.identities(job)])
    warehouse.settle()
    keys = [identity.key for identity in pair.identities(job)]
    report = _report(warehouse, pair, n_rows, time.monotonic() - started)
    return replace(report, finished=dict(zip(report.models, keys, strict=True)))


def plan_pair(warehouse: Warehouse, request: IngestRequest, models: Sequence[ListedModel]) -> PairPlan | None:
    """What comparing two models would take; None if they are compared already.

    Raises:
        NeurothekError: what comparing them would raise before it begins.
    """
    pair, job = Pair.of(models), CounterpartsJob()
    if not pair.is_missing(warehouse, job, force=request.force):
        return None
    return pair_plan(warehouse, request, pair, job).timed(warehouse, pair)


@dataclass(frozen=True)
class _Comparison:
    """A pair that is being compared, with the files of both models, which were found before anything is written."""

    warehouse: Warehouse
    request: IngestRequest
    job: CounterpartsJob
    pair: Pair
    files: Sequence[tuple[Checkpoint, Tokenizer]]
    progress: Progress

    @classmethod
    def of(
        cls, warehouse: Warehouse, request: IngestRequest, job: CounterpartsJob, pair: Pair, *, progress: Progress
    ) -> "_Comparison":
        files = [
            find_measured(
                model.measured,
                weights=model.weights,
                allow_pickle=request.allow_pickle,
                option=f"{model.name}=PATH",
            )
            for model in (pair.one, pair.other)
        ]
        return cls(warehouse, request, job, pair, files, progress)

    @property
    def staging(self) -> Path:
        return staging_folder(self.warehouse, self.request)


def _measure(work: _Comparison) -> int:
    pair = work.pair
    names = ((pair.one, pair.other), (pair.other, pair.one))
    identities = pair.identities(work.job)
    with _staged_runs(work) as (forth, back):
        one, other = _staged_sides(work, forth)
        work.progress.start(f"{pair.one.name} and {pair.other.name}: {work.job.name}", one.n_layers)
        for layer in range(one.n_layers):
            if not forth.has(_shard(layer), PARTS):
                forth.write(_shard(layer), work.job.compare(one, other, layer=layer).frames())
            work.progress.advance()
        files = _fold(work.job, one, other, forth, back)
        finished = [
            PairedRun(
                model.name, other.name, str(model.projections), finished_run(run, identity, {COUNTERPARTS.name: own})
            )
            for (model, other), run, identity, own in zip(names, (forth, back), identities, files, strict=True)
        ]
        work.progress.finish()
        written = publish_pair(work.warehouse, *finished, memory_bytes=work.request.memory_bytes)
        for run in (forth, back):
            run.discard()
    return sum(written.values())


@contextmanager
def _staged_runs(work: _Comparison) -> Iterator[tuple[StagedRun, StagedRun]]:
    """The runs from either side: one and the same, in one folder, where both models have the same weights."""
    forth, back = work.pair.identities(work.job)
    one, other, arithmetic = work.pair.one.name, work.pair.other.name, device_of(work.request)
    with staged(work.staging, forth, other=other, arithmetic=arithmetic) as run:
        if back.key == forth.key:
            yield run, run
            return
        with staged(work.staging, back, other=one, arithmetic=arithmetic) as run_back:
            yield run, run_back


def _staged_sides(work: _Comparison, run: StagedRun) -> tuple[Side, Side]:
    sides = []
    for name, model, files in zip(("one", "other"), (work.pair.one, work.pair.other), work.files, strict=True):
        neurons = model.lists(work.warehouse)
        k = neurons.shape[3]
        if not run.has(name, [_LISTS]):
            drawn = _random_lists(work, *files, k=k)
            run.write(name, {_LISTS: pl.DataFrame({"token_id": drawn.ravel()})})
        random = run.read(name, _LISTS)["token_id"].to_numpy().reshape(model.n_layers, work.job.n_random, 2, k)
        sides.append(Side(neurons, random))
    return sides[0], sides[1]


def _random_lists(
    work: _Comparison, checkpoint: Checkpoint, tokenizer: Tokenizer, *, k: int
) -> Int[np.ndarray, "n_layers n_random 2 k"]:
    transformer = open_transformer(checkpoint, device=device_of(work.request), resident=False)
    return work.job.random_lists(transformer, tokenizer, range(transformer.shape.n_layers), k=k)


def _fold(
    job: CounterpartsJob, one: Side, other: Side, forth: StagedRun, back: StagedRun
) -> tuple[list[Path], list[Path]]:
    """Rows from either side, once every layer of the first model was compared."""
    best = Best.none(len(other.all_neurons), job.n_best)
    random = Best.none(len(other.all_random), 1)
    first = []
    for layer in range(one.n_layers):
        found = _compared(job, forth, layer)
        first.append(found.forth.places[:, 0])
        best = best.or_later(found.back, first=layer * one.d_ffn)
        random = random.or_later(found.random_back, first=layer * one.d_ffn)
    for layer in range(one.n_layers):
        found = _compared(job, forth, layer)
        rows = job.rows(
            one, other, layer=layer, best=found.forth, random=found.random_forth, first_back=best.places[:, 0]
        )
        forth.write(_shard(layer), {COUNTERPARTS.name: COUNTERPARTS.check(rows)})
    for layer in range(other.n_layers):
        rows = job.rows(
            other,
            one,
            layer=layer,
            best=best.part(layer, other.d_ffn),
            random=random.part(layer, job.n_random),
            first_back=np.concatenate(first),
        )
        back.write(_shard_back(layer), {COUNTERPARTS.name: COUNTERPARTS.check(rows)})
    return (
        [forth.path(_shard(layer), COUNTERPARTS.name) for layer in range(one.n_layers)],
        [back.path(_shard_back(layer), COUNTERPARTS.name) for layer in range(other.n_layers)],
    )


def _compared(job: CounterpartsJob, run: StagedRun, layer: int) -> Compared:
    return Compared.of({name: run.read(_shard(layer), name) for name in PARTS}, n_best=job.n_best)


def _shard(layer: int) -> str:
    return f"layer-{layer:04d}"


def _shard_back(layer: int) -> str:
    """Of a layer of the other model: both may lie in one folder."""
    return f"other-{_shard(layer)}"


def _report(warehouse: Warehouse, pair: Pair, n_rows: int | None, seconds: float) -> PairReport:
    query = """
        select count_if(is_mutual), count_if(rank = 1 and overlap > null_99) from store.counterparts
        where model_id = ? and other_model_id = ?
    """
    both_ways = """
        select count(*) from store.counterparts as forth
        inner join store.counterparts as back
            on back.model_id = forth.other_model_id and back.other_model_id = forth.model_id
            and back.layer = forth.other_layer and back.neuron = forth.other_neuron
        where forth.model_id = ? and forth.other_model_id = ? and forth.is_mutual and back.is_mutual
            and forth.overlap > forth.null_99 and back.overlap > back.null_99
    """
    ids = [pair.one.model_id, pair.other.model_id]
    with warehouse.reader() as connection:
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
