"""OPT and Llama in torch alone: what transformers' modules compute, which take longer to import than a prompt to run.

A configuration is taken only if each of its fields is known here and has a value of its kind. Any other is left to the
library, which also knows what is wrong with one. All attention is causal and sees everything before it.
"""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from neurothek.ingest.models.families.family import Config
from neurothek.ingest.models.families.few_rows import linear

_LARGEST = 2**31 - 1
_MANY_LAYERS = 1000
"""Beyond, the library asks first whether the weights may be there."""
_LARGEST_GROUPED = 256
"""The largest head whose keys and values the library lets several queries share without a copy."""
_LARGEST_ANGLE = 1e30

_ACTIVATIONS: Mapping[str, Callable[[], nn.Module]] = {"gelu": nn.GELU, "relu": nn.ReLU, "silu": nn.SiLU}


@runtime_checkable
class Cache(Protocol):
    """Keys and values of the positions that were read, as transformers keeps them."""

    def update(self, key_states: Tensor, value_states: Tensor, layer_idx: int) -> tuple[Tensor, Tensor]:
        """Add those of the next positions of a layer; all that it now has."""


def plain_model(architecture: str, fields: Mapping[str, Any]) -> tuple[Config, nn.Module] | None:
    """The configuration and the model, without weights, that fields of config.json describe; None for the library's."""
    rules = _FIELDS.get(architecture)
    if rules is None or not all(name in rules and rules[name](value) for name, value in fields.items()):
        return None
    config = SimpleNamespace(**{**_DEFAULTS[architecture], **fields})
    if not _fits(config):
        return None
    model = _opt(config) if architecture == "opt" else _llama(config) if _has_angles(config) else None
    return None if model is None else (config, model.eval().requires_grad_(False))


def _fits(config: Config) -> bool:
    """Whether sizes fit each other, and tokens the vocabulary."""
    heads = config.num_attention_heads
    tokens = (config.pad_token_id, config.bos_token_id, config.eos_token_id)
    return (
        config.hidden_size % heads == 0
        and config.num_hidden_layers <= _MANY_LAYERS
        and all(token is None or token < config.vocab_size for token in tokens)
    )


def _has_angles(config: Config) -> bool:
    """Whether the heads of a Llama model rotate by plain angles; puts what follows from other fields in its place."""
    if config.num_key_value_heads is None:
        config.num_key_value_heads = config.num_attention_heads
    if config.head_dim is None:
        config.head_dim = config.hidden_size // config.num_attention_heads
    if config.rope_parameters is None and config.rope_theta is not None:
        config.rope_parameters = {"rope_type": "default", "rope_theta": config.rope_theta}
    return (
        config.rope_parameters is not None
        and config.num_attention_heads % config.num_key_value_heads == 0
        and config.head_dim % 2 == 0
        and config.head_dim <= _LARGEST_GROUPED
    )


def _opt(config: Config) -> nn.Module:
    width, inner = config.hidden_size, config.word_embed_proj_dim or config.hidden_size
    is_projected = inner != width
    has_norm = config.do_layer_norm_before and not config._remove_final_layer_norm
    decoder = _tree(
        embed_tokens=_Embedding(config.vocab_size, inner, device="meta"),
        # The first two rows belong to no position.
        embed_positions=_Embedding(config.max_position_embeddings + 2, width, device="meta"),
        project_out=_Linear(width, inner, bias=False, device="meta") if is_projected else None,
        project_in=_Linear(inner, width, bias=False, device="meta") if is_projected else None,
        final_layer_norm=_opt_norm(config) if has_norm else None,
        layers=nn.ModuleList([_OptBlock(config, layer) for layer in range(config.num_hidden_layers)]),
    )
    head = _Linear(inner, config.vocab_size, bias=False, device="meta")
    return _tree(model=_tree(decoder=decoder), lm_head=head)


def _llama(config: Config) -> nn.Module:
    model = _tree(
        embed_tokens=_Embedding(config.vocab_size, config.hidden_size, device="meta"),
        layers=nn.ModuleList([_LlamaBlock(config, layer) for layer in range(config.num_hidden_layers)]),
        norm=_RmsNorm(config),
        rotary_emb=_Rotary(config),
    )
    return _tree(model=model, lm_head=_Linear(config.hidden_size, config.vocab_size, bias=False, device="meta"))


def _tree(**modules: nn.Module | None) -> nn.Module:
    """A module that only holds others by their names."""
    tree = nn.Module()
    for name, module in modules.items():
        tree.add_module(name, module)
    return tree


