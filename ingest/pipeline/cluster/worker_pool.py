"""A pool of workers of a cluster: started, given units of work, and replaced when they are lost."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from neurothek.catalog.problems import Failed
from neurothek.catalog.tables.table import NotFinite
from neurothek.ingest.pipeline.cluster.assignment import Failure, MeasuredPart, StreamsFollow, WorkerInfo
from neurothek.ingest.pipeline.cluster.errors import cluster_too_small, worker_refused, workers_lost
from neurothek.ingest.pipeline.cluster.waiting import TRIES, Unit, Waiting
from neurothek.ingest.pipeline.cluster.worker import Worker

ROOM_SECONDS = 120.0
"""How long a worker may wait for room in the cluster."""

_LOOK_SECONDS, _END_SECONDS = 1.0, 30.0
_IDLE = -1
_IN_FLIGHT = 8
"""Parts that a worker may be ahead of the driver: a slow driver holds the workers back, not the object store."""

Step = tuple[str, tuple[Any, ...]]
"""A method of `Worker` that makes it ready for units, and what it is given."""

Take = Callable[[Unit, MeasuredPart | None, Any], None]
"""Takes what a worker handed back of a unit, None where that is for another worker, and Ray's reference to it."""


@dataclass(eq=False)
class _Member:
    """One worker, and what it is doing."""

    actor: Any  # Ray's handle
    place: int  # number that units may ask for
    # answers to the steps that make it ready, awaited one after the other
    steps: list[Any] = field(default_factory=list)
    unit: Unit | None = None  # what it does; None where it is idle
    handing: Any = None  # what it hands back of that
    is_passing_on: bool = False  # whether what it hands back next is for another worker
    is_there: bool = False  # whether the cluster had room for it

    @property
    def awaited(self) -> Any:  # noqa: ANN401 - Ray's references
        """What it will say next; None where it is idle."""
        return self.steps[0] if self.steps else self.handing


