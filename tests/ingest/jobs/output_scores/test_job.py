"""The job `output_scores` on small models: rows against hooks, a planted neuron, and one that says nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from neurothek.catalog.progress import Silent
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.upkeep.checks import check
from neurothek.catalog.upkeep.verification import Remeasured, agreement
from neurothek.ingest.jobs.output_scores.job import PROMPT
from neurothek.ingest.models.tokenizer import load
from neurothek.ingest.pipeline.verify import remeasure
from tests.support import ingests, models
from tests.support.models import Kind

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("output_scores")]

D_FFN, N_LAYERS = 20, 2
SECOND = {
    "opt": "model.decoder.layers.{}.fc2",
    "gpt2": "transformer.h.{}.mlp.c_proj",
    "llama": "model.layers.{}.mlp.down_proj",
}
"""The matrix that reads the activations of a layer, and holds the value vectors."""


def measured(folder: Path, kind: Kind, edit: Any = None, **fields: Any) -> Warehouse:  # noqa: ANN401 - an edit of tensors
    corpora = ingests.write_corpus(folder)
    models.build(folder / "tiny", kind, d_ffn=D_FFN, n_layers=N_LAYERS, d_model=16)
    if edit is not None:
        models.edit_tensors(folder / "tiny", edit)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    jobs = ("projections", "activity", "contexts", "output_scores")
    ingests.measure(warehouse, folder / "tiny", ingests.request(corpora, jobs=jobs, **fields))
    return warehouse


def plain(folder: Path, kind: Kind, row: dict[str, Any]) -> dict[str, float]:
    """What a row must say, by the library's own model with one activation replaced."""
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder).eval(), load(folder)
    unmasked = tokenizer.ids.astype(np.int64)
    embedding = model.get_output_embeddings().weight.detach().double().numpy()[unmasked]

    def listed(neuron: int, sign: int) -> list[int]:
        weight = model.get_submodule(SECOND[kind].format(row["layer"])).weight.detach().double().numpy()
        vector = weight[neuron] if kind == "gpt2" else weight[:, neuron]
        return [int(at) for at in np.argsort(-sign * (embedding @ vector), kind="stable")[:20]]

    def said(*, is_set: bool) -> np.ndarray:
        def replaced(_: object, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
            changed = inputs[0].clone()
            if is_set:
                changed.reshape(-1, D_FFN)[-1, row["neuron"]] = row["value"]
            return (changed, *inputs[1:])

        handle = model.get_submodule(SECOND[kind].format(row["layer"])).register_forward_pre_hook(replaced)
        bos = [] if tokenizer.bos_id is None else [tokenizer.bos_id]
        with torch.no_grad():
            logits = model(torch.tensor([[*bos, *tokenizer.encode([PROMPT])[0].tolist()]])).logits
        handle.remove()
        values: np.ndarray = logits[0, -1].double().numpy()[unmasked]
        return values

    def score(logits: np.ndarray, tokens: list[int]) -> tuple[int, float, float]:
        probabilities = np.exp(logits - logits.max())
        probabilities /= probabilities.sum()
        best = max(tokens, key=lambda token: logits[token])
        rank = sum(1 for token in range(len(logits)) if logits[token] > logits[best])
        return rank, probabilities[best], (1 - rank / len(logits)) * probabilities[best]

    sign = 1 if row["pole"] == "positive" else -1
    rank, probability, output = score(said(is_set=True), listed(row["neuron"], sign))
    untouched = score(said(is_set=False), listed(row["neuron"], sign))[2]
    found = {"rank_best": rank, "max_probability": probability, "output_score": output, "untouched_score": untouched}
    other_sign = row["other_sign"]
    return found | {"other_score": score(said(is_set=True), listed(row["other_neuron"], other_sign))[2]}


@pytest.mark.parametrize("kind", ["opt", "gpt2", "llama"])
def test_rows_are_those_of_a_model_with_one_activation_replaced(kind: Kind, tmp_path: Path) -> None:
    warehouse = measured(tmp_path, kind, scored=6)
    rows = ingests.table(warehouse, "output_scores").to_dicts()
    assert [sum(row["layer"] == layer for row in rows) for layer in range(N_LAYERS)] == [6, 6]
    with warehouse.reader() as connection:
        activity = """
            select layer, neuron, max(activation_max) as most, min(activation_min) as least
            from store.activity group by all
        """
        extremes = {row[:2]: row[2:] for row in connection.execute(activity).fetchall()}
        seen = connection.execute("select neuron, pole, input_score from output_scores where layer = 0").fetchall()
        expected = dict(
            connection.execute("select (neuron, pole), input_score from input_scores where layer = 0").fetchall()
        )
    for row in rows:
        most, least = extremes[row["layer"], row["neuron"]]
        is_negative = kind == "llama" and -least > most
        assert (row["pole"] == "negative") == is_negative
        assert row["value"] == pytest.approx(10 * (least if is_negative else most), rel=1e-6)
        most, least = extremes[row["layer"], row["other_neuron"]]
        row["other_sign"] = -1 if kind == "llama" and -least > most else 1
        assert row["other_neuron"] != row["neuron"]
        for name, value in plain(tmp_path / "tiny", kind, row).items():
            # Logits in float32 differ in the sixth figure.
            assert row[name] == pytest.approx(value, rel=1e-4, abs=1e-9), name
    assert len(seen) == 6
    assert all(score == expected.get((neuron, pole)) for neuron, pole, score in seen)
    assert check(warehouse) == []


def test_a_planted_neuron_says_its_token_and_one_whose_vector_is_zero_changes_nothing(tmp_path: Path) -> None:
    def plant(tensors: dict[str, torch.Tensor]) -> None:
        # In the last layer nothing comes after it but the final norm.
        values = tensors["model.decoder.layers.1.fc2.weight"]
        embedding = tensors["model.decoder.embed_tokens.weight"]
        embedding[50] = 3 * embedding[50]
        values[:, 4] = 0.5 * embedding[50]
        values[:, 5] = 0
        for neuron in (4, 5):
            tensors["model.decoder.layers.1.fc1.weight"][neuron] = 0
            tensors["model.decoder.layers.1.fc1.bias"][neuron] = 1
        # One that is never active cannot be set to ten times nothing.
        tensors["model.decoder.layers.1.fc1.weight"][6] = 0
        tensors["model.decoder.layers.1.fc1.bias"][6] = -1

    warehouse = measured(tmp_path, "opt", plant, scored=D_FFN)
    rows = {row["neuron"]: row for row in ingests.table(warehouse, "output_scores", "layer = 1").to_dicts()}
    assert rows[4]["output_score"] > 0.9
    assert rows[4]["rank_best"] == 0
    assert rows[4]["untouched_score"] < 0.9
    assert rows[5]["output_score"] == pytest.approx(rows[5]["untouched_score"], rel=1e-6)
    assert 6 not in rows
    assert {row["other_neuron"] for row in rows.values()} <= rows.keys()


def test_the_sample_grows_with_the_number_and_is_verified(tmp_path: Path) -> None:
    warehouse = measured(tmp_path, "llama", scored=4)
    parts = [
        part
        for part in remeasure(warehouse, "tiny", weights=None, n_shards=2, progress=Silent())
        if isinstance(part, Remeasured) and part.job == "output_scores"
    ]
    with warehouse.reader() as connection:
        judged = [agreement(connection, part) for part in parts]
    assert (sum(one.n_rows for one in judged), sum(one.n_different for one in judged)) == (2 * 4, 0)
    with warehouse.writer() as connection:
        connection.execute("update store.output_scores set other_score = other_score + 0.1 where layer = 0")
    with warehouse.reader() as connection:
        assert sum(agreement(connection, part).n_different for part in parts) == 4