class _Linear(nn.Linear):
    """A linear map whose weights are about to be read, and are not drawn first."""

    def reset_parameters(self) -> None:
        """Leave them as they are."""

    def forward(self, stream: Float[Tensor, "*at d_in"]) -> Float[Tensor, "*at d_out"]:
        """[*at d_out] the map of every vector."""
        return linear(stream, self.weight, self.bias)


class _Embedding(nn.Embedding):
    """A table likewise."""

    def reset_parameters(self) -> None:
        """Leave it as it is."""


class _LayerNorm(nn.LayerNorm):
    """A layer norm likewise."""

    def reset_parameters(self) -> None:
        """Leave it as it is."""


def _opt_norm(config: Config) -> nn.LayerNorm:
    return _LayerNorm(config.hidden_size, elementwise_affine=config.layer_norm_elementwise_affine, device="meta")


class _OptAttention(nn.Module):
    """Attention whose queries are scaled before their products with keys."""

    def __init__(self, config: Config, layer: int) -> None:
        super().__init__()
        width = config.hidden_size
        self._layer, self._head = layer, width // config.num_attention_heads
        self.q_proj = _Linear(width, width, bias=config.enable_bias, device="meta")
        self.k_proj = _Linear(width, width, bias=config.enable_bias, device="meta")
        self.v_proj = _Linear(width, width, bias=config.enable_bias, device="meta")
        self.out_proj = _Linear(width, width, bias=config.enable_bias, device="meta")

    def forward(
        self, stream: Float[Tensor, "batch time d_model"], cache: Cache | None
    ) -> Float[Tensor, "batch time d_model"]:
        """[batch time d_model] what is added to the stream."""
        query = _heads(self.q_proj(stream) * self._head**-0.5, self._head)
        key, value = _heads(self.k_proj(stream), self._head), _heads(self.v_proj(stream), self._head)
        if cache is not None:
            key, value = cache.update(key, value, self._layer)
        added: Tensor = self.out_proj(_attended(query, key, value, scale=1.0))
        return added


class _OptBlock(nn.Module):
    """A block with its norms before attention and FFN, or after their sums."""

    def __init__(self, config: Config, layer: int) -> None:
        super().__init__()
        self._is_pre = config.do_layer_norm_before
        self.self_attn = _OptAttention(config, layer)
        self.activation_fn = _ACTIVATIONS[config.activation_function]()
        self.self_attn_layer_norm = _opt_norm(config)
        self.fc1 = _Linear(config.hidden_size, config.ffn_dim, bias=config.enable_bias, device="meta")
        self.fc2 = _Linear(config.ffn_dim, config.hidden_size, bias=config.enable_bias, device="meta")
        self.final_layer_norm = _opt_norm(config)

    def forward(
        self, stream: Float[Tensor, "batch time d_model"], *, past_key_values: Cache | None = None
    ) -> Float[Tensor, "batch time d_model"]:
        """[batch time d_model] the stream after the block."""
        read = self.self_attn_layer_norm(stream) if self._is_pre else stream
        stream = stream + self.self_attn(read, past_key_values)
        if not self._is_pre:
            stream = self.self_attn_layer_norm(stream)
        # Products of matrices of other shapes may be rounded otherwise.
        rows = stream.reshape(-1, stream.shape[-1])
        read = self.final_layer_norm(rows) if self._is_pre else rows
        stream = (rows + self.fc2(self.activation_fn(self.fc1(read)))).view(stream.shape)
        return stream if self._is_pre else self.final_layer_norm(stream)


class _RmsNorm(nn.Module):
    """gamma * x / sqrt(mean of x^2 + eps), the quotient in float32."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(config.hidden_size, device="meta"))
        self.eps = config.rms_norm_eps

    def forward(self, stream: Float[Tensor, "batch time d_model"]) -> Float[Tensor, "batch time d_model"]:
        """[batch time d_model] the stream normalized."""
        exact = stream.to(torch.float32)
        scaled = exact * torch.rsqrt(exact.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * scaled.to(stream.dtype)


class _Rotary(nn.Module):
    """Angles that fall by a constant factor from one pair of a head's numbers to the next."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        exponents = torch.arange(0, config.head_dim, 2, dtype=torch.float) / config.head_dim
        steps = 1.0 / (config.rope_parameters["rope_theta"] ** exponents)
        self.steps: Tensor
        self.register_buffer("steps", steps, persistent=False)

    @torch.no_grad()
    def forward(
        self, stream: Float[Tensor, "batch time d_model"], positions: Int[Tensor, "1 time"]
    ) -> tuple[Float[Tensor, "1 time d_rotary"], Float[Tensor, "1 time d_rotary"]]:
        """[1 time d_rotary] cosines and sines."""
        angles = positions[..., None].float() * self.steps
        both = torch.cat((angles, angles), dim=-1)
        return both.cos().to(stream.dtype), both.sin().to(stream.dtype)


