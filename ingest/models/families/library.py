"""Models that transformers builds without their weights, and why config.json describes none that is known here."""

import copy
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.activations import ACT2FN

from neurothek.ingest.models.errors import invalid_config, unsupported_config
from neurothek.ingest.models.families.family import Family
from neurothek.ingest.models.families.norms import FIXED_ANGLES
from neurothek.ingest.models.quiet import quiet_library
from neurothek.ingest.models.weights import Checkpoint, Weights

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

_EPSILONS = ("layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps")

_LARGEST_ANGLE = 1e30
"""Below what float32 holds; no base or factor comes near it."""

_ROTARY_ALONE = ("rope_theta", "rotary_emb_base", "rotary_pct", "partial_rotary_factor")
_ROTARY_INSIDE = (
    "rope_theta",
    "factor",
    "partial_rotary_factor",
    "original_max_position_embeddings",
    "low_freq_factor",
    "high_freq_factor",
    "beta_fast",
    "beta_slow",
    "attention_factor",
)
"""Numbers from which no angle follows unless they are above 0."""

_ATTENTION = ("full_attention", "sliding_attention")

_MANY_LAYERS = 1000
"""More than any model has: beyond, the modules of a layer are only made if the weights may be there for them."""

_REFUSALS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError, RuntimeError)
"""What transformers and torch say to a configuration that they cannot build a model from."""


def library_model(
    checkpoint: Checkpoint, family: Family, fields: Mapping[str, Any]
) -> tuple[PreTrainedConfig, PreTrainedModel]:
    """The configuration and the model, without weights, that fields of config.json describe; takes milliseconds."""
    _refuse_sizes(checkpoint, family)
    _refuse_numbers(checkpoint, family)
    if family.rotary is not None:
        _refuse_moving_angles(checkpoint, family)
    activation = fields.get(family.activation)
    if isinstance(activation, str) and activation not in ACT2FN:
        raise invalid_config(checkpoint.folder, f"{family.activation} is {activation!r}, which does not exist")
    try:
        config, model = _built(family, fields)
    except (StrictDataclassError, *_REFUSALS) as error:
        raise invalid_config(checkpoint.folder, why_refused(error) or _stumbled(family, fields)) from error
    _refuse_windows(checkpoint, family, config)
    return config, model


def _built(family: Family, fields: Mapping[str, Any]) -> tuple[PreTrainedConfig, PreTrainedModel]:
    """A configuration and its model without weights, by transformers."""
    with quiet_library(), torch.device("meta"):
        # The library changes what is inside of the fields that it is given.
        config = _config_class(family).from_dict(copy.deepcopy(dict(fields)))
        # Attention that needs no mask tensor: right padding lies in the future of every real position.
        config._attn_implementation = "sdpa" if family.attention_cap(config) is None else "eager"
        # A feed-forward network that runs once a block, whatever a configuration says to save memory.
        config.chunk_size_feed_forward = 0
        model = getattr(transformers, family.model_class)(config).eval().requires_grad_(False)
    return config, model


def _stumbled(family: Family, fields: Mapping[str, Any]) -> str:
    """What the library stumbled over without a word: the field without which it does not, if it is one."""
    for name in fields:
        with suppress(StrictDataclassError, *_REFUSALS):
            _built(family, {other: value for other, value in fields.items() if other != name})
            return f"{name} is not a value that such a model can have"
    return "a value is not one that such a model can have"


def _refuse_sizes(checkpoint: Checkpoint, family: Family) -> None:
    """Refuse sizes before anything of that size is made; transformers refuses what is not an integer."""
    for name, called, size in _sizes(checkpoint, family):
        if size < 1:
            raise invalid_config(checkpoint.folder, f"{called} is {size}, but must be at least 1")
        if name == "num_hidden_layers" and size > _MANY_LAYERS:
            held = len(Weights(checkpoint).names())
            if size > held:
                raise invalid_config(checkpoint.folder, f"{called} is {size}, but its weights are {held} tensors")
        if size > _LARGEST:
            raise invalid_config(checkpoint.folder, f"{called} is {size}, but must be at most {_LARGEST}")


def _sizes(checkpoint: Checkpoint, family: Family) -> Iterator[tuple[str, str, int]]:
    """What transformers calls a size, what config.json calls it, and the size; only those that the family reads."""
    config_class = _config_class(family)
    for name in _SIZES:
        attribute = config_class.attribute_map.get(name, name)
        if not hasattr(config_class, attribute):
            continue
        for called in sorted({name, attribute}):
            size = checkpoint.config.get(called)
            if isinstance(size, int):
                yield name, called, size


def _config_class(family: Family) -> type[PreTrainedConfig]:
    config: type[PreTrainedConfig] = getattr(transformers, family.config_class)
    return config


