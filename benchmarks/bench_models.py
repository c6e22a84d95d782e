"""Models that people use, or random ones of their shapes: each measurement beside its bare passes and products."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import torch
from transformers import AutoModel
from transformers.utils import logging

from benchmarks import shapes
from benchmarks.passes import Profile, bare_pass, measured
from benchmarks.shapes import SHAPES, KnownShape
from benchmarks.timing import best_seconds, machine, publish_block, table
from neurothek.catalog.problems import Unavailable
from neurothek.catalog.publishing.staging import write_parquet
from neurothek.catalog.tables.registry import BY_NAME
from neurothek.ingest.corpora import corpus as corpora
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.corpora.sources.builtin import BUILTIN
from neurothek.ingest.corpora.sources.source import parse_sources
from neurothek.ingest.forward import prompt_pass
from neurothek.ingest.jobs.events.job import EventsJob, ModelReadings
from neurothek.ingest.jobs.events.readings import EXAMPLES_AT_ONCE, slices
from neurothek.ingest.jobs.job import JobContext, SweepJob, WeightsJob
from neurothek.ingest.jobs.keys.job import KeysJob
from neurothek.ingest.jobs.projections.job import ProjectionsJob
from neurothek.ingest.jobs.registry import OF_SIGNS, job_class
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.packages import SMOLLM2, fetched
from neurothek.ingest.models.transformer import open_transformer
from neurothek.ingest.numerics.unit_vectors import unit_rows
from neurothek.ingest.request import DEFAULT_BATCH_TOKENS, IngestRequest

ROUNDS = 3
N_LAYERS = 3
SEQUENCE_LENGTH = 2_048
N_WORDS = 15_000
TEXTS = (5_000, 50_000)
"""Tokens of each of the three domains: of `make real`, and ten times as many."""
LONG_LAYERS, LONG_ROUNDS = 1, 1
N_EXAMPLES = 200
ACTIVITY = ("activity", "contexts")
BARE, NOBODY = "bare pass", "sweep, nobody watching"

Row = tuple[str, ...]


@dataclass(frozen=True)
class _Subject:
    """A model that is measured, and its text."""

    name: str
    file: Path  # the model, as `ingest` takes it
    n_layers: int  # of the whole model
    text: str | None  # a corpus, as `ingest` takes it; None: the text that ships

    @property
    def is_whole(self) -> bool:
        """Whether it is the published model, and not a random one cut to some layers."""
        return self.text is None


def main(shape: str | None = None) -> None:
    """Take the figures of a shape and publish them, or of SmolLM2 where it was fetched."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    with _subject(shape or "smollm2") as subject:
        checkpoint = find(str(subject.file))
        transformer, tokenizer = open_transformer(checkpoint), tokenization.load(checkpoint.folder)
        short = JobContext(transformer, tokenizer, _text(tokenizer, subject, TEXTS[0]))
        architecture, header = transformer.shape, ("what", "seconds", "x the bare")
        kind = "gated neurons" if architecture.is_gated else "neurons"
        products = _products(short)
        swept, profile = _sweeps(short, checkpoint.folder, n_layers=N_LAYERS, rounds=ROUNDS)
        text = f"""## {_title(subject)}

{_kind(subject)}: {subject.n_layers} layers of {architecture.d_ffn:,} {kind},
d = {architecture.d_model}, {architecture.vocab_size:,} tokens, float32. Each measurement stands beside the passes of
transformers' own model without its head, and the products, that it cannot do without.

{table(header, [*products.rows(subject.n_layers), *_events(short, checkpoint.folder)])}

Sweeps include staging files and folds. {short.corpus.n_counted:,} positions, the first {N_LAYERS} layers:

{table(header, [*_sweep_rows(swept)])}

{table(("where the time of the last goes", "seconds", "x the bare pass"), profile)}

{_whole_text(subject, short, products, swept)}
"""
        if subject.is_whole:
            long = JobContext(transformer, tokenizer, _text(tokenizer, subject, TEXTS[1]))
            of_long, long_profile = _sweeps(long, checkpoint.folder, n_layers=LONG_LAYERS, rounds=LONG_ROUNDS)
            text += f"""
{long.corpus.n_counted:,} positions, the first layer, which makes what all layers share:

{table(header, [*_sweep_rows(of_long)])}

{table(("where the time of the last goes", "seconds", "x the bare pass"), long_profile)}
"""
    publish_block("real" if subject.is_whole else f"shape {shape}", f"{text}\n{machine()}\n")


