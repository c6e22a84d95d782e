"""What the definitions say of examples, sub-updates and events, in plain loops over transformers' own forward pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.support.anatomy import Floats, float64
from tests.support.plain import PlainModel

VOCABULARY = 392
"""Ids of the tiny models' tokenizers; the unembedding has eight rows more."""


@dataclass(frozen=True)
class PlainLayer:
    """One layer at the last position of one example, float64."""

    pre: Floats
    post: Floats
    coefficients: Floats
    written: Floats  # what the values are multiplied by: the coefficients, over a divisor where there is one
    values: Floats
    ffn_output: Floats


class PlainStreams:
    """A checkpoint as transformers loads it, asked for its streams."""

    def __init__(self, folder: Path) -> None:
        self.plain = PlainModel(folder)
        self.body = self.plain.anatomy
        self.unembedding = self.plain.unembedding()[:VOCABULARY]
        self.norm = self.body.final_norm()

    def layers(self, ids: Sequence[int]) -> list[PlainLayer]:
        """Every layer at the last position."""
        watched = self.body.watch(torch.tensor([list(ids)]))
        return [self._layer(number, seen, len(ids)) for number, seen in enumerate(watched)]

    def _layer(self, number: int, seen: dict[str, torch.Tensor], length: int) -> PlainLayer:
        def last(tensor: torch.Tensor) -> Floats:
            rows: Floats = float64(tensor).reshape(length, -1)
            return rows[length - 1 :].ravel()

        output, norm = last(seen["values out"]), self.body.written_norm(number)
        return PlainLayer(
            pre=last(self.body.pre_ffn(seen)),
            post=last(seen["block out"]),
            coefficients=last(seen["values in"]),
            written=self.body.multipliers(number, seen).reshape(length, -1)[-1],
            values=self.body.value_rows(number),
            ffn_output=self.body.written_scale * (output if norm is None else norm(output)),
        )

    def ffn_bias(self, layer: int) -> Floats:
        """The bias of the last map."""
        return self.body.value_bias(layer)

    def logits(self, stream: Floats) -> Floats:
        """Of the unmasked tokens."""
        if self.body.config.model_type == "bert":
            # Its head is more than a norm: transformers' own says what it makes of a stream.
            head: Any = self.body.model.get_submodule("cls")
            with torch.inference_mode():
                return float64(head(torch.from_numpy(stream).float()[None, None]))[0, 0, :VOCABULARY]
        logits: Floats = self.unembedding @ (stream if self.norm is None else self.norm(stream))
        cap = getattr(self.body.config, "final_logit_softcapping", None)
        return logits if cap is None else cap * np.tanh(logits / cap)

    def own_logits(self, ids: Sequence[int]) -> Floats:
        """Those that the whole model returns."""
        with torch.inference_mode():
            return float64(self.body.model(torch.tensor([list(ids)])).logits)[0, -1, :VOCABULARY]

    def logit_score(self, token: int, value: Floats, m: float, pre: Floats) -> float:
        """m e . (gamma (v - mean v)) / sd(pre), or m e . (gamma v) / rms(pre); raw where there is no final norm."""
        if self.norm is None:
            return m * float(self.unembedding[token] @ value)
        scaled = self.norm.gamma * (value if self.norm.is_rms else value - value.mean())
        return m * float(self.unembedding[token] @ scaled) / self.norm.divisor(pre)


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
    size = [abs(m) * np.linalg.norm(v) for m, v in zip(layer.written, layer.values, strict=True)]
    return sorted(range(len(size)), key=lambda neuron: (-size[neuron], neuron))[:k]
