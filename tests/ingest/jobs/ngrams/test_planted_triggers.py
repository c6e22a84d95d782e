"""Token detectors written into a model's weights by hand are found again from end to end, and nothing else is."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from neurothek.ingest.models import tokenizer as tokenization
from tests.support.ingests import measure, open_warehouse, request
from tests.support.models import build, edit_tensors

WORDS = ("the", "school", "is", "near", "river", "old", "new", "roof", "one", "two", "three", "six")
PAIR, SUPPRESSOR, ALWAYS, HALF = 3, 9, 12, 14
"""Neurons of layer 0: one answers two words, one suppresses the word it answers, one answers all, one six words."""


def plant(folder: Path) -> Path:
    """A model whose blocks see nothing but the token at hand, and in which four neurons fire."""
    build(folder, "opt", n_layers=2, d_ffn=21, positions=False)
    tokenizer = tokenization.load(folder)
    ids = [int(tokenizer.encode([f" {word}"])[0][0]) for word in WORDS]

    def edit(tensors: dict[str, torch.Tensor]) -> None:
        table = tensors["model.decoder.embed_tokens.weight"]
        for layer in (0, 1):
            prefix = f"model.decoder.layers.{layer}"
            for name in ("self_attn.out_proj.weight", "self_attn.out_proj.bias", "final_layer_norm.bias", "fc1.weight"):
                tensors[f"{prefix}.{name}"].zero_()
            tensors[f"{prefix}.final_layer_norm.weight"].fill_(1)
            tensors[f"{prefix}.fc1.bias"].fill_(-1)
        inputs = functional.layer_norm(table[torch.tensor(ids)], (32,)).double()
        keys, bias = tensors["model.decoder.layers.0.fc1.weight"], tensors["model.decoder.layers.0.fc1.bias"]
        values = tensors["model.decoder.layers.0.fc2.weight"]
        for neuron, words in {PAIR: ("school", "river"), SUPPRESSOR: ("one",), HALF: WORDS[:6]}.items():
            # The key whose product with each word's input is 1 or 0.
            wanted = torch.tensor([float(word in words) for word in WORDS], dtype=torch.float64)
            keys[neuron] = (torch.linalg.pinv(inputs) @ wanted).float()
            bias[neuron] = -0.5
        bias[ALWAYS] = 1
        values[:, PAIR] = table[ids[1]] + table[ids[4]]
        values[:, SUPPRESSOR] = -table[ids[8]]

    return edit_tensors(folder, edit)


def views_of(folder: Path, model: Path, words: Sequence[str], names: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """What views say after one ingest of some thousand words."""
    draw = random.Random(3)
    (folder / "text.txt").write_text(" " + " ".join(draw.choice(words) for _ in range(3000)))
    warehouse = open_warehouse(folder / "w.duckdb")
    asked = request((f"prose={folder / 'text.txt'}",), text={"sequence_length": 50}, jobs=("activity", "ngrams"))
    measure(warehouse, model, asked)
    with warehouse.reader() as connection:
        return {name: connection.sql(f"select * from {name}").pl().to_dicts() for name in names}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("planted")
    return views_of(folder, plant(folder / "planted"), WORDS, ("token_detectors", "suppression", "neurons"))


def test_the_planted_detectors_are_found_and_nothing_else(answers: dict[str, list[dict[str, Any]]]) -> None:
    found = {(row["layer"], row["neuron"]): sorted(row["detected_tokens"]) for row in answers["token_detectors"]}
    assert found == {(0, PAIR): [" river", " school"], (0, SUPPRESSOR): [" one"]}
    assert all(row["is_strict"] and set(row["recalls"]) == {1.0} for row in answers["token_detectors"])


def test_one_of_them_suppresses_its_trigger(answers: dict[str, list[dict[str, Any]]]) -> None:
    found = {row["neuron"]: row for row in answers["suppression"]}
    assert {neuron: row["suppresses"] for neuron, row in found.items()} == {PAIR: False, SUPPRESSOR: True}
    # A token's own direction, turned around: no token of the vocabulary is suppressed more.
    assert found[SUPPRESSOR]["mean_rank_from_bottom"] == 1
    assert np.all([0 <= row["expected"] <= 1 for row in found.values()])


def test_the_other_neurons_are_no_detectors(answers: dict[str, list[dict[str, Any]]]) -> None:
    status = {(row["layer"], row["neuron"]): row["token_status"] for row in answers["neurons"]}
    assert {key for key, one in status.items() if one == "detector"} == {(0, PAIR), (0, SUPPRESSOR)}
    assert {key for key, one in status.items() if one == "not"} == {(0, ALWAYS), (0, HALF)}
    dead = [row for row in answers["neurons"] if row["is_dead"]]
    assert len(dead) == 2 * 21 - 4
    assert {row["token_status"] for row in dead} == {"too few activations"}