@contextmanager
def _subject(name: str) -> Iterator[_Subject]:
    """The real model where it was fetched, else a random one of its shape."""
    shape = SHAPES[name]
    try:
        if name == "smollm2":
            yield _Subject(shape.name, fetched(SMOLLM2), shape.n_layers, None)
            return
    except Unavailable as error:
        print(f"A random model of its shape stands in: {error}", file=sys.stderr)
    with _random(shape) as subject:
        yield subject


@contextmanager
def _random(shape: KnownShape) -> Iterator[_Subject]:
    with shapes.written(shape, n_layers=N_LAYERS) as folder:
        text = folder / "words.txt"
        text.write_text(shapes.written_text(N_WORDS, shape.config(1).vocab_size), "utf-8")
        yield _Subject(shape.name, folder, N_LAYERS, f"words={text}")


def _title(subject: _Subject) -> str:
    return "A model that people use" if subject.is_whole else f"The shape of {subject.name}"


def _kind(subject: _Subject) -> str:
    if subject.is_whole:
        return "SmolLM2-135M-Instruct in 4 bits, as `make real` measures it"
    return f"Random weights of the shape of {subject.name} (`--shape`), cut to fewer layers"


def _text(tokenizer: tokenization.Tokenizer, subject: _Subject, tokens: int) -> Corpus:
    sources = parse_sources([subject.text or BUILTIN])
    tokens = N_WORDS if subject.text else tokens
    recipe = corpora.recipe(sources, sequence_length=SEQUENCE_LENGTH, tokens_per_domain=tokens)
    return corpora.prepare(recipe, tokenizer)


def _bare_model(folder: Path, **changed: int) -> Any:  # noqa: ANN401 - a model of transformers
    """Transformers' own model, maybe without its last layers."""
    return AutoModel.from_pretrained(folder, dtype=torch.float32, local_files_only=True, **changed).eval()


@dataclass(frozen=True)
class _Products:
    """Seconds of products, and of the jobs that do them: of a layer, and of all tokens."""

    of_layer: dict[str, float]
    of_tokens: dict[str, float]
    of_keys: dict[str, float]

    def whole(self, n_layers: int) -> dict[str, float]:
        """Of projections of all layers."""
        return {name: n_layers * self.of_layer[name] + self.of_tokens[name] for name in self.of_layer}

    def rows(self, n_layers: int) -> list[Row]:
        """One row a product, and one a job."""
        return [
            *_pair("E.V^T of a layer", "projections of a layer", self.of_layer),
            *_pair("E.E^T", "the 20 nearest of every token", self.of_tokens),
            *_pair("both, of all layers", "projections", self.whole(n_layers)),
            *_pair("E.K^T of a layer, of each reader", "keys of a layer", self.of_keys),
        ]


def _products(context: JobContext) -> _Products:
    E, V = context.transformer.unembedding(), context.units.write_vectors(0)
    directions, scores = unit_rows(E), torch.empty(len(E), len(V))
    readers = 2 if context.shape.is_gated else 1

    def product() -> None:
        torch.mm(E, V.T, out=scores)

    def all_cosines() -> None:
        for part in torch.split(directions, len(V)):
            torch.mm(directions, part.T, out=scores[:, : len(part)] if len(part) == len(V) else None)

    def of_keys() -> None:
        for _ in range(readers):
            product()

    projections, keys = ProjectionsJob(context), KeysJob(context)
    return _Products(
        _beside(product, projections, "layer-0000", rounds=2 * ROUNDS),
        _beside(all_cosines, projections, "tokens", rounds=2),
        _beside(of_keys, keys, "layer-0000", rounds=ROUNDS),
    )


def _beside(product: Callable[[], None], job: WeightsJob, shard: str, *, rounds: int) -> dict[str, float]:
    with TemporaryDirectory() as folder, job.open(Path(folder), lambda _: pl.LazyFrame()) as measure:

        def write() -> None:
            for name, frame in measure(shard).items():
                write_parquet(BY_NAME[name].check(frame), Path(folder) / f"{name}.parquet")

        return best_seconds({"product": product, "job": write}, rounds=rounds)


