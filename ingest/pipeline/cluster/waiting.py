"""What is left to hand out: units of work, which may be given back, and given up."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

TRIES = 3
"""How often a unit may fail before it is given up."""


@dataclass(frozen=True, eq=False)
class Unit:
    """What one worker does at a time.

    Attributes:
        name: as people read it.
        method: the worker's method.
        given: what the method is given, found out when the unit is handed out.
        place: which workers do it: those of this number; None: any.
        restart: what is to be done first when it fails; None: itself.
    """

    name: str
    method: str
    given: Callable[[], tuple[Any, ...]]
    place: int | None = None
    restart: "Unit | None" = None


class Waiting:
    """Units that wait for a worker, in the order in which they are to be done.

    Attributes:
        given_up: units that failed too often, each with what went wrong at last.
    """

    def __init__(self, units: Iterable[Unit] = (), *, dropped: Callable[[Unit], None] = lambda unit: None) -> None:
        self._units = deque(units)
        self._n_failed: dict[str, int] = {}
        self._dropped = dropped
        self.given_up: list[tuple[str, str]] = []

    def __len__(self) -> int:
        return len(self._units)

    def next(self, place: int) -> Unit | None:
        """The next unit for a worker of this place; it does not wait any more."""
        for unit in self._units:
            if unit.place in (None, place):
                self._units.remove(unit)
                return unit
        return None

    def add(self, unit: Unit) -> None:
        """Another unit, which comes last."""
        self._units.append(unit)

    def give_back(self, unit: Unit, problem: str) -> None:
        """Take back a unit that failed: it comes first, unless it has failed too often and is given up."""
        self._n_failed[unit.name] = self._n_failed.get(unit.name, 0) + 1
        if self._n_failed[unit.name] < TRIES:
            self._units.appendleft(unit.restart or unit)
        else:
            self.given_up.append((unit.name, problem))
            self._dropped(unit)
