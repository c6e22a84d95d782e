"""Gated neurons that answer one word are detectors from end to end, at either pole; shuffled, none of them is."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from neurothek.ingest.models import tokenizer as tokenization
from tests.ingest.jobs.ngrams.test_planted_triggers import views_of
from tests.support.models import build, edit_tensors

WORDS = ("the", "school", "is", "near", "river", "old", "new", "one", "two", "six", "a", "and", "total")
READ = ("school", "one")

NEURONS = {(0, 5): (READ[0], 1), (1, 3): (READ[1], 1), (1, 6): (READ[0], -1)}
"""Layer and neuron -> the word that its gate and its other key read, and the sign of the latter: the pole."""

D_FFN = 12


def plant(folder: Path) -> Path:
    """A gated model whose neurons see nothing but the token at hand, and of which three are ever active."""
    build(folder, "llama", n_layers=2, d_ffn=D_FFN)
    tokenizer = tokenization.load(folder)

    def edit(tensors: dict[str, torch.Tensor]) -> None:
        table = tensors["model.embed_tokens.weight"]
        table[:, :2] = 0
        for coordinate, word in enumerate(READ):
            (token,) = tokenizer.encode([f" {word}"])[0]
            table[int(token), coordinate] = 4 * float(table.norm(dim=1).mean())
        for layer in (0, 1):
            prefix = f"model.layers.{layer}"
            tensors[f"{prefix}.self_attn.o_proj.weight"].zero_()
            tensors[f"{prefix}.post_attention_layernorm.weight"].fill_(1)
            for name in ("gate", "up"):
                tensors[f"{prefix}.mlp.{name}_proj.weight"].zero_()
            # What the first layer writes is not in the second's way.
            tensors[f"{prefix}.mlp.down_proj.weight"][:2] = 0
        for (layer, neuron), (word, sign) in NEURONS.items():
            coordinate = READ.index(word)
            for name, entry in (("gate", 1), ("up", sign)):
                tensors[f"model.layers.{layer}.mlp.{name}_proj.weight"][neuron, coordinate] = entry

    return edit_tensors(folder, edit)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[dict[str, Any]]]]:
    """The model, and what views say of it."""
    folder = tmp_path_factory.mktemp("gates")
    names = ("token_detectors", "suppression", "detectors_by_layer", "store.shuffled_ngrams", "store.activity")
    model = plant(folder / "gated")
    return model, views_of(folder, model, WORDS, names)


@pytest.fixture(scope="module")
def answers(planted: tuple[Path, dict[str, list[dict[str, Any]]]]) -> dict[str, list[dict[str, Any]]]:
    return planted[1]


def test_gated_neurons_detect_the_word_that_both_their_keys_read(answers: dict[str, list[dict[str, Any]]]) -> None:
    found = {(row["layer"], row["neuron"]): row for row in answers["token_detectors"]}
    assert set(found) == set(NEURONS)
    for place, (word, sign) in NEURONS.items():
        assert found[place]["detected_tokens"] == [f" {word}"]
        assert (found[place]["is_strict"], found[place]["coverage"], found[place]["recalls"]) == (True, 1, [1.0])
        assert found[place]["n_active"] >= 100
        assert found[place]["pole"] == ("positive" if sign > 0 else "negative")
    for row in answers["store.activity"]:
        _, sign = NEURONS.get((row["layer"], row["neuron"]), (None, 0))
        assert (row["activation_min"] < 0, row["activation_max"] > 0) in {(sign < 0, sign > 0), (False, False)}


def test_scores_of_detectors_are_what_they_write_at_their_pole(
    planted: tuple[Path, dict[str, list[dict[str, Any]]]],
) -> None:
    """From the weights: a coefficient below 0 writes the value vector turned round."""
    model, answers = planted
    tensors, tokenizer = load_file(model / "model.safetensors"), tokenization.load(model)
    words = tensors.get("lm_head.weight", tensors["model.embed_tokens.weight"]).double()
    suppresses = {(row["layer"], row["neuron"]): row for row in answers["suppression"]}
    for row in answers["token_detectors"]:
        place = (row["layer"], row["neuron"])
        word, sign = NEURONS[place]
        (token,) = tokenizer.encode([f" {word}"])[0]
        value = tensors[f"model.layers.{place[0]}.mlp.down_proj.weight"][:, place[1]].double()
        assert row["scores"] == [pytest.approx(sign * float(words[int(token)] @ value), rel=1e-5)]
        assert suppresses[place]["mean_score"] == pytest.approx(row["scores"][0])
        assert suppresses[place]["suppresses"] == (row["scores"][0] < 0)


def test_shuffled_none_of_them_is_a_detector(answers: dict[str, list[dict[str, Any]]]) -> None:
    found = {row["layer"]: row for row in answers["detectors_by_layer"] if row["n"] == 1}
    measures = ("n_neurons", "n_shuffled", "n_detectors", "n_shuffled_detectors")
    assert [found[0][name] for name in measures] == [D_FFN, D_FFN, 1, 0]
    assert [found[1][name] for name in measures] == [D_FFN, D_FFN, 2, 0]
    assert [found[layer]["shuffled_share"] for layer in (0, 1)] == [0, 0]
    shuffled = {(row["layer"], row["neuron"]): row for row in answers["store.shuffled_ngrams"] if row["n"] == 1}
    kept = {(row["layer"], row["neuron"]): row["n_active"] for row in answers["token_detectors"]}
    for place in NEURONS:
        row = shuffled[place]
        # As many activations as before, on whatever token.
        assert row["n_active"] == kept[place]
        assert row["n_covering_95"] > 5
        assert row["detected_active"] == 0
