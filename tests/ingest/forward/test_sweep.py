"""One pass over a text: both orders, every batch size, whole and resumed, against one sequence at a time."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest
import torch

from neurothek.ingest.corpora import corpus as corpora
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.activation_rule import ActivationRule
from neurothek.ingest.forward.batches import Batch
from neurothek.ingest.forward.sweep import Order, sweep
from neurothek.ingest.jobs.activity.job import ActivityJob
from neurothek.ingest.jobs.contexts.job import ContextsJob
from neurothek.ingest.jobs.job import JobContext, Partials, SweepJob
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Block, BlockOutput, Transformer, open_transformer
from neurothek.ingest.planning.sweep_plan import plan_sweep
from tests.support.coefficients import corpus
from tests.support.models import Kind, build

LENGTHS = [("code" if number % 4 else "prose", 3 + number * 11 % 60) for number in range(40)]
N_LAYERS = 3
KINDS: tuple[Kind, ...] = ("opt", "opt350", "gpt2", "llama", "gemma2", "gemma3", "phi3", "olmo2")

Shown = dict[tuple[int, int], dict[int, np.ndarray]]
"""(layer, chunk) -> number of a sequence -> its coefficients, [length d_ffn]."""


class Recorder:
    """Keeps everything it is shown, and checks that it is shown in order."""

    def __init__(self) -> None:
        self.seen: dict[int, np.ndarray] = {}

    def observe(self, batch: Batch, output: BlockOutput) -> None:
        for row, length in enumerate(batch.lengths):
            number = batch.first_sequence + row
            assert not self.seen or number == max(self.seen) + 1
            self.seen[number] = output.coefficients[row, :length].float().numpy().copy()

    def result(self) -> pl.DataFrame:
        return pl.DataFrame({"sequences": [len(self.seen)]})


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "CHUNK_TOKENS", 300)


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("sweep") / request.param, request.param, n_layers=N_LAYERS)


@pytest.fixture(scope="module")
def transformer(folder: Path) -> Transformer:
    return open_transformer(find(str(folder)))


@pytest.fixture
def text(transformer: Transformer) -> Corpus:
    return corpus(LENGTHS, has_bos=transformer.shape.architecture != "gpt2")


def record(
    transformer: Transformer,
    text: Corpus,
    *,
    order: Order = "chunks",
    folder: Path | None = None,
    batch_tokens: int = 150,
    is_done: Callable[[int, int], bool] = lambda layer, chunk: False,
) -> Shown:
    recorders: dict[tuple[int, int], Recorder] = {}
    sunk: list[tuple[int, int]] = []

    def observers_for(layer: int, chunk: int) -> list[Recorder]:
        assert (layer, chunk) not in recorders
        recorders[layer, chunk] = Recorder()
        return [recorders[layer, chunk]]

    def sink(layer: int, chunk: int, results: list[pl.DataFrame]) -> None:
        assert results[0]["sequences"].to_list() == [len(text.chunks()[chunk])]
        sunk.append((layer, chunk))

    sweep(
        transformer,
        text,
        observers_for=observers_for,
        is_done=is_done,
        sink=sink,
        batch_tokens=batch_tokens,
        order=order,
        folder=folder,
    )
    assert sorted(sunk) == sorted(recorders)
    return {key: recorder.seen for key, recorder in recorders.items()}


def same(one: Shown, other: Shown) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(one[key][number], other[key][number]) for key in one for number in one[key]
    )


def alone(transformer: Transformer, ids: np.ndarray) -> list[np.ndarray]:
    """Coefficients of every layer for one sequence, never padded."""
    stream = transformer.embed(torch.from_numpy(ids.astype(np.int64))[None])
    found = []
    for layer in range(N_LAYERS):
        with transformer.block(layer) as block:
            output = block(stream)
        stream = output.stream
        found.append(output.coefficients[0].numpy())
    return found


def test_every_sequence_is_shown_as_if_it_were_alone(transformer: Transformer, text: Corpus) -> None:
    """Padded to a batch or alone, coefficients differ by float32 roundings only: some 1e-6 of a layer's largest."""
    assert len(text.chunks()) == 5
    shown = record(transformer, text)
    assert set(shown) == {(layer, chunk) for layer in range(N_LAYERS) for chunk in range(5)}
    for chunk, sequences in enumerate(text.chunks()):
        for number in sequences:
            for layer, expected in enumerate(alone(transformer, text.sequence(number))):
                difference = np.abs(shown[layer, chunk][number] - expected).max()
                assert difference < 1e-5 * np.abs(expected).max()


