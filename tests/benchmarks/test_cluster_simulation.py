"""The simulated cluster against times worked out by hand."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.cluster_simulation import IN_FLIGHT, Driver, Fleet, Outcome, Simulation, Step, UnseenJob, text_of_chunks
from neurothek.ingest.pipeline.cluster.placement import Placement
from neurothek.ingest.pipeline.cluster.sweeping import ChunkUnit, Sweeping, fold_unit
from neurothek.ingest.pipeline.cluster.waiting import Unit, Waiting

JOBS = ("activity", "contexts")
N_LAYERS = 4
WORKER_POOL = Path(__file__).parents[2] / "ingest" / "pipeline" / "cluster" / "worker_pool.py"

FOREVER = float("inf")


def units(n: int) -> Waiting:
    return Waiting([Unit(f"unit {number}", "shards", tuple) for number in range(n)])


def drawn(*values: float, then: float) -> Callable[[], float]:
    def endless() -> Iterator[float]:
        yield from values
        while True:
            yield then

    return endless().__next__


def of_units(n: int, fleet: Fleet, *, step: Step, n_steps: int = 1, taking: float = 0.0) -> Outcome:
    return Simulation(units(n), fleet, Driver(lambda unit, worker: [step] * n_steps, lambda unit, step: taking)).run()


def of_sweep(
    n_chunks: int, stages: tuple[range, ...], n_lanes: int, *, fold: float = 0.0, n_idle: int | None = None
) -> tuple[Outcome, Sweeping]:
    """A second a layer and chunk; `fold` seconds for a layer that a job saw whole.

    The driver folds, or workers where `n_idle` says how many there are beside those of the stages.
    """
    placement = Placement(stages, n_lanes, True, "")
    jobs = [UnseenJob(name) for name in JOBS]
    sweeping = Sweeping(text_of_chunks(n_chunks), jobs, placement, n_layers=N_LAYERS)

    def steps(unit: Unit, worker: int) -> list[Step]:
        if not isinstance(unit, ChunkUnit):
            return [Step(fold, ((*unit.given(), -1),))]
        chunk, watched, _, _ = unit.given()
        return [Step(1.0, tuple((job, layer, chunk) for job in some)) for layer, some in watched.items()]

    def take(unit: Unit, step: Step) -> float:
        whole = [part for part in step.parts if isinstance(unit, ChunkUnit) and sweeping.seen(*part)]
        if n_idle is None:
            return fold * len(whole)
        for job, layer, _ in whole:
            sweeping.waiting.add(fold_unit(job, layer))
        return 0.0

    fleet = Fleet([*placement.places(), *[-1] * (n_idle or 0)])
    return Simulation(sweeping.waiting, fleet, Driver(steps, take, sweeping.done)).run(), sweeping


def test_parts_in_flight_are_those_of_the_pool() -> None:
    assert f"\n_IN_FLIGHT = {IN_FLIGHT}\n" in WORKER_POOL.read_text("utf-8")


def test_one_worker_takes_the_sum() -> None:
    found = of_units(5, Fleet([0], start_seconds=7.0), step=Step(2.0), n_steps=3)
    assert found == Outcome(seconds=7.0 + 5 * 3 * 2.0, busy_seconds=30.0, last={"shards": 37.0})


@pytest.mark.parametrize(("n_units", "n_workers", "rounds"), [(12, 4, 3), (13, 4, 4), (3, 8, 1)])
def test_equal_units_take_rounds(n_units: int, n_workers: int, rounds: int) -> None:
    found = of_units(n_units, Fleet([0] * n_workers), step=Step(2.0))
    assert found.seconds == rounds * 2.0
    assert found.busy_seconds == n_units * 2.0


def test_a_failure_costs_the_part_that_is_lost_and_another_start() -> None:
    # Units end at 20 and 30; the worker is lost 4 seconds into the second and begins that anew 10 later.
    fleet = Fleet([0], start_seconds=10.0, lifetime=drawn(14.0, then=FOREVER))
    found = of_units(2, fleet, step=Step(10.0))
    assert found.seconds == 10.0 + 10.0 + 4.0 + 10.0 + 10.0
    assert (found.n_lost, found.n_given_up) == (1, 0)


def test_without_the_failure_it_costs_nothing() -> None:
    fleet = Fleet([0], start_seconds=10.0, lifetime=drawn(20.0, then=FOREVER))
    found = of_units(2, fleet, step=Step(10.0))
    assert (found.seconds, found.n_lost) == (30.0, 0)


def test_a_unit_that_fails_three_times_is_given_up() -> None:
    found = of_units(1, Fleet([0], lifetime=lambda: 1.0), step=Step(10.0))
    assert (found.seconds, found.n_lost, found.n_given_up) == (3.0, 3, 1)


def test_a_slow_worker_is_given_less() -> None:
    # The slow one does 2 of 6 units in the time in which the other does 4.
    found = of_units(6, Fleet([0, 0], slowness=drawn(2.0, 1.0, then=1.0)), step=Step(3.0))
    assert found.seconds == 12.0


def test_a_slow_driver_holds_workers_back() -> None:
    part = ("job", 0, 0)
    quick = of_units(2, Fleet([0, 0]), step=Step(1.0, (part,)), n_steps=20)
    slow = of_units(2, Fleet([0, 0]), step=Step(1.0, (part,)), n_steps=20, taking=2.0)
    assert quick.seconds == 20.0
    # The first part is there after a second; then the driver never waits.
    assert slow.seconds == 1.0 + 40 * 2.0
    assert slow.driver_seconds == 80.0


def test_a_worker_is_at_most_so_far_ahead() -> None:
    first = []

    def take(unit: Unit, step: Step) -> float:
        first.append(step.parts[0][1])
        return 100.0 if len(first) == 1 else 0.0

    steps = [Step(1.0, (("job", number, 0),)) for number in range(20)]
    found = Simulation(units(1), Fleet([0]), Driver(lambda unit, worker: steps, take)).run()
    # While the driver is busy until 101, eight parts are made; the eleven that are left follow then.
    assert first == list(range(20))
    assert found.seconds == 101.0 + 20 - 1 - IN_FLIGHT


def test_chunks_outside_share_the_chunks() -> None:
    found, sweeping = of_sweep(10, (range(N_LAYERS),), 3)
    assert sweeping.n_left == 0
    assert found.seconds == 4 * N_LAYERS


def test_a_pipeline_takes_its_filling_and_then_one_stage_a_chunk() -> None:
    found, sweeping = of_sweep(10, (range(2), range(2, 4)), 1)
    assert sweeping.n_left == 0
    assert found.seconds == (10 + 1) * 2
    assert found.busy_seconds == 10 * N_LAYERS


def test_the_driver_folds_every_layer_of_every_job_once_in_its_own_time() -> None:
    found, _ = of_sweep(3, (range(N_LAYERS),), 3, fold=50.0)
    # The first layer is whole after a second; while it is folded the others are read.
    assert found.driver_seconds == len(JOBS) * N_LAYERS * 50.0
    assert found.seconds == 1.0 + len(JOBS) * N_LAYERS * 50.0


def test_workers_fold_beside_each_other() -> None:
    found, _ = of_sweep(3, (range(N_LAYERS),), 3, fold=50.0, n_idle=0)
    # All are busy with their chunks until 4; then eight folds take three of them three rounds.
    assert found.driver_seconds == 0.0
    assert found.last == {"chunk": N_LAYERS, "fold": N_LAYERS + 3 * 50.0}
    assert found.busy_seconds == 3 * N_LAYERS + len(JOBS) * N_LAYERS * 50.0


def test_a_worker_without_a_place_folds_what_is_whole_already() -> None:
    found, _ = of_sweep(1, (range(N_LAYERS),), 1, fold=1.0, n_idle=2)
    # Each of the two idle workers folds what one job saw of a layer while the next layer is read.
    assert found.seconds == N_LAYERS + 1.0
    alone, _ = of_sweep(1, (range(N_LAYERS),), 1, fold=1.0, n_idle=0)
    assert alone.seconds == N_LAYERS + len(JOBS) * N_LAYERS
