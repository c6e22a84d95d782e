"""The families of language models that are known here, by their `model_type`.

Supporting another one means adding a row, and teaching `blocks` and `neurothek.ingest.models.transformer`
whatever its blocks do that these do not.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from neurothek.ingest.models.families.family import Config, Family


def _window_of_layer_types(config: Config, layer: int) -> int | None:
    return config.sliding_window if config.layer_types[layer] == "sliding_attention" else None


OPT = Family(
    architecture="opt",
    config_class="OPTConfig",
    model_class="OPTForCausalLM",
    base="model.",
    ignorable=re.compile(r"model\.decoder\.version"),
    layers="model.decoder.layers",
    tokens="model.decoder.embed_tokens",
    positions="model.decoder.embed_positions",
    position_offset=2,
    project_in="model.decoder.project_in",
    project_out="model.decoder.project_out",
    final_norm="model.decoder.final_layer_norm",
    attention="self_attn",
    attention_norm="self_attn_layer_norm",
    keys="fc1",
    values="fc2",
    ffn_norm="final_layer_norm",
    activation="activation_function",
    is_post_norm=lambda config: not config.do_layer_norm_before,
)

GPT2 = Family(
    architecture="gpt2",
    config_class="GPT2Config",
    model_class="GPT2LMHeadModel",
    base="transformer.",
    ignorable=re.compile(r"transformer\.h\.\d+\.attn\.(bias|masked_bias)"),
    layers="transformer.h",
    tokens="transformer.wte",
    positions="transformer.wpe",
    final_norm="transformer.ln_f",
    attention="attn",
    attention_norm="ln_1",
    keys="mlp.c_fc",
    values="mlp.c_proj",
    ffn_norm="ln_2",
    has_input_rows=True,
    activation="activation_function",
    settings=("layer_norm_epsilon", "scale_attn_weights", "scale_attn_by_inverse_layer_idx"),
    assumed={"layer_norm_epsilon": 1e-5, "scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False},
)

NEOX = Family(
    architecture="gpt_neox",
    config_class="GPTNeoXConfig",
    model_class="GPTNeoXForCausalLM",
    base="gpt_neox.",
    outside=("embed_out.",),
    renamed=(("embed_out.weight", "lm_head.weight"),),
    ignorable=re.compile(r"gpt_neox\.layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)"),
    layers="gpt_neox.layers",
    tokens="gpt_neox.embed_in",
    rotary="gpt_neox.rotary_emb",
    final_norm="gpt_neox.final_layer_norm",
    attention="attention",
    attention_norm="input_layernorm",
    keys="mlp.dense_h_to_4h",
    values="mlp.dense_4h_to_h",
    ffn_norm="post_attention_layernorm",
    cache="layer_past",
    # No field of its own, and the angles heed it all the same.
    settings=("layer_norm_eps", "rope_parameters", "head_dim"),
    assumed={"head_dim": None},
    is_parallel=lambda config: config.use_parallel_residual,
)

LLAMA = Family(
    architecture="llama",
    config_class="LlamaConfig",
    model_class="LlamaForCausalLM",
    base="model.",
    ignorable=re.compile(r"model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq"),
    layers="model.layers",
    tokens="model.embed_tokens",
    rotary="model.rotary_emb",
    final_norm="model.norm",
    attention="self_attn",
    attention_norm="input_layernorm",
    keys="mlp.gate_proj",
    ups="mlp.up_proj",
    values="mlp.down_proj",
    ffn_norm="post_attention_layernorm",
    settings=("rms_norm_eps", "rope_parameters"),
    is_gated=True,
)

MISTRAL = replace(
    LLAMA,
    architecture="mistral",
    config_class="MistralConfig",
    model_class="MistralForCausalLM",
    settings=(*LLAMA.settings, "sliding_window"),
    window=lambda config, layer: config.sliding_window,
)

QWEN2 = replace(
    LLAMA,
    architecture="qwen2",
    config_class="Qwen2Config",
    model_class="Qwen2ForCausalLM",
    settings=(*LLAMA.settings, "sliding_window", "layer_types"),
    window=_window_of_layer_types,
)

QWEN3 = replace(QWEN2, architecture="qwen3", config_class="Qwen3Config", model_class="Qwen3ForCausalLM")

SMOLLM3 = replace(
    LLAMA,
    architecture="smollm3",
    config_class="SmolLM3Config",
    model_class="SmolLM3ForCausalLM",
    settings=(*LLAMA.settings, "sliding_window", "layer_types", "no_rope_layers"),
    window=_window_of_layer_types,
)

PHI3 = replace(
    MISTRAL,
    architecture="phi3",
    config_class="Phi3Config",
    model_class="Phi3ForCausalLM",
    keys="mlp.gate_up_proj",
    ups="mlp.gate_up_proj",
    is_fused=True,
)

GRANITE = replace(
    LLAMA,
    architecture="granite",
    config_class="GraniteConfig",
    model_class="GraniteForCausalLM",
    settings=(
        *LLAMA.settings,
        "embedding_multiplier",
        "residual_multiplier",
        "attention_multiplier",
        "logits_scaling",
    ),
    embedding_scale=lambda config: config.embedding_multiplier,
    written_scale="residual_multiplier",
    logit_divisor="logits_scaling",
)

OLMO2 = replace(
    LLAMA,
    architecture="olmo2",
    config_class="Olmo2Config",
    model_class="Olmo2ForCausalLM",
    attention_norm=None,
    ffn_norm=None,
    written_norm="post_feedforward_layernorm",
)

GEMMA2 = Family(
    architecture="gemma2",
    config_class="Gemma2Config",
    model_class="Gemma2ForCausalLM",
    base="model.",
    ignorable=LLAMA.ignorable,
    layers="model.layers",
    tokens="model.embed_tokens",
    rotary="model.rotary_emb",
    final_norm="model.norm",
    attention="self_attn",
    keys="mlp.gate_proj",
    ups="mlp.up_proj",
    values="mlp.down_proj",
    ffn_norm="pre_feedforward_layernorm",
    written_norm="post_feedforward_layernorm",
    activation="hidden_activation",
    settings=(
        "rms_norm_eps",
        "rope_parameters",
        "head_dim",
        "query_pre_attn_scalar",
        "sliding_window",
        "layer_types",
        "attn_logit_softcapping",
        "final_logit_softcapping",
    ),
    is_gated=True,
    window=_window_of_layer_types,
    norm_offset=1.0,
    embedding_scale=lambda config: config.hidden_size**0.5,
    logit_cap=lambda config: config.final_logit_softcapping,
    attention_cap=lambda config: config.attn_logit_softcapping,
)

GEMMA3 = replace(
    GEMMA2,
    architecture="gemma3_text",
    config_class="Gemma3TextConfig",
    model_class="Gemma3ForCausalLM",
    has_kinds_of_angles=True,
)

GEMMA3_SEEING = replace(
    GEMMA3,
    architecture="gemma3",
    text_config="text_config",
    moved=(
        ("language_model.model.", "model."),
        ("language_model.lm_head.", "lm_head."),
        ("model.language_model.", "model."),
        ("language_model.", "model."),
    ),
    ignorable=re.compile(rf"{LLAMA.ignorable.pattern}|model\.(vision_tower|multi_modal_projector)\..*"),
)
"""The text half of a model that sees images, too, whose other weights are not read."""

BERT = Family(
    architecture="bert",
    config_class="BertConfig",
    model_class="BertForMaskedLM",
    base="bert.",
    outside=("cls.",),
    renamed=(("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias")),
    copies={"cls.predictions.decoder.bias": "cls.predictions.bias"},
    # What BERT was trained with beside filling in tokens: whether one sentence follows another.
    ignorable=re.compile(r"bert\.embeddings\.(position_ids|token_type_ids)|bert\.pooler\..*|cls\.seq_relationship\..*"),
    layers="bert.encoder.layer",
    tokens="bert.embeddings.word_embeddings",
    positions="bert.embeddings.position_embeddings",
    segments="bert.embeddings.token_type_embeddings",
    embedding_norm="bert.embeddings.LayerNorm",
    transform="cls.predictions.transform",
    head="cls.predictions.decoder",
    attention="attention",
    keys="intermediate.dense",
    values="output.dense",
    ffn_norm="output.LayerNorm",
    settings=("layer_norm_eps",),
    is_masked=True,
    is_post_norm=lambda config: True,
)

FAMILIES: Mapping[str, Family] = {
    family.architecture: family
    for family in (
        *(OPT, GPT2, NEOX, BERT),
        *(LLAMA, MISTRAL, QWEN2, QWEN3, SMOLLM3, PHI3, GRANITE, OLMO2),
        *(GEMMA2, GEMMA3, GEMMA3_SEEING),
    )
}
