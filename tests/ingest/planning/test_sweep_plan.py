"""Which order is chosen for a budget, and what it is expected to take."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from neurothek.catalog.problems import LimitExceeded
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import Transformer, open_transformer
from neurothek.ingest.planning.sweep_plan import Budget, SweepPlan, plan_sweep, plan_weights
from tests.support.models import build

GENEROUS = 1 << 40


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    folder = build(tmp_path_factory.mktemp("plan") / "tiny", "opt", n_layers=4, d_model=64)
    return open_transformer(find(str(folder)))


def corpus_of(n_sequences: int, length: int = 64) -> Corpus:
    n_tokens = n_sequences * length
    return Corpus(
        name="made",
        sha256="",
        text_sha256="",
        tokenizer_sha256="",
        sequence_length=length,
        has_bos=False,
        domains=("a",),
        tokens=np.zeros(n_tokens, dtype=np.int32),
        offsets=np.arange(0, n_tokens + 1, length),
        domain_of=np.zeros(n_sequences, dtype=np.int16),
        starts_document=np.zeros(n_sequences, dtype=np.bool_),
        recipe="{}",
    )


def planned(transformer: Transformer, memory_bytes: int, *, batch_tokens: int = 256) -> SweepPlan:
    return plan_sweep(transformer, corpus_of(100), batch_tokens=batch_tokens, memory_bytes=memory_bytes)


def test_a_plan_stays_within_its_budget_and_gives_up_as_little_as_needed(transformer: Transformer) -> None:
    resident = planned(transformer, GENEROUS)
    streamed = planned(transformer, resident.memory_bytes - 1)
    layers = planned(transformer, streamed.memory_bytes - 1)
    assert [(found.order, found.is_resident) for found in (resident, streamed, layers)] == [
        ("chunks", True),
        ("chunks", False),
        ("layers", False),
    ]
    for found in (resident, streamed, layers):
        # A budget of exactly what it takes is enough.
        assert planned(transformer, found.memory_bytes) == dataclasses.replace(found, is_tight=True)
        assert not planned(transformer, 3 * resident.memory_bytes).is_tight


def test_resident_weights_differ_from_streamed_ones_by_the_other_layers(transformer: Transformer) -> None:
    resident = planned(transformer, GENEROUS)
    streamed = planned(transformer, resident.memory_bytes - 1)
    assert resident.memory_bytes - streamed.memory_bytes == sum(map(transformer.block_bytes, range(1, 4)))


def test_only_layers_outside_writes_streams_and_of_the_whole_corpus(transformer: Transformer, tmp_path: Path) -> None:
    resident = planned(transformer, GENEROUS)
    streamed = planned(transformer, resident.memory_bytes - 1)
    layers = planned(transformer, streamed.memory_bytes - 1)
    assert (resident.disk_bytes, streamed.disk_bytes) == (0, 0)
    # A float32 of 4 bytes for each of 64 numbers at each of 100 * 64 positions.
    assert layers.disk_bytes == 100 * 64 * 64 * 4
    # A full disk is enough for nothing.
    full = plan_sweep(transformer, corpus_of(100), batch_tokens=256, memory_bytes=GENEROUS, staging=tmp_path)
    assert (full.order, full.disk_bytes) == ("chunks", 0)


def test_smaller_batches_take_less(transformer: Transformer) -> None:
    sizes = [planned(transformer, GENEROUS, batch_tokens=tokens).memory_bytes for tokens in (128, 256, 1024)]
    assert sizes == sorted(set(sizes))
    # A batch holds at least one sequence.
    smallest = [planned(transformer, GENEROUS, batch_tokens=tokens).memory_bytes for tokens in (1, 64)]
    assert len(set(smallest)) == 1


def test_a_budget_below_one_layer_is_refused_with_what_is_needed(transformer: Transformer) -> None:
    with pytest.raises(LimitExceeded, match=r"at least 0\.\d\d GB of memory, but --memory allows 0\.00 GB") as caught:
        planned(transformer, 1)
    assert "--batch-tokens" in str(caught.value)


def test_the_plan_does_not_grow_with_the_corpus_but_on_disk(transformer: Transformer, tmp_path: Path) -> None:
    few, many = corpus_of(10), corpus_of(5_000)
    plans = [plan_sweep(transformer, corpus, batch_tokens=256, memory_bytes=GENEROUS) for corpus in (few, many)]
    assert plans[0].memory_bytes == plans[1].memory_bytes


@pytest.mark.parametrize("job", ["projections", "clusters"])
def test_without_a_text_what_is_needed_is_said_and_is_enough(transformer: Transformer, job: str) -> None:
    shape = transformer.shape
    with pytest.raises(LimitExceeded, match=rf"measuring {job} needs at least .* allow more$") as caught:
        plan_weights(shape, [job], budget=Budget(1_000))
    (said,) = re.findall(r"at least ([\d.]+) GB", str(caught.value))
    needed = round(float(said) * 1e9)
    assert plan_weights(shape, [job], budget=Budget(needed)).is_tight
    assert not plan_weights(shape, [job], budget=Budget(3 * needed)).is_tight
    with pytest.raises(LimitExceeded, match=f"measuring {job} needs at least"):
        plan_weights(shape, [job], budget=Budget(needed - 10**7))


def test_without_a_text_too_little_disk_is_said(transformer: Transformer, tmp_path: Path) -> None:
    budget = Budget(GENEROUS, staging=tmp_path, free_bytes=1_000)
    with pytest.raises(LimitExceeded, match=f"MB under {re.escape(str(tmp_path))}, but only 0.00 MB are free"):
        plan_weights(transformer.shape, ["projections"], budget=budget)


def test_nothing_to_measure_needs_nothing(transformer: Transformer) -> None:
    assert not plan_weights(transformer.shape, [], budget=Budget(1)).is_tight
