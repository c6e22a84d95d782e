"""What a recipe says of resources: the largest and the smallest plan, and numbers in words."""

import pytest
import torch

from docs.generators.recipes import needs
from docs.generators.recipes.shapes import opt
from neurothek.catalog.problems import LimitExceeded
from neurothek.ingest.planning.sweep_plan import Budget, ModelSize, choose
from neurothek.ingest.request import DEFAULT_BATCH_TOKENS


def test_the_least_plan_is_the_least_that_is_accepted() -> None:
    shape, text = opt("1.3b"), needs.Text(n_domains=2, tokens=50_000)
    roomy, least = needs.plans(shape, text.extent, jobs=("activity",))
    assert roomy.is_resident
    assert not least.is_resident
    for memory, is_accepted in ((least.memory_bytes, True), (least.memory_bytes - 1, False)):
        try:
            choose(
                ModelSize.published(shape, itemsize=needs.ITEMSIZE),
                text.extent,
                jobs=("activity",),
                weights_jobs=(),
                batch_tokens=DEFAULT_BATCH_TOKENS,
                budget=Budget(memory),
            )
        except LimitExceeded:
            assert not is_accepted
        else:
            assert is_accepted


def test_blocks_weigh_what_their_parameters_do() -> None:
    shape = opt("125m")
    everything, one = needs.weights_bytes(shape)
    assert everything == 4 * (shape.n_parameters - shape.n_parameters_embedding)
    assert 12 * one >= everything > 11 * one


def test_threads_are_given_back() -> None:
    before = torch.get_num_threads()
    with needs.threads():
        assert torch.get_num_threads() == needs.THREADS
    assert torch.get_num_threads() == before


def test_a_table_has_words_to_the_left_and_numbers_to_the_right() -> None:
    made = needs.table(("model", "n", "order"), [("a", "1", "first")], words=(0, 2))
    assert made.splitlines() == ["| model | n | order |", "|---|---:|---|", "| a | 1 | first |"]


@pytest.mark.parametrize(
    ("operations", "said"), [(1e13, "1 s"), (59.4e13, "59 s"), (600e13, "10 min"), (3.6e17, "10.0 h")]
)
def test_hours_at_ten_trillion_operations_a_second(operations: float, said: str) -> None:
    assert needs.hours(operations) == said
