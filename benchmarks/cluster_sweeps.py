"""A model's default jobs by a cluster on paper: how long workers and driver take, and how much of it is lost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.cluster_costs import LISTENING_SECONDS, PART_SECONDS, SWEEP_JOBS, Sweep
from benchmarks.cluster_simulation import Driver, Fleet, Outcome, Simulation, Step, UnseenJob, text_of_chunks
from neurothek.ingest.pipeline.cluster.placement import Placement
from neurothek.ingest.pipeline.cluster.sweeping import ChunkUnit, Sweeping, fold_unit, shard_units
from neurothek.ingest.pipeline.cluster.waiting import Unit, Waiting

STREAMS = "streams"

WHOLE = -1
"""The chunk of a part that is a whole layer."""

IDLE = -1
"""The place of workers that no pipeline needs: they fold."""


@dataclass(frozen=True)
class Troubles:
    """What befalls workers."""

    spread: float = 0.1  # standard deviation of the logarithm of how long a worker takes
    slow_share: float = 0.05  # share of the workers that take twice as long beside that
    lifetime_hours: float = 48.0  # mean hours until a worker is lost
    seed: int = 0  # of all that is drawn

    def fleet(self, fleet: Fleet) -> Fleet:
        """Workers that have these troubles."""
        drawn = np.random.default_rng(self.seed)

        def slowness() -> float:
            return float(np.exp(drawn.normal(0, self.spread))) * (2.0 if drawn.random() < self.slow_share else 1.0)

        lives = np.random.default_rng((self.seed, 1))
        return replace(fleet, slowness=slowness, lifetime=lambda: float(lives.exponential(3600 * self.lifetime_hours)))


@dataclass(frozen=True)
class Conditions:
    """How a cluster works."""

    n_workers: int  # its workers
    troubles: Troubles | None = None  # what befalls them
    is_shared: bool = True  # whether all machines write to one folder, so that no rows are handed to the driver
    # whether the driver folds layers although workers could, which they do where a folder is shared
    driver_folds: bool = False

    @property
    def workers_fold(self) -> bool:
        """Whether a layer that was seen whole is folded by a worker."""
        return self.is_shared and not self.driver_folds


@dataclass(frozen=True)
class Result:
    """How long it took."""

    placement: Placement  # the layers of each worker
    spent: Mapping[str, float]  # seconds of what comes one after the other, by name: from starting to publishing
    ideal_seconds: float  # all work shared evenly among workers that lose nothing
    n_lost: int  # workers that were lost
    n_given_up: int  # units that failed too often

    @property
    def seconds(self) -> float:
        """From the start of the workers to the end of publishing."""
        return sum(self.spent.values())

    @property
    def efficiency(self) -> float:
        """Ideal time beside this one."""
        return self.ideal_seconds / self.seconds


def simulated(sweep: Sweep, conditions: Conditions) -> Result:
    """Projections, the sweep with its folds, and publishing, one after the other as the engine has them."""
    placement = sweep.placement(conditions.n_workers)
    start = sweep.machines.start_seconds + _weights_seconds(sweep, placement)
    apart, swept = _apart(sweep, conditions), _swept(sweep, conditions, placement, start_seconds=start)
    seen = swept.last["chunk"]
    spent = {
        "start": start,
        "projections": apart.seconds,
        "chunks": seen - start,
        "folds": swept.seconds - seen,
        "looking": sweep.looking_seconds() if conditions.is_shared else 0.0,
        "publishing": sweep.publishing_seconds(),
    }
    n_lost, n_given_up = apart.n_lost + swept.n_lost, apart.n_given_up + swept.n_given_up
    return Result(placement, spent, work_seconds(sweep) / conditions.n_workers, n_lost, n_given_up)


def driver_seconds(sweep: Sweep) -> float:
    """Of that what the driver alone does while no worker has anything to do: it looks for parts, and publishes."""
    return sweep.looking_seconds() + sweep.publishing_seconds()


def part_seconds(n_workers: int) -> float:
    """Of the driver for one part, while so many workers measure."""
    return PART_SECONDS + LISTENING_SECONDS * n_workers


def fold_work_seconds(sweep: Sweep) -> float:
    """Of all folds by workers that do not wait for each other's reading, n-grams numbered once."""
    return sweep.shape.n_layers * sum(sweep.fold_seconds(job) for job in SWEEP_JOBS) + sweep.opening_seconds()


def work_seconds(sweep: Sweep) -> float:
    """All that is to be done, whoever does it, where weights stay in memory and nothing is handed over."""
    layers = sweep.extent.n_chunks * sweep.shape.n_layers
    writing = sweep.part_bytes() / sweep.machines.folder_bytes
    watched = layers * (sweep.forward_seconds() + sweep.watching_seconds() + writing)
    return sum(sweep.projection_seconds()) + watched + fold_work_seconds(sweep) + driver_seconds(sweep)


def _weights_seconds(sweep: Sweep, placement: Placement) -> float:
    """Of each worker, which reads its layers while all others read theirs."""
    if not placement.is_resident:
        return 0.0
    longest = max(map(len, placement.stages))
    return sweep.machines.beside_folder(sweep.size.block_bytes * longest, placement.n_workers)


