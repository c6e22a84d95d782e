"""Windows and histograms of a text against loops over every position; no chunk, batch or thread changes a row."""

from collections.abc import Sequence
from typing import Any
from unittest.mock import Mock

import polars as pl
import pytest
import torch
from torch import Tensor

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.jobs.contexts.draws import Amounts, Draws
from neurothek.ingest.jobs.contexts.job import ContextsJob
from neurothek.ingest.models.transformer import Shape
from tests.ingest.numerics.test_priorities import priority
from tests.support import jobs
from tests.support.coefficients import coefficients, corpus, output_of, padded

D_FFN = 9
LENGTHS = [("a" if number // 3 % 3 else "b", 2 + number // 2 * 7 % 150) for number in range(48)]
CHUNKS = [range(0, 7), range(7, 45), range(45, 48)]
WHOLE = [range(48)]
Row = dict[str, Any]


def loops(text: Corpus, made: Sequence[Tensor], amounts: Amounts) -> dict[str, list[tuple[int, int, int]]]:
    """Band -> (neuron, sequence, place) in the order of ranks, by the definitions."""
    found: dict[str, list[tuple[int, int, int]]] = {"strongest": [], "quantile": [], "random": []}
    first = int(text.has_bos)
    for neuron in range(D_FFN):
        peaks = []
        for number, sequence in enumerate(made):
            m, position = max((abs(m), -at) for at, m in enumerate(sequence[:, neuron].tolist()) if at >= first)
            if m > 0:
                peaks.append((-m, number, -position))
        drawn = sorted(peaks, key=lambda peak: -priority(0, peak[1], neuron))[: amounts.sampled]
        found["strongest"] += [(neuron, number, at) for _, number, at in sorted(peaks)[: amounts.strongest]]
        found["quantile"] += [(neuron, number, at) for _, number, at in sorted(drawn)]
        places = Draws.of(text, n_places=amounts.random, seed=0).places
        found["random"] += [(neuron, number, at) for number, at in places]
    return found


def measured(
    text: Corpus, made: Sequence[Tensor], chunks: list[range], *, relu: bool, batch_tokens: int = 300
) -> dict[str, pl.DataFrame]:
    shape = Mock(spec=Shape, is_non_negative=relu, d_ffn=D_FFN)
    job, partials = ContextsJob(jobs.context_of(text, shape=shape)), []
    for chunk in chunks:
        observer = job.observer(0)
        for batch, shown in padded(text, chunk, made, batch_tokens=batch_tokens):
            observer.observe(batch, output_of(shown))
        partials.append(observer.result())
    return job.fold(4, jobs.partials(*partials))


def decoded(row: Row) -> list[float]:
    """Activations of a window, position by position."""
    integers = iter(row["activations"])
    width = row["n_before"] + 1 + row["n_after"]
    return [(next(integers) if row["nonzero"] >> at & 1 else 0) * row["largest"] / 127 for at in range(width)]


def assert_windows_are_the_models(rows: list[Row], text: Corpus, made: Sequence[Tensor]) -> None:
    """Every activation to half a step, 0 exactly where the model's is; every window as wide as its sequence lets it."""
    for row in rows:
        sequence, neuron, place = made[row["sequence_id"]], row["neuron"], row["position"]
        start = max(place - 40, int(text.has_bos))
        there = sequence[start : place + 23, neuron].tolist()
        assert (row["n_before"], row["n_after"]) == (place - start, min(22, len(sequence) - 1 - place))
        assert row["largest"] == max(map(abs, there))
        assert row["nonzero"] == sum(1 << at for at, m in enumerate(there) if m != 0)
        # A float32's rounding of the largest beside half a step.
        assert decoded(row) == pytest.approx(there, abs=row["largest"] * (0.5 / 127 + 1e-6))
        if row["band"] != "random":
            assert abs(decoded(row)[row["n_before"]]) == row["largest"]


@pytest.mark.parametrize("has_bos", [True, False])
@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("share", [0.002, 0.3])
def test_windows_are_those_of_the_loops(*, share: float, relu: bool, has_bos: bool) -> None:
    text, amounts = corpus(LENGTHS, has_bos=has_bos), Amounts.of(is_non_negative=relu)
    made = coefficients(text, D_FFN, share=share, relu=relu)
    rows = measured(text, made, CHUNKS, relu=relu)["context_windows"].to_dicts()
    for band, expected in loops(text, made, amounts).items():
        of_band = [row for row in rows if row["band"] == band]
        assert [(row["neuron"], row["sequence_id"], row["position"]) for row in of_band] == expected
        ranks = [
            sum(1 for before in expected[:at] if before[0] == neuron) + 1 for at, (neuron, *_) in enumerate(expected)
        ]
        assert [row["rank"] for row in of_band] == ranks
    assert_windows_are_the_models(rows, text, made)


def test_the_strongest_windows_are_around_the_strongest_contexts() -> None:
    text = corpus(LENGTHS)
    found = measured(text, coefficients(text, D_FFN, share=0.3, relu=True), CHUNKS, relu=True)
    place = ["neuron", "rank", "sequence_id", "position"]
    assert found["contexts"].filter(pl.col("rank") <= 6).select(place).rows() == (
        found["context_windows"].filter(band="strongest").select(place).rows()
    )


def test_chunks_batches_and_threads_change_no_row() -> None:
    text = corpus(LENGTHS)
    made = coefficients(text, D_FFN, share=0.3, relu=False)
    expected = measured(text, made, CHUNKS, relu=False)
    before = torch.get_num_threads()
    try:
        for threads, batch_tokens, chunks in ((1, 1, WHOLE), (3, 20_000, WHOLE), (2, 90, [range(24), range(24, 48)])):
            torch.set_num_threads(threads)
            found = measured(text, made, chunks, relu=False, batch_tokens=batch_tokens)
            assert all(frame.equals(expected[name]) for name, frame in found.items())
    finally:
        torch.set_num_threads(before)


def test_a_neuron_that_fires_in_three_sequences_has_these_and_a_dead_one_only_random_windows() -> None:
    text = corpus([("a", 80)] * 30)
    made = [torch.zeros(80, D_FFN) for _ in range(30)]
    for number, m in ((4, 0.5), (17, -2.0), (29, 1.0)):
        made[number][33, 7] = m
    rows = measured(text, made, [range(10), range(10, 30)], relu=False)["context_windows"].to_dicts()
    firing = [(row["band"], row["rank"], row["sequence_id"]) for row in rows if row["neuron"] == 7]
    assert [one for one in firing if one[0] == "quantile"] == [
        ("quantile", 1, 17),
        ("quantile", 2, 29),
        ("quantile", 3, 4),
    ]
    assert [one for one in firing if one[0] == "strongest"] == [
        ("strongest", 1, 17),
        ("strongest", 2, 29),
        ("strongest", 3, 4),
    ]
    dead = [row for row in rows if row["neuron"] == 3]
    assert [row["band"] for row in dead] == ["random", "random"]
    assert all(row["activations"] == [] and row["largest"] == row["nonzero"] == 0 for row in dead)


def test_histograms_are_counts_of_all_positions_of_a_small_text() -> None:
    text = corpus(LENGTHS)
    made = coefficients(text, D_FFN, share=0.2, relu=False)
    made[3][1:, 5] = 0.0
    found = measured(text, made, CHUNKS, relu=False)["activation_histograms"].to_dicts()
    assert [row["neuron"] for row in found] == list(range(D_FFN))
    for row in found:
        values = torch.cat([sequence[1:, row["neuron"]] for sequence in made])
        assert row["n_positions"] == sum(row["counts"]) == len(values)
        assert row["counts"][0] > 0 < row["counts"][-1]
        assert row["counts"][-row["first_bin"]] == int((values == 0).sum())
        # Bins 19 and 20 are from 1.5 to 2 and from 2 to 3.
        assert row["counts"][19 - row["first_bin"]] == int(((values >= 1.5) & (values < 2)).sum())


def test_a_sample_is_another_with_another_seed() -> None:
    text = corpus(LENGTHS)
    assert Draws.of(text, n_places=3, seed=0).places != Draws.of(text, n_places=3, seed=1).places
