"""The job `massive` against loops over transformers' own forward pass, and a planted super weight."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.jobs.massive.job import MassiveJob, MassiveObserver
from tests.support import ingests, jobs
from tests.support.anatomy import Floats, float64, loaded
from tests.support.coefficients import coefficients, corpus, output_of, padded
from tests.support.models import Kind, build, edit_tensors
from tests.support.plain import PlainModel

KINDS: tuple[Kind, ...] = ("opt", "gpt2", "llama", "gemma2")
D_FFN, PLANTED, CHANNEL = 24, 5, 11


def measure(folder: Path, model: Path) -> Warehouse:
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    corpora = ingests.write_corpus(folder)
    asked = ingests.request(corpora, jobs=("activity", "massive"), text={"tokens_per_domain": 400})
    ingests.measure(warehouse, model, asked)
    return warehouse


def largest(numbers: Floats, sequences: list[int]) -> tuple[float, int, int, int]:
    """(value, column, sequence, position) of the number that is farthest from 0."""
    row, column = divmod(int(np.abs(numbers).argmax()), numbers.shape[1])
    before = [other for other in sequences[:row] if other == sequences[row]]
    return float(numbers[row, column]), column, sequences[row], len(before)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_equal_plain_loops(kind: Kind, tmp_path: Path) -> None:
    model = build(tmp_path / kind, kind, d_ffn=D_FFN, seed=3)
    warehouse = measure(tmp_path, model)
    body = PlainModel(model).anatomy
    rows = ingests.table(warehouse, "massive_activations").sort("layer").to_dicts()
    texts = ingests.table(warehouse, "sequences").sort("sequence_id").to_dicts()
    assert [row["layer"] for row in rows] == [0, 1]
    for row in rows:
        layer = row["layer"]
        values, norm = body.value_rows(layer), body.written_norm(layer)
        inputs, written, outputs, sequences = [], [], [], []
        for text in texts:
            seen = body.watch(torch.tensor([text["tokens"]]))[layer]
            m = float64(seen["values in"]).reshape(-1, D_FFN)
            out = float64(seen["values out"]).reshape(len(m), -1)
            inputs.append(m)
            written.append(body.multipliers(layer, seen).reshape(m.shape))
            outputs.append(out if norm is None else norm(out))
            sequences += [text["sequence_id"]] * len(m)
        m, out = np.concatenate(inputs), np.concatenate(outputs)
        for what, numbers in (("input", m), ("output", out)):
            value, column, sequence, position = largest(numbers, sequences)
            name = "input_neuron" if what == "input" else "output_channel"
            assert row[f"{what}_largest"] == pytest.approx(value, rel=1e-4), what
            assert (row[name], row[f"{what}_sequence_id"], row[f"{what}_position"]) == (column, sequence, position), (
                what
            )
            assert row[f"{what}_mean"] == pytest.approx(float(np.abs(numbers).mean()), rel=1e-4)
        place = int(np.abs(out).max(1).argmax())
        weight = values[row["input_neuron"], row["output_channel"]]
        assert row["weight"] == pytest.approx(weight, rel=1e-5)
        added = np.concatenate(written)[place, row["input_neuron"]] * weight
        assert row["weight_share"] == pytest.approx(added / out[place, row["output_channel"]], rel=1e-3, abs=1e-6)


def test_a_weight_that_writes_all_of_the_output_is_found(tmp_path: Path) -> None:
    model = build(tmp_path / "opt", "opt", d_ffn=D_FFN, seed=3)

    def plant_(tensors: dict[str, torch.Tensor]) -> None:
        # On at any input, and read by one channel alone.
        tensors["model.decoder.layers.0.fc1.bias"][PLANTED] = 1e4
        tensors["model.decoder.layers.0.fc2.weight"][:, PLANTED] = 0
        tensors["model.decoder.layers.0.fc2.weight"][CHANNEL, PLANTED] = 5

    warehouse = measure(tmp_path, edit_tensors(model, plant_))
    with warehouse.reader() as connection:
        planted, other = connection.sql("from massive_activations order by layer").pl().to_dicts()
        tokens = dict(connection.sql("select token_id, text from store.tokens").fetchall())
        texts = dict(connection.sql("select sequence_id, tokens from store.sequences").fetchall())
        stored = connection.sql("from store.massive_activations order by layer").pl().to_dicts()
    assert (planted["input_neuron"], planted["output_channel"], planted["weight"]) == (PLANTED, CHANNEL, 5)
    assert planted["address"] == f"opt/L0N{PLANTED}"
    assert planted["weight_share"] == pytest.approx(1, abs=1e-3)
    # One of 24 coefficients, and one of 32 coordinates: they are in each mean, too.
    assert planted["input_ratio"] == pytest.approx(D_FFN, rel=0.01)
    assert planted["output_ratio"] == pytest.approx(32, rel=0.01)
    assert (planted["is_massive"], planted["is_super_weight"]) == (False, False)
    assert not other["is_super_weight"]
    for row, held in zip((planted, other), stored, strict=True):
        for what in ("input", "output"):
            token = texts[held[f"{what}_sequence_id"]][held[f"{what}_position"]]
            assert row[f"{what}_token"] == tokens[token]


def test_a_super_weight_that_is_on_at_first_positions_alone_is_found(tmp_path: Path) -> None:
    """As in real models: one number among thousands of ordinary ones, and not where the weight is another's."""
    model = build(tmp_path / "opt", "opt", d_ffn=D_FFN, seed=3)
    net: Any = loaded(model)
    read: list[torch.Tensor] = []
    hook = net.model.decoder.layers[0].fc1.register_forward_pre_hook(lambda _, given: read.append(given[0]))
    draw = np.random.default_rng(0)
    with torch.no_grad():
        for _ in range(20):
            net(torch.tensor([[net.config.bos_token_id, *draw.integers(4, 200, size=30)]]))
    hook.remove()
    rows = torch.cat([one.reshape(31, -1) for one in read])
    first, others = rows[0], rows[[place for place in range(len(rows)) if place % 31]]
    towards = first - others.mean(0)
    at_first, elsewhere = float(first @ towards), float((others @ towards).max())
    assert at_first > elsewhere

    def plant_(tensors: dict[str, torch.Tensor]) -> None:
        tensors["model.decoder.layers.0.fc1.weight"][PLANTED] = 1e4 * towards
        tensors["model.decoder.layers.0.fc1.bias"][PLANTED] = -1e4 * (0.8 * at_first + 0.2 * elsewhere)
        tensors["model.decoder.layers.0.fc2.weight"][:, PLANTED] = 0
        tensors["model.decoder.layers.0.fc2.weight"][CHANNEL, PLANTED] = 5

    edit_tensors(model, plant_)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    corpora = ingests.write_corpus(tmp_path)[:1]
    ingests.measure(warehouse, model, ingests.request(corpora, jobs=("activity", "massive")))
    with warehouse.reader() as connection:
        planted, other = connection.sql("from massive_activations order by layer").pl().to_dicts()
        counts = connection.sql("select n_massive_layers, n_super_weights from traits_by_model").fetchall()
    assert (planted["input_neuron"], planted["output_channel"], planted["weight"]) == (PLANTED, CHANNEL, 5)
    assert (planted["input_position"], planted["output_position"]) == (0, 0)
    assert planted["output_ratio"] > 1000
    assert planted["weight_share"] == pytest.approx(1, abs=1e-3)
    assert (planted["is_massive"], planted["is_super_weight"]) == (True, True)
    assert not other["is_super_weight"]
    assert counts == [(1, 1)]


