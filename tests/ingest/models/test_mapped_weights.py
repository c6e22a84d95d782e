"""Scores read by numpy from the files, against a loop over the weights as transformers loads them, in float64."""

import errno
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from neurothek.catalog.problems import Conflict, Unavailable
from neurothek.catalog.progress import Silent
from neurothek.ingest.models import mapped_weights, weights_hash
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.mapped_weights import map_measured
from neurothek.queries.names.models import KnownModel
from tests.support.known import known_model
from tests.support.models import GEMMAS, KINDS, NEAR_LLAMA, Kind, build, edit_tensors, to_pickle
from tests.support.plain import PlainModel

TOKENS = [3, 7, 300]
TOLERANCE = 1e-4
"""float32 sums of 32 products of size 1, and ranks of scores that differ by more than that."""


def measured(folder: Path) -> KnownModel:
    """The model as a warehouse knows it."""
    found = find(str(folder))
    architecture = found.config["model_type"]
    return known_model(source=str(folder), weights_sha256=found.weights_sha256, n_layers=2, architecture=architecture)


def check(folder: Path, case: str) -> None:
    weights = map_measured(measured(folder), is_thorough=True)
    plain = PlainModel(folder)
    n_tokens = len(plain.tokenizer)
    table = plain.unembedding()[:n_tokens]
    scores = weights.scores(TOKENS, layers=(0, 1))
    one_layer = weights.scores(TOKENS[:1], layers=(1, 1))
    assert np.allclose(one_layer, scores[:1, 1:], atol=TOLERANCE), case
    places = []
    for layer in range(2):
        values = plain.neurons(layer).values
        assert scores.shape[2] == len(values)
        for neuron, value in enumerate(values):
            for place, token in enumerate(TOKENS):
                assert abs(scores[place, layer, neuron] - table[token] @ value) < TOLERANCE, (case, layer, neuron)
            places.append((TOKENS[neuron % 3], layer, neuron))
    for (token, layer, neuron), (rank, low) in zip(
        places, weights.ranks(places, vocabulary=range(n_tokens)), strict=True
    ):
        own = table @ plain.neurons(layer).values[neuron]
        above, below = np.sum(own > own[token] + TOLERANCE), np.sum(own < own[token] - TOLERANCE)
        ties = np.sum(np.abs(own - own[token]) <= TOLERANCE)
        assert above < rank <= above + ties, (case, token, layer, neuron)
        assert below < low <= below + ties, (case, token, layer, neuron)


def test_scores_and_ranks_equal_the_loop(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    for kind in (*KINDS, *GEMMAS, *NEAR_LLAMA):
        check(tiny_models[kind], kind)
    shapes: dict[Kind, dict[str, Any]] = {
        "opt": {"bare_keys": True, "tie": True},
        "gpt2": {"dtype": torch.bfloat16, "bare_keys": True, "d_ffn": 32},
        "neox": {"dtype": torch.float16, "shard_size": "40KB"},
        "llama": {"dtype": torch.bfloat16, "tie": True},
        "opt350": {"dtype": torch.float16, "tie": False},
    }
    for other, shape in shapes.items():
        check(build(tmp_path / other, other, **shape), f"{other} {shape}")


def test_a_vocabulary_with_a_hole(tiny_models: dict[str, Path]) -> None:
    weights, plain = map_measured(measured(tiny_models["llama"])), PlainModel(tiny_models["llama"])
    kept = [token for token in range(390) if token not in (2, 100)]
    own = plain.unembedding() @ plain.neurons(1).values[5]
    found = weights.ranks([(7, 1, 5)], vocabulary=kept)
    assert found == [(1 + sum(own[t] > own[7] for t in kept), 1 + sum(own[t] < own[7] for t in kept))]


def test_other_weights_and_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = build(tmp_path / "model", "opt")
    known = measured(folder)
    assert map_measured(known).n_bytes == 2 * 128 * 32 * 4 + 400 * 32 * 4
    # A file that no hash is remembered of is read where it is small, and else only if asked for.
    with monkeypatch.context() as patch:
        patch.setattr(weights_hash.KnownHashes, "sha256", lambda *_: None)
        assert map_measured(known).folder == folder
        patch.setattr(mapped_weights, "MOST_HASHED", 10)
        with pytest.raises(Unavailable, match="not seen on this machine before"):
            map_measured(known)
        assert map_measured(known, is_thorough=True, progress=Silent()).folder == folder
    edit_tensors(folder, lambda tensors: tensors["model.decoder.layers.0.fc2.weight"].neg_())
    with pytest.raises(Conflict, match="are not the ones that were measured"):
        map_measured(known)
    to_pickle(folder)
    for broken in (folder, tmp_path / "gone"):
        with pytest.raises(Unavailable, match="needs the weights of"):
            map_measured(known, weights=broken)


def test_files_that_are_none(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    known, folder = measured(tiny_models["opt"]), tmp_path / "broken"
    folder.mkdir()
    whole = (tiny_models["opt"] / "model.safetensors").read_bytes()
    for text in (b"", b"x", b"\xff" * 64, whole[:40], (8).to_bytes(8, "little") + b"[1,2,3] "):
        (folder / "model.safetensors").write_bytes(text)
        with pytest.raises((Unavailable, Conflict)):
            map_measured(known, weights=folder)


def test_too_little_memory_is_no_damage(tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    known = measured(tiny_models["opt"])
    monkeypatch.setattr("mmap.mmap", refuse)
    with pytest.raises(Unavailable, match="there is not enough memory") as raised:
        map_measured(known, is_thorough=True)
    assert "copy or download" not in str(raised.value)


def test_a_family_that_is_not_known(tiny_models: dict[str, Path]) -> None:
    """What an edited warehouse may say of weights that are the measured ones."""
    with pytest.raises(Unavailable, match="the architecture 'other', which is not supported"):
        map_measured(replace(measured(tiny_models["opt"]), architecture="other"))


def test_neither_torch_nor_transformers_is_imported() -> None:
    heavy = "{'torch', 'transformers', 'huggingface_hub'}"
    text = f"import sys, neurothek.ingest.models.mapped_weights; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
