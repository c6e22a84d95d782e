"""How long work reports its progress, without knowing who watches."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class Progress(Protocol):
    """Receives the steps of one task at a time; a new `start` ends the task before it."""

    def start(self, label: str, total: int) -> None:
        """Begin a task of `total` steps (0: length unknown)."""

    def advance(self, amount: int = 1, note: str = "") -> None:
        """Count `amount` more steps as done; `note` is a short remark beside the bar."""

    def finish(self) -> None:
        """End the current task."""


class Silent:
    """A watcher that shows nothing: the default of every function that takes a `Progress`."""

    def start(self, label: str, total: int) -> None:
        """Ignore the beginning of a task."""

    def advance(self, amount: int = 1, note: str = "") -> None:
        """Ignore a step."""

    def finish(self) -> None:
        """Ignore the end of a task."""
