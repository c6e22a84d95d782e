"""Where transformers' own models keep what the definitions speak of, for references that do without our view."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM, PreTrainedModel

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Places:
    """Paths of one family: the blocks and the final norm in the model, the others in a block."""

    blocks: str
    final_norm: str
    attention: str
    keys: str
    values: str
    ffn_norm: str
    is_transposed: bool = False
    is_gated: bool = False
    written_norm: str = ""
    is_fused: bool = False


PLACES = {
    "opt": Places(
        "model.decoder.layers", "model.decoder.final_layer_norm", "self_attn", "fc1", "fc2", "final_layer_norm"
    ),
    "gpt2": Places("transformer.h", "transformer.ln_f", "attn", "mlp.c_fc", "mlp.c_proj", "ln_2", is_transposed=True),
    "gpt_neox": Places(
        "gpt_neox.layers",
        "gpt_neox.final_layer_norm",
        "attention",
        "mlp.dense_h_to_4h",
        "mlp.dense_4h_to_h",
        "post_attention_layernorm",
    ),
    "llama": Places(
        "model.layers",
        "model.norm",
        "self_attn",
        "mlp.gate_proj",
        "mlp.down_proj",
        "post_attention_layernorm",
        is_gated=True,
    ),
}
PLACES["bert"] = Places("bert.encoder.layer", "", "attention", "intermediate.dense", "output.dense", "output.LayerNorm")
PLACES |= dict.fromkeys(
    ("gemma2", "gemma3_text"),
    Places(
        "model.layers",
        "model.norm",
        "self_attn",
        "mlp.gate_proj",
        "mlp.down_proj",
        "pre_feedforward_layernorm",
        is_gated=True,
        written_norm="post_feedforward_layernorm",
    ),
)
PLACES |= dict.fromkeys(("mistral", "qwen2", "qwen3", "smollm3", "granite"), PLACES["llama"])
PLACES["gemma3"] = replace(
    PLACES["gemma3_text"], blocks="model.language_model.layers", final_norm="model.language_model.norm"
)
PLACES["phi3"] = replace(PLACES["llama"], keys="mlp.gate_up_proj", is_fused=True)
PLACES["olmo2"] = replace(PLACES["llama"], ffn_norm="", written_norm="post_feedforward_layernorm")


@dataclass(frozen=True)
class NormWeights:
    """A norm in float64: x -> gamma (x - mean) / sqrt(variance + eps) + beta, or gamma x / sqrt(mean square + eps)."""

    gamma: Floats
    beta: Floats
    eps: float
    is_rms: bool

    def __call__(self, x: Floats) -> Floats:
        """Of the last axis."""
        read = x if self.is_rms else x - x.mean(-1, keepdims=True)
        scaled: Floats = self.gamma * read / np.sqrt((read**2).mean(-1, keepdims=True) + self.eps)
        return scaled + self.beta

    def divisor(self, x: Floats) -> float:
        """What one vector is divided by."""
        return float(np.sqrt(((x**2).mean() if self.is_rms else x.var()) + self.eps))


def loaded(folder: Path, *, attention: str = "sdpa") -> PreTrainedModel:
    """A checkpoint as transformers itself loads it, in float32, with the head it was trained with."""
    kind = AutoConfig.from_pretrained(folder, local_files_only=True).model_type
    auto = AutoModelForMaskedLM if kind == "bert" else AutoModelForCausalLM
    if kind == "gemma2":
        # The fused kernels bound no logits.
        attention = "eager"
    model = auto.from_pretrained(folder, local_files_only=True, dtype=torch.float32, attn_implementation=attention)
    assert isinstance(model, PreTrainedModel)
    model.eval()
    return model


class Anatomy:
    """A model taken apart; layers are counted from 0."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model, self.config = model, model.config.get_text_config()
        self.places = PLACES[model.config.model_type]
        self.is_gated = self.places.is_gated
        self.is_parallel = bool(getattr(model.config, "use_parallel_residual", False))
        self.is_post_norm = model.config.model_type == "bert" or not getattr(model.config, "do_layer_norm_before", True)
        names = ("activation_function", "hidden_activation", "hidden_act")
        activation = next(name for name in (getattr(self.config, name, None) for name in names) if name)
        self.written_scale = getattr(model.config, "residual_multiplier", 1.0)
        self.has_exact_zeros = activation == "relu"
        self.blocks: list[torch.nn.Module] = list(model.get_submodule(self.places.blocks).children())

    def keys(self, layer: int) -> Any:  # noqa: ANN401 - a linear map of torch or of transformers
        """The map whose output is the pre-activation, of a gated FFN the gate's."""
        return self.blocks[layer].get_submodule(self.places.keys)

    def values(self, layer: int) -> Any:  # noqa: ANN401 - likewise
        """The map whose input are the coefficients."""
        return self.blocks[layer].get_submodule(self.places.values)

    def key_rows(self, layer: int) -> Floats:
        """[d_ffn d_model]."""
        weight = float64(self.keys(layer).weight)
        weight = weight.T if self.places.is_transposed else weight
        return weight[: len(weight) // 2] if self.places.is_fused else weight

    def key_bias(self, layer: int) -> Floats:
        """[d_ffn]."""
        return self._bias(self.keys(layer), len(self.key_rows(layer)))

    def value_rows(self, layer: int) -> Floats:
        """[d_ffn d_model]; times the gamma of a norm of what is written, and times what a block multiplies that by."""
        weight = float64(self.values(layer).weight)
        rows, norm = weight if self.places.is_transposed else weight.T, self.written_norm(layer)
        rows = rows if norm is None else rows * norm.gamma
        return rows * self.written_scale

    def written_norm(self, layer: int) -> NormWeights | None:
        """The norm of what the FFN writes; None where it is added as it is."""
        path = self.places.written_norm
        return _norm(self.blocks[layer].get_submodule(path)) if path else None

    def multipliers(self, layer: int, seen: dict[str, torch.Tensor]) -> Floats:
        """[... d_ffn] what the value rows are multiplied by: the coefficients, over the divisor of what is written."""
        coefficients, norm = float64(seen["values in"]), self.written_norm(layer)
        if norm is None:
            return coefficients
        divided: Floats = coefficients / np.sqrt((float64(seen["values out"]) ** 2).mean(-1, keepdims=True) + norm.eps)
        return divided

    def value_bias(self, layer: int) -> Floats:
        """[d_model]."""
        return self._bias(self.values(layer), self.value_rows(layer).shape[1])

    def ffn_norm(self, layer: int) -> NormWeights | None:
        """The norm before the FFN; None in post-norm blocks, and where it reads the stream as it is."""
        if self.is_post_norm or not self.places.ffn_norm:
            return None
        return _norm(self.blocks[layer].get_submodule(self.places.ffn_norm))

    def final_norm(self) -> NormWeights | None:
        """The norm before the unembedding; None where there is none."""
        if not self.places.final_norm:
            return None
        path, _, name = self.places.final_norm.rpartition(".")
        module = getattr(self.model.get_submodule(path), name)
        return None if module is None else _norm(module)

    def unembedding(self) -> Floats:
        """[vocab d_model] rows that a stream is compared with: OPT-350m's output projection, a divisor folded in."""
        table = float64(self.model.get_output_embeddings().weight) / getattr(self.model.config, "logits_scaling", 1.0)
        decoder = getattr(getattr(self.model, "model", None), "decoder", None)
        project_out = getattr(decoder, "project_out", None)
        return table if project_out is None else table @ float64(project_out.weight)

    def watch(self, ids: torch.Tensor) -> list[dict[str, torch.Tensor]]:
        """[layer] -> what enters the maps, the block and the FFN's norm, and what they return, for [batch time] ids."""
        seen: list[dict[str, torch.Tensor]] = [{} for _ in self.blocks]
        handles = []
        for layer, block in enumerate(self.blocks):
            watched = {
                "block": block,
                "keys": self.keys(layer),
                "values": self.values(layer),
                "attention": block.get_submodule(self.places.attention),
                "norm": block.get_submodule(self.places.ffn_norm or self.places.keys),
            }
            for name, module in watched.items():

                def note(_: object, given: tuple[Any, ...], out: Any, name: str = name, layer: int = layer) -> None:  # noqa: ANN401 - a tensor, alone or first of several
                    seen[layer][f"{name} out"] = out if isinstance(out, torch.Tensor) else out[0]
                    if given:
                        seen[layer][f"{name} in"] = given[0]

                handles.append(module.register_forward_hook(note))
        with torch.inference_mode():
            self.model(ids)
        for handle in handles:
            handle.remove()
        if self.places.is_fused:
            for of_layer in seen:
                of_layer["keys out"] = of_layer["keys out"].chunk(2, dim=-1)[0]
        return seen

    def pre_ffn(self, seen: dict[str, torch.Tensor]) -> torch.Tensor:
        """The stream before the FFN: what it adds to, what it reads in post-norm blocks, x + attention in parallel."""
        if self.is_parallel:
            return seen["block in"] + seen["attention out"]
        return seen["keys in"] if self.is_post_norm else seen["norm in"]

    @staticmethod
    def _bias(module: Any, width: int) -> Floats:  # noqa: ANN401 - a linear map of torch or of transformers
        return np.zeros(width) if module.bias is None else float64(module.bias)


def _norm(module: Any) -> NormWeights:  # noqa: ANN401 - each family has an RMS norm of its own
    gamma = float64(module.weight)
    if type(module).__name__.startswith("Gemma"):
        return NormWeights(1 + gamma, np.zeros_like(gamma), module.eps, is_rms=True)
    if isinstance(module, torch.nn.LayerNorm):
        return NormWeights(gamma, float64(module.bias), module.eps, is_rms=False)
    return NormWeights(gamma, np.zeros_like(gamma), module.variance_epsilon, is_rms=True)


def float64(tensor: torch.Tensor) -> Floats:
    """As an array."""
    return tensor.detach().double().numpy()