def _refuse_numbers(checkpoint: Checkpoint, family: Family) -> None:
    """Refuse queries without keys, and what no norm can have beside its divisor."""
    sizes = {name: size for name, _, size in _sizes(checkpoint, family)}
    heads, keys = sizes.get("num_attention_heads", 0), sizes.get("num_key_value_heads", 1)
    if heads % keys:
        problem = f"num_attention_heads is {heads}, which is not a multiple of num_key_value_heads {keys}"
        raise invalid_config(checkpoint.folder, problem)
    for name in _EPSILONS:
        value = checkpoint.config.get(name)
        if isinstance(value, int | float) and not 0 <= value <= 1:
            raise invalid_config(checkpoint.folder, f"{name} is {value}, but must be from 0 to 1")
    for name, value in _rotary_numbers(checkpoint) if family.rotary is not None else ():
        if not isinstance(value, int | float) or not 0 < value <= _LARGEST_ANGLE:
            problem = f"{name} is {value!r:.80}, but must be a number above 0"
            raise invalid_config(checkpoint.folder, problem)


def _rotary_numbers(checkpoint: Checkpoint) -> Iterator[tuple[str, object]]:
    """What rotary positions are made of, wherever this and earlier releases wrote it."""
    for name in _ROTARY_ALONE:
        if checkpoint.config.get(name) is not None:
            yield name, checkpoint.config[name]
    for inside, settings in _rotary_settings(checkpoint):
        for name in _ROTARY_INSIDE:
            if settings.get(name) is not None:
                yield f"{name} in {inside}", settings[name]


def _rotary_settings(checkpoint: Checkpoint) -> Iterator[tuple[str, Mapping[str, object]]]:
    """What config.json says of angles: once, or of each kind of layer."""
    for inside in ("rope_parameters", "rope_scaling"):
        settings = checkpoint.config.get(inside)
        if isinstance(settings, Mapping):
            yield inside, settings
            for kind in _ATTENTION:
                if isinstance(settings.get(kind), Mapping):
                    yield f"{inside}.{kind}", settings[kind]


def _refuse_moving_angles(checkpoint: Checkpoint, family: Family) -> None:
    """Refuse rotations that depend on the longest sequence of a batch: no number would be a text's own."""
    for inside, settings in _rotary_settings(checkpoint):
        kind = settings.get("rope_type", settings.get("type", "default"))
        if not isinstance(kind, str) or kind not in FIXED_ANGLES:
            way = f"supported are {', '.join(sorted(FIXED_ANGLES))}; its version for shorter texts may have one of them"
            named = f"rope_type {kind!r:.80} in {inside}"
            raise unsupported_config(str(checkpoint.folder), named, way=way, architecture=family.architecture)


def _refuse_windows(checkpoint: Checkpoint, family: Family, config: PreTrainedConfig) -> None:
    """Refuse attention that sees nothing, or otherwise than the family's."""
    types = getattr(config, "layer_types", None)
    possible = _ATTENTION if hasattr(config, "sliding_window") else _ATTENTION[:1]
    for kind in types if isinstance(types, list | tuple) else ():
        if kind not in possible:
            way, named = f"supported are {', '.join(possible)}", f"layer_types {kind!r:.80}"
            raise unsupported_config(str(checkpoint.folder), named, way=way, architecture=family.architecture)
        if kind == "sliding_attention" and config.sliding_window is None:
            raise invalid_config(checkpoint.folder, "layer_types has sliding_attention, but sliding_window is null")
    for layer in range(config.num_hidden_layers):
        window = family.window(config, layer)
        if window is not None and window < 1:
            raise invalid_config(checkpoint.folder, f"sliding_window is {window}, but must be at least 1")


_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "dict": "an object",
    "NoneType": "null",
}
_FIELD = re.compile(r"Field '(?P<field>\w+)' expected (?P<expected>\w+), got (?P<got>\w+)")
_CONTRADICTION = re.compile(r"validator '\w+':\s+\w+: ([^\n]+)")


def why_refused(error: Exception) -> str | None:
    """What is wrong with a configuration, from what the library said; None for what it merely stumbled over.

    A field of a wrong type is named with what it holds and what it should hold. What the library says of values that
    contradict each other is a sentence.
    """
    message = str(error)
    matches = _FIELD.findall(message)
    if matches:
        field, _, got = matches[0]
        needed = " or ".join(dict.fromkeys(_KINDS.get(expected, "something else") for _, expected, _ in matches))
        return f"{field} is {_KINDS.get(got, 'something else')}, but should be {needed}"
    sentence = _CONTRADICTION.search(message)
    if sentence:
        return sentence[1].rstrip(".! ")
    if isinstance(error, ValueError | AssertionError | RuntimeError) and message:
        return message.splitlines()[0].rstrip(". ")
    return None