class WorkerPool:
    """Some workers that measure the same model.

    Attributes:
        n_lost: workers that were lost and replaced.
    """

    def __init__(self, n_workers: int, *, n_threads: int, n_gpus: float) -> None:
        self._actor_class = ray.remote(Worker).options(
            num_cpus=n_threads, num_gpus=n_gpus, max_restarts=0, scheduling_strategy="SPREAD"
        )
        self._steps: tuple[Step, ...] = ()
        self._members = [_Member(self._actor_class.remote(), place) for place in range(n_workers)]
        self._n_failed_starts = 0
        self.n_lost = 0

    def __len__(self) -> int:
        return len(self._members)

    def worker_infos(self, device: str, witness: Path) -> list[WorkerInfo]:
        """The information of all workers that the cluster has room for; those that it has none for are stopped."""
        infos, deadline = list[WorkerInfo](), time.monotonic() + ROOM_SECONDS
        awaited = {one.actor.info.remote(device, witness): one for one in self._members}
        while awaited and (left := deadline - time.monotonic()) > 0:
            for answer in ray.wait(list(awaited), num_returns=1, timeout=left)[0]:
                one = awaited.pop(answer)
                try:
                    infos.append(ray.get(answer))
                    one.is_there = True
                except RayError as error:
                    # A machine may have gone that the cluster still counted on.
                    self._replace(one, error)
                    awaited[one.actor.info.remote(device, witness)] = one
        for one in awaited.values():
            ray.kill(one.actor)
            self._members.remove(one)
        if not infos:
            raise cluster_too_small("a single worker", "no room left beside other work")
        self._n_failed_starts = 0
        return infos

    def place(self, places: Sequence[int]) -> None:
        """Say which units each worker does; those beyond the places given do none."""
        for number, one in enumerate(self._members):
            one.place = places[number] if number < len(places) else _IDLE

    def prepare(self, *steps: Step) -> None:
        """Have every worker take these steps, and each that takes the place of another, too."""
        self._steps = steps
        for one in self._members:
            self._begin(one)

    def run(self, waiting: Waiting, take: Take, done: Callable[[Unit], None]) -> None:
        """Have all units done that wait.

        Args:
            waiting: the units; `done` may add some.
            take: takes what is handed back.
            done: is told when a unit is done.
        """
        last_word = time.monotonic()
        while True:
            for one in self._members:
                self._give(one, waiting)
            if not len(waiting) and all(one.unit is None for one in self._members):
                break
            speaking = {one.awaited: one for one in self._members if one.awaited is not None}
            ready, _ = ray.wait(list(speaking), num_returns=1, timeout=_LOOK_SECONDS)
            for awaited in ready:
                self._attend(speaking[awaited], waiting, take, done)
            # Whoever is there may take long to open a model; whoever is not waits for room.
            if ready or any(one.unit is not None or (one.is_there and one.steps) for one in self._members):
                last_word = time.monotonic()
            elif time.monotonic() - last_word > ROOM_SECONDS:
                raise workers_lost(len(self._members), "the cluster has no room for others")
        if waiting.given_up:
            raise _parts_failed(waiting.given_up)

    def dismiss(self) -> None:
        """End all workers, whatever they are doing: none writes any more when this returns."""
        _end([one.actor for one in self._members])
        self._members = []

    def _begin(self, one: _Member) -> None:
        one.steps = [] if one.is_there else [one.actor.__ray_ready__.remote()]
        one.steps += [getattr(one.actor, method).remote(*given) for method, given in self._steps]

    def _give(self, one: _Member, waiting: Waiting) -> None:
        """Give a worker something to do, if it is idle and something waits for it."""
        if one.steps or one.unit is not None:
            return
        unit = waiting.next(one.place)
        if unit is None:
            return
        method = getattr(one.actor, unit.method)
        handing = method.options(num_returns="streaming", _generator_backpressure_num_objects=_IN_FLIGHT)
        one.unit, one.handing, one.is_passing_on = unit, handing.remote(*unit.given()), False

    def _attend(self, one: _Member, waiting: Waiting, take: Take, done: Callable[[Unit], None]) -> None:
        """Deal with what a worker has to say."""
        try:
            if one.steps:
                self._ready(one)
            else:
                self._taken(one, waiting, take, done)
        except RayTaskError as error:
            # Ray wraps whatever the worker raised.
            self._give_back(one, waiting, _gist(error.cause))
        except RayError as error:
            # It was killed, by whomever, or its machine is gone, or something that it needed.
            self._give_back(one, waiting, _gist(error))
            self._replace(one, error)

    def _ready(self, one: _Member) -> None:
        """A step is taken."""
        try:
            answer = ray.get(one.steps[0])
        except RayTaskError as error:
            raise worker_refused("a machine of the cluster", _gist(error.cause)) from error
        if isinstance(answer, Failure):
            raise worker_refused(answer.machine, answer.problem)
        one.steps.pop(0)
        one.is_there = True
        if not one.steps:
            self._n_failed_starts = 0

    def _taken(self, one: _Member, waiting: Waiting, take: Take, done: Callable[[Unit], None]) -> None:
        """Something is handed back, or the unit is done."""
        assert one.unit is not None
        try:
            reference = next(one.handing)
        except StopIteration:
            unit, one.unit, one.handing = one.unit, None, None
            done(unit)
            return
        if one.is_passing_on:
            one.is_passing_on = False
            take(one.unit, None, reference)
            return
        handed = ray.get(reference)
        if isinstance(handed, StreamsFollow):
            one.is_passing_on = True
        elif not isinstance(handed, Failure):
            take(one.unit, handed, reference)
        elif handed.kind == "disk":
            self._give_back(one, waiting, handed.problem)
        elif handed.kind == "overflow":
            raise NotFinite(handed.table, handed.column)
        else:
            raise worker_refused(handed.machine, handed.problem)

    def _give_back(self, one: _Member, waiting: Waiting, problem: str) -> None:
        unit, one.unit, one.handing = one.unit, None, None
        if unit is not None:
            waiting.give_back(unit, problem)

    def _replace(self, one: _Member, error: Exception) -> None:
        self.n_lost += 1
        self._n_failed_starts += 1
        if self._n_failed_starts > TRIES * len(self._members):
            raise workers_lost(self._n_failed_starts, _gist(error)) from error
        _end([one.actor])
        one.actor, one.is_there = self._actor_class.remote(), False
        self._begin(one)


def _end(actors: Sequence[Any]) -> None:
    """Kill workers, and wait until they are dead."""
    for actor in actors:
        ray.kill(actor)
    # Each of them is answered by the news that the worker is dead.
    last_words = [actor.__ray_ready__.remote() for actor in actors]
    if last_words:
        ray.wait(last_words, num_returns=len(last_words), timeout=_END_SECONDS)


def _gist(error: BaseException) -> str:
    """The gist of an error in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__


def _parts_failed(parts: Sequence[tuple[str, str]]) -> Failed:
    """Some parts cannot be measured; the others are finished."""
    name, reason = parts[0]
    others = f" (and {len(parts) - 1} other parts: {', '.join(part for part, _ in parts[1:6])})" if parts[1:] else ""
    return Failed(
        f"{name} failed {TRIES} times on the workers: {reason}{others}",
        "the other parts are finished and kept, and repeating the command measures only what is missing",
        what="parts",
        why=reason,
    )
