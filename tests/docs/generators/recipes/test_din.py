"""The recipe on GPT-2 and BERT: operations counted pair by pair, and a row for every model of the paper."""

import pytest

from docs.generators.recipes import din, needs
from neurothek.ingest.jobs.shortcuts.methods import METHODS
from neurothek.ingest.planning.timing import block_flops

MODELS = ["gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "bert-base-uncased", "bert-large-uncased"]


def test_the_models_are_those_of_the_paper() -> None:
    assert list(din.MODELS) == MODELS
    page = din.din()
    assert all(page.count(f"| {name} |") == 1 for name in MODELS)
    assert all(f"/{name} " in page for name in MODELS)


@pytest.mark.parametrize("name", ["gpt2", "bert-large-uncased"])
def test_operations_are_those_of_all_pairs(name: str) -> None:
    """Added up one by one, for 9,000 sentences to fit on and 3,000 to validate on."""
    shape = din.MODELS[name]
    d, n_layers = shape.d_model, shape.n_layers
    square = 2 * d * d
    fits = passes = 0
    for source in range(n_layers):
        # X^T X, the basis of the fitted and of the validated, and the matrix that is kept.
        fits += 9_000 * square + 9_000 * square + 3_000 * square + d * square
        fits += sum(9_000 * square + 3_000 * square for _ in range(source + 1, n_layers + 1))
        # The same for attention, FFN and two norms of the layer, each with its one target.
        fits += 4 * (18_000 + 3_000 + 9_000 + 3_000 + d) * square
        passes += 12_000 * needs.IDS * block_flops(shape, needs.IDS)
        passes += sum(3 * 3_000 * needs.IDS * block_flops(shape, needs.IDS) for _ in range(source, n_layers))
    assert din.fit_flops(shape) == fits
    assert din.passes_flops(shape) == passes


def test_every_method_is_read_from_every_state_and_the_model_once() -> None:
    shape = din.MODELS["gpt2"]
    n_states = sum(1 for _ in METHODS for _ in range(12)) + 1
    assert din.reading_flops(shape) == n_states * 3_000 * 2 * 50_257 * 768


def test_kept_matrices_take_four_bytes_a_number() -> None:
    (row,) = (line for line in din.din().splitlines() if line.startswith("| gpt2-xl |"))
    cells = row.strip("| ").split(" | ")
    assert cells[3] == f"{48 * 49 // 2:,}"
    assert cells[8] == f"{48 * 49 // 2 * 1_600**2 * 4 / 1e9:,.1f} GB"
