"""What the definitions say of examples, sub-updates and events, in plain loops over transformers' own forward pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM

from tests.support.plain import PlainModel

Floats = NDArray[np.float64]

VOCABULARY = 392
"""Ids of the tiny models' tokenizers; the unembedding has eight rows more."""


@dataclass(frozen=True)
class PlainLayer:
    """One layer at the last position of one example, float64."""

    pre: Floats
    post: Floats
    coefficients: Floats
    values: Floats
    ffn_output: Floats


class PlainStreams:
    """A checkpoint as transformers loads it, asked for its streams."""

    def __init__(self, folder: Path) -> None:
        loading: dict[str, Any] = {"local_files_only": True, "dtype": torch.float32}
        self.model = AutoModelForCausalLM.from_pretrained(folder, **loading).eval()
        self.plain = PlainModel(folder)
        self.is_gpt2 = self.model.config.model_type == "gpt2"
        self.unembedding = self.plain.unembedding()[:VOCABULARY]
        body = self.model.transformer if self.is_gpt2 else self.model.model.decoder
        norm = body.ln_f if self.is_gpt2 else body.final_layer_norm
        self.norm = None if norm is None else (_float64(norm.weight), _float64(norm.bias), norm.eps)
        self.blocks = body.h if self.is_gpt2 else body.layers

    def layers(self, ids: Sequence[int]) -> list[PlainLayer]:
        """Every layer at the last position."""
        seen: list[dict[str, torch.Tensor]] = [{} for _ in self.blocks]
        handles = []
        for place, block in zip(seen, self.blocks, strict=True):
            first, second = (block.mlp.c_fc, block.mlp.c_proj) if self.is_gpt2 else (block.fc1, block.fc2)
            is_post_norm = not self.is_gpt2 and not self.model.config.do_layer_norm_before
            reader = first if is_post_norm else (block.ln_2 if self.is_gpt2 else block.final_layer_norm)
            handles += [
                reader.register_forward_pre_hook(lambda _, args, place=place: place.update(pre=args[0])),
                second.register_forward_pre_hook(lambda _, args, place=place: place.update(m=args[0])),
                second.register_forward_hook(lambda _, args, out, place=place: place.update(ffn=out)),
                block.register_forward_hook(lambda _, args, out, place=place: place.update(post=_first(out))),
            ]
        with torch.inference_mode():
            self.model(torch.tensor([list(ids)]))
        for handle in handles:
            handle.remove()
        return [self._layer(number, place, len(ids)) for number, place in enumerate(seen)]

    def _layer(self, number: int, place: dict[str, torch.Tensor], length: int) -> PlainLayer:
        rows = {name: _float64(tensor).reshape(length, -1)[-1] for name, tensor in place.items()}
        values = self.plain.neurons(number).values
        return PlainLayer(rows["pre"], rows["post"], rows["m"], values, rows["ffn"])

    def ffn_bias(self, layer: int) -> Floats:
        """The bias of the second map."""
        block = self.blocks[layer]
        return _float64(block.mlp.c_proj.bias if self.is_gpt2 else block.fc2.bias)

    def logits(self, stream: Floats) -> Floats:
        """Of the unmasked tokens."""
        if self.norm is not None:
            gamma, beta, eps = self.norm
            stream = (stream - stream.mean()) / np.sqrt(stream.var() + eps) * gamma + beta
        return self.unembedding @ stream

    def own_logits(self, ids: Sequence[int]) -> Floats:
        """Those that the whole model returns."""
        with torch.inference_mode():
            return _float64(self.model(torch.tensor([list(ids)])).logits)[0, -1, :VOCABULARY]

    def logit_score(self, token: int, value: Floats, m: float, pre: Floats) -> float:
        """m e . (gamma (v - mean v)) / sd(pre); the raw score where there is no final norm."""
        if self.norm is None:
            return m * float(self.unembedding[token] @ value)
        gamma, _, eps = self.norm
        scaled = gamma * (value - value.mean())
        return m * float(self.unembedding[token] @ scaled) / float(np.sqrt(pre.var() + eps))


def rank(logits: Floats, token: int) -> int:
    """1 + the tokens with a strictly larger logit."""
    return 1 + sum(1 for logit in logits if logit > logits[token])


def probability(logits: Floats, token: int) -> float:
    """Softmax."""
    exponents = np.exp(logits - logits.max())
    return float(exponents[token] / exponents.sum())


def saturation_layer(tops: Sequence[int]) -> int:
    """Start of the trailing run of tokens equal to the last."""
    layer = len(tops) - 1
    while layer > 0 and tops[layer - 1] == tops[-1]:
        layer -= 1
    return layer


def elimination_layer(candidate_ranks: Sequence[int]) -> int | None:
    """The lowest layer of the largest rank; None if all are 1."""
    largest = max(candidate_ranks)
    return None if largest == 1 else list(candidate_ranks).index(largest)


def dominant(layer: PlainLayer, k: int = 10) -> list[int]:
    """Neurons of the largest |m| |v|, ties by neuron."""
    size = [abs(m) * np.linalg.norm(v) for m, v in zip(layer.coefficients, layer.values, strict=True)]
    return sorted(range(len(size)), key=lambda neuron: (-size[neuron], neuron))[:k]


def _first(out: Any) -> torch.Tensor:  # noqa: ANN401 - a block returns a stream, alone or first
    return out if isinstance(out, torch.Tensor) else out[0]


def _float64(tensor: torch.Tensor) -> Floats:
    return tensor.detach().double().numpy()
