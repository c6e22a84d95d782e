"""What the definitions say of a small model, in plain loops over transformers' own forward pass."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoTokenizer

from tests.support.anatomy import Anatomy, Floats, NormWeights, float64, loaded

Bools = NDArray[np.bool_]

# A sign may honestly differ where |pre-activation| is below this share of |key| * |input|: float32 keeps 24 bits, and
# batches of another shape add their products in another order.
RELATIVE_ERROR = 1e-5


@dataclass(frozen=True)
class Neurons:
    """One layer's neurons as they stand in the weights, in float64."""

    values: Floats  # [d_ffn d_model] what each adds to the stream
    keys: Floats  # [d_ffn d_model] what each, or its gate, compares its input with
    bias: Floats  # [d_ffn] of the pre-activation
    norm: NormWeights | None  # the norm before the FFN, None in a post-norm block


@dataclass(frozen=True)
class Seen:
    """What one layer did with one sequence."""

    coefficients: Floats  # [time d_ffn] m, after the non-linearity; of a gated FFN act(gate) * up
    active: Bools  # [time d_ffn] m != 0 for ReLU, m > 0 for GELU, gate > 0 for a gated FFN
    errors: Floats  # [time d_ffn] how far a coefficient may be off where the non-linearity has a slope of 1
    unsure: Bools  # [time d_ffn] where the pre-activation is so near 0 that its sign may differ


class PlainModel:
    """A checkpoint as transformers itself loads it."""

    def __init__(self, folder: Path) -> None:
        self.anatomy = Anatomy(loaded(folder))
        self.tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)

    @property
    def bos(self) -> list[int]:
        """The id that the tokenizer itself puts in front, if it does."""
        extra = len(self.tokenizer("a").input_ids) - len(self.tokenizer("a", add_special_tokens=False).input_ids)
        return list(self.tokenizer("a").input_ids[:extra])

    def sequences(self, documents: Sequence[str], length: int) -> list[list[int]]:
        """A domain's sequences: short documents joined by EOS, then cut; a document that is longer is cut alone."""
        room = length - len(self.bos)
        pieces: list[list[int]] = []
        joined: list[int] = []
        for document in documents:
            ids = list(self.tokenizer(document, add_special_tokens=False).input_ids)
            if len(ids) >= room:
                pieces += [joined, ids]
                joined = []
            else:
                joined = joined + [self.tokenizer.eos_token_id] * bool(joined) + ids
        pieces.append(joined)
        return [self.bos + ids[start : start + room] for ids in pieces for start in range(0, len(ids), room)]

    def unembedding(self) -> Floats:
        """[vocab d_model] rows that a stream is compared with."""
        return self.anatomy.unembedding()

    def neurons(self, layer: int) -> Neurons:
        """The weights of one layer's FFN."""
        body = self.anatomy
        return Neurons(body.value_rows(layer), body.key_rows(layer), body.key_bias(layer), body.ffn_norm(layer))

    def seen(self, sequences: Sequence[Sequence[int]]) -> list[list[Seen]]:
        """[sequence][layer] what every layer did, one sequence at a time and never padded."""
        return [list(self._seen(ids)) for ids in sequences]

    def _seen(self, ids: Sequence[int]) -> Iterator[Seen]:
        body = self.anatomy
        for layer, seen in enumerate(body.watch(torch.tensor([list(ids)]))):
            neurons = self.neurons(layer)
            # OPT flattens batch and time.
            entered = float64(seen["keys in"]).reshape(len(ids), -1)
            coefficients = float64(seen["values in"]).reshape(len(ids), -1)
            lengths = np.linalg.norm(entered, axis=1)[:, None]
            sizes = lengths * np.linalg.norm(neurons.keys, axis=1)[None]
            pre_activation = entered @ neurons.keys.T + neurons.bias
            is_zero_off = body.has_exact_zeros and not body.is_gated
            active = pre_activation > 0 if body.is_gated else coefficients != 0 if is_zero_off else coefficients > 0
            errors = RELATIVE_ERROR * sizes
            if body.is_gated:
                ups = body.blocks[layer].get_submodule("mlp.up_proj")
                bias = 0.0 if ups.bias is None else float64(ups.bias)  # type: ignore[arg-type]
                weight = float64(ups.weight)  # type: ignore[arg-type]
                up_errors = RELATIVE_ERROR * lengths * np.linalg.norm(weight, axis=1)[None]
                # Of a product: each factor's error times the other; SiLU is nowhere longer than its input.
                errors = errors * np.abs(entered @ weight.T + bias) + np.abs(pre_activation) * up_errors
            yield Seen(coefficients, active, errors, unsure=np.abs(pre_activation) <= RELATIVE_ERROR * sizes)


def preactivation_bound(neurons: Neurons, neuron: int) -> float | None:
    """|gamma*k - mean(gamma*k)| * sqrt(d) + beta.k + bias for a layer norm before the FFN; no mean for an RMS norm."""
    if neurons.norm is None:
        return None
    key = neurons.keys[neuron]
    scaled = neurons.norm.gamma * key
    if not neurons.norm.is_rms:
        scaled = scaled - scaled.mean()
    length = float(np.sqrt((scaled**2).sum() * len(key)))
    return length + float(neurons.norm.beta @ key) + float(neurons.bias[neuron])
