"""Layers are shared so that they fit, with as few workers in a row as possible."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.ingest.pipeline.cluster.placement import Placement, share_layers


def placed(blocks: list[int], memory: int, n_workers: int) -> Placement:
    return share_layers(blocks, beside_bytes=10, memory_bytes=memory, n_workers=n_workers)


def test_four_layers_of_ten_bytes(subtests: pytest.Subtests) -> None:
    for memory, n_workers, stages, n_lanes, is_resident in [
        (50, 3, [[0, 1, 2, 3]], 3, True),
        (49, 4, [[0, 1], [2, 3]], 2, True),
        (29, 4, [[0], [1], [2], [3]], 1, True),
        (29, 9, [[0], [1], [2], [3]], 2, True),
        # Three in a row keep all three at work, two would leave one idle.
        (49, 3, [[0], [1], [2, 3]], 1, True),
        (39, 7, [[0, 1], [2, 3]], 3, True),
        (29, 3, [[0, 1, 2, 3]], 3, False),
        (49, 1, [[0, 1, 2, 3]], 1, False),
    ]:
        with subtests.test(memory=memory, n_workers=n_workers, stages=stages, n_lanes=n_lanes, is_resident=is_resident):
            found = placed([10] * 4, memory, n_workers)
            assert [list(stage) for stage in found.stages] == stages
            assert (found.n_lanes, found.is_resident) == (n_lanes, is_resident)
            assert found.n_workers == len(stages) * n_lanes <= n_workers
            assert found.places() == [*range(len(stages))] * n_lanes


@given(st.lists(st.integers(1, 20), min_size=1, max_size=12), st.integers(11, 200), st.integers(1, 9))
def test_whatever_the_layers_every_layer_has_one_place_and_fits(blocks: list[int], memory: int, n_workers: int) -> None:
    found = placed(blocks, memory, n_workers)
    assert [layer for stage in found.stages for layer in stage] == list(range(len(blocks)))
    taken = [sum(blocks[layer] for layer in stage) for stage in found.stages]
    if found.is_resident:
        assert all(10 + size <= memory for size in taken)
    else:
        assert 10 + sum(blocks) > memory
