"""Counts and sums of activations against loops over every position, and what chunks and threads must not change."""

from typing import Any

import polars as pl
import pytest
import torch
from torch import Tensor

from neurothek.catalog.tables.texts import ACTIVITY
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.activation_rule import ActivationRule
from neurothek.ingest.jobs.activity.job import ActivityJob, ActivityObserver
from tests.support import jobs
from tests.support.coefficients import coefficients, corpus, output_of, padded

D_FFN = 24
DEAD, ALWAYS, LATE = 0, 1, 2

# Ragged sequences, and domains that come back later.
LENGTHS = [("a", 9), ("b", 40), ("a", 17), ("b", 2), ("c", 31), ("a", 40), ("c", 3)]


def loops(text: Corpus, made: list[Tensor], *, threshold: float | None) -> list[dict[str, Any]]:
    """DEFINITIONS, one number after the other."""
    rows = []
    first = 1 if text.has_bos else 0
    for neuron in range(D_FFN):
        for index, domain in enumerate(text.domains):
            mine = [made[i][:, neuron].tolist() for i in range(text.n_sequences) if text.domain_of[i] == index]
            counted = [m for sequence in mine for m in sequence[first:]]
            bos = [sequence[0] for sequence in mine] if text.has_bos else []

            def active(m: float) -> bool:
                return m != 0 if threshold is None else m > threshold

            fired = [number for number, m in enumerate(counted) if active(m)]
            rows.append(
                {
                    "layer": 3,
                    "neuron": neuron,
                    "domain": domain,
                    "n_positions": len(counted),
                    "n_active": len(fired),
                    "n_active_bos": sum(map(active, bos)),
                    "activation_bos": sum(bos) / len(bos) if bos else None,
                    "activation_sum": sum(counted),
                    "activation_abs_sum": sum(map(abs, counted)),
                    "activation_square_sum": sum(m * m for m in counted),
                    "activation_min": min(counted),
                    "activation_max": max(counted),
                    "n_above": [sum(abs(m) > limit for m in counted) for limit in (0.1, 0.5, 1.0, 2.0)],
                    "first_active": fired[0] if fired else None,
                }
            )
    return sorted(rows, key=lambda row: (row["neuron"], row["domain"]))


def measured(
    text: Corpus, made: list[Tensor], chunks: list[range], *, rule: ActivationRule, relu: bool, batch_tokens: int = 90
) -> pl.DataFrame:
    partials = []
    for chunk in chunks:
        observer = ActivityObserver(D_FFN, rule, is_non_negative=relu)
        for batch, shown in padded(text, chunk, made, batch_tokens=batch_tokens):
            observer.observe(batch, output_of(shown))
        partials.append(observer.result())
    return ActivityJob(jobs.context_of(text), rule).fold(3, jobs.partials(*partials))["activity"]


def planted(text: Corpus, *, share: float, relu: bool) -> list[Tensor]:
    made = coefficients(text, D_FFN, share=share, relu=relu)
    for number, sequence in enumerate(made):
        sequence[:, DEAD] = 0 if relu else -0.125
        sequence[:, ALWAYS] = 3
        sequence[:, LATE] = 0
        if number == 5:
            sequence[-1, LATE] = 0.0625
    return made


@pytest.mark.parametrize("has_bos", [True, False])
@pytest.mark.parametrize("share", [0.05, 0.5])
@pytest.mark.parametrize(("relu", "threshold"), [(True, None), (False, 0.0), (True, 0.5), (False, None)])
def test_every_number_is_that_of_the_loops(*, relu: bool, threshold: float | None, share: float, has_bos: bool) -> None:
    """Coefficients are multiples of 1/16, so that sums of them and of their squares are exact: no tolerance."""
    text = corpus(LENGTHS, has_bos=has_bos)
    made = planted(text, share=share, relu=relu)
    frame = measured(text, made, [range(0, 3), range(3, 7)], rule=ActivationRule(threshold), relu=relu)
    assert ACTIVITY.check(frame).to_dicts() == loops(text, made, threshold=threshold)


# Neighbours of one length and domain are counted together.
ALIKE = [("a", 9)] * 5 + [("b", 9)] * 4 + [("b", 2)] * 3 + [("a", 70)] * 5