class _LlamaAttention(nn.Module):
    """Attention with rotated queries and keys; several queries may share a key."""

    def __init__(self, config: Config, layer: int) -> None:
        super().__init__()
        self._layer, self._head = layer, config.head_dim
        self._is_grouped = config.num_attention_heads > config.num_key_value_heads
        queries, keys = config.num_attention_heads * self._head, config.num_key_value_heads * self._head
        self.q_proj = _Linear(config.hidden_size, queries, bias=config.attention_bias, device="meta")
        self.k_proj = _Linear(config.hidden_size, keys, bias=config.attention_bias, device="meta")
        self.v_proj = _Linear(config.hidden_size, keys, bias=config.attention_bias, device="meta")
        self.o_proj = _Linear(queries, config.hidden_size, bias=config.attention_bias, device="meta")

    def forward(
        self,
        stream: Float[Tensor, "batch time d_model"],
        angles: tuple[Float[Tensor, "1 time d_rotary"], Float[Tensor, "1 time d_rotary"]],
        cache: Cache | None,
    ) -> Float[Tensor, "batch time d_model"]:
        """[batch time d_model] what is added to the stream."""
        query = _rotated(_heads(self.q_proj(stream), self._head), *angles)
        key = _rotated(_heads(self.k_proj(stream), self._head), *angles)
        value = _heads(self.v_proj(stream), self._head)
        if cache is not None:
            key, value = cache.update(key, value, self._layer)
        attended = _attended(query, key, value, scale=self._head**-0.5, is_grouped=self._is_grouped)
        added: Tensor = self.o_proj(attended)
        return added


