"""The families of language models that are known here: where transformers keeps what the measurements need.

A family is one row of the table `FAMILIES`: supporting another one means adding a row, and teaching `blocks` and
`ingest.architectures` whatever its blocks do that these do not.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    OPTConfig,
    OPTForCausalLM,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.utils import logging

from ingest.model_errors import ArchitectureUnsupported, ConfigInvalid, MaskedModel
from ingest.weights import Checkpoint

Architecture = Literal["opt", "gpt2"]


@dataclass(frozen=True)
class Family:
    """One family; every path names a module of its causal model, those of the last group a module of one block.

    Attributes:
        architecture: the `model_type` of config.json.
        config_class: its configuration in transformers.
        model_class: its causal language model in transformers.
        base: what the names of all tensors but the head's begin with; checkpoints of the bare model leave it out.
        ignorable: tensors of old checkpoints that hold no weights, such as masks.
        layers: the list of blocks.
        tokens: the token embedding.
        positions: the position embedding.
        position_offset: the row of the first position.
        project_in: the projection after the token embedding, where the model has one.
        project_out: the projection before the unembedding, where the model has one.
        final_norm: the norm before the unembedding, where the model has one.
        head: the unembedding.
        keys: the first linear map of the feed-forward network.
        values: the second one, whose input are the neurons' coefficients.
        ffn_norm: the norm before the feed-forward network, or after it in post-norm blocks.
        is_post_norm: whether a configuration normalizes after adding to the stream.
    """

    architecture: Architecture
    config_class: type[PreTrainedConfig]
    model_class: type[PreTrainedModel]
    base: str
    ignorable: re.Pattern[str]
    layers: str
    tokens: str
    positions: str
    position_offset: int
    project_in: str | None
    project_out: str | None
    final_norm: str
    head: str
    keys: str
    values: str
    ffn_norm: str
    is_post_norm: Callable[[PreTrainedConfig], bool]


OPT = Family(
    architecture="opt",
    config_class=OPTConfig,
    model_class=OPTForCausalLM,
    base="model.",
    ignorable=re.compile(r"model\.decoder\.version"),
    layers="model.decoder.layers",
    tokens="model.decoder.embed_tokens",
    positions="model.decoder.embed_positions",
    position_offset=2,
    project_in="model.decoder.project_in",
    project_out="model.decoder.project_out",
    final_norm="model.decoder.final_layer_norm",
    head="lm_head",
    keys="fc1",
    values="fc2",
    ffn_norm="final_layer_norm",
    is_post_norm=lambda config: not config.do_layer_norm_before,
)

GPT2 = Family(
    architecture="gpt2",
    config_class=GPT2Config,
    model_class=GPT2LMHeadModel,
    base="transformer.",
    ignorable=re.compile(r"transformer\.h\.\d+\.attn\.(bias|masked_bias)"),
    layers="transformer.h",
    tokens="transformer.wte",
    positions="transformer.wpe",
    position_offset=0,
    project_in=None,
    project_out=None,
    final_norm="transformer.ln_f",
    head="lm_head",
    keys="mlp.c_fc",
    values="mlp.c_proj",
    ffn_norm="ln_2",
    is_post_norm=lambda config: False,
)

FAMILIES: Mapping[str, Family] = {family.architecture: family for family in (OPT, GPT2)}


_MASKED = ("albert", "bert", "deberta", "deberta-v2", "distilbert", "electra", "modernbert", "roberta", "xlm-roberta")
"""Families of encoders: what their configurations are called."""


@dataclass(frozen=True)
class Skeleton:
    """A model without weights: the modules of transformers on the meta device, where tensors have only shapes."""

    family: Family
    config: PreTrainedConfig
    model: PreTrainedModel

    def module(self, path: str) -> torch.nn.Module | None:
        """The module at `path`, None where this model has none there."""
        found: Any = self.model
        for part in path.split("."):
            found = getattr(found, part, None)
        return found if isinstance(found, torch.nn.Module) else None


def family_of(checkpoint_config: Mapping[str, Any], *, where: str) -> Family:
    """The family that a config.json names.

    Raises:
        MaskedModel: its models fill in masked tokens.
        ArchitectureUnsupported: it is not one of `FAMILIES`, or none is named.
    """
    named = checkpoint_config.get("model_type")
    if not isinstance(named, str) or named not in FAMILIES:
        found = repr(named) if named is not None else "of an unnamed model_type"
        if _is_masked(checkpoint_config):
            raise MaskedModel(where, found, sorted(FAMILIES))
        raise ArchitectureUnsupported(where, found, sorted(FAMILIES))
    return FAMILIES[named]


def _is_masked(checkpoint_config: Mapping[str, Any]) -> bool:
    """Whether a config.json names a masked model, by its class or, where that is of no task, by its family."""
    classes = checkpoint_config.get("architectures")
    if isinstance(classes, list) and any(str(name).endswith("ForMaskedLM") for name in classes):
        return True
    return checkpoint_config.get("model_type") in _MASKED and not checkpoint_config.get("is_decoder", False)


def skeleton(checkpoint: Checkpoint) -> Skeleton:
    """The model that config.json describes, without weights; takes milliseconds at any size.

    Raises:
        ArchitectureUnsupported: its family is not known here.
        ConfigInvalid: a field is missing, of a wrong type, or contradicts another.
    """
    family = family_of(checkpoint.config, where=str(checkpoint.folder))
    # The number format that config.json names plays no part: the weights say theirs, the caller says the run's.
    fields = {name: value for name, value in checkpoint.config.items() if name not in ("dtype", "torch_dtype")}
    try:
        with _quiet(), torch.device("meta"):
            config = family.config_class.from_dict(fields)
            # Attention that needs no mask tensor: right padding lies in the future of every real position.
            config._attn_implementation = "sdpa"
            model = family.model_class(config).eval().requires_grad_(False)
    except StrictDataclassError as error:
        raise ConfigInvalid(checkpoint.folder, str(error).splitlines()[-1].strip()) from error
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError, RuntimeError) as error:
        raise ConfigInvalid(checkpoint.folder, f"{type(error).__name__}: {error}".splitlines()[0]) from error
    if not config.num_hidden_layers > 0:
        raise ConfigInvalid(checkpoint.folder, "it has no layers")
    return Skeleton(family, config, model)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps transformers from logging remarks about a configuration on stderr."""
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
