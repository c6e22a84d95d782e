"""A model without its weights: what config.json describes, or why it describes no model that is known here."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.activations import ACT2FN
from transformers.utils import logging

from ingest.models.errors import ArchitectureUnsupported, ConfigInvalid, ConfigUnsupported, MaskedModel, ModelQuantized
from ingest.models.families.config_words import why_refused
from ingest.models.families.family import Family
from ingest.models.families.rotary import FIXED_ANGLES
from ingest.models.families.table import FAMILIES
from ingest.models.weights import Checkpoint, Weights

_MASKED = ("albert", "deberta", "deberta-v2", "distilbert", "electra", "modernbert", "roberta", "xlm-roberta")
"""Families of encoders: what their configurations are called."""

_SIZES = (
    "ffn_dim",
    "hidden_size",
    "intermediate_size",
    "max_position_embeddings",
    "n_inner",
    "num_attention_heads",
    "num_hidden_layers",
    "num_key_value_heads",
    "vocab_size",
    "word_embed_proj_dim",
)
"""What a model has at least one of, as transformers names it."""

_LARGEST = 2**31 - 1
"""What tables and tensors can count to."""

_MANY_LAYERS = 1000
"""More than any model has: beyond, the modules of a layer are only made if the weights may be there for them."""


_REFUSALS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError, RuntimeError)
"""What transformers and torch say to a configuration that they cannot build a model from."""


@dataclass(frozen=True)
class Skeleton:
    """A model without weights: the modules of transformers on the meta device, where tensors have only shapes."""

    family: Family
    config: PreTrainedConfig
    model: PreTrainedModel

    @property
    def copies(self) -> Mapping[str, str]:
        """Tensors that only repeat another one -> that one; where nothing is tied all are their own."""
        return self.family.copies if self.config.tie_word_embeddings else {}

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
        ModelQuantized: its weights are quantized.
    """
    named = checkpoint_config.get("model_type")
    if not isinstance(named, str) or named not in FAMILIES:
        found = repr(named) if named is not None else "of an unnamed model_type"
        if _is_masked(checkpoint_config):
            masked = sorted(name for name, family in FAMILIES.items() if family.is_masked)
            raise MaskedModel(where, found, masked, sorted(FAMILIES.keys() - masked))
        raise ArchitectureUnsupported(where, found, sorted(FAMILIES))
    family = FAMILIES[named]
    if family.is_masked and checkpoint_config.get("is_decoder"):
        raise ArchitectureUnsupported(where, f"{named!r} as a decoder", sorted(FAMILIES))
    quantization = checkpoint_config.get("quantization_config")
    if quantization:
        raise ModelQuantized(where, quantization.get("quant_method") if isinstance(quantization, dict) else None)
    return family


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
        ConfigUnsupported: its family is known, and this shape of it is not.
    """
    family = family_of(checkpoint.config, where=str(checkpoint.folder))
    # The number format that config.json names plays no part: the weights say theirs, the caller says the run's.
    fields = {name: value for name, value in checkpoint.config.items() if name not in ("dtype", "torch_dtype")}
    _refuse_sizes(checkpoint, family)
    activation = fields.get(family.activation)
    if isinstance(activation, str) and activation not in ACT2FN:
        raise ConfigInvalid(checkpoint.folder, f"{family.activation} is {activation!r}, which does not exist")
    try:
        with _quiet(), torch.device("meta"):
            config = _config_class(family).from_dict(fields)
            # Attention that needs no mask tensor: right padding lies in the future of every real position.
            config._attn_implementation = "sdpa"
            # A feed-forward network that runs once a block, whatever a configuration says to save memory.
            config.chunk_size_feed_forward = 0
            model = getattr(transformers, family.model_class)(config).eval().requires_grad_(False)
    except (StrictDataclassError, *_REFUSALS) as error:
        raise ConfigInvalid(checkpoint.folder, why_refused(error)) from error
    _refuse_moving_angles(checkpoint, family, config)
    _refuse_windows(checkpoint, family, config)
    return Skeleton(family, config, model)


def _refuse_sizes(checkpoint: Checkpoint, family: Family) -> None:
    """Refuse sizes before anything of that size is made; transformers refuses what is not an integer."""
    for name, called, size in _sizes(checkpoint, family):
        if size < 1:
            raise ConfigInvalid(checkpoint.folder, f"{called} is {size}, but must be at least 1")
        if name == "num_hidden_layers" and size > _MANY_LAYERS:
            held = len(Weights(checkpoint).names())
            if size > held:
                raise ConfigInvalid(checkpoint.folder, f"{called} is {size}, but its weights are {held} tensors")
        if size > _LARGEST:
            raise ConfigInvalid(checkpoint.folder, f"{called} is {size}, but must be at most {_LARGEST}")


def _sizes(checkpoint: Checkpoint, family: Family) -> Iterator[tuple[str, str, int]]:
    """What transformers calls a size, what config.json calls it, and the size; only those that the family reads."""
    config_class = _config_class(family)
    for name in _SIZES:
        own = config_class.attribute_map.get(name, name)
        if not hasattr(config_class, own):
            continue
        for called in sorted({name, own}):
            size = checkpoint.config.get(called)
            if isinstance(size, int):
                yield name, called, size


def _config_class(family: Family) -> type[PreTrainedConfig]:
    found: type[PreTrainedConfig] = getattr(transformers, family.config_class)
    return found


def _refuse_moving_angles(checkpoint: Checkpoint, family: Family, config: PreTrainedConfig) -> None:
    """Refuse rotations that depend on the longest sequence of a batch: no number would be a text's own."""
    if family.rotary is not None and config.rope_parameters["rope_type"] not in FIXED_ANGLES:
        said = f"rope_type {config.rope_parameters['rope_type']!r}"
        raise ConfigUnsupported(checkpoint.folder, family.architecture, said, sorted(FIXED_ANGLES))


def _refuse_windows(checkpoint: Checkpoint, family: Family, config: PreTrainedConfig) -> None:
    """Refuse attention that sees nothing."""
    for layer in range(config.num_hidden_layers):
        window = family.window(config, layer)
        if window is not None and window < 1:
            raise ConfigInvalid(checkpoint.folder, f"sliding_window is {window}, but must be at least 1")


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps transformers and torch from remarks about a configuration on stderr."""
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
