"""What is to be known of a family of language models: where transformers keeps what the measurements need."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Config = Any
"""A configuration of transformers, which is not imported here: names of tensors are asked for without it."""


def _never(config: Config) -> bool:
    return False


def _no_window(config: Config, layer: int) -> int | None:
    return None


def _no_number(config: Config) -> float | None:
    return None


@dataclass(frozen=True, kw_only=True)
class Family:
    """One family; every path names a module of its model, those of the second group a module of one block.

    attention: the attention.
    attention_norm: its norm, before it or, in post-norm blocks, after it; None where what is added to the stream is
        not the attention alone.
    keys: the first linear map of the feed-forward network; of a gated one the gate's.
    ups: the map whose output the gate multiplies, `keys` itself where it is fused; None where there is no gate.
    values: the last one, whose input are the neurons' coefficients.
    ffn_norm: the norm before the feed-forward network, or after it in post-norm blocks; None where it reads the stream
        as it is.
    written_norm: the norm of what the feed-forward network adds to the stream, where there is one.
    cache: what a block calls the cache of keys and values that it is given.
    has_input_rows: whether linear maps are stored with a row an input (Conv1D), not a row an output.

    activation: the field of a configuration that names the non-linearity.
    settings: further fields that change numbers and that neither weights nor sizes tell.
    assumed: those of them that earlier releases took no note of -> the value that published checkpoints have: run
        keys name them only where they differ.
    is_masked: whether it fills in masked tokens, seeing those after them too, instead of saying the next one.
    is_gated: whether a coefficient is act(gate) * up.
    is_fused: whether `keys` is one map for both factors of a coefficient: the gates' rows, then as many of the others.
    is_post_norm: whether a configuration normalizes after adding to the stream.
    is_parallel: whether attention and feed-forward network of a block both read what enters it.
    window: (configuration, layer) -> how many positions the layer's attention sees, None for all before.
    norm_offset: what is added to the weights of a norm.
    embedding_scale: what the rows of the token embedding are multiplied by; None for nothing.
    written_scale: the field of a configuration by which all that is added to the stream is multiplied.
    logit_divisor: the field by which the head divides its logits.
    logit_cap: the c of c * tanh(logit / c), by which the head bounds its logits; None where it does not.
    attention_cap: likewise of the attention's logits, before the softmax.
    has_kinds_of_angles: whether layers of different `layer_types` rotate by different angles.
    """

    architecture: str  # the `model_type` of config.json
    config_class: str  # name of its configuration in transformers
    model_class: str  # name of its language model in transformers
    # what the names of all tensors but those of `outside` begin with; checkpoints of the bare model leave it out
    base: str
    text_config: str | None = None  # the field of config.json that describes the language model of one that sees, too
    outside: tuple[str, ...] = ("lm_head.",)  # what the names of the others begin with, on disk
    # (what a name on disk begins with, what the language model alone calls it); the first that fits counts
    moved: tuple[tuple[str, str], ...] = ()
    # (what a name on disk ends with, what transformers calls it) for names of other releases
    renamed: tuple[tuple[str, str], ...] = ()
    # tensors that only repeat another one, where the unembedding is tied -> that one
    copies: Mapping[str, str] = field(default_factory=dict)
    ignorable: re.Pattern[str]  # tensors that are not read: masks of old checkpoints, weights beside the language model
    layers: str  # the list of blocks
    tokens: str  # the token embedding
    positions: str | None = None  # the position embedding, where the model has one
    position_offset: int = 0  # the row of the first position
    segments: str | None = None  # the embedding of token types, where the model has one; every token is of the first
    embedding_norm: str | None = None  # the norm after the embeddings, where the model has one
    # what makes the angles by which queries and keys are rotated, where positions are told so
    rotary: str | None = None
    project_in: str | None = None  # the projection after the token embedding, where the model has one
    project_out: str | None = None  # the projection before the unembedding, where the model has one
    final_norm: str | None = None  # the norm before the unembedding, where the model has one
    transform: str | None = None  # what the model's own head does to a stream before the unembedding, beside the norm
    head: str = "lm_head"  # the unembedding

    attention: str
    attention_norm: str | None = None
    keys: str
    ups: str | None = None
    values: str
    ffn_norm: str | None = None
    written_norm: str | None = None
    cache: str = "past_key_values"
    has_input_rows: bool = False

    activation: str = "hidden_act"
    settings: tuple[str, ...] = ()
    assumed: Mapping[str, object] = field(default_factory=dict)
    is_masked: bool = False
    is_gated: bool = False
    is_fused: bool = False
    is_post_norm: Callable[[Config], bool] = _never
    is_parallel: Callable[[Config], bool] = _never
    window: Callable[[Config, int], int | None] = _no_window
    norm_offset: float = 0.0
    embedding_scale: Callable[[Config], float | None] = _no_number
    written_scale: str | None = None
    logit_divisor: str | None = None
    logit_cap: Callable[[Config], float | None] = _no_number
    attention_cap: Callable[[Config], float | None] = _no_number
    has_kinds_of_angles: bool = False

    def named(self, stored: str) -> str:
        """What transformers calls a tensor, with the prefix of the whole model and without names of other releases."""
        name = next((new + stored.removeprefix(old) for old, new in self.moved if stored.startswith(old)), stored)
        name = name if name.startswith((self.base, *self.outside)) else self.base + name
        for old, new in self.renamed:
            if name.endswith(old):
                name = name.removesuffix(old) + new
        return name
