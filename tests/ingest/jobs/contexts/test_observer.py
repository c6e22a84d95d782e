"""Strongest contexts against a sort of every position, with ties planted at every level."""

from typing import Any
from unittest.mock import Mock

import polars as pl
import pytest
import torch
from torch import Tensor

from neurothek.catalog.tables.texts import CONTEXTS
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.jobs.contexts.draws import Amounts, Draws
from neurothek.ingest.jobs.contexts.job import ContextsJob, ContextsObserver
from neurothek.ingest.models.transformer import Shape
from tests.support import jobs
from tests.support.coefficients import coefficients, corpus, output_of, padded

D_FFN = 15
# Three neighbours of one length and domain at a time, which are looked at together.
LENGTHS = [("a" if number // 3 % 3 else "b", 2 + number // 3 * 7 % 90) for number in range(60)]


def loops(text: Corpus, made: list[Tensor]) -> list[dict[str, Any]]:
    """Per neuron the first strongest counted position of each sequence, the ten strongest of these."""
    rows = []
    for neuron in range(D_FFN):
        best = []
        for number, sequence in enumerate(made):
            values = list(enumerate(sequence[:, neuron].tolist()))[1 if text.has_bos else 0 :]
            position, m = min(values, key=lambda item: (-abs(item[1]), item[0]))
            if m != 0:
                best.append((-abs(m), number, position, m))
        for rank, (_, number, position, m) in enumerate(sorted(best)[:10], start=1):
            row = {"layer": 4, "neuron": neuron, "rank": rank, "activation": m}
            rows.append(row | {"sequence_id": number, "position": position})
    return rows


def measured(
    text: Corpus, made: list[Tensor], chunks: list[range], *, relu: bool, batch_tokens: int = 200
) -> pl.DataFrame:
    partials, amounts = [], Amounts.of(is_non_negative=relu)
    draws = Draws.of(text, n_places=amounts.random, seed=0)
    for chunk in chunks:
        observer = ContextsObserver(D_FFN, draws, amounts, is_non_negative=relu)
        for batch, shown in padded(text, chunk, made, batch_tokens=batch_tokens):
            observer.observe(batch, output_of(shown))
        partials.append(observer.result())
    job = ContextsJob(jobs.context_of(text, shape=Mock(spec=Shape, is_non_negative=relu)))
    return job.fold(4, jobs.partials(*partials))["contexts"]


CHUNKS = [range(0, 7), range(7, 58), range(58, 60)]


@pytest.mark.parametrize("has_bos", [True, False])
@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("share", [0.001, 0.05, 0.5])
def test_contexts_are_those_of_the_loops(*, share: float, relu: bool, has_bos: bool) -> None:
    """Coefficients are multiples of 1/16: the same |m| comes many times in a sequence and in many sequences."""
    text = corpus(LENGTHS, has_bos=has_bos)
    made = coefficients(text, D_FFN, share=share, relu=relu)
    assert CONTEXTS.check(measured(text, made, CHUNKS, relu=relu)).to_dicts() == loops(text, made)


@pytest.mark.parametrize("has_bos", [True, False])
@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("share", [0.001, 0.5])
def test_contexts_of_long_sequences_are_those_of_the_loops(*, share: float, relu: bool, has_bos: bool) -> None:
    """Lengths around 128, and with and without a shorter last stretch: 144 and 145 are 12 x 12 positions and a BOS."""
    text = corpus([("a", length) for length in (127, 128, 129, 144, 145, 145, 157, 260, 300, 2, 301)], has_bos=has_bos)
    made = coefficients(text, D_FFN, share=share, relu=relu)
    found = measured(text, made, [range(3), range(3, 11)], relu=relu, batch_tokens=600)
    assert found.to_dicts() == loops(text, made)


def test_a_negative_coefficient_is_a_context_by_its_size() -> None:
    text = corpus([("a", 5)])
    made = [torch.tensor([[9.0], [0.5], [-2.0], [1.5], [2.0]]).expand(5, D_FFN)]
    frame = measured(text, made, [range(1)], relu=False)
    # The BOS, though largest, is no context; of |-2| and |2| the first counts, and keeps its sign.
    assert frame.filter(neuron=0).row(0) == (4, 0, 1, -2.0, 0, 2)


def test_ties_go_to_the_earlier_sequence_across_chunks() -> None:
    text = corpus([("a", 6)] * 30)
    made = [torch.ones(6, D_FFN) for _ in range(30)]
    frame = measured(text, made, [range(0, 4), range(4, 30)], relu=True)
    assert frame.filter(neuron=3)["sequence_id"].to_list() == list(range(10))
    assert frame["position"].unique().to_list() == [1]


def test_silent_neurons_have_no_contexts() -> None:
    text = corpus([("a", 6)] * 3)
    made = [torch.zeros(6, D_FFN) for _ in range(3)]
    made[1][4, 7] = 0.25
    frame = measured(text, made, [range(0, 1), range(1, 3)], relu=True)
    assert frame.to_dicts() == loops(text, made)
    assert frame.height == 1


def test_batches_chunks_and_threads_change_no_row() -> None:
    text = corpus(LENGTHS)
    made = coefficients(text, D_FFN, share=0.3, relu=False)
    expected = measured(text, made, CHUNKS, relu=False)
    before = torch.get_num_threads()
    try:
        for threads, batch_tokens, chunks in ((1, 1, [range(60)]), (3, 10_000, CHUNKS)):
            torch.set_num_threads(threads)
            assert measured(text, made, chunks, relu=False, batch_tokens=batch_tokens).equals(expected)
    finally:
        torch.set_num_threads(before)
