"""Classes of neurons by what they read and write: planted ones, random ones beside them, and a loop over the rows."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from neurothek.catalog.store.warehouse import Warehouse
from tests.support import ingests
from tests.support.models import Kind, build, edit_tensors

CLASSES = {
    0: "enrichment",
    1: "depletion",
    2: "conditional enrichment",
    3: "conditional depletion",
    4: "proportional change",
    5: "orthogonal",
}
"""Neuron of layer 1 -> what it is made to be."""


def planted_(tensors: dict[str, torch.Tensor]) -> None:
    """Rows of gate and up that lie to the value vectors as the classes say; the others stay random."""
    layer = "model.layers.1"
    gain = tensors[f"{layer}.post_attention_layernorm.weight"]
    values = tensors[f"{layer}.mlp.down_proj.weight"].T
    gates, ups = (tensors[f"{layer}.mlp.{name}_proj.weight"] for name in ("gate", "up"))
    for neuron, name in CLASSES.items():
        value = values[neuron]
        apart = torch.randn(len(value), generator=torch.Generator().manual_seed(neuron))
        apart = (apart - apart @ value / (value @ value) * value) / gain
        turned = 1 if neuron % 2 else -1
        ups[neuron] = {"enrichment": 1, "depletion": -1}.get(name.split()[-1], 0) * value / gain
        if name in ("orthogonal", "proportional change"):
            ups[neuron] = apart
        # Which way a gate lies is a convention.
        gates[neuron] = apart if "conditional" in name or name == "orthogonal" else turned * value / gain


def measured(folder: Path, kind: Kind) -> Warehouse:
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    build(folder / kind, kind, d_ffn=24)
    if kind == "llama":
        edit_tensors(folder / kind, planted_)
    ingests.measure(warehouse, folder / kind, ingests.request((), jobs=("keys",)))
    return warehouse


def rows(warehouse: Warehouse, query: str) -> list[dict[str, Any]]:
    with warehouse.reader() as connection:
        found: list[dict[str, Any]] = connection.sql(query).pl().to_dicts()
    return found


def test_planted_neurons_have_their_classes(tmp_path: Path) -> None:
    warehouse = measured(tmp_path, "llama")
    by_neuron = {row["neuron"]: row for row in rows(warehouse, "from input_output where layer = 1")}
    assert {neuron: by_neuron[neuron]["io_class"] for neuron in CLASSES} == CLASSES
    assert {row["key_value"] for row in by_neuron.values()} == {None}
    assert by_neuron[0]["up_value"] == pytest.approx(1, abs=1e-6)
    assert by_neuron[0]["gate_up"] == pytest.approx(-1, abs=1e-6)


@pytest.mark.parametrize("kind", ["llama", "opt"])
def test_layers_count_their_neurons_beside_random_ones(tmp_path: Path, kind: Kind) -> None:
    warehouse = measured(tmp_path, kind)
    neurons = rows(warehouse, "from input_output")
    assert {row["model"] for row in neurons} == {kind}
    counted = Counter((row["layer"], row["io_class"]) for row in neurons)
    found = {(row["layer"], row["io_class"]): row for row in rows(warehouse, "from input_output_by_layer")}
    assert {key: row["n_neurons"] for key, row in found.items() if row["n_neurons"]} == dict(counted)
    for (layer, _), row in found.items():
        assert row["share"] == pytest.approx(row["n_neurons"] / sum(n for (at, _), n in counted.items() if at == layer))
    for layer in range(2):
        assert sum(row["random_share"] for (at, _), row in found.items() if at == layer) == pytest.approx(1)
        assert found[layer, "orthogonal"]["random_share"] > 0.9
    if kind == "opt":
        for row in neurons:
            sign = "enrichment" if row["key_value"] > 0 else "depletion"
            assert row["io_class"] == (sign if abs(row["key_value"]) >= 0.5 else "orthogonal")