class _LlamaFfn(nn.Module):
    """A gated FFN."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, inner = config.hidden_size, config.intermediate_size
        self.gate_proj = _Linear(width, inner, bias=config.mlp_bias, device="meta")
        self.up_proj = _Linear(width, inner, bias=config.mlp_bias, device="meta")
        self.down_proj = _Linear(inner, width, bias=config.mlp_bias, device="meta")
        self.act_fn = _ACTIVATIONS[config.hidden_act]()

    def forward(self, stream: Float[Tensor, "batch time d_model"]) -> Float[Tensor, "batch time d_model"]:
        """[batch time d_model] what is added to the stream."""
        added: Tensor = self.down_proj(self.act_fn(self.gate_proj(stream)) * self.up_proj(stream))
        return added


class _LlamaBlock(nn.Module):
    """A block with RMS norms before attention and FFN."""

    def __init__(self, config: Config, layer: int) -> None:
        super().__init__()
        self.self_attn, self.mlp = _LlamaAttention(config, layer), _LlamaFfn(config)
        self.input_layernorm, self.post_attention_layernorm = _RmsNorm(config), _RmsNorm(config)

    def forward(
        self,
        stream: Float[Tensor, "batch time d_model"],
        *,
        position_embeddings: tuple[Float[Tensor, "1 time d_rotary"], Float[Tensor, "1 time d_rotary"]],
        past_key_values: Cache | None = None,
    ) -> Float[Tensor, "batch time d_model"]:
        """[batch time d_model] the stream after the block."""
        stream = stream + self.self_attn(self.input_layernorm(stream), position_embeddings, past_key_values)
        after: Tensor = stream + self.mlp(self.post_attention_layernorm(stream))
        return after


def _heads(vectors: Float[Tensor, "batch time d_heads"], head: int) -> Float[Tensor, "batch n_heads time d_head"]:
    """[batch n_heads time d_head] vectors cut into those of the heads."""
    return vectors.view(*vectors.shape[:2], -1, head).transpose(1, 2)


def _rotated(
    vectors: Float[Tensor, "batch n_heads time d_head"],
    cosines: Float[Tensor, "1 time d_head"],
    sines: Float[Tensor, "1 time d_head"],
) -> Float[Tensor, "batch n_heads time d_head"]:
    """[batch n_heads time d_head] pairs of numbers turned by their angles; a pair lies half a head apart."""
    first, second = vectors.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return (vectors * cosines[:, None]) + (turned * sines[:, None])


def _attended(
    query: Float[Tensor, "batch n_heads time d_head"],
    key: Float[Tensor, "batch n_keys seen d_head"],
    value: Float[Tensor, "batch n_keys seen d_head"],
    *,
    scale: float,
    is_grouped: bool = False,
) -> Float[Tensor, "batch time d_heads"]:
    """[batch time d_heads] what all heads read, side by side; a position alone comes after all others."""
    grouped = {"enable_gqa": True} if is_grouped else {}
    attended = functional.scaled_dot_product_attention(
        query, key, value, attn_mask=None, dropout_p=0.0, scale=scale, is_causal=query.shape[2] > 1, **grouped
    )
    return attended.transpose(1, 2).contiguous().flatten(2)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_size(value: object) -> bool:
    return type(value) is int and 1 <= value <= _LARGEST


def _is_size_or_none(value: object) -> bool:
    return value is None or _is_size(value)


def _is_share(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1  # type: ignore[operator]


def _is_eps(value: object) -> bool:
    return type(value) is float and 0 < value <= 1


def _is_token(value: object) -> bool:
    return value is None or (type(value) is int and value >= 0)


def _is_word(value: object) -> bool:
    return isinstance(value, str)


def _is_words(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_word, value))


def _is_activation(value: object) -> bool:
    return isinstance(value, str) and value in _ACTIVATIONS


def _is_base(value: object) -> bool:
    # From 1 on no angle is larger than its position.
    return type(value) in (int, float) and 1 <= value <= _LARGEST_ANGLE  # type: ignore[operator]


def _is_rotation(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"rope_theta", "rope_type"}
        and value["rope_type"] == "default"
        and _is_base(value["rope_theta"])
    )


_OF_ALL: Mapping[str, Callable[[object], bool]] = {
    "_model_name_or_path": _is_word,
    "_name_or_path": _is_word,
    "architectures": _is_words,
    "attention_dropout": _is_share,
    "bos_token_id": _is_token,
    "eos_token_id": _is_token,
    "hidden_size": _is_size,
    "max_position_embeddings": _is_size,
    "neurothek": lambda value: isinstance(value, dict),
    "num_attention_heads": _is_size,
    "num_hidden_layers": _is_size,
    "pad_token_id": _is_token,
    "tie_word_embeddings": _is_flag,
    "transformers_version": _is_word,
    "use_cache": _is_flag,
    "vocab_size": _is_size,
}

_FIELDS: Mapping[str, Mapping[str, Callable[[object], bool]]] = {
    "opt": {
        **_OF_ALL,
        "_remove_final_layer_norm": _is_flag,
        "activation_dropout": _is_share,
        "activation_function": _is_activation,
        "do_layer_norm_before": _is_flag,
        "dropout": _is_share,
        "enable_bias": _is_flag,
        "ffn_dim": _is_size,
        "init_std": _is_share,
        "layer_norm_elementwise_affine": _is_flag,
        "layerdrop": _is_share,
        "prefix": _is_word,
        "word_embed_proj_dim": _is_size_or_none,
    },
    "llama": {
        **_OF_ALL,
        "attention_bias": _is_flag,
        "head_dim": _is_size_or_none,
        "hidden_act": _is_activation,
        "initializer_range": _is_share,
        "intermediate_size": _is_size,
        "is_llama_config": _is_flag,
        "mlp_bias": _is_flag,
        "num_key_value_heads": _is_size_or_none,
        "pretraining_tp": lambda value: type(value) is int and value == 1,
        "rms_norm_eps": _is_eps,
        "rope_interleaved": _is_flag,
        "rope_parameters": _is_rotation,
        "rope_scaling": lambda value: value is None,
        "rope_theta": _is_base,
        "transformers.js_config": lambda value: isinstance(value, dict),
        "unk_token_id": _is_token,
    },
}
"""Fields of config.json, each with what tells a value of its kind."""

_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "opt": {
        "_remove_final_layer_norm": False,
        "activation_function": "relu",
        "bos_token_id": 2,
        "do_layer_norm_before": True,
        "enable_bias": True,
        "eos_token_id": 2,
        "ffn_dim": 3072,
        "hidden_size": 768,
        "layer_norm_elementwise_affine": True,
        "max_position_embeddings": 2048,
        "num_attention_heads": 12,
        "num_hidden_layers": 12,
        "pad_token_id": 1,
        "tie_word_embeddings": True,
        "vocab_size": 50272,
        "word_embed_proj_dim": None,
    },
    "llama": {
        "attention_bias": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "head_dim": None,
        "hidden_act": "silu",
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "max_position_embeddings": 2048,
        "mlp_bias": False,
        "num_attention_heads": 32,
        "num_hidden_layers": 32,
        "num_key_value_heads": None,
        "pad_token_id": None,
        "rms_norm_eps": 1e-6,
        "rope_parameters": None,
        "rope_theta": None,
        "tie_word_embeddings": False,
        "vocab_size": 32000,
    },
}
"""What transformers takes where config.json is silent."""
