"""What a cluster takes on paper, against sums of its parts."""

import math
from dataclasses import replace

import pytest

from benchmarks.cluster_costs import PART_SECONDS, SWEEP_JOBS, Machines, Measured, Sweep
from benchmarks.cluster_sweeps import Conditions, Troubles, driver_seconds, simulated, work_seconds
from docs.generators.recipes.shapes import opt

MEASURED = Measured(
    product_flops=1e11,
    observing_seconds=1e-8,
    packing_seconds=1e-9,
    fold_neuron_seconds=1e-3,
    fold_token_seconds=1e-9,
    taking_seconds=1e-8,
)
CALM = Machines(start_seconds=0.0)


@pytest.fixture(scope="module")
def small() -> Sweep:
    return Sweep(opt("125m"), 1_000_000, MEASURED, CALM)


def test_one_worker_takes_all_the_work(small: Sweep) -> None:
    found = simulated(small, Conditions(1))
    # The last chunk is read while the driver folds; beside the work weights are read, and the driver handles parts.
    chunk = (work_seconds(small) - driver_seconds(small)) / small.extent.n_chunks
    n_parts = small.extent.n_chunks * small.shape.n_layers * len(SWEEP_JOBS) + small.shape.n_layers + 1
    rest = small.size.all_bytes / CALM.folder_bytes + n_parts * PART_SECONDS
    assert work_seconds(small) - chunk < found.seconds < work_seconds(small) + rest
    assert found.ideal_seconds == work_seconds(small)


def test_what_the_driver_does_is_not_shared(small: Sweep) -> None:
    alone, many = simulated(small, Conditions(1)), simulated(small, Conditions(16))
    assert driver_seconds(small) < many.seconds < alone.seconds
    assert many.efficiency < 0.5
    spread = simulated(small, Conditions(16, driver_folds=False))
    assert spread.efficiency > many.efficiency


def test_bytes_that_pass_the_driver_bound_it(small: Sweep) -> None:
    found = simulated(small, Conditions(16, is_shared=False))
    handed = small.parts_bytes * (MEASURED.taking_seconds + 1 / CALM.network_bytes)
    assert found.seconds > handed + driver_seconds(small)


def test_a_model_that_fits_no_worker_is_a_pipeline() -> None:
    large = Sweep(opt("66b"), 500_000, MEASURED, CALM)
    short, long = (simulated(large, Conditions(8, uses_all=uses_all)) for uses_all in (False, True))
    assert (len(short.placement.stages), short.placement.n_lanes) == (5, 1)
    assert (len(long.placement.stages), long.placement.n_lanes) == (8, 1)
    assert [layer for stage in long.placement.stages for layer in stage] == list(range(64))
    assert not simulated(large, Conditions(1)).placement.is_resident


def test_troubles_are_drawn_alike_and_cost_time(small: Sweep) -> None:
    troubles = Troubles(slow_share=0.5, lifetime_hours=0.01)
    once, again = (simulated(small, Conditions(4, troubles)) for _ in range(2))
    assert once == again
    assert once.n_lost
    assert once.seconds > simulated(small, Conditions(4)).seconds
    assert simulated(small, Conditions(4, replace(troubles, seed=1))) != once


def test_operations_are_those_of_the_model() -> None:
    one = Sweep(opt("6.7b"), 5_000_000, MEASURED, CALM)
    # Twice the weights of the blocks for each id, and attention, which is some percent at this width.
    weights = 2 * one.shape.n_layers * 12 * one.shape.d_model**2 * one.extent.n_tokens
    assert weights < one.forward_flops < 1.1 * weights
    assert one.extent.n_chunks == math.ceil(5_000_000 / 65_536)
