"""What comparing a pair of models works with: its two runs, whether they are missing, and how they are published."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from neurothek.catalog.publishing.publish import FinishedRun, PairedRun, publish_pair
from neurothek.catalog.tables.weights import COUNTERPARTS
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.jobs.counterparts.job import BASIS, CounterpartsJob, PairContext
from neurothek.ingest.jobs.job import JobContext
from neurothek.ingest.models.measured import find_measured, open_transformer_of
from neurothek.ingest.planning.agenda import device_of
from neurothek.ingest.planning.work import Work
from neurothek.ingest.request import IngestRequest
from neurothek.ingest.runs.identity import FOUND, RunIdentity, is_missing


@dataclass(frozen=True)
class PairWork(Work):
    """Two models that are compared, published from either side."""

    job: CounterpartsJob

    @property
    def models(self) -> tuple[str, ...]:
        """Both models' names."""
        return (self.job.context.one.name, self.job.context.other.name)

    def publish(self, runs: Sequence[FinishedRun], corpus: Corpus | None = None) -> dict[str, int]:
        """Publish the one run as two: the files of the one model's layers come first, then those of the other's."""
        (run,) = runs
        files, n_layers = run.files[COUNTERPARTS.name], self.job.context.one.n_layers
        sides = ((self.job, files[:n_layers]), (self.job.turned, files[n_layers:]))
        one, other = (_paired(job, run, own) for job, own in sides)
        return publish_pair(self.warehouse, one, other, memory_bytes=self.request.memory_bytes)


def _paired(job: CounterpartsJob, run: FinishedRun, files: Sequence[Path]) -> PairedRun:
    """What was found of the first model of the job's pair, in these files."""
    identity, pair = pair_identity(job), job.context
    said = {"run_key": identity.key, "parameters": identity.parameters_json}
    row = run.row.with_columns(**{name: pl.lit(value) for name, value in said.items()})
    own = replace(run, row=row, files={COUNTERPARTS.name: files})
    return PairedRun(pair.one.name, pair.other.name, str(pair.one.projections), own)


def opened(pair: PairContext, request: IngestRequest) -> PairContext:
    """The pair with both models opened; their weights are looked for where a person says, else where they came from."""
    contexts = {}
    for model in pair.sides.values():
        checkpoint, tokenizer = find_measured(
            model.measured, weights=model.weights, allow_pickle=request.allow_pickle, option=f"{model.name}=PATH"
        )
        transformer = open_transformer_of(model.measured, checkpoint, device=device_of(request), resident=False)
        contexts[model.name] = JobContext(transformer, tokenizer)
    return replace(pair, opened=contexts)


def pair_identity(job: CounterpartsJob) -> RunIdentity:
    """The run from the side of the first model of the job's pair."""
    model = job.context.one
    return RunIdentity(
        job=job.name,
        version=job.version,
        model=model.name,
        weights_sha256=model.measured.weights_sha256,
        # What else there is to know of both is part of the keys of their lists.
        shape={},
        tokenizer_sha256=model.tokenizer_sha256,
        corpus_sha256=None,
        sequence_length=None,
        dtype="float32",
        parameters=job.parameters(),
        tokenizer_identity=None,
    )


def is_pair_missing(job: CounterpartsJob, *, force: bool) -> bool:
    """Whether the run from the side of the first model of the job's pair is to be measured."""
    identity, pair = pair_identity(job), job.context
    query = f"select {', '.join(FOUND)} from store.runs where job = ? and model_id = ? and other_model_id = ?"  # noqa: S608 - names of ours
    with pair.warehouse.current_reader() as connection:
        rows = connection.execute(query, [job.name, pair.one.model_id, pair.other.model_id]).fetchall()
    earlier = dict(zip(FOUND, rows[0], strict=True)) if rows else None
    if earlier is not None:
        before = json.loads(earlier["parameters"])
        # Of other lists the rows say nothing, whatever else was asked.
        if any(before.get(name) != identity.parameters[name] for name in BASIS):
            return True
    return is_missing(earlier, identity, force=force)
