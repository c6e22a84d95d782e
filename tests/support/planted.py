"""Models in which four neurons are known: what each does is written into the weights by hand."""

from pathlib import Path

import numpy as np
import torch

from tests.support.models import Kind, build, edit_tensors
from tests.support.plain import PlainModel, preactivation_bound

LAYER = 1
PROMOTES, SILENT, PROVABLY_DEAD, ALWAYS = 5, 17, 40, 77
"""Neurons of layer 1: promotes " school" above all; never fires on text; cannot fire; fires on every position."""

WORD = " school"


def build_planted(folder: Path, kind: Kind, *, seed: int = 0) -> Path:
    """A tiny model of `kind` with the four neurons in its second layer; a gated one has biases, to plant in them."""
    build(folder, kind, seed=seed, gate_bias=True)
    plain = PlainModel(folder)
    places = plain.anatomy.places
    neurons = plain.neurons(LAYER)
    (token,) = plain.tokenizer(WORD, add_special_tokens=False).input_ids
    row = torch.from_numpy(_value_for(plain, token)).float()
    # A bias of 99% of the reach leaves an input that would fire the neuron, and no text comes near that one.
    reach = _reach(plain, SILENT)
    silent, dead = torch.tensor(-0.99 * reach), torch.tensor(-2 * _reach(plain, PROVABLY_DEAD))
    offset = torch.from_numpy(neurons.bias).float()
    assert offset.shape[0] > ALWAYS

    def edit(tensors: dict[str, torch.Tensor]) -> None:
        block = f"{places.blocks}.{LAYER}"
        keys, values = tensors[f"{block}.{places.keys}.weight"], tensors[f"{block}.{places.values}.weight"]
        biases = tensors[f"{block}.{places.keys}.bias"]
        # GPT-2 stores keys as columns and values as rows, others the other way round.
        (values[PROMOTES] if places.is_transposed else values[:, PROMOTES]).copy_(row)
        (keys[:, ALWAYS] if places.is_transposed else keys[ALWAYS]).zero_()
        biases[ALWAYS] = 1.5
        biases[SILENT] = silent
        biases[PROVABLY_DEAD] = dead

    return edit_tensors(folder, edit)


def _value_for(plain: PlainModel, token: int) -> np.ndarray:
    """The value vector whose scores come nearest to: some for the token, none for any other."""
    direction = np.linalg.pinv(plain.unembedding())[:, token]
    return np.asarray(4 * direction / np.linalg.norm(direction))


def _reach(plain: PlainModel, neuron: int) -> float:
    """The highest value that key.input can take; for post-norm blocks, which have no bound, one that none takes."""
    neurons = plain.neurons(LAYER)
    bound = preactivation_bound(neurons, neuron)
    if bound is None:
        return float(np.linalg.norm(neurons.keys[neuron])) * 100
    return bound - float(neurons.bias[neuron])
