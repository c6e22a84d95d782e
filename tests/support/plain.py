"""What the definitions say of a small model, in plain loops over transformers' own forward pass."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM, AutoTokenizer

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# A sign may honestly differ where |pre-activation| is below this share of |key| * |input|: float32 keeps 24 bits, and
# batches of another shape add their products in another order.
RELATIVE_ERROR = 1e-5


@dataclass(frozen=True)
class Neurons:
    """One layer's neurons as they stand in the weights, in float64.

    Attributes:
        values: [d_ffn d_model] what each adds to the stream.
        keys: [d_ffn d_model] what each compares its input with.
        bias: [d_ffn] of the pre-activation.
        norm: (gamma, beta) of the norm before the FFN, None in a post-norm block.
    """

    values: Floats
    keys: Floats
    bias: Floats
    norm: tuple[Floats, Floats] | None


@dataclass(frozen=True)
class Seen:
    """What one layer did with one sequence.

    Attributes:
        coefficients: [time d_ffn] m, after the non-linearity.
        errors: [time d_ffn] how far a pre-activation may be off.
        unsure: [time d_ffn] where the pre-activation is so near 0 that its sign may differ.
    """

    coefficients: Floats
    errors: Floats
    unsure: Bools


class PlainModel:
    """A checkpoint as transformers itself loads it."""

    def __init__(self, folder: Path) -> None:
        loading: dict[str, Any] = {"local_files_only": True, "dtype": torch.float32}
        self._model = AutoModelForCausalLM.from_pretrained(folder, **loading).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._is_gpt2 = self._model.config.model_type == "gpt2"

    @property
    def n_layers(self) -> int:
        """Blocks."""
        return int(self._model.config.num_hidden_layers)

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
        """[vocab d_model] rows that a stream is compared with, the output projection of OPT-350m folded in."""
        table = _float64(self._model.lm_head.weight)
        project_out = None if self._is_gpt2 else self._model.model.decoder.project_out
        return table if project_out is None else table @ _float64(project_out.weight)

    def neurons(self, layer: int) -> Neurons:
        """The weights of one layer's FFN."""
        block = self._block(layer)
        if self._is_gpt2:
            keys, bias, values = block.mlp.c_fc.weight.T, block.mlp.c_fc.bias, block.mlp.c_proj.weight
            norm = block.ln_2
        else:
            keys, bias, values = block.fc1.weight, block.fc1.bias, block.fc2.weight.T
            norm = block.final_layer_norm if self._model.config.do_layer_norm_before else None
        scale = None if norm is None else (_float64(norm.weight), _float64(norm.bias))
        return Neurons(_float64(values), _float64(keys), _float64(bias), scale)

    def seen(self, sequences: Sequence[Sequence[int]]) -> list[list[Seen]]:
        """[sequence][layer] what every layer did, one sequence at a time and never padded."""
        return [list(self._seen(ids)) for ids in sequences]

    def _seen(self, ids: Sequence[int]) -> Iterator[Seen]:
        inputs: dict[int, torch.Tensor] = {}
        outputs: dict[int, torch.Tensor] = {}
        handles = []
        for layer in range(self.n_layers):
            into, out_of = self._maps(layer)
            handles += [
                into.register_forward_pre_hook(lambda _, args, layer=layer: inputs.update({layer: args[0]})),
                out_of.register_forward_pre_hook(lambda _, args, layer=layer: outputs.update({layer: args[0]})),
            ]
        with torch.inference_mode():
            self._model(torch.tensor([list(ids)]))
        for handle in handles:
            handle.remove()
        for layer in range(self.n_layers):
            neurons = self.neurons(layer)
            entered = _float64(inputs[layer]).reshape(len(ids), -1)
            sizes = np.linalg.norm(entered, axis=1)[:, None] * np.linalg.norm(neurons.keys, axis=1)[None]
            pre_activation = entered @ neurons.keys.T + neurons.bias
            yield Seen(
                coefficients=_float64(outputs[layer]).reshape(len(ids), -1),
                errors=RELATIVE_ERROR * sizes,
                unsure=np.abs(pre_activation) <= RELATIVE_ERROR * sizes,
            )

    def _maps(self, layer: int) -> tuple[torch.nn.Module, torch.nn.Module]:
        block = self._block(layer)
        return (block.mlp.c_fc, block.mlp.c_proj) if self._is_gpt2 else (block.fc1, block.fc2)

    def _block(self, layer: int) -> Any:  # noqa: ANN401 - transformers' own classes, one a family
        blocks = self._model.transformer.h if self._is_gpt2 else self._model.model.decoder.layers
        return blocks[layer]


def preactivation_bound(neurons: Neurons, neuron: int) -> float | None:
    """|gamma*k - mean(gamma*k)| * sqrt(d) + beta.k + bias, for a norm before the FFN."""
    if neurons.norm is None:
        return None
    gamma, beta = neurons.norm
    key = neurons.keys[neuron]
    scaled = gamma * key
    length = float(np.sqrt(((scaled - scaled.mean()) ** 2).sum() * len(key)))
    return length + float(beta @ key) + float(neurons.bias[neuron])


def _float64(tensor: torch.Tensor) -> Floats:
    return tensor.detach().double().numpy()
