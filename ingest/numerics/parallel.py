"""Several threads that each run whole blocks of work, instead of one operation spread over several threads."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Generic, TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def share(items: Iterable[Item], work: Callable[[Iterator[Item]], None], *, workers: int) -> None:
    """Call `work` in `workers` threads with an iterator that hands each item to one of them.

    Small operations cost more to spread over threads than to run, and a spread operation waits for its slowest thread;
    so each thread takes items of its own, and its operations are spread only over the cores that are left to it. What
    one worker would do alone is done here.
    """
    queue = _Queue(items)
    if workers == 1:
        work(queue)
        return
    with _threads_per_operation(max(1, torch.get_num_threads() // workers)), ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work, queue) for _ in range(workers)]
        try:
            for future in futures:
                future.result()
        finally:
            queue.close()


def mapped(function: Callable[[Item], Result], items: Sequence[Item], *, device: torch.device) -> list[Result]:
    """The results of `function` in the order of `items`: by one thread a core, or one for a GPU."""
    results: dict[int, Result] = {}
    workers = torch.get_num_threads() if device.type == "cpu" else 1
    work = partial(_note_results, function, items, results)
    share(range(len(items)), work, workers=max(1, min(workers, len(items))))
    return [results[number] for number in range(len(items))]


def _note_results(
    function: Callable[[Item], Result], items: Sequence[Item], results: dict[int, Result], mine: Iterator[int]
) -> None:
    with torch.inference_mode():
        for number in mine:
            results[number] = function(items[number])


@contextmanager
def _threads_per_operation(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Queue(Generic[Item]):
    """An iterator that several threads may draw from."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items, self._lock, self._is_closed = iter(items), Lock(), False

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        with self._lock:
            if self._is_closed:
                raise StopIteration
            return next(self._items)

    def close(self) -> None:
        """Hand out nothing more."""
        with self._lock:
            self._is_closed = True
