"""A cluster on paper: the engine's own queue of units, and workers and a driver that only take time.

What is real is who gets which unit when: `Sweeping`, `Waiting` and `Placement` are those of the engine. What is made up
is how long a worker takes for a step of a unit, how long the driver takes for what is handed back, and who fails.
"""

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from neurothek.ingest.corpora.corpus import CHUNK_TOKENS, Corpus
from neurothek.ingest.pipeline.cluster.waiting import Unit, Waiting
from neurothek.ingest.pipeline.engines.engine import StagedJob

IN_FLIGHT = 8
"""Parts that a worker may be ahead of the driver, as in the engine's pool, which cannot be imported without Ray."""


class UnseenJob(StagedJob):
    """A job of which nothing is staged, known by its name alone."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "job", _Named(name))

    def has(self, layer: int, chunk: int) -> bool:
        """Nothing is there."""
        return False


@dataclass(frozen=True)
class _Named:
    name: str


def text_of_chunks(n_chunks: int) -> Corpus:
    """A text without ids that is read in so many chunks."""
    return Corpus(
        name="chunks",
        sha256="",
        text_sha256="",
        tokenizer_sha256="",
        sequence_length=CHUNK_TOKENS,
        has_bos=False,
        domains=("first",),
        tokens=np.zeros(0, dtype=np.int32),
        offsets=np.arange(n_chunks + 1, dtype=np.int64) * CHUNK_TOKENS,
        domain_of=np.zeros(n_chunks, dtype=np.int16),
        starts_document=np.ones(n_chunks, dtype=np.bool_),
        recipe="{}",
    )


@dataclass(frozen=True)
class Step:
    """What a worker does until it hands something back."""

    seconds: float  # how long an ordinary worker takes
    # what it hands back: (job, layer, chunk) each, or a mark of another kind
    parts: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True)
class Driver:
    """What the driver does, in one thread, while nobody else is attended to."""

    # what a unit takes, asked when it is handed out; each worker that was ever started has a number
    steps: Callable[[Unit, int], Sequence[Step]]
    take: Callable[[Unit, Step], float]  # takes what a step handed back; the seconds that this takes
    done: Callable[[Unit], None] = lambda unit: None  # is told when a unit is done


@dataclass(frozen=True)
class Fleet:
    """The workers."""

    places: Sequence[int]  # what each does, as `Placement.places` says
    start_seconds: float = 0.0  # how long one takes to begin, at first and in the place of a lost one
    slowness: Callable[[], float] = lambda: 1.0  # how many times as long as an ordinary one the next worker takes
    lifetime: Callable[[], float] = lambda: float("inf")  # seconds after which the next worker is lost


@dataclass
class Outcome:
    """What became of it."""

    seconds: float = 0.0  # until all units are done, and all that they handed back is taken
    busy_seconds: float = 0.0  # of all workers together, on steps that were not lost
    driver_seconds: float = 0.0  # that the driver took
    n_lost: int = 0  # workers that were lost
    n_given_up: int = 0  # units that failed too often
    last: dict[str, float] = field(default_factory=dict)  # method of units -> when the last of them was done


Happening = Literal["ready", "step", "lost"]


@dataclass(eq=False)
class _Worker:
    """One worker."""

    place: int  # units of which it does
    slowness: float  # how many times as long it takes
    dies_at: float  # when it is lost
    number: int = 0  # of all that were ever started
    is_ready: bool = False  # whether it can be given something
    life: int = 0  # how many workers were in its place before
    unit: Unit | None = None  # what it does
    steps: deque[Step] = field(default_factory=deque)  # what is left of that, the one that it is at first
    said: deque[Step] = field(default_factory=deque)  # steps that it finished and that the driver has not attended to
    is_working: bool = False  # whether it is at a step, and not waiting for the driver
    is_lost: bool = False  # whether it is gone, which the driver does not know

    @property
    def has_something_to_say(self) -> bool:
        """Whether it has handed something back, is done, or is gone while it had something to do."""
        return self.unit is not None and (self.is_lost or bool(self.said) or not self.steps)


class Simulation:
    """One run of the engine's pool, on a clock of its own."""

    def __init__(self, waiting: Waiting, fleet: Fleet, driver: Driver) -> None:
        self._waiting, self._fleet, self._driver = waiting, fleet, driver
        self._now = 0.0
        self._numbers, self._started = itertools.count(), itertools.count()
        self._events: list[tuple[float, int, _Worker, int, Happening]] = []
        self._workers = [_Worker(place, 1.0, 0.0) for place in fleet.places]
        self._outcome = Outcome()
        self._may_give = True
        for worker in self._workers:
            self._start(worker)

    def run(self) -> Outcome:
        """Have all units done that wait, as `WorkerPool.run` has."""
        while True:
            # The pool offers a unit to every idle worker each time; nothing comes of it unless something has changed.
            if self._may_give:
                self._may_give = False
                for worker in self._workers:
                    self._give(worker)
            if not len(self._waiting) and all(worker.unit is None for worker in self._workers):
                break
            # Ray hands over the first in the list of those that are ready.
            speaking = next((worker for worker in self._workers if worker.has_something_to_say), None)
            if speaking is None:
                self._advance(self._events[0][0])
            else:
                self._attend(speaking)
        self._outcome.seconds = self._now
        self._outcome.n_given_up = len(self._waiting.given_up)
        return self._outcome

    def _start(self, worker: _Worker) -> None:
        worker.slowness, worker.number = self._fleet.slowness(), next(self._started)
        begins = self._now + self._fleet.start_seconds
        worker.dies_at = begins + self._fleet.lifetime()
        worker.is_ready = worker.is_lost = worker.is_working = False
        self._expect(begins, worker, "ready")

    def _expect(self, at: float, worker: _Worker, what: Happening) -> None:
        heapq.heappush(self._events, (at, next(self._numbers), worker, worker.life, what))

    def _advance(self, to: float) -> None:
        """Let everything happen that happens until then."""
        self._now = max(self._now, to)
        while self._events and self._events[0][0] <= self._now:
            at, _, worker, life, what = heapq.heappop(self._events)
            if life != worker.life:
                continue
            if what == "ready":
                worker.is_ready = self._may_give = True
            elif what == "lost":
                worker.is_lost, worker.is_working = True, False
            else:
                worker.said.append(worker.steps.popleft())
                worker.is_working = False
                self._work(worker, at)

    def _give(self, worker: _Worker) -> None:
        if not worker.is_ready or worker.unit is not None:
            return
        unit = self._waiting.next(worker.place)
        if unit is None:
            return
        worker.unit = unit
        worker.steps, worker.said = deque(self._driver.steps(unit, worker.number)), deque()
        if worker.dies_at <= self._now:
            worker.is_lost = True
            return
        self._work(worker, self._now)

    def _work(self, worker: _Worker, at: float) -> None:
        """Begin the next step, unless too much of what was handed back before is not taken yet."""
        in_flight = sum(len(step.parts) for step in worker.said)
        if worker.is_lost or worker.is_working or not worker.steps or in_flight >= IN_FLIGHT:
            return
        ends = at + worker.steps[0].seconds * worker.slowness
        worker.is_working = True
        if worker.dies_at < ends:
            self._expect(max(at, worker.dies_at), worker, "lost")
        else:
            self._expect(ends, worker, "step")

    def _attend(self, worker: _Worker) -> None:
        """Deal with what a worker has to say, while whatever else happens goes on."""
        unit = worker.unit
        assert unit is not None
        if worker.is_lost:
            self._lose(worker, unit)
        elif worker.said:
            step = worker.said.popleft()
            self._outcome.busy_seconds += step.seconds * worker.slowness
            # Taken first, so that the worker goes on while the driver works.
            self._work(worker, self._now)
            n_waiting = len(self._waiting)
            seconds = self._driver.take(unit, step)
            self._may_give |= len(self._waiting) > n_waiting
            self._outcome.driver_seconds += seconds
            self._advance(self._now + seconds)
        else:
            worker.unit, self._may_give = None, True
            self._outcome.last[unit.method] = self._now
            self._driver.done(unit)

    def _lose(self, worker: _Worker, unit: Unit) -> None:
        """Give back what a lost worker did, with all that was not taken, and start another."""
        worker.unit, worker.steps, worker.said = None, deque(), deque()
        worker.life += 1
        self._may_give = True
        self._outcome.n_lost += 1
        self._waiting.give_back(unit, "lost")
        self._start(worker)
