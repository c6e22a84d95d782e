"""Tiny random models with a tokenizer, saved as transformers saves them, in every shape that tests need."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertForMaskedLM,
    Gemma2Config,
    Gemma2ForCausalLM,
    Gemma3Config,
    Gemma3ForCausalLM,
    Gemma3ForConditionalGeneration,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    GraniteConfig,
    GraniteForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    Olmo2Config,
    Olmo2ForCausalLM,
    OPTConfig,
    OPTForCausalLM,
    Phi3Config,
    Phi3ForCausalLM,
    PreTrainedConfig,
    PreTrainedModel,
    SmolLM3Config,
    SmolLM3ForCausalLM,
)
from transformers.utils import logging

from tests.support.tokenizers import make_tokenizer

Kind = Literal[
    "opt",
    "opt350",
    "gpt2",
    "neox",
    "neox_sequential",
    "llama",
    "bert",
    "gemma2",
    "gemma3",
    "gemma3_seeing",
    "olmo2",
    "phi3",
    "smollm3",
    "granite",
]

CAUSAL_KINDS: tuple[Kind, ...] = ("opt", "opt350", "gpt2", "neox", "llama")
"""A model of each family that says the next token, and of OPT both shapes."""

KINDS: tuple[Kind, ...] = (*CAUSAL_KINDS, "bert")
"""Beside them one that fills in masked tokens."""

GEMMAS: tuple[Kind, ...] = ("gemma2", "gemma3", "gemma3_seeing")
"""Gated ones that normalize what an FFN writes, see a few positions back in most layers, and bound their logits."""

NEAR_LLAMA: tuple[Kind, ...] = ("olmo2", "phi3", "smollm3", "granite")
"""Gated ones that differ from Llama in norms, fused maps, layers without rotation, or factors of what is added."""

GATED: tuple[Kind, ...] = ("llama", *GEMMAS, *NEAR_LLAMA)
"""All that have gates."""

UNTIED: tuple[Kind, ...] = ("neox", "neox_sequential", "llama", *NEAR_LLAMA)
"""Families whose unembedding usually is no copy of the token embedding."""


def build(
    folder: Path,
    kind: Kind,
    *,
    n_layers: int = 2,
    d_model: int = 32,
    d_ffn: int | None = None,
    n_heads: int = 4,
    vocab_size: int = 400,
    spare_rows: int = 8,
    context_length: int = 64,
    activation: str | None = None,
    positions: bool = True,
    tie: bool | None = None,
    gate_bias: bool = False,
    dtype: torch.dtype = torch.float32,
    shard_size: str | None = None,
    bare_keys: bool = False,
    tokenizer: bool = True,
    seed: int = 0,
) -> Path:
    """Save a random model of `kind` and its tokenizer to `folder`, and return the folder.

    Args:
        folder: where to save; made if missing.
        kind: "opt" (pre-norm, ReLU), "opt350" (post-norm, narrower embedding, no final norm), "gpt2", "neox" (parallel
            residual), "neox_sequential", "llama" (gated, two heads to a key), "bert" (masked, post-norm), "gemma2" or
            "gemma3" (gated, norms before and after, windows; the former bounds its logits, the latter rotates by two
            kinds of angles), "gemma3_seeing" (the latter with a model for images beside it), "olmo2" (norms of what is
            written alone), "phi3" (one map for gates and the other factor), "smollm3" (every second layer rotates
            nothing) or "granite" (factors of embeddings, attention, what is added, and logits).
        n_layers: blocks.
        d_model: width of the residual stream.
        d_ffn: neurons a layer, 4 * d_model by default.
        n_heads: attention heads.
        vocab_size: rows of the unembedding.
        spare_rows: how many of those rows no token has, as in the real OPT.
        context_length: positions.
        activation: the non-linearity, the family's own by default.
        positions: False leaves the position table zero.
        tie: whether the unembedding is the token embedding; as the family usually has it by default.
        gate_bias: whether the maps of a gated FFN have biases, which Llama's own have not.
        dtype: the number format of the file.
        shard_size: such as "20KB" for safetensors in shards with an index.
        bare_keys: save the model without its head, so that names lack their prefix.
        tokenizer: save a tokenizer too.
        seed: of the weights.
    """
    model = _model(
        kind,
        n_layers=n_layers,
        d_model=d_model,
        d_ffn=4 * d_model if d_ffn is None else d_ffn,
        n_heads=n_heads,
        vocab_size=vocab_size,
        context_length=context_length,
        activation=activation,
        tie=kind not in UNTIED if tie is None else tie,
        gate_bias=gate_bias,
    )
    _randomize_(model, seed)
    if not positions:
        torch.nn.init.zeros_(_position_table(model))
    saved = model.base_model if bare_keys else model
    assert isinstance(saved, PreTrainedModel)
    logging.disable_progress_bar()
    for parameter in saved.parameters():
        parameter.data = parameter.data.to(dtype)
    saved.save_pretrained(folder, max_shard_size=shard_size or "1GB")
    if tokenizer:
        make_tokenizer(kind, vocab_size - spare_rows).save_pretrained(folder)
    return folder


def _model(
    kind: Kind,
    *,
    n_layers: int,
    d_model: int,
    d_ffn: int,
    n_heads: int,
    vocab_size: int,
    context_length: int,
    activation: str | None,
    tie: bool,
    gate_bias: bool,
) -> PreTrainedModel:
    if kind in ("neox", "neox_sequential"):
        neox = GPTNeoXConfig(
            vocab_size=vocab_size,
            hidden_size=d_model,
            intermediate_size=d_ffn,
            num_hidden_layers=n_layers,
            num_attention_heads=n_heads,
            max_position_embeddings=context_length,
            hidden_act=activation or "gelu",
            rope_parameters={"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.5},
            use_parallel_residual=kind == "neox",
            tie_word_embeddings=tie,
        )
        return GPTNeoXForCausalLM(neox)
    if kind == "bert":
        bert = BertConfig(
            vocab_size=vocab_size,
            hidden_size=d_model,
            intermediate_size=d_ffn,
            num_hidden_layers=n_layers,
            num_attention_heads=n_heads,
            max_position_embeddings=context_length,
            hidden_act=activation or "gelu",
            tie_word_embeddings=tie,
        )
        return BertForMaskedLM(bert)
    if kind == "llama" or kind in NEAR_LLAMA:
        return _like_llama(
            kind,
            vocab_size=vocab_size,
            hidden_size=d_model,
            intermediate_size=d_ffn,
            num_hidden_layers=n_layers,
            num_attention_heads=n_heads,
            num_key_value_heads=n_heads // 2,
            max_position_embeddings=context_length,
            hidden_act=activation or "silu",
            tie_word_embeddings=tie,
            **({"mlp_bias": gate_bias} if kind == "llama" else {"pad_token_id": None}),
        )
    if kind in GEMMAS:
        return _gemma(
            kind,
            vocab_size=vocab_size,
            hidden_size=d_model,
            intermediate_size=d_ffn,
            num_hidden_layers=n_layers,
            num_attention_heads=n_heads,
            num_key_value_heads=n_heads // 2,
            head_dim=d_model // n_heads,
            query_pre_attn_scalar=d_model // n_heads,
            max_position_embeddings=context_length,
            hidden_activation=activation or "gelu_pytorch_tanh",
            sliding_window=5,
            layer_types=[("sliding_attention", "full_attention")[layer % 2] for layer in range(n_layers)],
            tie_word_embeddings=tie,
        )
    if kind == "gpt2":
        gpt2 = GPT2Config(
            vocab_size=vocab_size,
            n_embd=d_model,
            n_inner=d_ffn,
            n_layer=n_layers,
            n_head=n_heads,
            n_positions=context_length,
            activation_function=activation or "gelu_new",
            tie_word_embeddings=tie,
            bos_token_id=0,
            eos_token_id=0,
        )
        return GPT2LMHeadModel(gpt2)
    opt = OPTConfig(
        vocab_size=vocab_size,
        hidden_size=d_model,
        ffn_dim=d_ffn,
        num_hidden_layers=n_layers,
        num_attention_heads=n_heads,
        max_position_embeddings=context_length,
        activation_function=activation or "relu",
        do_layer_norm_before=kind == "opt",
        word_embed_proj_dim=d_model if kind == "opt" else d_model // 2,
        tie_word_embeddings=tie,
    )
    return OPTForCausalLM(opt)


def _like_llama(kind: Kind, **fields: Any) -> PreTrainedModel:
    further: dict[str, dict[str, Any]] = {
        "smollm3": {"no_rope_layer_interval": 2},
        "granite": {
            "embedding_multiplier": 3.0,
            "residual_multiplier": 0.5,
            "attention_multiplier": 0.2,
            "logits_scaling": 4.0,
        },
    }
    classes: dict[str, tuple[type[PreTrainedConfig], type[PreTrainedModel]]] = {
        "llama": (LlamaConfig, LlamaForCausalLM),
        "olmo2": (Olmo2Config, Olmo2ForCausalLM),
        "phi3": (Phi3Config, Phi3ForCausalLM),
        "smollm3": (SmolLM3Config, SmolLM3ForCausalLM),
        "granite": (GraniteConfig, GraniteForCausalLM),
    }
    config, model = classes[kind]
    return model(config(**fields, **further.get(kind, {})))


def _gemma(kind: Kind, **fields: Any) -> PreTrainedModel:
    if kind == "gemma3_seeing":
        sizes = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
        vision = {name: fields[name] for name in sizes} | {"image_size": 28, "patch_size": 14, "vision_use_head": False}
        config = Gemma3Config(
            text_config=fields,
            vision_config={"model_type": "siglip_vision_model", **vision},
            tie_word_embeddings=fields["tie_word_embeddings"],
            mm_tokens_per_image=4,
        )
        return Gemma3ForConditionalGeneration(config)
    if kind == "gemma2":
        return Gemma2ForCausalLM(Gemma2Config(**fields, attn_logit_softcapping=1.0, final_logit_softcapping=5.0))
    return Gemma3ForCausalLM(Gemma3TextConfig(**fields))


@torch.no_grad()
def _randomize_(model: PreTrainedModel, seed: int) -> None:
    """Weights that leave nothing at its neutral value: biases, scales and offsets are random like the rest."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        is_scale = ("norm" in name.lower() or "ln_" in name) and name.endswith("weight")
        noise = torch.randn(parameter.shape, generator=generator)
        parameter.copy_(1 + 0.2 * noise if is_scale else 0.2 * noise)


