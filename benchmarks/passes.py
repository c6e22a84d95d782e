"""What benchmarks of texts share: the bare forward pass, and sweeps with staging files and folds, each part timed."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import polars as pl
import torch

from neurothek.catalog.publishing.staging import write_parquet
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.batches import Batch, batches
from neurothek.ingest.forward.chunk_pass import Observer
from neurothek.ingest.forward.sweep import sweep
from neurothek.ingest.jobs.job import JobContext, Partials, SweepJob
from neurothek.ingest.models.transformer import BlockOutput

Result = TypeVar("Result")


@torch.inference_mode()
def bare_pass(model: Any, text: Corpus, *, batch_tokens: int) -> None:  # noqa: ANN401 - a model of transformers
    """Run a text through transformers' own model, in the same batches."""
    for chunk in text.chunks():
        for batch in batches(text, chunk, batch_tokens=batch_tokens):
            model(batch.tokens, use_cache=False)


@dataclass(eq=False)
class Profile:
    """Seconds by what they were spent on."""

    seconds: dict[str, float] = field(default_factory=dict)

    def timed(self, name: str, run: Callable[[], Result]) -> Result:
        """Run something and add its time."""
        started = time.perf_counter()
        result = run()
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started
        return result


@dataclass(frozen=True, eq=False)
class _Timed:
    """An observer whose time is taken."""

    name: str
    observer: Observer
    profile: Profile

    def observe(self, batch: Batch, output: BlockOutput) -> None:
        """Take in a batch."""
        self.profile.timed(f"{self.name}, observed", lambda: self.observer.observe(batch, output))

    def result(self) -> pl.DataFrame:
        """What was seen."""
        return self.profile.timed(f"{self.name}, staged", self.observer.result)


def measured(
    context: JobContext, jobs: Mapping[str, SweepJob], n_layers: int, profile: Profile, *, kept: Path | None = None
) -> None:
    """One sweep over the first layers with staging files, and the folds of every layer.

    Args:
        context: the model and its text.
        jobs: the jobs by name.
        n_layers: how many layers.
        profile: takes the time of each part.
        kept: takes the rows; None: they go with the staging files.
    """
    text = context.corpus
    with TemporaryDirectory() as folder:

        def path(name: str, layer: int, chunk: int) -> Path:
            return Path(folder) / f"{name}.{layer}.{chunk}.parquet"

        def observers(layer: int, chunk: int) -> list[_Timed]:
            made = {
                name: profile.timed(f"{name}, prepared", partial(job.observer, layer)) for name, job in jobs.items()
            }
            return [_Timed(name, observer, profile) for name, observer in made.items()]

        def sink(layer: int, chunk: int, results: list[pl.DataFrame]) -> None:
            for name, result in zip(jobs, results, strict=True):
                written = partial(write_parquet, result, path(name, layer, chunk), is_passing=True)
                profile.timed(f"{name}, staged", written)

        def fold(name: str, layer: int) -> None:
            parts = [pl.scan_parquet(path(name, layer, chunk)) for chunk in range(len(text.chunks()))]
            for of, frame in jobs[name].fold(layer, Partials(tuple(parts))).items():
                write_parquet(frame, (kept or Path(folder)) / f"{of}.{layer}.parquet")

        def finish(layer: int) -> None:
            for name in jobs if layer < n_layers else ():
                profile.timed(f"{name}, folded", partial(fold, name, layer))

        sweep(
            context.transformer,
            text,
            observers_for=observers,
            is_done=lambda layer, chunk: layer >= n_layers,
            sink=sink,
            finish=finish,
            batch_tokens=context.batch_tokens,
        )
