"""The job `entropy` against loops over every token, written from the definitions, and against vectors made by hand."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.lens.random_vectors import percentiles, random_vectors
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import load
from neurothek.ingest.models.transformer import open_transformer
from tests.support import ingests, models
from tests.support.anatomy import Floats
from tests.support.models import Kind, build
from tests.support.plain import PlainModel

KINDS: tuple[Kind, ...] = (*models.CAUSAL_KINDS, "gemma2", "granite")
LAYER, D_FFN, N_RANDOM = 1, 24, 500
SHORT, FLAT, FREQUENT = 5, 6, 7
"""Neurons of the layer: without a length; of equal logits for all tokens; whose scores follow token counts."""


@dataclass(frozen=True)
class Readout:
    """The vocabulary as a vector in the stream meets it, token by token."""

    rows: Floats  # [vocab d_model]
    log_counts: Floats  # [vocab]
    is_centred: bool

    def of(self, vector: Floats) -> tuple[float, float, float] | None:
        """Logit variance, null share and correlation with counts."""
        if np.linalg.norm(vector) < 1e-6:
            return None
        v = vector - vector.mean() if self.is_centred else vector
        cosines = [float(row @ v) / (np.linalg.norm(row) * np.linalg.norm(v)) for row in self.rows]
        centred = self.rows - self.rows.mean(0)
        _, sizes, directions = np.linalg.svd(centred, full_matrices=True)
        sizes = np.concatenate([sizes, np.zeros(len(directions) - len(sizes))])
        held, null = 0.0, 0.0
        for size, direction in reversed(list(zip(sizes, directions, strict=True))):
            held += float(size) ** 2
            if held > 0.01 * float((sizes**2).sum()):
                break
            null += float(direction @ v) ** 2
        scores = [float(row @ v) for row in self.rows]
        correlation = float(np.corrcoef(scores, self.log_counts)[0, 1]) if np.std(scores) > 1e-9 else math.nan
        return float(np.var(cosines)), null / float(v @ v), correlation


def read_rows(plain: PlainModel) -> tuple[Floats, bool]:
    """[rows d_model] what a stream's product with is its logits, but for the final norm's divisor and a constant."""
    rows, norm = plain.unembedding(), plain.anatomy.final_norm()
    if norm is None:
        return rows, False
    rows = rows * norm.gamma
    return (rows, False) if norm.is_rms else (rows - rows.mean(1, keepdims=True), True)


def readout_of(folder: Path, warehouse: Warehouse) -> Readout:
    plain, tokenizer = PlainModel(folder), load(folder)
    counts = dict.fromkeys(tokenizer.ids.tolist(), 0)
    for row in ingests.table(warehouse, "sequences").to_dicts():
        for token in row["tokens"][len(plain.bos) :]:
            counts[token] += 1
    rows, is_centred = read_rows(plain)
    return Readout(rows[list(counts)], np.array([math.log(1 + n) for n in counts.values()]), is_centred)


@dataclass(frozen=True)
class Measured:
    kind: Kind
    folder: Path
    rows: list[dict[str, Any]]
    readout: Readout


@pytest.fixture(scope="module", params=KINDS)
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    kind: Kind = request.param
    folder = tmp_path_factory.mktemp("entropy")
    model = build(folder / "m", kind, d_ffn=D_FFN, d_model=16, n_heads=2, seed=3)
    models.edit_tensors(model, shorten_)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    asked = ingests.request(ingests.write_corpus(folder), jobs=("entropy",), text={"tokens_per_domain": 600})
    assert ingests.measure(warehouse, model, asked).rows == {"entropy": 2 * D_FFN}
    rows = ingests.table(warehouse, "entropy", f"layer = {LAYER}").sort("neuron").to_dicts()
    return Measured(kind, model, rows, readout_of(model, warehouse))


def shorten_(tensors: dict[str, torch.Tensor]) -> None:
    for name, tensor in tensors.items():
        if name.endswith((f"layers.{LAYER}.fc2.weight", f"layers.{LAYER}.mlp.dense_4h_to_h.weight")):
            tensor[:, SHORT] *= 1e-9
        if name.endswith(f"layers.{LAYER}.mlp.down_proj.weight"):
            tensor[:, SHORT] *= 1e-9
        if name.endswith(f"h.{LAYER}.mlp.c_proj.weight"):
            tensor[SHORT] *= 1e-9


def test_numbers_equal_plain_loops(measured: Measured) -> None:
    transformer = open_transformer(find(str(measured.folder)))
    values = transformer.value_vectors(LAYER)
    drawn = random_vectors(values, n=N_RANDOM, seed=0, layer=LAYER, either_sign=transformer.shape.is_gated)
    null = np.array([measured.readout.of(vector) for vector in drawn.double().numpy()])
    of_values = PlainModel(measured.folder).anatomy.value_rows(LAYER)
    np.testing.assert_allclose(of_values, values.double().numpy(), rtol=1e-5, atol=1e-7)
    names = ("logit_variance", "null_share", "count_correlation")
    for row, vector in zip(measured.rows, of_values, strict=True):
        expected = measured.readout.of(vector)
        if expected is None:
            assert row["neuron"] == SHORT
            assert {row[name] for name in row if name.startswith(names)} == {None}
            continue
        for column, (name, number) in enumerate(zip(names, expected, strict=True)):
            assert row[name] == pytest.approx(number, rel=1e-4, abs=1e-7), name
            sizes, size = np.abs(null[:, column]), abs(number)
            # Numbers are never below 0 but for correlations, of which the size is ranked.
            near = int((np.abs(sizes - size) <= 1e-4 * size + 1e-7).sum())
            below = 100 * float((sizes < size).mean())
            assert abs(row[f"{name}_percentile"] - below) <= 100 * (near + 1) / N_RANDOM, name
    assert [row["neuron"] for row in measured.rows] == list(range(D_FFN))


def write_values(folder: Path, kind: Kind, vectors: dict[int, Floats]) -> None:
    """Make value vectors of the layer, by neuron."""

    def edit_(tensors: dict[str, torch.Tensor]) -> None:
        for neuron, vector in vectors.items():
            column = torch.from_numpy(vector).float()
            if kind == "gpt2":
                tensors[f"transformer.h.{LAYER}.mlp.c_proj.weight"][neuron] = column
            else:
                tensors[f"model.layers.{LAYER}.mlp.down_proj.weight"][:, neuron] = column

    models.edit_tensors(folder, edit_)


def flatten(folder: Path, kind: Kind, *, is_centred: bool) -> Floats:
    """A direction of the stream in which all tokens are made alike; of length 1."""
    chosen: Floats = np.random.default_rng(0).standard_normal(16)
    chosen -= chosen.mean() if is_centred else 0
    chosen /= np.linalg.norm(chosen)
    head = "lm_head.weight" if kind == "llama" else "transformer.wte.weight"
    norm = PlainModel(folder).anatomy.final_norm()
    assert norm is not None
    met = norm.gamma * chosen / np.linalg.norm(norm.gamma * chosen)

    def flatten_(tensors: dict[str, torch.Tensor]) -> None:
        rows = tensors[head].double().numpy()
        rows -= np.outer(rows @ met, met)
        tensors[head] = torch.from_numpy(rows + 0.3 * met).float()

    models.edit_tensors(folder, flatten_)
    return chosen


def check_summaries(warehouse: Warehouse, found: list[dict[str, Any]]) -> None:
    """Layers, models and the view `neurons` say the same as the rows of the layer."""
    with warehouse.reader() as connection:
        (by_layer,) = connection.sql(f"from entropy_by_layer where layer = {LAYER}").pl().to_dicts()
        (of_neurons,) = connection.sql(f"from neurons where layer = {LAYER} and neuron = {FLAT}").pl().to_dicts()
    assert (by_layer["n_neurons"], by_layer["n_entropy_neurons"]) == (D_FFN, 1)
    assert by_layer["null_share"] == pytest.approx(sum(row["null_share"] for row in found) / D_FFN)
    assert by_layer["beyond_random_share"] == pytest.approx(
        sum(row["null_share_percentile"] == 100 for row in found) / D_FFN
    )
    assert by_layer["n_frequency_neurons"] == sum(row["is_frequency_neuron"] for row in found)
    with warehouse.reader() as connection:
        (of_model,) = connection.sql("from traits_by_model").pl().to_dicts()
        every = connection.sql("from entropy_neurons").pl().to_dicts()
    beyond = [row for row in every if row["null_share_percentile"] == 100]
    assert (of_model["n_neurons"], of_model["n_tested"]) == (2 * D_FFN, None)
    assert of_model["beyond_random_share"] == pytest.approx(len(beyond) / len(every))
    assert of_model["n_entropy_neurons"] == sum(row["is_entropy_neuron"] for row in every)
    assert of_model["n_frequency_neurons"] == sum(row["is_frequency_neuron"] for row in every)
    assert of_neurons["is_entropy_neuron"] is True
    assert of_neurons["null_share"] == found[FLAT]["null_share"]


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_planted_neurons_are_found(kind: Kind, tmp_path: Path) -> None:
    """One whose logits are alike for all tokens, and one whose logits follow token counts; both are long."""
    model = build(tmp_path / "m", kind, d_ffn=D_FFN, d_model=16, n_heads=2, seed=3)
    corpora = ingests.write_corpus(tmp_path)
    asked = ingests.request(corpora, jobs=("projections", "activity", "entropy"), text={"tokens_per_domain": 600})
    first = ingests.open_warehouse(tmp_path / "first.duckdb")
    ingests.measure(first, model, asked)
    before = readout_of(model, first)
    chosen = flatten(model, kind, is_centred=before.is_centred)
    second = ingests.open_warehouse(tmp_path / "second.duckdb")
    ingests.measure(second, model, asked)
    rows = readout_of(model, second)
    centred = rows.rows - rows.rows.mean(0)
    follows = np.linalg.lstsq(centred, rows.log_counts - rows.log_counts.mean(), rcond=1e-4)[0]
    length = 3 * np.linalg.norm(PlainModel(model).anatomy.value_rows(LAYER), axis=1).max()
    write_values(model, kind, {FLAT: length * chosen, FREQUENT: length * follows / np.linalg.norm(follows)})
    third = ingests.open_warehouse(tmp_path / "third.duckdb")
    ingests.measure(third, model, asked)
    with third.reader() as connection:
        query = f"from entropy_neurons where layer = {LAYER} order by neuron"
        found = connection.sql(query).pl().to_dicts()
    flat, frequent = found[FLAT], found[FREQUENT]
    assert flat["null_share"] == pytest.approx(1, abs=1e-6)
    assert (flat["null_share_percentile"], flat["is_entropy_neuron"]) == (100, True)
    # Its logits follow nothing.
    assert flat["count_correlation"] is None or abs(flat["count_correlation"]) < 1
    assert (frequent["count_correlation_percentile"], frequent["is_frequency_neuron"]) == (100, True)
    scores = rows.rows @ follows
    assert frequent["count_correlation"] == pytest.approx(np.corrcoef(scores, rows.log_counts)[0, 1], rel=1e-4)
    assert [row["neuron"] for row in found if row["is_entropy_neuron"]] == [FLAT]
    check_summaries(third, found)
    # A short one is none, however it points.
    write_values(model, kind, {FLAT: 1e-3 * chosen})
    fourth = ingests.open_warehouse(tmp_path / "fourth.duckdb")
    ingests.measure(fourth, model, asked)
    with fourth.reader() as connection:
        (short,) = connection.sql(f"from entropy_neurons where layer = {LAYER} and neuron = {FLAT}").pl().to_dicts()
    assert (short["null_share_percentile"], short["is_entropy_neuron"]) == (100, False)


def test_percentiles() -> None:
    null = np.array([1.0, 2.0, 2.0, math.nan, 4.0])
    found = percentiles(np.array([0.0, 1.0, 2.0, 3.0, 5.0, math.nan]), null)
    assert found[:5].tolist() == [0, 12.5, 50, 75, 100]
    assert math.isnan(found[5])
    assert np.isnan(percentiles(np.array([1.0]), np.array([math.nan]))).all()
