"""A model that people use: each measurement beside its bare passes and products, and where the rest goes, by job."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import torch
from transformers import AutoModel
from transformers.utils import logging

from benchmarks.passes import Profile, bare_pass, measured
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
from neurothek.ingest.jobs.job import JobContext, SweepJob
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
TEXTS = (5_000, 50_000)
"""Tokens of each of the three domains: of `make real`, and ten times as many."""
LONG_LAYERS, LONG_ROUNDS = 1, 1
N_EXAMPLES = 200
ACTIVITY = ("activity", "contexts")
POLES = (*ACTIVITY, *OF_SIGNS)
EVERY = (*POLES, "ngrams", "positions")
BARE, NOBODY = "bare pass", "sweep, nobody watching"

Row = tuple[str, ...]


def main() -> None:
    """Take the figures and publish them."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        file = fetched(SMOLLM2)
    except Unavailable as error:
        print(f"The benchmark of a model that people use is left out: {error}")
        return
    checkpoint = find(str(file))
    transformer, tokenizer = open_transformer(checkpoint), tokenization.load(checkpoint.folder)
    contexts = [JobContext(transformer, tokenizer, _text(tokenizer, tokens)) for tokens in TEXTS]
    short, long = contexts
    shape, header = transformer.shape, ("what", "seconds", "x the bare")
    of_short, profile = _sweeps(short, checkpoint.folder, n_layers=N_LAYERS, rounds=ROUNDS)
    of_long, long_profile = _sweeps(long, checkpoint.folder, n_layers=LONG_LAYERS, rounds=LONG_ROUNDS)
    text = f"""## A model that people use

SmolLM2-135M-Instruct in 4 bits, as `make real` measures it: {shape.n_layers} layers of {shape.d_ffn:,} gated neurons,
d = {shape.d_model}, {shape.vocab_size:,} tokens, float32. Each measurement stands beside the passes of transformers'
own model without its head, and the products, that it cannot do without.

{table(header, [*_projections(short), *_events(short, checkpoint.folder)])}

Sweeps include staging files and folds. {short.corpus.n_counted:,} positions, the first {N_LAYERS} layers:

{table(header, of_short)}

{table(("where the time of the last goes", "seconds", "x the bare pass"), profile)}

{long.corpus.n_counted:,} positions, the first layer, which makes what all layers share:

{table(header, of_long)}

{table(("where the time of the last goes", "seconds", "x the bare pass"), long_profile)}

{machine()}
"""
    publish_block("real", text)


def _text(tokenizer: tokenization.Tokenizer, tokens: int) -> Corpus:
    recipe = corpora.recipe(parse_sources([BUILTIN]), sequence_length=SEQUENCE_LENGTH, tokens_per_domain=tokens)
    return corpora.prepare(recipe, tokenizer)


def _bare_model(folder: Path, **changed: int) -> Any:  # noqa: ANN401 - a model of transformers
    """Transformers' own model, maybe without its last layers."""
    return AutoModel.from_pretrained(folder, dtype=torch.float32, local_files_only=True, **changed).eval()


def _projections(context: JobContext) -> list[Row]:
    job = ProjectionsJob(context)
    E, V = context.transformer.unembedding(), context.units.write_vectors(0)
    directions, n = unit_rows(E), len(E)
    scores, cosines = torch.empty(n, len(V)), torch.empty(n, len(V))

    def all_cosines() -> None:
        for part in torch.split(directions, len(V)):
            torch.mm(directions, part.T, out=cosines[:, : len(part)] if len(part) == len(V) else None)

    with TemporaryDirectory() as folder, job.open(Path(folder), lambda _: pl.LazyFrame()) as measure:

        def write(shard: str) -> None:
            for name, frame in measure(shard).items():
                write_parquet(BY_NAME[name].check(frame), Path(folder) / f"{name}.parquet")

        of_layer = best_seconds(
            {"product": lambda: torch.mm(E, V.T, out=scores), "job": partial(write, "layer-0000")}, rounds=2 * ROUNDS
        )
        of_tokens = best_seconds({"product": all_cosines, "job": partial(write, "tokens")}, rounds=2)
    n_layers = context.shape.n_layers
    whole = {name: n_layers * of_layer[name] + of_tokens[name] for name in of_layer}
    return [
        *_pair("E.V^T of a layer", "projections of a layer", of_layer),
        *_pair("E.E^T", "the 20 nearest of every token", of_tokens),
        *_pair("both, of all layers", "projections", whole),
    ]


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


def _sweeps(context: JobContext, folder: Path, *, n_layers: int, rounds: int) -> tuple[list[Row], list[Row]]:
    """Times of sweeps by their jobs, and what the longest spends its time on."""
    bare, profile = _bare_model(folder, num_hidden_layers=n_layers), Profile()
    contenders: dict[str, Callable[[], object]] = {
        BARE: partial(bare_pass, bare, context.corpus, batch_tokens=context.batch_tokens),
        **{
            ", ".join(names) or NOBODY: partial(_swept, context, names, n_layers, Profile())
            for names in ((), ACTIVITY, POLES)
        },
        ", ".join(EVERY): partial(_swept, context, EVERY, n_layers, profile),
    }
    best = best_seconds(contenders, rounds=rounds)
    rows: list[Row] = [(name, f"{seconds:.2f}", f"{seconds / best[BARE]:.2f}") for name, seconds in best.items()]
    parts = sorted(((seconds / rounds, name) for name, seconds in profile.seconds.items()), reverse=True)
    is_large: list[Row] = [(name, f"{seconds:.2f}", f"{seconds / best[BARE]:.2f}") for seconds, name in parts]
    return rows, [row for row in is_large if float(row[2]) >= 0.02]


def _swept(context: JobContext, names: Sequence[str], n_layers: int, profile: Profile) -> None:
    found = {name: job_class(name).from_options(context, IngestRequest()) for name in names}
    measured(context, {name: job for name, job in found.items() if isinstance(job, SweepJob)}, n_layers, profile)


if __name__ == "__main__":
    main()
