"""A sample of a model's rows measured again from its weights, for `verify`."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import torch

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import NeurothekError, NotMeasured
from neurothek.catalog.progress import Progress
from neurothek.catalog.publishing.publish import changed_tokenizer
from neurothek.catalog.store.frames import as_frame
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.registry import BY_NAME, JOB_TABLES
from neurothek.catalog.tables.table import Table
from neurothek.catalog.upkeep.changes import unknown_model
from neurothek.catalog.upkeep.verification import Agreement, Remeasured, nothing_to_verify
from neurothek.ingest.corpora import selection
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.corpora.text_memory import TextMemory
from neurothek.ingest.forward.sweep import sweep
from neurothek.ingest.jobs.job import Job, JobContext, Partials, ShardJob, SweepJob
from neurothek.ingest.jobs.pair_job import PairContext, PairJob, stored_text
from neurothek.ingest.jobs.registry import job_class
from neurothek.ingest.models.finding import Measured, measured_models
from neurothek.ingest.models.listed import listed_models
from neurothek.ingest.models.measured import find_measured, open_transformer_of
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.models.weights import Checkpoint
from neurothek.ingest.numerics.gpu_memory import gpu_memory_told, planned_gpu_bytes
from neurothek.ingest.planning.agenda import after
from neurothek.ingest.request import DEFAULT_BATCH_TOKENS, Dtype, default_memory
from neurothek.ingest.runs.identity import lacks_rows

_WITHOUT_TEXT = "it was published without texts: neither the text is here, nor all rows that were measured on it"


@dataclass(frozen=True)
class Skipped:
    """A run that cannot be repeated here.

    Attributes:
        job: its job.
        reason: why, in half a sentence.
        is_broken: whether it is because rows that the job works on are not what was measured.
    """

    job: str
    reason: str
    is_broken: bool = False


@dataclass(frozen=True)
class _Run:
    """A row of `runs`."""

    run_id: int
    job: str
    job_version: int
    corpus_id: int | None
    other_model_id: int | None
    parameters: Mapping[str, Any]
    dtype: Dtype


@dataclass(frozen=True)
class _Model:
    """The model that is measured again."""

    warehouse: Warehouse
    measured: Measured
    checkpoint: Checkpoint
    tokenizer: Tokenizer
    n_shards: int
    progress: Progress

    @property
    def name(self) -> str:
        """The model's name."""
        return self.measured.name

    @cached_property
    def is_resident(self) -> bool:
        """Whether all weights may stay in memory."""
        on_gpu = planned_gpu_bytes(self.device)
        # On a GPU weights that are stored in half precision take twice as much, since none is a mapped page there.
        memory = default_memory() if on_gpu is None else min(default_memory(), on_gpu // 2)
        return sum(file.stat().st_size for file in self.checkpoint.files) < memory

    @property
    def device(self) -> torch.device:
        """Where the model runs."""
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def opened(self, dtype: str) -> Transformer:
        """The model in a number format."""
        return open_transformer_of(
            self.measured,
            self.checkpoint,
            device=self.device,
            dtype=getattr(torch, dtype),
            resident=self.is_resident,
        )

    def chosen(self, shards: Sequence[Any]) -> list[Any]:
        """The sample: the same shards for whoever asks."""
        count = min(self.n_shards, len(shards))
        return sorted(random.Random(0).sample(list(shards), count))  # noqa: S311 - a sample, no secret


def remeasure(
    warehouse: Warehouse, model: str, *, weights: str | None, n_shards: int, progress: Progress
) -> Iterator[Agreement | Remeasured | Skipped]:
    """The ids of every text that was read, and rows of `n_shards` layers (or groups of examples) of every job.

    Args:
        warehouse: what holds them.
        model: the model's name.
        weights: hub id or folder of the weights; None: where they were found when they were measured.
        n_shards: how many layers of each job; text is run through the model up to the last of them.
        progress: shows what is measured.
    """
    with warehouse.lingering():
        row, runs = _runs_of(warehouse, model)
        measured = measured_models(warehouse)[model]
        checkpoint, tokenizer = find_measured(measured, weights=weights)
        if tokenizer.sha256 != row["tokenizer_sha256"]:
            raise changed_tokenizer(model)
        opened_model = _Model(warehouse, measured, checkpoint, tokenizer, n_shards, progress)
        for corpus_id in sorted({run.corpus_id for run in runs if run.corpus_id is not None}):
            yield _ids_of(opened_model, corpus_id)
        with gpu_memory_told(f"verifying {model}"):
            for dtype in dict.fromkeys(run.dtype for run in runs):
                transformer = opened_model.opened(dtype)
                yield from _of_dtype(opened_model, transformer, [run for run in runs if run.dtype == dtype])


def _runs_of(warehouse: Warehouse, model: str) -> tuple[dict[str, Any], list[_Run]]:
    with warehouse.current_reader() as connection:
        names = connection.execute("select name from store.models order by model_id").fetchall()
        query = """
            select models.model_id, tokenizers.sha256 as tokenizer_sha256
            from store.models as models
            inner join store.tokenizers as tokenizers on tokenizers.tokenizer_id = models.tokenizer_id
            where models.name = $name
        """
        rows = as_frame(connection.sql(query, params={"name": model})).to_dicts()
        if not rows:
            raise unknown_model(model, [str(name) for (name,) in names])
        query = """
            select run_id, job, job_version, corpus_id, other_model_id, parameters, dtype
            from store.runs where model_id = $model_id order by run_id
        """
        runs = as_frame(connection.sql(query, params={"model_id": rows[0]["model_id"]})).to_dicts()
    if not runs:
        raise nothing_to_verify(model)
    return rows[0], [_Run(**{**run, "parameters": json.loads(run["parameters"])}) for run in runs]


def _ids_of(model: _Model, corpus_id: int) -> Agreement | Skipped:
    """How the ids of a text agree with what the tokenizer gives it now."""
    if selection.lacks_text(model.warehouse, corpus_id):
        return Skipped("tokenizer", _WITHOUT_TEXT)
    stored = _corpus(model, corpus_id)
    memory = TextMemory(default_memory())
    try:
        again = selection.tokenized_again(
            model.warehouse, corpus_id, model.tokenizer, progress=model.progress, memory=memory
        )
    except NeurothekError as error:
        return Skipped("tokenizer", f"the text of {stored.name} cannot be tokenized again: {error}")
    finally:
        model.progress.finish()
    n_rows = max(stored.n_sequences, again.n_sequences)
    differing = [
        number
        for number in range(n_rows)
        if number >= min(stored.n_sequences, again.n_sequences)
        or stored.domains[stored.domain_of[number]] != again.domains[again.domain_of[number]]
        or not np.array_equal(stored.sequence(number), again.sequence(number))
    ]
    return Agreement(
        job="tokenizer",
        table="sequences",
        n_rows=n_rows,
        n_equal=n_rows - len(differing),
        n_close=0,
        n_different=len(differing),
        largest_difference=0.0,
        first_difference=f"{stored.name}, sequence_id {differing[0]}: tokens" if differing else "",
    )


def _of_dtype(model: _Model, transformer: Transformer, runs: Sequence[_Run]) -> Iterator[Remeasured | Skipped]:
    """Weights first, then each corpus in one pass for all jobs that watch it."""
    for run in runs:
        if later := _later_tables(model, run):
            command = command_line("ingest", model.name, "--job", run.job, "--force")
            reason = f"an earlier release measured it without {', '.join(later)}; `{command}` adds these rows"
            yield Skipped(run.job, reason)
    for run in runs:
        if run.other_model_id is not None:
            yield from _of_pair(model, transformer, run)
        elif run.corpus_id is None:
            yield from _of_shards(model, JobContext(transformer, model.tokenizer), run)
    alone = [run for run in runs if run.other_model_id is None]
    for corpus_id in sorted({run.corpus_id for run in alone if run.corpus_id is not None}):
        on_it = [run for run in alone if run.corpus_id == corpus_id]
        if selection.lacks_text(model.warehouse, corpus_id):
            yield from (Skipped(run.job, _WITHOUT_TEXT) for run in on_it)
            continue
        yield from _of_corpus(model, transformer, _corpus(model, corpus_id), on_it)


def _of_pair(model: _Model, transformer: Transformer, run: _Run) -> Iterator[Remeasured | Skipped]:
    if run.corpus_id is not None and selection.lacks_text(model.warehouse, run.corpus_id):
        yield Skipped(run.job, _WITHOUT_TEXT)
        return
    models = listed_models(model.warehouse)
    other = next(candidate for candidate in models.values() if candidate.model_id == run.other_model_id)
    opened = {model.name: JobContext(transformer, model.tokenizer)}
    context = PairContext(model.warehouse, models[model.name], other, opened)
    if run.corpus_id is not None:
        context = replace(
            context, stored=stored_text(model.warehouse, run.corpus_id), text=_corpus(model, run.corpus_id)
        )
    job, reason = _repeated(context, run, model)
    if job is None:
        yield Skipped(run.job, reason)
        return
    assert isinstance(job, PairJob)
    if job.opens_both:
        try:
            checkpoint, tokenizer = find_measured(other.measured, weights=None)
        except NeurothekError as error:
            yield Skipped(run.job, str(error))
            return
        other_transformer = open_transformer_of(other.measured, checkpoint, device=model.device, resident=False)
        opened |= {other.name: JobContext(other_transformer, tokenizer)}
        job = job.within(replace(context, opened=opened))
    layers = model.chosen(range(transformer.shape.n_layers))
    with TemporaryDirectory(prefix="neurothek-verify-") as folder:
        model.progress.start(f"{run.job}: layer {', '.join(map(str, layers))}", len(layers))
        for layer, rows in job.again(layers, Path(folder)):
            model.progress.advance()
            yield from _frames(run, {job.tables[0].name: rows}, layer=layer)
        model.progress.finish()


def _of_corpus(
    model: _Model, transformer: Transformer, corpus: Corpus, runs: Sequence[_Run]
) -> Iterator[Remeasured | Skipped]:
    context = JobContext(transformer, model.tokenizer, corpus, DEFAULT_BATCH_TOKENS)
    watching: list[tuple[SweepJob, _Run]] = []
    for run in runs:
        if not issubclass(job_class(run.job), SweepJob):
            yield from _of_shards(model, context, run)
            continue
        job, reason = _repeated(context, run, model)
        if job is None:
            yield Skipped(run.job, reason)
        else:
            assert isinstance(job, SweepJob)
            watching.append((job, run))
    if watching:
        yield from _of_sweep(model, context, watching)


def _of_sweep(model: _Model, context: JobContext, jobs: Sequence[tuple[SweepJob, _Run]]) -> Iterator[Remeasured]:
    layers = model.chosen(range(context.shape.n_layers))
    seen: dict[int, list[list[pl.DataFrame]]] = {layer: [] for layer in layers}
    with TemporaryDirectory(prefix="neurothek-verify-") as folder:
        sweep(
            context.transformer,
            context.corpus,
            observers_for=lambda layer, chunk: [job.observer(layer) for job, _ in jobs],
            is_done=lambda layer, chunk: layer not in seen,
            sink=lambda layer, chunk, results: seen[layer].append(results),
            batch_tokens=context.batch_tokens,
            order="chunks" if model.is_resident else "layers",
            folder=Path(folder),
            progress=model.progress,
            label=f"{', '.join(job.name for job, _ in jobs)}: layer {', '.join(map(str, layers))}",
        )
    for layer in layers:
        for number, (job, run) in enumerate(jobs):
            partials = Partials(tuple(results[number].lazy() for results in seen[layer]))
            yield from _frames(run, _measured_then(model, run, job.fold(layer, partials)), layer=layer)


def _of_shards(model: _Model, context: JobContext, run: _Run) -> Iterator[Remeasured | Skipped]:
    job, reason = _repeated(context, run, model)
    if job is None:
        yield Skipped(run.job, reason)
        return
    assert isinstance(job, ShardJob)

    def read_back(table: str) -> pl.LazyFrame:
        query = f"select {', '.join(BY_NAME[table].schema)} from store.{table} where run_id = $run_id"  # noqa: S608
        with model.warehouse.current_reader() as connection:
            rows = as_frame(connection.sql(query, params={"run_id": run.run_id}))
        return rows.lazy()

    broken = dict[str, None]()
    with TemporaryDirectory(prefix="neurothek-verify-") as folder, job.open(Path(folder), read_back) as measure:
        for shard in _sampled(model, job.shards()):
            model.progress.start(f"{run.job}: {shard}", 1)
            try:
                frames = measure(shard)
            except NotMeasured as error:
                # There was a run, so there were rows enough: other shards may work on rows that still are there.
                broken[str(error)] = None
                continue
            finally:
                model.progress.finish()
            yield from _frames(run, _measured_then(model, run, frames), shard=shard)
    yield from (Skipped(run.job, reason, is_broken=True) for reason in broken)


def _measured_then(model: _Model, run: _Run, frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The frames without those of tables that the release which measured the run did not know."""
    later = _later_tables(model, run)
    return {name: frame for name, frame in frames.items() if name not in later}


def _later_tables(model: _Model, run: _Run) -> list[str]:
    """The tables of a run's job without which an earlier release measured it."""
    with model.warehouse.current_reader() as connection:
        return [table.name for table in JOB_TABLES[run.job] if lacks_rows(connection.execute, table, run.run_id)]


def _sampled(model: _Model, shards: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Some shards of each sort: those that fill the same tables are alike."""
    sorts = dict.fromkeys(shards.values())
    return [shard for tables in sorts for shard in model.chosen([name for name in shards if shards[name] == tables])]


def _frames(
    run: _Run, frames: Mapping[str, pl.DataFrame], *, layer: int | None = None, shard: str = ""
) -> Iterator[Remeasured]:
    """The rows of one shard; `layer` or the shard's name is what it was measured for, where no row may say so."""
    for name, frame in frames.items():
        table = BY_NAME[name]
        # What belongs to no layer is in one shard, and empty in the others.
        if table.is_repeatable and (frame.height or table.place is not None):
            places = _places(table, frames) or _named(table, layer=layer, shard=shard)
            yield Remeasured(run.run_id, run.job, run.dtype, table, frame, places)


def _places(table: Table, frames: Mapping[str, pl.DataFrame]) -> tuple[Any, ...]:
    """Which places of the table the shard is of: those that any of its tables says, since not each has rows of all."""
    columns = [frame[table.place] for frame in frames.values() if table.place in frame.columns]
    return tuple(pl.concat(columns).unique().sort().to_list()) if columns else ()


def _named(table: Table, *, layer: int | None, shard: str) -> tuple[Any, ...]:
    """The place of a shard without rows: its layer, or its own name, which is a method or ends with a number."""
    number = shard.rpartition("-")[2]
    if table.place is None or not (layer is not None or shard):
        return ()
    if layer is not None:
        return (layer,)
    return (int(number),) if table.schema[table.place].is_integer() and number.isdecimal() else (shard,)


def _repeated(context: JobContext | PairContext, run: _Run, model: _Model) -> tuple[Job[Any] | None, str]:
    """The job that measures the same as the run; None where this release cannot, and what keeps it from that."""
    job_type = job_class(run.job)
    # Only what this version wrote down is known to be read by it.
    if job_type.version != run.job_version:
        return None, f"it was measured by version {run.job_version} of the job, this is version {job_type.version}"
    job = after(model.warehouse, model.name, job_type.from_parameters(context, run.parameters))
    now = json.loads(json.dumps(job.parameters()))
    changed = [name for name in {**now, **run.parameters} if now.get(name) != run.parameters.get(name)]
    return (None, f"it was measured with another {', '.join(sorted(changed))}") if changed else (job, "")


def _corpus(model: _Model, corpus_id: int) -> Corpus:
    return selection.stored_corpus(model.warehouse, corpus_id, model.tokenizer)
