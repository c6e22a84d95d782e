"""What a cluster takes on paper, against sums of its parts."""

import math
from dataclasses import replace

import pytest

from benchmarks.cluster_costs import LISTENING_SECONDS, PART_SECONDS, SWEEP_JOBS, Machines, Measured, Sweep
from benchmarks.cluster_sweeps import Conditions, Troubles, driver_seconds, fold_work_seconds, simulated, work_seconds
from docs.generators.recipes.shapes import opt

MEASURED = Measured(
    product_flops=1e11,
    observing_seconds=1e-8,
    packing_seconds=1e-9,
    fold_neuron_seconds=dict.fromkeys(SWEEP_JOBS, 2.5e-4),
    fold_token_seconds=dict.fromkeys(SWEEP_JOBS, 2.5e-10),
    opening_seconds=1e-6,
    taking_seconds=1e-8,
)
CALM = Machines(start_seconds=0.0)


@pytest.fixture(scope="module")
def small() -> Sweep:
    return Sweep(opt("125m"), 1_000_000, MEASURED, CALM)


def folds_here(sweep: Sweep) -> float:
    """Of all folds by the driver, one after the other."""
    by_job = [sweep.fold_seconds(job, is_here=True) for job in SWEEP_JOBS]
    return sweep.shape.n_layers * sum(by_job) + sweep.opening_seconds()


def test_one_worker_takes_all_the_work(small: Sweep) -> None:
    found = simulated(small, Conditions(1))
    # Beside the work weights are read, and the driver handles parts.
    n_units = small.n_parts + (len(SWEEP_JOBS) + 1) * small.shape.n_layers + 1
    rest = small.size.all_bytes / CALM.folder_bytes + n_units * (PART_SECONDS + LISTENING_SECONDS)
    assert work_seconds(small) < found.seconds < work_seconds(small) + rest
    assert found.ideal_seconds == work_seconds(small)
    assert found.spent["looking"] + found.spent["publishing"] == driver_seconds(small)


def test_one_worker_folds_all_that_it_saw(small: Sweep) -> None:
    found = simulated(small, Conditions(1)).spent
    # The driver's milliseconds for each part come on top.
    assert found["folds"] == pytest.approx(fold_work_seconds(small), rel=0.01)


def test_the_product_of_a_fold_is_done_where_it_is_folded(small: Sweep) -> None:
    product = 2 * small.shape.vocab_size * small.shape.d_model * small.shape.d_ffn
    saved = product / (CALM.cores * MEASURED.product_flops) - product / CALM.flops
    assert small.fold_seconds("ngrams", is_here=True) - small.fold_seconds("ngrams") == pytest.approx(saved)
    assert small.fold_seconds("positions", is_here=True) == small.fold_seconds("positions")


def test_many_who_fold_read_no_faster_than_the_folder_gives(small: Sweep) -> None:
    crowd = 100_000
    together = crowd * small.parts_bytes / small.shape.n_layers / len(SWEEP_JOBS) / CALM.all_folder_bytes
    assert small.fold_seconds("activity", readers=crowd) == pytest.approx(together)


def test_workers_that_fold_leave_the_driver_less(small: Sweep) -> None:
    alone, many = simulated(small, Conditions(1)), simulated(small, Conditions(16))
    assert driver_seconds(small) < many.seconds < alone.seconds
    as_before = simulated(small, Conditions(16, driver_folds=True))
    # One after the other, but for what is folded while chunks are read.
    assert as_before.seconds > folds_here(small) + driver_seconds(small)
    assert many.spent["folds"] < as_before.spent["chunks"] + as_before.spent["folds"]
    assert many.efficiency > as_before.efficiency


def test_bytes_that_pass_the_driver_bound_it(small: Sweep) -> None:
    found = simulated(small, Conditions(16, is_shared=False))
    handed = small.parts_bytes * (MEASURED.taking_seconds + 1 / CALM.network_bytes)
    assert found.seconds > handed + folds_here(small) + small.publishing_seconds()
    assert simulated(small, Conditions(16, is_shared=False, driver_folds=True)) == found


def test_a_model_that_fits_no_worker_is_a_pipeline() -> None:
    large = Sweep(opt("66b"), 500_000, MEASURED, CALM)
    found = {n: simulated(large, Conditions(n)).placement for n in (5, 7, 8)}
    assert {n: (len(one.stages), one.n_lanes) for n, one in found.items()} == {5: (5, 1), 7: (7, 1), 8: (8, 1)}
    assert [layer for stage in found[8].stages for layer in stage] == list(range(64))
    assert not simulated(large, Conditions(1)).placement.is_resident


def test_workers_that_write_at_once_share_the_folder() -> None:
    # 5 bytes take 2.5 seconds at 2 a second beside a second of computing; ten such machines want 50 bytes of 10.
    machines = replace(CALM, folder_bytes=2.0, all_folder_bytes=10.0)
    assert machines.beside_folder(5, 1, seconds=1.0) == 3.5
    assert machines.beside_folder(5, 10, seconds=1.0) == 5.0


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
