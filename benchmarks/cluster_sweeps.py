"""A model's default jobs by a cluster on paper: how long workers and driver take, and how much of it is lost."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.cluster_costs import PART_SECONDS, SWEEP_JOBS, Sweep
from benchmarks.cluster_simulation import Driver, Fleet, Outcome, Simulation, Step, UnseenJob, text_of_chunks
from ingest.pipeline.cluster.placement import Placement, _evenly
from ingest.pipeline.cluster.sweeping import Sweeping, shard_units
from ingest.pipeline.cluster.waiting import Unit, Waiting

STREAMS = "streams"


@dataclass(frozen=True)
class Troubles:
    """What befalls workers.

    Attributes:
        spread: standard deviation of the logarithm of how long a worker takes.
        slow_share: share of the workers that take twice as long beside that.
        lifetime_hours: mean hours until a worker is lost.
        seed: of all that is drawn.
    """

    spread: float = 0.1
    slow_share: float = 0.05
    lifetime_hours: float = 48.0
    seed: int = 0

    def fleet(self, fleet: Fleet) -> Fleet:
        """Workers that have these troubles."""
        drawn = np.random.default_rng(self.seed)

        def slowness() -> float:
            return float(np.exp(drawn.normal(0, self.spread))) * (2.0 if drawn.random() < self.slow_share else 1.0)

        lives = np.random.default_rng((self.seed, 1))
        return replace(fleet, slowness=slowness, lifetime=lambda: float(lives.exponential(3600 * self.lifetime_hours)))


@dataclass(frozen=True)
class Conditions:
    """How a cluster works.

    Attributes:
        n_workers: its workers.
        troubles: what befalls them.
        is_shared: whether all machines write to one folder, so that no rows are handed to the driver.
        driver_folds: whether the driver folds layers, as it does; else workers do once all was seen.
        driver_fetches: whether the driver fetches the streams that workers hand on, as it does.
        uses_all: whether pipelines are as long as leaves fewest workers without work; else as short as fits, as now.
    """

    n_workers: int
    troubles: Troubles | None = None
    is_shared: bool = True
    driver_folds: bool = True
    driver_fetches: bool = True
    uses_all: bool = False


@dataclass(frozen=True)
class Result:
    """How long it took.

    Attributes:
        placement: the layers of each worker.
        seconds: from the start of the workers to the end of publishing.
        ideal_seconds: all work shared evenly among workers that lose nothing.
        n_lost: workers that were lost.
        n_given_up: units that failed too often.
    """

    placement: Placement
    seconds: float
    ideal_seconds: float
    n_lost: int
    n_given_up: int

    @property
    def efficiency(self) -> float:
        """Ideal time beside this one."""
        return self.ideal_seconds / self.seconds


def simulated(sweep: Sweep, conditions: Conditions) -> Result:
    """Projections, the sweep, folds and publishing, one after the other as the engine has them."""
    placement = sweep.placement(conditions.n_workers)
    if conditions.uses_all and len(placement.stages) > 1:
        placement = _longer(placement, conditions.n_workers, sweep.shape.n_layers)
    outcomes = [_apart(sweep, conditions, sweep.projection_seconds()), _swept(sweep, conditions, placement)]
    if not conditions.driver_folds:
        outcomes.append(_apart(sweep, conditions, [sweep.fold_seconds()] * sweep.shape.n_layers))
    return Result(
        placement,
        sum(one.seconds for one in outcomes) + sweep.publishing_seconds(),
        work_seconds(sweep) / conditions.n_workers,
        sum(one.n_lost for one in outcomes),
        sum(one.n_given_up for one in outcomes),
    )


def driver_seconds(sweep: Sweep) -> float:
    """Of that what the driver alone does: folds and publishing."""
    return sweep.shape.n_layers * sweep.fold_seconds() + sweep.publishing_seconds()


def _longer(placement: Placement, n_workers: int, n_layers: int) -> Placement:
    """Pipelines of at least as many stages, with as many workers as possible."""
    lengths = range(len(placement.stages), min(n_workers, n_layers) + 1)
    n_stages = max(lengths, key=lambda n: (n_workers // n * n, -n))
    return replace(placement, stages=_evenly(n_layers, n_stages), n_lanes=n_workers // n_stages)


def work_seconds(sweep: Sweep) -> float:
    """All that is to be done, whoever does it, where weights stay in memory and nothing is handed over."""
    layers = sweep.extent.n_chunks * sweep.shape.n_layers
    writing = sweep.part_bytes() / sweep.machines.folder_bytes
    watched = layers * (sweep.forward_seconds() + sweep.watching_seconds() + writing)
    return sum(sweep.projection_seconds()) + watched + driver_seconds(sweep)


def _apart(sweep: Sweep, conditions: Conditions, seconds: list[float]) -> Outcome:
    """Units that any worker can do."""
    of_name = {f"{number}": one for number, one in enumerate(seconds)}

    def steps(unit: Unit) -> list[Step]:
        _, (name,) = unit.given()
        return [Step(of_name[name], (("shard", 0, 0),))]

    fleet = _fleet(conditions, [0] * conditions.n_workers, 0.0)
    driver = Driver(steps, lambda unit, step: PART_SECONDS)
    return Simulation(Waiting(shard_units("shard", list(of_name))), fleet, driver).run()


def _swept(sweep: Sweep, conditions: Conditions, placement: Placement) -> Outcome:
    """Chunks by all workers, or through pipelines of them."""
    jobs = [UnseenJob(name) for name in SWEEP_JOBS]
    sweeping = Sweeping(text_of_chunks(sweep.extent.n_chunks), jobs, placement, n_layers=sweep.shape.n_layers)
    share = sweep.machines.folder_share(conditions.n_workers)
    weights = sweep.size.block_bytes * max(map(len, placement.stages)) / share if placement.is_resident else 0.0
    fleet = _fleet(conditions, placement.places(), sweep.machines.start_seconds + weights)
    driver = Driver(_steps(sweep, conditions, placement), _take(sweep, conditions, sweeping), sweeping.done)
    outcome = Simulation(sweeping.waiting, fleet, driver).run()
    assert sweeping.n_left == 0 or outcome.n_given_up
    return outcome


def _fleet(conditions: Conditions, places: list[int], start_seconds: float) -> Fleet:
    fleet = Fleet(places, start_seconds)
    return fleet if conditions.troubles is None else conditions.troubles.fleet(fleet)


def _steps(sweep: Sweep, conditions: Conditions, placement: Placement) -> Callable[[Unit], list[Step]]:
    share, network = sweep.machines.folder_share(conditions.n_workers), sweep.machines.network_bytes
    forward = sweep.forward_seconds() + (0.0 if placement.is_resident else sweep.size.block_bytes / share)
    watched_too = forward + sweep.watching_seconds() + sweep.part_bytes() / (share if conditions.is_shared else network)
    handing = sweep.stream_bytes / network

    def steps(unit: Unit) -> list[Step]:
        chunk, watched, _, is_passed_on = unit.given()
        found = [
            Step(watched_too if jobs else forward, tuple((job, layer, chunk) for job in jobs))
            for layer, jobs in watched.items()
        ]
        if unit.place:
            found.insert(0, Step(handing))
        return [*found, Step(handing, ((STREAMS, 0, chunk),))] if is_passed_on else found

    return steps


def _take(sweep: Sweep, conditions: Conditions, sweeping: Sweeping) -> Callable[[Unit, Step], float]:
    network, folded = sweep.machines.network_bytes, set[int]()
    fetching = sweep.stream_bytes / network if conditions.driver_fetches else 0.0
    writing = 0.0 if conditions.is_shared else sweep.part_bytes() * (1 / network + sweep.measured.taking_seconds)

    def take(unit: Unit, step: Step) -> float:
        seconds = PART_SECONDS * len(step.parts)
        for name, layer, chunk in step.parts:
            if name == STREAMS:
                sweeping.keep(unit, chunk)
                return seconds + fetching
            if sweeping.seen(name, layer, chunk) and layer not in folded:
                folded.add(layer)
                seconds += sweep.fold_seconds() if conditions.driver_folds else 0.0
        return seconds + writing * (len(step.parts) / len(SWEEP_JOBS))

    return take
