"""Counts of activations by size and sign against a search through the edges, one number at a time."""

import math
from bisect import bisect_right

import pytest
import torch
from torch import Tensor

from neurothek.ingest.jobs.contexts import draws
from neurothek.ingest.jobs.contexts.draws import LAST, N_BINS, counts_by_size

EDGES = [0.0, *(2.0**e * first for e in range(-8, 8) for first in (1.0, 1.5)), 256.0]


def bin_of(m: float) -> int:
    """0 for 0; else the number of edges that |m| reaches, 0 among them, with m's sign."""
    return int(math.copysign(bisect_right(EDGES, abs(m)), m)) if m else 0


def loops(sequences: list[Tensor]) -> list[list[int]]:
    counts = [[0] * N_BINS for _ in range(sequences[0].shape[1])]
    for sequence in sequences:
        for row in sequence.float().tolist():
            for neuron, m in enumerate(row):
                counts[neuron][LAST + bin_of(m)] += 1
    return counts


def made(*lengths: int, d_ffn: int = 37) -> list[Tensor]:
    """Numbers of every size, zeros of both signs and edges among them; more neurons than are counted at once."""
    generator = torch.Generator().manual_seed(0)
    sequences = [
        torch.randn(n, d_ffn, generator=generator) * 2.0 ** torch.randint(-12, 12, (n, d_ffn)) for n in lengths
    ]
    edges = torch.tensor([*EDGES, *(-edge for edge in EDGES), 1e30, -1e30, 1e-30])
    for sequence in sequences:
        sequence.view(-1)[: len(edges)] = edges
    return sequences


@pytest.mark.parametrize("lengths", [(3,), (9, 2, 40), (64, 65, 3, 2)])
def test_counts_are_those_of_the_loops(lengths: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 16 positions: sequences are cut and joined."""
    monkeypatch.setattr(draws, "_POSITIONS", 16)
    sequences = made(*lengths)
    assert counts_by_size(sequences).tolist() == loops(sequences)


def test_numbers_of_half_the_bits_are_counted_by_their_value() -> None:
    sequences = [made(30)[0].bfloat16()]
    assert counts_by_size(sequences).tolist() == loops(sequences)


def test_every_position_is_counted_once() -> None:
    assert set(counts_by_size(made(70, 12)).sum(1).tolist()) == {82}
