"""The family that a config.json names, or what of it is not supported: known before anything large is imported."""

from collections.abc import Mapping
from typing import Any

from neurothek.catalog.problems import Unsupported
from neurothek.ingest.models.errors import (
    ADDING,
    unsupported_architecture,
    unsupported_config,
)
from neurothek.ingest.models.families.family import Family
from neurothek.ingest.models.families.table import FAMILIES

_MASKED = ("albert", "deberta", "deberta-v2", "distilbert", "electra", "modernbert", "roberta", "xlm-roberta")
"""Families of encoders: what their configurations are called."""

_QUANTIZATION = ("quantization_config", "compression_config")


def family_of(checkpoint_config: Mapping[str, Any], *, where: str) -> Family:
    """The family that a config.json names."""
    named = checkpoint_config.get("model_type")
    if not isinstance(named, str) or named not in FAMILIES:
        description = repr(named) if named is not None else "of an unnamed model_type"
        if _is_masked(checkpoint_config):
            masked = sorted(name for name, family in FAMILIES.items() if family.is_masked)
            raise Unsupported(
                f"{where} contains a masked language model ({description}), which is not supported",
                f"supported masked models are {', '.join(masked)}, and causal ones are"
                f" {', '.join(sorted(FAMILIES.keys() - masked))}; {ADDING}",
                what="architecture",
                name=named,
            )
        raise unsupported_architecture(where, named, sorted(FAMILIES), description=description)
    family = FAMILIES[named]
    if family.is_masked and checkpoint_config.get("is_decoder"):
        raise unsupported_architecture(where, named, sorted(FAMILIES), description=f"{named!r} as a decoder")
    for name in _QUANTIZATION:
        quantization = checkpoint_config.get(name)
        if quantization:
            method = quantization.get("quant_method") if isinstance(quantization, dict) else None
            how = f"by {method}" if isinstance(method, str) else "by an unnamed method"
            raise Unsupported(
                f"config.json of {where} says that its weights are quantized {how}, which is not supported",
                "give the model before quantization",
                what="quantization",
                name=method,
            )
    for name, (plain, way) in _PLAIN.items():
        value = checkpoint_config.get(name)
        if value and value != plain:
            raise unsupported_config(where, f"{name} {value!r:.80}", way=way, architecture=named)
    return family


def config_of_text(checkpoint_config: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A config.json with the language model's fields among its own, the other parts left out; None for a broken one.

    A model of text alone has one part, which stays as it is.
    """
    family = FAMILIES.get(str(checkpoint_config.get("model_type")))
    if family is None or family.text_config is None:
        return checkpoint_config
    text = checkpoint_config.get(family.text_config, {})
    if not isinstance(text, Mapping):
        return None
    whole = {
        name: value
        for name, value in checkpoint_config.items()
        if name in _QUANTIZATION or not name.endswith("_config")
    }
    # Whether embeddings are tied is the whole model's to say.
    named = {"model_type": family.architecture, "tie_word_embeddings": whole.get("tie_word_embeddings", True)}
    return {**whole, **text, **named}


_PLAIN: Mapping[str, tuple[object, str]] = {
    "add_cross_attention": (False, "give a model without an encoder beside it"),
    "use_bidirectional_attention": (False, "give a model whose attention looks back only"),
    "position_embedding_type": ("absolute", "supported is absolute"),
    # This release of transformers would build the model whole, whatever was taken out of it.
    "pruned_heads": (None, "give the model before its heads were pruned"),
}
"""Fields that change what a model computes -> the only value that is supported beside none, and what to do."""


def _is_masked(checkpoint_config: Mapping[str, Any]) -> bool:
    """Whether a config.json names a masked model, by its class or, where that is of no task, by its family."""
    classes = checkpoint_config.get("architectures")
    if isinstance(classes, list) and any(str(name).endswith("ForMaskedLM") for name in classes):
        return True
    return checkpoint_config.get("model_type") in _MASKED and not checkpoint_config.get("is_decoder", False)