def _position_table(model: PreTrainedModel) -> torch.Tensor:
    names = (
        "model.decoder.embed_positions.weight",
        "transformer.wpe.weight",
        "bert.embeddings.position_embeddings.weight",
    )
    found = [parameter for name, parameter in model.named_parameters() if name in names]
    assert len(found) == 1
    return found[0]


def edit_config(folder: Path, **fields: object) -> Path:
    """Set fields of config.json, or remove those set to None, and return the folder."""
    path = folder / "config.json"
    changed = json.loads(path.read_text()) | fields
    path.write_text(json.dumps({name: value for name, value in changed.items() if value is not None}))
    return folder


def edit_tensors(folder: Path, edit: Callable[[dict[str, torch.Tensor]], object]) -> Path:
    """Let `edit` change the tensors of model.safetensors in place, and return the folder."""
    path = folder / "model.safetensors"
    tensors = {name: tensor.clone() for name, tensor in load_file(path).items()}
    edit(tensors)
    save_file(tensors, path, metadata={"format": "pt"})
    return folder


def to_pickle(folder: Path, *, zipped: bool = True) -> Path:
    """Turn model.safetensors into pytorch_model.bin, as older libraries wrote it, and return the folder."""
    path = folder / "model.safetensors"
    tensors = {name: tensor.clone() for name, tensor in load_file(path).items()}
    torch.save(tensors, folder / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    path.unlink()
    return folder
