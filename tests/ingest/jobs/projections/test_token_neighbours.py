"""Nearest tokens against all pairs of cosines."""

import numpy as np
import torch

from neurothek.catalog.tables.weights import TOKEN_NEIGHBOURS
from neurothek.ingest.jobs.projections.job import neighbours_frame
from neurothek.ingest.lens.vocabulary import Vocabulary


def vocabulary(rows: torch.Tensor, ids: list[int] | None = None) -> Vocabulary:
    return Vocabulary(np.array(ids if ids is not None else range(len(rows)), dtype=np.int32), rows)


def test_nearest_tokens_are_those_of_all_pairs() -> None:
    rows = torch.randn(300, 12, generator=torch.Generator().manual_seed(0))
    frame = TOKEN_NEIGHBOURS.check(neighbours_frame(vocabulary(rows), k=5))
    directions = rows.double() / rows.double().norm(dim=1, keepdim=True)
    cosines = (directions @ directions.T).fill_diagonal_(-2)
    assert frame.height == 300 * 5
    for token in range(300):
        mine = frame.filter(token_id=token).sort("rank")
        assert mine["rank"].to_list() == [1, 2, 3, 4, 5]
        best = cosines[token].topk(5)
        # Cosines of random rows differ by far more than a float32 rounding of 12 products, about 1e-7.
        assert mine["neighbour_id"].to_list() == best.indices.tolist()
        assert np.allclose(mine["cosine"].to_numpy(), best.values.numpy(), atol=1e-6)


def test_equal_rows_are_ordered_by_id_and_nobody_is_their_own_neighbour() -> None:
    """Six equal rows and one other, k = 3: token 5 is not among its own first four, since lower ids come first."""
    rows = torch.tensor([[1.0, 0.0]] * 6 + [[0.0, 1.0]])
    frame = neighbours_frame(vocabulary(rows), k=3)
    found = {token: frame.filter(token_id=token)["neighbour_id"].to_list() for token in range(7)}
    assert found == {
        0: [1, 2, 3],
        1: [0, 2, 3],
        2: [0, 1, 3],
        3: [0, 1, 2],
        4: [0, 1, 2],
        5: [0, 1, 2],
        6: [0, 1, 2],
    }


def test_length_and_masked_ids_do_not_matter() -> None:
    rows = torch.tensor([[1.0, 0.0], [200.0, 1.0], [0.0, 3.0]])
    frame = neighbours_frame(vocabulary(rows, ids=[4, 7, 9]), k=1)
    assert dict(zip(frame["token_id"], frame["neighbour_id"], strict=True)) == {4: 7, 7: 4, 9: 7}


def test_a_zero_row_has_cosine_0() -> None:
    frame = TOKEN_NEIGHBOURS.check(neighbours_frame(vocabulary(torch.tensor([[0.0, 0.0], [1.0, 0.0]])), k=20))
    assert frame["cosine"].to_list() == [0.0, 0.0]
    assert frame["neighbour_id"].to_list() == [1, 0]


def test_one_token_has_no_neighbours() -> None:
    assert neighbours_frame(vocabulary(torch.ones(1, 2)), k=20).height == 0
