"""Models in which four neurons are known: what each does is written into the weights by hand."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from tests.support.models import Kind, build, edit_tensors
from tests.support.plain import PlainModel, preactivation_bound

LAYER = 1
PROMOTES, SILENT, PROVABLY_DEAD, ALWAYS = 5, 17, 40, 77
"""Neurons of layer 1: promotes " school" above all; never fires on text; cannot fire; fires on every position."""

WORD = " school"


@dataclass(frozen=True)
class _Names:
    keys: str
    bias: str
    values: str
    transposed: bool


def build_planted(folder: Path, kind: Kind, *, seed: int = 0) -> Path:
    """A tiny model of `kind` with the four neurons in its second layer."""
    build(folder, kind, seed=seed)
    plain = PlainModel(folder)
    neurons = plain.neurons(LAYER)
    (token,) = plain.tokenizer(WORD, add_special_tokens=False).input_ids
    row = torch.from_numpy(_value_for(plain, token)).float()
    # A bias of 99% of the reach leaves an input that would fire the neuron, and no text comes near that one.
    reach = _reach(plain, SILENT)
    silent, dead = torch.tensor(-0.99 * reach), torch.tensor(-2 * _reach(plain, PROVABLY_DEAD))
    offset = torch.from_numpy(neurons.bias).float()
    assert offset.shape[0] > ALWAYS

    def edit(tensors: dict[str, torch.Tensor]) -> None:
        names = _names(kind, tensors)
        keys, values = tensors[names.keys], tensors[names.values]
        # GPT-2 stores keys as columns and values as rows, OPT the other way round.
        (values[PROMOTES] if names.transposed else values[:, PROMOTES]).copy_(row)
        (keys[:, ALWAYS] if names.transposed else keys[ALWAYS]).zero_()
        tensors[names.bias][ALWAYS] = 1.5
        tensors[names.bias][SILENT] = silent
        tensors[names.bias][PROVABLY_DEAD] = dead

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


def _names(kind: Kind, tensors: dict[str, torch.Tensor]) -> _Names:
    if kind == "gpt2":
        stem = next(name for name in tensors if name.endswith("h.1.mlp.c_fc.weight")).removesuffix("c_fc.weight")
        return _Names(f"{stem}c_fc.weight", f"{stem}c_fc.bias", f"{stem}c_proj.weight", transposed=True)
    stem = next(name for name in tensors if name.endswith("layers.1.fc1.weight")).removesuffix("fc1.weight")
    return _Names(f"{stem}fc1.weight", f"{stem}fc1.bias", f"{stem}fc2.weight", transposed=False)