def test_both_orders_show_the_same_bits(transformer: Transformer, text: Corpus, tmp_path: Path) -> None:
    assert same(record(transformer, text), record(transformer, text, order="layers", folder=tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_streamed_weights_show_the_same_bits(folder: Path, transformer: Transformer, text: Corpus) -> None:
    streamed = open_transformer(find(str(folder)), resident=False)
    assert same(record(transformer, text), record(streamed, text))


@pytest.mark.parametrize("order", ["chunks", "layers"])
def test_a_resumed_sweep_shows_only_what_is_missing(
    transformer: Transformer, text: Corpus, tmp_path: Path, order: Order
) -> None:
    """Half of the shards are there, among them whole layers and whole chunks, and gaps below finished layers."""
    missing = {(0, 1), (2, 1), (1, 3), (0, 4)}
    whole = record(transformer, text)
    resumed = record(
        transformer, text, order=order, folder=tmp_path, is_done=lambda layer, chunk: (layer, chunk) not in missing
    )
    assert same(resumed, {key: whole[key] for key in missing})


def test_nothing_runs_that_nobody_needs(
    transformer: Transformer, text: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Layers above the last missing one are not run, nor chunks of which all is there."""
    ran: list[int] = []
    block = Transformer.block

    def spy(self: Transformer, layer: int) -> AbstractContextManager[Block]:
        ran.append(layer)
        return block(self, layer)

    monkeypatch.setattr(Transformer, "block", spy)
    orders: list[Order] = ["chunks", "layers"]
    for order in orders:
        ran.clear()
        record(transformer, text, order=order, folder=tmp_path, is_done=lambda layer, chunk: (layer, chunk) != (1, 2))
        assert ran == [0, 1]
    ran.clear()
    record(transformer, text, is_done=lambda layer, chunk: True)
    assert ran == []


def test_batch_tokens_flip_only_signs_that_are_undecided(transformer: Transformer, text: Corpus) -> None:
    """What counts as active differs between batch shapes only where |m| is a rounding.

    A pre-activation z is off by some 1e-6 * |k| * |input|, here at most 1e-5 * 20; a ReLU leaves z or 0 there, a GELU
    half of z, so that a coefficient whose activity differs is at most that small in both.
    """
    first, second = (record(transformer, text, batch_tokens=tokens) for tokens in (1, 500))
    flips, positions = 0, 0
    for key, sequences in first.items():
        for number, one in sequences.items():
            other = second[key][number]
            flipped = (one > 0) != (other > 0)
            assert (np.abs(one[flipped]) <= 2e-4).all()
            assert (np.abs(other[flipped]) <= 2e-4).all()
            flips += int(flipped.sum())
            positions += one.size
    # [DEFINITIONS] 0.4 per million in float32 on a real model; the bound leaves room for a tiny one.
    assert flips <= 20e-6 * positions + 1


def jobs(transformer: Transformer, text: Corpus) -> list[SweepJob]:
    context = JobContext(transformer, Mock(spec=Tokenizer), text)
    return [ActivityJob(context, ActivationRule.of(transformer.shape)), ContextsJob(context)]


def folded(transformer: Transformer, text: Corpus, *, order: Order, folder: Path) -> list[pl.DataFrame]:
    """The rows of both jobs, all layers."""
    mine = jobs(transformer, text)
    partials: dict[tuple[int, int], list[pl.DataFrame]] = {}
    sweep(
        transformer,
        text,
        observers_for=lambda layer, chunk: [job.observer(layer) for job in mine],
        is_done=lambda layer, chunk: False,
        sink=lambda layer, chunk, results: partials.update({(layer, chunk): results}),
        batch_tokens=150,
        order=order,
        folder=folder,
    )
    rows: list[pl.DataFrame] = []
    for number, job in enumerate(mine):
        for layer in range(N_LAYERS):
            seen = Partials(tuple(partials[layer, chunk][number].lazy() for chunk in range(len(text.chunks()))))
            rows += job.fold(layer, seen).values()
    return rows


def test_one_pass_feeds_both_jobs_alike_in_both_orders(transformer: Transformer, text: Corpus, tmp_path: Path) -> None:
    chunks, layers = (folded(transformer, text, order=order, folder=tmp_path) for order in ("chunks", "layers"))
    for one, other in zip(chunks, layers, strict=True):
        assert one.equals(other)
    counted = sum(length for _, length in LENGTHS) - (len(LENGTHS) if text.has_bos else 0)
    assert chunks[0].filter(neuron=0)["n_positions"].sum() == counted
    assert chunks[0]["activation_bos"].null_count() == (0 if text.has_bos else chunks[0].height)


def test_bfloat16_streams_survive_the_file(folder: Path, tmp_path: Path) -> None:
    halved = open_transformer(find(str(folder)), dtype=torch.bfloat16)
    text = corpus(LENGTHS, has_bos=halved.shape.architecture != "gpt2")
    chunks = record(halved, text)
    assert same(chunks, record(halved, text, order="layers", folder=tmp_path))
    # Halved they are: other coefficients than those of float32.
    whole = open_transformer(find(str(folder)))
    assert not same(chunks, record(whole, text))


def test_a_plan_needs_less_the_tighter_the_budget(transformer: Transformer, text: Corpus) -> None:
    roomy = plan_sweep(transformer, text, batch_tokens=150, memory_bytes=1 << 40)
    assert (roomy.order, roomy.is_resident, roomy.disk_bytes) == ("chunks", True, 0)
    streamed = plan_sweep(transformer, text, batch_tokens=150, memory_bytes=roomy.memory_bytes - 1)
    assert (streamed.order, streamed.is_resident) == ("chunks", False)
    tightest = plan_sweep(transformer, text, batch_tokens=150, memory_bytes=streamed.memory_bytes - 1)
    assert (tightest.order, tightest.is_resident) == ("layers", False)
    assert tightest.disk_bytes == text.n_tokens * transformer.shape.d_model * 4
    assert roomy.memory_bytes > streamed.memory_bytes > tightest.memory_bytes