def _apart(sweep: Sweep, conditions: Conditions) -> Outcome:
    """Projections, which any worker can do."""
    of_name = {f"{number}": one for number, one in enumerate(sweep.projection_seconds())}
    n_workers = conditions.n_workers

    def steps(unit: Unit, worker: int) -> list[Step]:
        _, (name,) = unit.given()
        return [Step(of_name[name], (("projections", 0, 0),))]

    fleet = _fleet(conditions, [0] * n_workers, 0.0)
    driver = Driver(steps, lambda unit, step: part_seconds(n_workers))
    return Simulation(Waiting(shard_units("projections", list(of_name))), fleet, driver).run()


def _swept(sweep: Sweep, conditions: Conditions, placement: Placement, *, start_seconds: float) -> Outcome:
    """Chunks by all workers, or through pipelines of them, and folds by any that is idle, or by the driver."""
    jobs = [UnseenJob(name) for name in SWEEP_JOBS]
    sweeping = Sweeping(text_of_chunks(sweep.extent.n_chunks), jobs, placement, n_layers=sweep.shape.n_layers)
    places = [*placement.places(), *[IDLE] * (conditions.n_workers - placement.n_workers)]
    fleet = _fleet(conditions, places, start_seconds)
    driver = Driver(_steps(sweep, conditions, placement), _take(sweep, conditions, sweeping), sweeping.done)
    outcome = Simulation(sweeping.waiting, fleet, driver).run()
    assert sweeping.n_left == 0 or outcome.n_given_up
    return outcome


def _fleet(conditions: Conditions, places: list[int], start_seconds: float) -> Fleet:
    fleet = Fleet(places, start_seconds)
    return fleet if conditions.troubles is None else conditions.troubles.fleet(fleet)


def _steps(sweep: Sweep, conditions: Conditions, placement: Placement) -> Callable[[Unit, int], list[Step]]:
    machines, watched_bytes = sweep.machines, sweep.part_bytes() if conditions.is_shared else 0.0
    at_once = min(placement.n_workers, sweep.extent.n_chunks * len(placement.stages))
    read = 0 if placement.is_resident else sweep.size.block_bytes
    handing = sweep.stream_bytes / machines.network_bytes
    forward = machines.beside_folder(read, at_once, seconds=sweep.forward_seconds())
    compute = sweep.forward_seconds() + sweep.watching_seconds()
    compute += 0.0 if conditions.is_shared else sweep.part_bytes() / machines.network_bytes
    watched_too = machines.beside_folder(read + watched_bytes, at_once, seconds=compute)
    readers = min(conditions.n_workers, len(SWEEP_JOBS) * sweep.shape.n_layers)
    folds = {job: sweep.fold_seconds(job, readers=readers) for job in SWEEP_JOBS}
    opened = set[int]()

    def fold(job: str, layer: int, worker: int) -> list[Step]:
        opening = sweep.opening_seconds() if job == "ngrams" and worker not in opened else 0.0
        if job == "ngrams":
            opened.add(worker)
        return [Step(opening + folds[job], ((job, layer, WHOLE),))]

    def chunk(unit: Unit, number: int, watched: Mapping[int, Sequence[str]], is_passed_on: bool) -> list[Step]:
        found = [
            Step(watched_too if jobs else forward, tuple((job, layer, number) for job in jobs))
            for layer, jobs in watched.items()
        ]
        if unit.place:
            found.insert(0, Step(handing))
        # Streams are announced before they follow: two pieces, neither of which the driver looks into.
        return [*found, Step(handing, ((STREAMS, 0, number),) * 2)] if is_passed_on else found

    def steps(unit: Unit, worker: int) -> list[Step]:
        if not isinstance(unit, ChunkUnit):
            job, layer = unit.given()
            return fold(job, layer, worker)
        number, watched, _, is_passed_on = unit.given()
        return chunk(unit, number, watched, is_passed_on)

    return steps


def _take(sweep: Sweep, conditions: Conditions, sweeping: Sweeping) -> Callable[[Unit, Step], float]:
    network, a_part = sweep.machines.network_bytes, part_seconds(conditions.n_workers)
    writing = 0.0 if conditions.is_shared else sweep.part_bytes() * (1 / network + sweep.measured.taking_seconds)
    folds = {job: sweep.fold_seconds(job, is_here=True) for job in SWEEP_JOBS}
    opened = set[str]()

    def folded(job: str, layer: int) -> float:
        """Have a worker fold, or fold here, which takes seconds."""
        if conditions.workers_fold:
            sweeping.waiting.add(fold_unit(job, layer))
            return 0.0
        opening = sweep.opening_seconds() if job == "ngrams" and not opened else 0.0
        if job == "ngrams":
            opened.add(job)
        return opening + folds[job]

    def take(unit: Unit, step: Step) -> float:
        seconds = a_part * len(step.parts)
        if not isinstance(unit, ChunkUnit):
            return seconds
        if step.parts and step.parts[0][0] == STREAMS:
            sweeping.keep(unit, unit.chunk)
            return seconds
        for job, layer, chunk in step.parts:
            if sweeping.seen(job, layer, chunk):
                seconds += folded(job, layer)
        return seconds + writing * (len(step.parts) / len(SWEEP_JOBS))

    return take