@pytest.mark.parametrize("has_bos", [True, False])
@pytest.mark.parametrize("together_bytes", [0, 4 * 9 * D_FFN * 2, 1 << 20])
def test_sequences_counted_together_count_as_alone(
    *, together_bytes: int, has_bos: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neurothek.ingest.forward.counted._TOGETHER_BYTES", together_bytes)
    text = corpus(ALIKE, has_bos=has_bos)
    made = planted(text, share=0.05, relu=False)
    chunks = [range(0, 4), range(4, len(ALIKE))]
    frame = measured(text, made, chunks, rule=ActivationRule(None), relu=False, batch_tokens=250)
    assert ACTIVITY.check(frame).to_dicts() == loops(text, made, threshold=None)


def test_planted_neurons() -> None:
    text = corpus(LENGTHS)
    frame = measured(text, planted(text, share=0.3, relu=True), [range(7)], rule=ActivationRule(None), relu=True).sort(
        "neuron", "domain"
    )
    dead, always, late = (frame.filter(neuron=neuron) for neuron in (DEAD, ALWAYS, LATE))
    assert dead["n_active"].to_list() == [0, 0, 0]
    assert dead["first_active"].to_list() == [None] * 3
    assert always["n_active"].to_list() == always["n_positions"].to_list()
    assert always["first_active"].to_list() == [0, 0, 0]
    # Domain a has 8 + 16 counted positions before the 39 of sequence 5, the last of which fires.
    assert late["first_active"].to_list() == [8 + 16 + 38, None, None]


def test_the_end_of_a_sequence_may_be_the_end_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 8 rows: sequences of 8, 16 and 39 counted positions end with, and within, a block."""
    monkeypatch.setattr("neurothek.ingest.jobs.activity.tally._BLOCK_BYTES", 0)
    text = corpus(LENGTHS)
    made = planted(text, share=0.05, relu=True)
    frame = measured(text, made, [range(7)], rule=ActivationRule(None), relu=True)
    assert frame.to_dicts() == loops(text, made, threshold=None)


def noisy(text: Corpus) -> list[Tensor]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(len(text.sequence(i)), D_FFN, generator=generator) for i in range(text.n_sequences)]


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run of sequences is summed by one thread, and runs are added up in order."""
    monkeypatch.setattr("neurothek.ingest.forward.counted._TOGETHER_BYTES", 4 * 9 * D_FFN * 2)
    text = corpus([*LENGTHS, *ALIKE])
    made = noisy(text)
    rule, chunks = ActivationRule(0.0), [range(0, 4), range(4, text.n_sequences)]
    expected = measured(text, made, chunks, rule=rule, relu=False)
    before = torch.get_num_threads()
    try:
        for threads in (1, 3, 2):
            torch.set_num_threads(threads)
            assert measured(text, made, chunks, rule=rule, relu=False).equals(expected)
    finally:
        torch.set_num_threads(before)


def test_batches_that_part_no_alike_neighbours_change_no_bit() -> None:
    text = corpus(LENGTHS)
    made = noisy(text)
    rule, chunks = ActivationRule(0.0), [range(0, 4), range(4, 7)]
    expected = measured(text, made, chunks, rule=rule, relu=False)
    for batch_tokens in (1, 60, 10_000):
        assert measured(text, made, chunks, rule=rule, relu=False, batch_tokens=batch_tokens).equals(expected)


def test_sums_of_long_sequences_are_close_to_exact_ones() -> None:
    """Inside a block of 256 rows float32 sums err by at most 2e-5 of sum |m|, outside it they are float64."""
    text = corpus([("a", 5000)])
    made = noisy(text)
    frame = measured(text, made, [range(1)], rule=ActivationRule(0.0), relu=False)
    values = made[0][1:].double()
    size = values.abs().sum(0)
    sums = torch.tensor(frame["activation_sum"].to_list(), dtype=torch.float64)
    assert bool(((sums - values.sum(0)).abs() <= 2e-5 * size).all())
    assert frame["activation_abs_sum"].to_list() == pytest.approx(size.tolist(), rel=2e-5)
    assert frame["activation_square_sum"].to_list() == pytest.approx((values**2).sum(0).tolist(), rel=2e-5)
    assert frame["n_active"].to_list() == (values > 0).sum(0).tolist()


def test_half_precision_coefficients_are_counted_as_they_are() -> None:
    text = corpus(LENGTHS)
    made = planted(text, share=0.3, relu=True)
    rule = ActivationRule(None)
    observer = ActivityObserver(D_FFN, rule, is_non_negative=True)
    # Multiples of 1/16 below 8 are exact in bfloat16.
    for batch, shown in padded(text, range(7), made, batch_tokens=90):
        observer.observe(batch, output_of(shown.bfloat16()))
    frame = ActivityJob(jobs.context_of(text), rule).fold(3, jobs.partials(observer.result()))["activity"]
    assert frame.to_dicts() == loops(text, made, threshold=None)


def test_the_rule_names_itself_in_the_parameters() -> None:
    assert ActivityJob(jobs.context_of(), ActivationRule(None)).parameters()["activation_rule"] == "m != 0"
    assert ActivityJob(jobs.context_of(), ActivationRule(0.25)).parameters()["activation_rule"] == "m > 0.25"