def _pair(product: str, job: str, seconds: dict[str, float]) -> list[Row]:
    unit = seconds["product"]
    return [(f"bare: {product}", f"{unit:.2f}", "1.00"), (job, f"{seconds['job']:.2f}", f"{seconds['job'] / unit:.2f}")]


def _events(context: JobContext, folder: Path) -> list[Row]:
    job, readings, bare = EventsJob(context, n_examples=N_EXAMPLES), ModelReadings(context), _bare_model(folder)
    drawn = job.examples
    streams = torch.randn(len(drawn.rows) * context.shape.n_layers * 2, context.shape.d_model)

    @torch.inference_mode()
    def passes_and_products() -> None:
        for batch in prompt_pass.prompt_batches(drawn.rows, batch_tokens=DEFAULT_BATCH_TOKENS):
            bare(batch.tokens, use_cache=False)
        for some in slices(len(streams), EXAMPLES_AT_ONCE):
            readings.lens.logits(streams[some])

    @torch.inference_mode()
    def events() -> None:
        job.measure_examples(readings, drawn.rows)

    best = best_seconds({"product": passes_and_products, "job": events}, rounds=ROUNDS)
    return _pair(f"pass and lens of {len(drawn.rows)} examples", "their events", best)


def _sweeps(context: JobContext, folder: Path, *, n_layers: int, rounds: int) -> tuple[dict[str, float], list[Row]]:
    """Seconds of sweeps by their jobs, and what the longest spends its time on."""
    bare, profile = _bare_model(folder, num_hidden_layers=n_layers), Profile()
    poles = (*ACTIVITY, *OF_SIGNS) if context.shape.has_poles else ACTIVITY
    every = (*poles, "ngrams", "positions")
    contenders: dict[str, Callable[[], object]] = {
        BARE: partial(bare_pass, bare, context.corpus, batch_tokens=context.batch_tokens),
        **{
            ", ".join(names) or NOBODY: partial(_swept, context, names, n_layers, Profile())
            for names in dict.fromkeys([(), ACTIVITY, poles])
        },
        ", ".join(every): partial(_swept, context, every, n_layers, profile),
    }
    best = best_seconds(contenders, rounds=rounds)
    parts = sorted(((seconds / rounds, name) for name, seconds in profile.seconds.items()), reverse=True)
    is_large: list[Row] = [(name, f"{seconds:.2f}", f"{seconds / best[BARE]:.2f}") for seconds, name in parts]
    return best, [row for row in is_large if float(row[2]) >= 0.02]


def _sweep_rows(best: dict[str, float]) -> list[Row]:
    return [(name, f"{seconds:.2f}", f"{seconds / best[BARE]:.2f}") for name, seconds in best.items()]


def _whole_text(subject: _Subject, context: JobContext, products: _Products, swept: dict[str, float]) -> str:
    """What `ingest` takes for the default jobs, from starting Python to the end, beside what it cannot do without."""
    job = _ingest_seconds(subject)
    passes = swept[BARE] / N_LAYERS * subject.n_layers
    bare = products.whole(subject.n_layers)["product"] + passes
    measured_jobs = products.whole(subject.n_layers)["job"] + swept[list(swept)[-1]] / N_LAYERS * subject.n_layers
    rows: list[Row] = [
        ("bare: all products and the pass", f"{bare:.1f}", "1.00"),
        ("the jobs alone, as above", f"{measured_jobs:.1f}", f"{measured_jobs / bare:.2f}"),
        ("`neurothek ingest`, started and ended", f"{job:.1f}", f"{job / bare:.2f}"),
    ]
    return f"""The default jobs of all {subject.n_layers} layers on the {context.corpus.n_counted:,} positions:

{table(("what", "seconds", "x the bare"), rows)}"""


def _ingest_seconds(subject: _Subject) -> float:
    text = ("--corpus", subject.text) if subject.text else ("--tokens", str(TEXTS[0]))
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "NEUROTHEK_WAREHOUSE": str(Path(folder) / "w.duckdb")}
        command = [sys.executable, "-c", "import neurothek; neurothek.main()", "ingest", f"m={subject.file}", *text]
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=environment)
        return time.perf_counter() - started


def _swept(context: JobContext, names: Sequence[str], n_layers: int, profile: Profile) -> None:
    found = {name: job_class(name).from_options(context, IngestRequest()) for name in names}
    measured(context, {name: job for name, job in found.items() if isinstance(job, SweepJob)}, n_layers, profile)


if __name__ == "__main__":
    main()
