"""Ten seconds of measuring, thrown away, from which the time of all of it is estimated."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.batches import Batch, batches
from neurothek.ingest.forward.footprint import Extent
from neurothek.ingest.forward.stream_store import MemoryStreams
from neurothek.ingest.jobs.job import Partials, SweepJob
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.models.transformer import Transformer

SECONDS = 10.0
"""After so long a trial ends, half of it reading and half of it folding; what has begun is finished."""

_PRODUCT_ROWS = 8192


@dataclass(frozen=True)
class Trial:
    """What was done and how long it took."""

    seconds: float  # wall time of the whole trial
    n_tokens: int  # ids, each counted once per layer, that were read and watched
    reading_seconds: float  # how long that took, the weights' loading included
    fold_seconds: float  # how long a fold of one layer takes whatever the text
    fold_seconds_a_token: float  # how much longer for every id of the text

    def sweep_seconds(self, *, n_layers: int, n_tokens: int) -> float:
        """How long the whole text through all layers takes at this speed, folds included."""
        reading = self.reading_seconds / self.n_tokens * n_tokens
        return n_layers * (reading + self.fold_seconds + self.fold_seconds_a_token * n_tokens)


def run_trial(transformer: Transformer, corpus: Corpus, jobs: Sequence[SweepJob], *, batch_tokens: int) -> Trial:
    """Take the beginning of a text through the first layers, and fold what was seen of the first."""
    started = time.perf_counter()
    with torch.inference_mode():
        n_tokens, n_sequences = _read(transformer, corpus, jobs, batch_tokens=batch_tokens)
        reading_seconds = time.perf_counter() - started
        halves = [beginning(corpus, n) for n in sorted({max(1, n_sequences // 2), n_sequences})]
        folds = [
            (
                text.n_tokens,
                _fold_seconds(
                    transformer,
                    text,
                    [job.within(replace(job.context, text=text)) for job in jobs],
                    batch_tokens=batch_tokens,
                ),
            )
            for text in halves
        ]
    by_token = max(0.0, (folds[-1][1] - folds[0][1]) / max(1, folds[-1][0] - folds[0][0]))
    if len(folds) == 1:
        by_token = folds[0][1] / folds[0][0]
    return Trial(
        seconds=time.perf_counter() - started,
        n_tokens=n_tokens,
        reading_seconds=reading_seconds,
        fold_seconds=max(0.0, folds[0][1] - by_token * folds[0][0]),
        fold_seconds_a_token=by_token,
    )


def beginning(corpus: Corpus, n_sequences: int) -> Corpus:
    """The first sequences of a corpus."""
    offsets = corpus.offsets[: n_sequences + 1]
    return replace(
        corpus,
        tokens=corpus.tokens[: offsets[-1]],
        offsets=offsets,
        domain_of=corpus.domain_of[:n_sequences],
        starts_document=corpus.starts_document[:n_sequences],
    )


def _read(transformer: Transformer, corpus: Corpus, jobs: Sequence[SweepJob], *, batch_tokens: int) -> tuple[int, int]:
    """(ids times layers, sequences) that were read in half of the trial's time, at least one batch in one layer."""
    started, n_tokens = time.perf_counter(), 0
    streams, used = MemoryStreams(), list[Batch]()
    for layer in range(transformer.shape.n_layers):
        observers = [job.observer(layer) for job in jobs]
        waiting = batches(corpus, corpus.chunks()[0], batch_tokens=batch_tokens) if layer == 0 else iter(list(used))
        with transformer.block(layer) as block:
            for batch in waiting:
                output = block(transformer.embed(batch.tokens) if layer == 0 else streams.load(batch))
                streams.save(batch, output.stream)
                for observer in observers:
                    observer.observe(batch, output)
                # Reading one number waits for a device that computes behind our back.
                output.stream[0, 0, 0].item()
                n_tokens += sum(batch.lengths)
                if layer == 0:
                    used.append(batch)
                    # A few layers are to be seen, since each is loaded once.
                    if time.perf_counter() - started > SECONDS / 8:
                        break
        for observer in observers:
            observer.result()
        if time.perf_counter() - started > SECONDS / 2:
            break
    return n_tokens, sum(len(batch.lengths) for batch in used)


def _fold_seconds(transformer: Transformer, corpus: Corpus, jobs: Sequence[SweepJob], *, batch_tokens: int) -> float:
    """How long the folds of one layer of a text take, what all layers share not counted."""
    observers = [job.observer(0) for job in jobs]
    with transformer.block(0) as block:
        for batch in batches(corpus, range(corpus.n_sequences), batch_tokens=batch_tokens):
            output = block(transformer.embed(batch.tokens))
            for observer in observers:
                observer.observe(batch, output)
    parts = [Partials((observer.result().lazy(),)) for observer in observers]
    seconds = 0.0
    for _ in range(2):
        started = time.perf_counter()
        for job, part in zip(jobs, parts, strict=True):
            job.fold(0, part)
        seconds = time.perf_counter() - started
    return seconds


def product_rate(transformer: Transformer) -> float:
    """Floating-point operations a second of the products of scores, tried on the first layer's value vectors."""
    values, unembedding = transformer.value_vectors(0), transformer.unembedding()
    rows = unembedding[: min(len(unembedding), _PRODUCT_ROWS)]
    with torch.inference_mode():
        started, n_products = time.perf_counter(), 0
        while n_products < 2 or time.perf_counter() - started < SECONDS / 10:
            product = rows @ values.T
            # As in `run_trial`.
            product[0, 0].item()
            n_products += 1
        seconds = time.perf_counter() - started
    return 2 * n_products * rows.shape[0] * values.shape[0] * values.shape[1] / seconds


def block_flops(shape: Shape, sequence_length: int) -> int:
    """Of one id through one block: four projections of attention, scores and sums over the sequence, the FFN's maps.

    Every id is taken to look at the whole sequence, as the usual kernels compute it before they mask; embeddings, norms
    and biases are left out, which are below one percent. Every head is taken to have keys and values of its own.
    """
    maps = 3 if shape.is_gated else 2
    projections = 4 * shape.d_model * shape.d_model + maps * shape.d_model * shape.d_ffn
    attention = 2 * sequence_length * shape.d_model
    return 2 * (projections + attention)


def forward_flops(shape: Shape, extent: Extent) -> int:
    """Of the whole text through all blocks, without the vocabulary head, which no sweep computes."""
    return extent.n_tokens * shape.n_layers * block_flops(shape, extent.sequence_length)


def projection_flops(shape: Shape) -> int:
    """Of the job `projections`: every value vector and every token against the whole vocabulary."""
    vectors = shape.n_layers * shape.d_ffn + shape.vocab_size
    return 2 * shape.vocab_size * shape.d_model * vectors
