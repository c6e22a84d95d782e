"""Work shared between threads: every item once, results in order, errors seen, the thread count put back."""

import threading
from collections.abc import Iterator

import pytest
import torch

from neurothek.ingest.numerics.parallel import mapped, share


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_item_is_worked_on_once(workers: int) -> None:
    seen: list[int] = []

    def work(mine: Iterator[int]) -> None:
        seen.extend(mine)

    share(range(100), work, workers=workers)
    assert sorted(seen) == list(range(100))


def test_results_keep_the_order_of_the_items() -> None:
    assert mapped(lambda number: number * number, list(range(50)), device=torch.device("cpu")) == [
        number * number for number in range(50)
    ]
    assert mapped(lambda number: number, [], device=torch.device("cpu")) == []


def test_the_thread_count_is_put_back() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(4)
        inside: list[int] = []
        share(range(4), lambda mine: inside.extend(torch.get_num_threads() for _ in mine), workers=2)
        assert set(inside) == {2}
        assert torch.get_num_threads() == 4
    finally:
        torch.set_num_threads(before)


def test_an_error_ends_the_work_and_is_raised() -> None:
    worked: list[int] = []
    failed = threading.Event()

    def work(mine: Iterator[int]) -> None:
        for item in mine:
            if item == 3:
                failed.set()
                raise ValueError("planted")
            failed.wait()
            worked.append(item)

    with pytest.raises(ValueError, match="planted"):
        share(range(10_000), work, workers=1 if failed.is_set() else 4)
    assert len(worked) < 10_000
    assert torch.get_num_threads() >= 1
