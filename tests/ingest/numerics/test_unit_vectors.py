"""Directions against plain division, and the vectors that have none."""

import numpy as np
import torch

from neurothek.ingest.numerics.unit_vectors import directions_of, unit_rows, without_self

ROWS = torch.tensor([[3.0, -4.0, 0.0], [0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [-1e-3, 0.0, 0.0], [1.0, 2.0, 2.0]])
UNITS = [[0.6, -0.8, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [1 / 3, 2 / 3, 2 / 3]]


def test_rows_have_length_1_and_zero_rows_stay_zero() -> None:
    assert torch.allclose(unit_rows(ROWS), torch.tensor(UNITS))
    # However short, as long as a float32 can hold its square.
    assert torch.allclose(unit_rows(ROWS * 1e-12)[4], torch.tensor(UNITS[4]))


def test_directions_have_length_1_and_very_short_vectors_have_none() -> None:
    assert torch.allclose(directions_of(ROWS), torch.tensor(UNITS))
    short = torch.tensor([[0.9e-6, 0.0], [0.0, 1.1e-6]])
    assert directions_of(short).tolist() == [[0.0, 0.0], [0.0, 1.0]]
    assert directions_of(torch.tensor([[2.0**-19, 0.0]], dtype=torch.float64)).dtype == torch.float64


def test_a_list_of_neighbours_leaves_out_the_token_itself_or_the_last() -> None:
    rows = np.array([[0, 2, 3], [3, 1, 2], [1, 0, 3], [2, 1, 3]])
    assert without_self(rows).tolist() == [
        [False, True, True],
        [True, False, True],
        # The token is not among its own neighbours.
        [True, True, False],
        [True, True, False],
    ]