def test_what_is_massive_and_super(tmp_path: Path) -> None:
    """One place of many, as in real models."""
    warehouse = measure(tmp_path, build(tmp_path / "opt", "opt", d_ffn=D_FFN, seed=3))
    found, counts = [], []
    with warehouse.writer() as connection:
        for mean, share in ((1.0, 0.5), (1.001, 0.5), (1.0, 0.499)):
            connection.execute(
                "update store.massive_activations set output_largest = -1000, output_mean = ?, weight_share = ?",
                [mean, share],
            )
            query = "select distinct is_massive, is_super_weight from massive_activations"
            found += connection.execute(query).fetchall()
            query = "select n_massive_layers, n_super_weights, n_tested from traits_by_model"
            counts += connection.execute(query).fetchall()
    assert counts == [(2, 2, None), (0, 0, None), (2, 0, None)]
    assert found == [(True, True), (False, False), (True, False)]


@pytest.mark.parametrize("has_bos", [True, False])
def test_no_chunk_or_batch_changes_a_row(has_bos: bool) -> None:
    text = corpus([("a", 9), ("b", 40), ("a", 17), ("b", 2), ("c", 1), ("a", 40), ("c", 3)], has_bos=has_bos)
    made = coefficients(text, 12, share=0.4, relu=False)
    values = torch.randn(12, 1, generator=torch.Generator().manual_seed(2))

    def seen(chunks: list[range], batch_tokens: int) -> dict[str, Any]:
        best: dict[str, Any] = {}
        for chunk in chunks:
            observer = MassiveObserver(values)
            for batch, products in padded(text, chunk, made, batch_tokens=batch_tokens):
                observer.observe(batch, output_of(products, added=products @ values))
            row = observer.result().row(0, named=True)
            best["n"] = best.get("n", 0) + row["n"]
            for what in ("input", "output"):
                if abs(row[f"{what}_largest"]) > abs(best.get(f"{what}_largest", 0)):
                    best |= {name: row[name] for name in row if name.startswith(what) and not name.endswith("sum")}
        return best

    whole = seen([range(7)], 1_000)
    assert whole["n"] == text.n_tokens
    assert whole["input_largest"] == max(float(of.abs().max()) for of in made) * (
        1 if whole["input_largest"] > 0 else -1
    )
    for chunks, batch_tokens in (([range(0, 2), range(2, 7)], 60), ([range(0, 5), range(5, 7)], 1)):
        again = seen(chunks, batch_tokens)
        assert dict(again.items()) == pytest.approx(whole)


def test_it_asks_for_nothing() -> None:
    assert MassiveJob(jobs.context_of()).parameters() == {}
