"""Every field of every family's config.json: it changes no number, makes another model, or is refused by its name.

The alternatives are generated from the configuration classes of transformers, whose own models with the same weights
say which numbers are right: what they heed and this project does not would be found here, today's fields and those of
later releases.
"""

import copy
import dataclasses
import json
import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pytest
import torch
import transformers
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.utils import logging

from neurothek.catalog.problems import Conflict, NeurothekError
from neurothek.ingest.models.families.family import Family
from neurothek.ingest.models.families.table import FAMILIES
from neurothek.ingest.models.transformer import check, open_transformer
from neurothek.ingest.models.weights import Checkpoint

IDS = torch.randint(0, 40, (2, 14), generator=torch.Generator().manual_seed(2))

# As in test_families: float32 sums in another order.
close = partial(torch.allclose, rtol=1e-4, atol=1e-4)

SIZES: dict[str, Any] = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
    "intermediate_size": 24,
    "ffn_dim": 24,
    "n_inner": 24,
    "word_embed_proj_dim": 16,
    "head_dim": 4,
    "sliding_window": 7,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 1.0},
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": None,
}
"""What the models of all families are built of, as far as they know it."""

OTHERS: dict[str, tuple[Any, ...]] = {
    "activation_function": ("silu", "gelu"),
    "hidden_act": ("relu", "gelu_new"),
    "head_dim": (2, 8),
    "num_key_value_heads": (1, 4),
    "sliding_window": (3, None),
    "word_embed_proj_dim": (8,),
    "n_inner": (32, None),
    "layer_types": (["full_attention", "sliding_attention"], ["sliding_attention"] * 2, ["linear_attention"] * 2),
    "rope_parameters": (
        {"rope_type": "default", "rope_theta": 50.0},
        {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4},
        {"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e4},
    ),
    "architectures": (["Another"],),
    "dtype": ("float16",),
    "id2label": ({"0": "a"},),
    "label2id": ({"a": 0},),
    "problem_type": ("regression",),
    "summary_type": ("mean",),
    "summary_activation": ("tanh",),
    "transformers_version": ("4.0.0",),
    "pad_token_id": (3,),
    "classifier_dropout": (0.5,),
}
"""Values for fields of which a type does not tell sensible ones."""

FOREIGN: dict[str, tuple[Any, ...]] = {
    "attention_multiplier": (0.3,),
    "attn_implementation": ("eager",),
    "attn_logit_softcapping": (1.0,),
    "embedding_multiplier": (3.0,),
    "final_logit_softcapping": (5.0,),
    "is_decoder": (True,),
    "logits_scaling": (2.0,),
    "norm_epsilon": (0.5,),
    "output_attentions": (True,),
    "partial_rotary_factor": (0.5,),
    "position_embedding_type": ("relative_key", "absolute"),
    "pruned_heads": ({"0": [1]}, {}),
    "quantization_config": ({"quant_method": "gptq"}, {}),
    "compression_config": ({"format": "int-quantized"},),
    "query_pre_attn_scalar": (3,),
    "residual_multiplier": (0.3,),
    "rope_scaling": ({"type": "linear", "factor": 2.0}, {"rope_type": "longrope", "factor": 2.0}),
    "rope_theta": (50.0,),
    "rotary_emb_base": (50,),
    "rotary_pct": (0.5,),
    "tie_encoder_decoder": (True,),
    "torchscript": (True,),
}
"""Fields of other releases, other families and libraries that edit a config.json."""

REFUSED = {
    "quantization_config": "quantized",
    "compression_config": "quantized",
    "is_decoder": "as a decoder",
    "rope_scaling": "rope_parameters",
}
"""Other words for a field's name."""


@dataclasses.dataclass(frozen=True)
class Base:
    """A model as it was saved, and what it computes."""

    family: Family
    checkpoint: Checkpoint
    tensors: Mapping[str, torch.Tensor]
    logits: torch.Tensor
    identity: Mapping[str, Any]


@pytest.fixture(scope="module", params=FAMILIES)
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Base:
    family = FAMILIES[request.param]
    folder = tmp_path_factory.mktemp("settings") / family.architecture
    names = {field.name for field in dataclasses.fields(config_class(family))} | config_class(
        family
    ).attribute_map.keys()
    config = config_class(family)(**{name: value for name, value in SIZES.items() if name in names})
    model: PreTrainedModel = getattr(transformers, family.model_class)(config)
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.data = 0.3 * torch.randn(parameter.shape, generator=generator) + (parameter.dim() == 1)
    logging.disable_progress_bar()
    model.save_pretrained(folder)
    checkpoint = Checkpoint(
        name="m",
        source="m",
        folder=folder,
        revision=None,
        weights_sha256="",
        # The text half of a model that sees, too, names the whole.
        config=json.loads((folder / "config.json").read_text()) | {"model_type": family.architecture},
        files=(folder / "model.safetensors",),
        pickled=False,
    )
    logits, identity = ours(checkpoint)
    # The names of transformers' own model, not those on disk.
    tensors = {name: tensor for name, tensor in model.state_dict().items() if not is_copy(model, name)}
    found = Base(family, checkpoint, tensors, logits, identity)
    expected = theirs(found, checkpoint.config)
    assert expected is not None
    assert close(logits, expected)
    return found


def is_copy(model: PreTrainedModel, name: str) -> bool:
    return model.config.tie_word_embeddings and name in model._tied_weights_keys


def config_class(family: Family) -> type[Any]:
    found: type[Any] = getattr(transformers, family.config_class)
    return found


@torch.no_grad()
def ours(checkpoint: Checkpoint) -> tuple[torch.Tensor, Mapping[str, Any]]:
    check(checkpoint)
    transformer = open_transformer(checkpoint)
    stream = transformer.embed(IDS)
    for layer in range(transformer.shape.n_layers):
        with transformer.block(layer) as block:
            stream = block(stream).stream
    return transformer.logits(stream), transformer.shape.identity()


@torch.no_grad()
def theirs(base: Base, config: Mapping[str, Any]) -> torch.Tensor | None:
    """What transformers' own model computes from the same weights; None where it would make some up."""
    family, folder = base.family, base.checkpoint.folder
    fields = {
        name: value for name, value in config.items() if name not in ("quantization_config", "dtype", "model_type")
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names of earlier releases
        made: PreTrainedConfig = config_class(family).from_dict({**copy.deepcopy(fields), "return_dict": True})
    made._attn_implementation = "eager"
    model_class = getattr(transformers, family.model_class)
    if config["tie_word_embeddings"] == base.checkpoint.config["tie_word_embeddings"]:
        model = model_class(made)
        loaded = model.load_state_dict(base.tensors, strict=False)
        missing = set(loaded.missing_keys) - model._tied_weights_keys.keys()
        if missing or loaded.unexpected_keys:
            return None
        model.tie_weights()
    else:  # which takes longer, and decides what is tied
        model, told = model_class.from_pretrained(
            folder, config=made, dtype=torch.float32, local_files_only=True, output_loading_info=True
        )
        if told["missing_keys"]:
            return None
    found: torch.Tensor = model.eval()(IDS, use_cache=False).logits
    return found


def alternatives(base: Base, *, is_thorough: bool) -> Iterator[tuple[str, Any]]:
    """Each field with each other value; in short those of the family's own class, each with the first."""
    made = config_class(base.family).from_dict(dict(base.checkpoint.config))
    own = [field.name for field in dataclasses.fields(made)]
    foreign = sorted(FOREIGN) + sorted({name for name in _all_names() if name not in own})
    for name in [*own, *foreign] if is_thorough else own:
        values = others(name, getattr(made, name, None))
        yield from ((name, value) for value in (values if is_thorough else values[:1]))


def _all_names() -> set[str]:
    return {field.name for family in FAMILIES.values() for field in dataclasses.fields(config_class(family))}


def others(name: str, value: object) -> tuple[Any, ...]:
    if name in OTHERS or name in FOREIGN:
        return OTHERS.get(name) or FOREIGN[name]
    match value:
        case bool():
            return (not value,)
        case int():
            return (value + 1, max(1, value // 2))
        case float():
            return (0.37, value * 3)
    return (3,)


def verdict(base: Base, name: str, value: object) -> str | None:
    """What is wrong with a changed field; None for nothing."""
    config = {**base.checkpoint.config, name: value}
    try:
        logits, identity = ours(dataclasses.replace(base.checkpoint, config=config))
    except NeurothekError as error:
        return None if is_named(base, name, value, error) else f"not named in: {error}"
    try:
        expected = theirs(base, config)
    except Exception as error:  # noqa: BLE001 - whatever the library stumbles over
        return f"measured, although transformers says {error!r:.200}"
    if expected is None:
        return "measured, although transformers would make weights up"
    if logits.shape != expected.shape or not close(logits, expected):
        return "other numbers than those of transformers"
    is_silent = not torch.equal(logits, base.logits) and identity == base.identity
    return SILENT if is_silent else None


SILENT = "other numbers, and the same identity"


def is_named(base: Base, name: str, value: object, error: NeurothekError) -> bool:
    """Whether a refusal says what is wrong: the field, or a size that the tensors or another size contradict."""
    aliases = {key for key, own in config_class(base.family).attribute_map.items() if own == name}
    if any(word in str(error) for word in {name, REFUSED.get(name, name), *aliases}):
        return True
    if isinstance(error, Conflict) and error.what == "weights":
        return not isinstance(value, bool)
    return any(words in str(error) for words in ("must be divisible", "not divisible", "not a multiple"))


def faults(base: Base, *, is_thorough: bool) -> list[str]:
    found = {
        (name, repr(value)): verdict(base, name, value) for name, value in alternatives(base, is_thorough=is_thorough)
    }
    return [f"{base.family.architecture} {name} {value}: {fault}" for (name, value), fault in found.items() if fault]


@pytest.mark.long
def test_no_field_is_ignored_in_silence(base: Base) -> None:
    found = faults(base, is_thorough=False)
    assert not found, "\n".join(found)


@pytest.mark.series
def test_no_field_of_any_library_is_ignored_in_silence(base: Base) -> None:
    found = faults(base, is_thorough=True)
    assert not found, "\n".join(found)


def test_the_oracle_finds_a_setting_that_nobody_notes(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: without what a family says of its settings each of them would be found."""
    bare = dataclasses.replace(base.family, settings=(), assumed={})
    monkeypatch.setitem(FAMILIES, base.family.architecture, bare)
    logits, identity = ours(base.checkpoint)
    stripped = dataclasses.replace(base, identity=identity, logits=logits)
    epsilon = next((name for name in base.family.settings if "eps" in name), None)
    if epsilon is not None:
        assert verdict(stripped, epsilon, 0.37) == SILENT
