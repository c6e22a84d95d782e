"""What is measured: units, which read a model and write vectors to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.ingest.models.transformer import Transformer

Reader = Literal["key", "gate", "up"]
"""Rows of the maps that read the stream: a neuron has a key, that of a gated layer a gate and an up projection."""


@runtime_checkable
class Units(Protocol):
    """A set of units of one model. Layers may differ in width, and some may be missing."""

    @property
    def is_signed(self) -> bool:
        """Whether an activation may be strong at either sign: the sign of a written vector is a convention then."""

    @property
    def layers(self) -> Sequence[int]:
        """The layers that have units, in order."""

    def width(self, layer: int) -> int:
        """How many units a layer has."""

    def write_vectors(self, layer: int) -> Float[Tensor, "units d_model"]:
        """[units d_model] what each unit of a layer adds to the stream at an activation of 1."""

    def read_vectors(self, layer: int) -> Float[Tensor, "units d_model"] | None:
        """[units d_model] what each unit's pre-activation is the product with; None where it is no such product."""

    def readings(self, layer: int) -> Mapping[Reader, Float[Tensor, "units d_model"]]:
        """[units d_model] what meets an embedding in each unit's products; none where it has no such product."""

    def bound(self, layer: int) -> Float[Tensor, " units"] | None:
        """[units] float64: what no input can lift each unit's pre-activation above; None where that is unknown."""


def addresses(units: Units) -> tuple[Int[np.ndarray, " units"], Int[np.ndarray, " units"]]:
    """The layer of every unit of a set, and its number there, by layer, then unit."""
    widths = [units.width(layer) for layer in units.layers]
    layers = np.repeat(np.asarray(units.layers, dtype=np.int16), widths)
    return layers, np.concatenate([np.arange(width, dtype=np.int32) for width in widths])


@dataclass(frozen=True, eq=False)
class FfnNeurons:
    """The neurons of a model's feed-forward layers: they write value vectors, and read with keys, or gates.

    Attributes:
        transformer: the model.
    """

    transformer: Transformer

    @property
    def is_signed(self) -> bool:
        """Those of gated layers, whose activation is a product."""
        return self.transformer.shape.is_gated

    @property
    def layers(self) -> Sequence[int]:
        """All of the model's."""
        return range(self.transformer.shape.n_layers)

    def width(self, layer: int) -> int:
        """The same in every layer."""
        return self.transformer.shape.d_ffn

    def write_vectors(self, layer: int) -> Float[Tensor, "units d_model"]:
        """[d_ffn d_model] the value vectors."""
        return self.transformer.value_vectors(layer)

    def read_vectors(self, layer: int) -> Float[Tensor, "units d_model"]:
        """[d_ffn d_model] the keys; of a gated layer those of the gate."""
        return self.transformer.key_vectors(layer)

    def readings(self, layer: int) -> Mapping[Reader, Float[Tensor, "units d_model"]]:
        """[d_ffn d_model] the keys times the gain of the norm before the FFN; of a gated layer its gates and ups.

        The norm's divisor, which is a token's alone, its mean and its bias are left out [ours]. Post-norm blocks have
        no norm before the FFN: there it is the keys themselves.
        """
        norm, ups = self.transformer.ffn_norm(layer), self.transformer.up_vectors(layer)
        keys = self.read_vectors(layer)
        readers: dict[Reader, Tensor] = {"key": keys} if ups is None else {"gate": keys, "up": ups}
        return readers if norm is None else {name: rows * norm.gamma for name, rows in readers.items()}

    def bound(self, layer: int) -> Float[Tensor, " units"] | None:
        """[d_ffn] float64: the largest pre-activation that any input can cause; None for post-norm blocks [ours].

        A normalized vector has mean 0 and a norm of at most sqrt(d), so gamma * k - mean(gamma * k) meets it at best in
        its own direction: |gamma * k - mean(gamma * k)| * sqrt(d) + beta . k + bias. An RMS norm takes off no mean, and
        neither does its bound: |gamma * k| * sqrt(d) + bias. In a gated layer it is the gate's that is bounded.
        """
        norm = self.transformer.ffn_norm(layer)
        if norm is None:
            return None
        keys = self.read_vectors(layer).double()
        bounds = keys @ norm.beta.double() + self.transformer.key_bias(layer)
        bounds += torch.linalg.vector_norm(norm.readers_(keys), dim=1) * keys.shape[1] ** 0.5
        return bounds
