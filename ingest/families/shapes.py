"""What a model is like without its weights."""

from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor

from ingest.families.table import Architecture

# Activations that are exactly 0 for a neuron that is off; all others only come close to it.
EXACT_ZEROS = frozenset({"relu", "relu2", "relu6"})


@dataclass(frozen=True)
class Shape:
    """What a model is like, without its weights.

    Attributes:
        architecture: the family.
        activation: the non-linearity as config.json names it, such as relu or gelu_new.
        norm_position: whether blocks normalize what they read ("pre") or what they wrote ("post").
        position_encoding: "none" for a learned position table that is zero everywhere.
        n_layers: blocks, each with one FFN.
        d_model: width of the residual stream.
        d_ffn: neurons a layer.
        n_heads: attention heads a layer.
        vocab_size: rows of the unembedding, which may be more than the tokenizer has ids.
        context_length: the longest sequence, in tokens.
        n_parameters: all weights, a tied unembedding counted once.
        n_parameters_embedding: those of the token and position embeddings, and of an unembedding of its own; the
            projections between a narrower embedding and the stream (OPT-350m) are no embeddings.
        has_exact_zeros: whether a neuron that is off has coefficient 0 exactly.
    """

    architecture: Architecture
    activation: str
    norm_position: Literal["pre", "post"]
    position_encoding: Literal["learned", "none", "rotary"]
    n_layers: int
    d_model: int
    d_ffn: int
    n_heads: int
    vocab_size: int
    context_length: int
    n_parameters: int
    n_parameters_embedding: int
    has_exact_zeros: bool

    @property
    def activation_rule(self) -> Literal["m != 0", "m > 0"]:
        """When a neuron counts as active ([V] 3; for activations without exact zeros ours)."""
        return "m != 0" if self.has_exact_zeros else "m > 0"


@dataclass(frozen=True)
class Norm:
    """A layer norm: x -> gamma * (x - mean) / sqrt(variance + eps) + beta, in float32."""

    gamma: Float[Tensor, " d_model"]
    beta: Float[Tensor, " d_model"]
    eps: float
