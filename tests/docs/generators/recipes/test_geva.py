"""The recipe on GPT-2 medium: its ten neurons, and the argument for what stands in for WikiLM."""

import math
from pathlib import Path

from docs.generators.recipes import geva
from neurothek.ingest.golden.entries import read_entries

FOLDER = Path(geva.__file__).parents[2] / "recipes"


def test_the_neurons_are_those_whose_published_vectors_are_checked() -> None:
    listed = (FOLDER / "geva_neurons.txt").read_text("utf-8").split()
    published = [one.name for one in read_entries() if one.name.startswith("gpt2-medium-L")]
    assert listed == [name.replace("gpt2-medium-", "gpt2-medium/") for name in published]
    assert len(listed) == 10


def test_the_stand_in_is_nearest_in_size_of_those_with_relu_and_norms_before() -> None:
    layers, width, ffn, _ = geva.WIKILM
    # Four square maps with biases, the FFN's two with theirs, two norms, a layer at a time.
    wikilm = sum(4 * (width**2 + width) + 2 * width * ffn + ffn + width + 4 * width for _ in range(layers))
    possible = {
        name: shape
        for name, shape in geva.MEASURED.items()
        if shape.activation == "relu" and shape.norm_position == "pre"
    }
    for size_of, target in ((geva.blocks, wikilm), (lambda shape: shape.n_layers * shape.d_ffn, layers * ffn)):
        far = {name: abs(math.log(size_of(shape) / target)) for name, shape in possible.items()}
        assert min(far, key=lambda name: far[name]) == "opt-125m"


def test_the_other_has_its_widths_and_no_norm_at_the_end() -> None:
    _, width, ffn, _ = geva.WIKILM
    other = geva.MEASURED["opt-350m"]
    assert (other.d_model, other.d_ffn, other.norm_position) == (width, ffn, "post")


def test_streams_are_read_twice_a_layer() -> None:
    shape = geva.MEASURED["opt-125m"]
    products = sum(shape.vocab_size * shape.d_model for _ in range(shape.n_layers) for _ in ("pre", "post"))
    assert geva.reading_flops(shape, 7) == 7 * 2 * products


def test_exact_clusters_of_gpt2_medium_take_all_pairs_of_half_of_its_neurons() -> None:
    (row,) = (line for line in geva.geva().splitlines() if line.startswith("| gpt2-medium |") and "FLOPs" in line)
    said = float(row.split(" | ")[3].removesuffix(" GB"))
    pairs = 49_152 * 49_151 // 2 * 8
    assert pairs / 1e9 < said < 1.13 * pairs / 1e9
