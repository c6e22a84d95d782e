"""Which size to measure next: the next larger one of a family, by the name that a warehouse gives a model."""

import pytest

from neurothek.ingest import minis
from neurothek.queries.compare.other_sizes import FAMILIES, other_size


@pytest.mark.parametrize(
    ("model", "other"),
    [
        ("opt-125m", "facebook/opt-350m"),
        ("opt-66b", "facebook/opt-30b"),
        ("smollm2-135m", "HuggingFaceTB/SmolLM2-360M"),
        ("SmolLM2-135M-Instruct", "HuggingFaceTB/SmolLM2-360M"),
        ("pythia-1b", "EleutherAI/pythia-1.4b"),
        ("pythia-14m-seed1", "EleutherAI/pythia-31m"),
        ("gpt2", "openai-community/gpt2-medium"),
        ("gpt2-medium", "openai-community/gpt2-large"),
        ("gpt2-xl", "openai-community/gpt2-large"),
        ("gpt20", None),
        ("mine-1m", None),
    ],
)
def test_the_next_size_is_named(model: str, other: str | None) -> None:
    assert other_size(model) == other


def test_a_size_stands_in_one_family() -> None:
    sizes = [size for family in FAMILIES for size in family]
    assert len(sizes) == len({size.lower() for size in sizes})
    assert tuple(minis.sizes()) == FAMILIES[0]
