"""What a model is like without its weights."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from neurothek.ingest.models.families.table import FAMILIES

# Activations that are exactly 0 for a neuron that is off; all others only come close to it.
EXACT_ZEROS = frozenset({"relu", "relu2", "relu6"})


@dataclass(frozen=True)
class Shape:
    """What a model is like, without its weights."""

    architecture: str  # the family
    activation: str  # the non-linearity as config.json names it, such as relu or gelu_new
    # whether blocks normalize what they read ("pre"), the stream that they wrote to ("post"), before it is added what
    # they write ("written"), or what they read and what they write ("both")
    norm_position: Literal["pre", "post", "both", "written"]
    # "none" for a learned position table that is zero everywhere
    position_encoding: Literal["learned", "none", "rotary"]
    n_layers: int  # blocks, each with one FFN
    d_model: int  # width of the residual stream
    d_ffn: int  # neurons per layer
    n_heads: int  # attention heads a layer
    vocab_size: int  # rows of the unembedding, which may be more than the tokenizer has ids
    context_length: int  # the longest sequence, in tokens
    n_parameters: int  # all weights, a tied unembedding counted once
    # those of the token and position embeddings, and of an unembedding of its own; the projections between a narrower
    # embedding and the stream (OPT-350m) are not embeddings
    n_parameters_embedding: int
    has_exact_zeros: bool  # whether a neuron that is off has coefficient 0 exactly
    has_parallel_residual: bool = False  # whether attention and FFN of a block both read what enters the block
    settings: str = ""  # what else config.json decides beside weights and sizes, as JSON; "" for families without any

    @property
    def is_masked(self) -> bool:
        """Whether it fills in masked tokens instead of saying the next one."""
        return FAMILIES[self.architecture].is_masked

    @property
    def is_gated(self) -> bool:
        """Whether a coefficient is act(gate) * up, so that its sign tells nothing of the gate."""
        return FAMILIES[self.architecture].is_gated

    @property
    def is_non_negative(self) -> bool:
        """Whether no coefficient can be below 0."""
        return self.has_exact_zeros and not self.is_gated

    @property
    def has_poles(self) -> bool:
        """Whether a strong coefficient may have either sign: a product, and its neuron is never exactly off."""
        return self.is_gated and not self.has_exact_zeros

    @property
    def activation_rule(self) -> Literal["m != 0", "m > 0", "gate > 0"]:
        """When a neuron counts as active ([V] 3; for gates and for activations without exact zeros ours)."""
        if self.is_gated:
            return "gate > 0"
        return "m != 0" if self.has_exact_zeros else "m > 0"

    def identity(self) -> dict[str, Any]:
        """What of it is part of a run's identity; a field that says nothing is none, so that others may be added.

        Settings that earlier releases took no note of are named only where they are not what published checkpoints
        have. So the keys of nearly all runs stay; a model that differs gets keys of its own, even beside the same
        weights, and its earlier runs, of which nobody knows with which settings they were measured, are measured anew.
        """
        assumed = FAMILIES[self.architecture].assumed
        settings = json.loads(self.settings or "{}")
        named = {name: value for name, value in settings.items() if name not in assumed or assumed[name] != value}
        values = {**asdict(self), "settings": json.dumps(named, sort_keys=True) if named else ""}
        optional = ("has_parallel_residual", "settings")
        return {name: value for name, value in values.items() if value or name not in optional}
