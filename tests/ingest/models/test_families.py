"""Checkpoints as their authors publish them: older names, further settings, and shapes that are not supported."""

import math
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedConfig,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from neurothek.catalog.problems import Conflict, Unreadable, Unsupported
from neurothek.ingest.models import checkpoints
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import Transformer, open_transformer
from tests.support.anatomy import loaded
from tests.support.models import Kind, build, edit_config, edit_tensors

# As in test_architectures: float32 sums in another order.
close = partial(torch.testing.assert_close, rtol=1e-5, atol=1e-5)

IDS = torch.randint(0, 400, (2, 23), generator=torch.Generator().manual_seed(2))


def opened(folder: Path) -> Transformer:
    return open_transformer(find(str(folder)))


def logits(transformer: Transformer) -> torch.Tensor:
    stream = transformer.embed(IDS)
    for layer in range(transformer.shape.n_layers):
        with transformer.block(layer) as block:
            stream = block(stream).stream
    return transformer.logits(stream)


@torch.no_grad()
def own_logits(folder: Path) -> torch.Tensor:
    """Those of transformers' own model, with the slow attention that materializes its mask."""
    loading: dict[str, Any] = {"local_files_only": True, "dtype": torch.float32, "attn_implementation": "eager"}
    found: torch.Tensor = AutoModelForCausalLM.from_pretrained(folder, **loading).eval()(IDS).logits
    return found


def test_pythia_is_read_as_it_is_published(tmp_path: Path) -> None:
    """Names and masks of earlier releases, and rotations that config.json tells in its own words."""
    folder = build(tmp_path / "pythia", "neox", d_model=64)
    edit_config(folder, rope_parameters=None, rotary_pct=0.25, rotary_emb_base=5000)

    def old_(tensors: dict[str, torch.Tensor]) -> None:
        assert "embed_out.weight" in tensors
        for layer in range(2):
            stem = f"gpt_neox.layers.{layer}.attention"
            tensors[f"{stem}.bias"] = torch.ones(1, 1, 64, 64, dtype=torch.bool).tril()
            tensors[f"{stem}.masked_bias"] = torch.tensor(-1e9)
            tensors[f"{stem}.rotary_emb.inv_freq"] = torch.ones(1)

    expected = own_logits(folder)
    close(logits(opened(edit_tensors(folder, old_))), expected)
    # Control: the base of the angles does matter.
    edit_config(folder, rotary_emb_base=50)
    assert not torch.allclose(logits(opened(folder)), expected, atol=1e-3)


@pytest.mark.parametrize(
    ("changes", "settings"),
    [
        ({"rope_theta": 500_000.0, "rope_parameters": None}, "500000"),
        (
            {
                "rope_theta": 500.0,
                "rope_parameters": None,
                "rope_scaling": {
                    "rope_type": "llama3",
                    "factor": 8.0,
                    "low_freq_factor": 1.0,
                    "high_freq_factor": 4.0,
                    "original_max_position_embeddings": 16,
                },
            },
            "llama3",
        ),
        ({"rope_parameters": None, "rope_scaling": {"type": "linear", "factor": 2.0}}, "linear"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0}}, "yarn"),
        ({"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0}}, "dynamic"),
        ({"rms_norm_eps": 0.5}, "0.5"),
    ],
    ids=["theta", "llama3", "linear", "yarn", "dynamic", "epsilon"],
)
def test_settings_of_llama_change_what_it_does(changes: Mapping[str, Any], settings: str, tmp_path: Path) -> None:
    plain = build(tmp_path / "plain", "llama")
    folder = edit_config(build(tmp_path / "changed", "llama"), **changes)
    transformer = opened(folder)
    expected = own_logits(folder)
    close(logits(transformer), expected)
    assert settings in transformer.shape.settings
    if settings != "dynamic":  # which does nothing within the context
        assert not torch.allclose(logits(opened(plain)), expected, atol=1e-3)


def test_a_tied_llama_with_angles_in_its_file(tmp_path: Path) -> None:
    folder = build(tmp_path / "tied", "llama", tie=True)
    close(logits(opened(folder)), own_logits(folder))

    def old_(tensors: dict[str, torch.Tensor]) -> None:
        assert "lm_head.weight" not in tensors
        tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(4)

    close(logits(opened(edit_tensors(folder, old_))), own_logits(folder))


SIZES: dict[str, Any] = {
    "vocab_size": 400,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}

LIKE_LLAMA: dict[str, tuple[type[PreTrainedModel], PreTrainedConfig]] = {
    "mistral": (MistralForCausalLM, MistralConfig(**SIZES, sliding_window=7)),
    "mistral, all seen": (MistralForCausalLM, MistralConfig(**SIZES, sliding_window=None)),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config(**SIZES)),
    "qwen2, windows above": (
        Qwen2ForCausalLM,
        Qwen2Config(**SIZES, use_sliding_window=True, sliding_window=5, max_window_layers=1),
    ),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config(**SIZES, head_dim=16)),
}


@pytest.mark.parametrize("name", LIKE_LLAMA)
def test_families_built_like_llama(name: str, tmp_path: Path) -> None:
    """Windows of attention, biases of queries and keys, and their norms are all that sets them apart."""
    model_class, config = LIKE_LLAMA[name]
    model = model_class(config)
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.data = 0.2 * torch.randn(parameter.shape, generator=generator) + (parameter.dim() == 1)
    model.save_pretrained(tmp_path / "m")
    transformer = opened(tmp_path / "m")
    close(logits(transformer), own_logits(tmp_path / "m"))
    shape = transformer.shape
    assert (shape.architecture, shape.activation_rule) == (name.split(",", maxsplit=1)[0], "gate > 0")
    assert (shape.d_ffn, shape.position_encoding, shape.context_length) == (48, "rotary", 64)
    if "seen" in name:
        windowed = edit_config(tmp_path / "m", sliding_window=7)
        assert not torch.allclose(logits(opened(windowed)), logits(transformer), atol=1e-3)


@pytest.mark.parametrize("window", [0, -1])
def test_attention_that_sees_nothing_is_refused(window: int, tmp_path: Path) -> None:
    MistralForCausalLM(MistralConfig(**SIZES, sliding_window=window)).save_pretrained(tmp_path / "m")
    with pytest.raises(Unreadable, match=f"sliding_window is {window}, but must be at least 1"):
        opened(tmp_path / "m")


def test_a_width_of_heads_that_is_left_open(tmp_path: Path) -> None:
    MistralForCausalLM(MistralConfig(**SIZES)).save_pretrained(tmp_path / "m")
    told = logits(opened(tmp_path / "m"))
    close(logits(opened(edit_config(tmp_path / "m", head_dim=0))), told)


def masked_logits(transformer: Transformer, ids: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
    stream = transformer.embed(ids)
    for layer in range(transformer.shape.n_layers):
        with transformer.block(layer) as block:
            stream = block(stream, lengths).stream
    return transformer.logits(stream)


def test_bert_is_read_as_it_is_published(tmp_path: Path) -> None:
    """Old names of norms, the parts it was trained with beside filling in, and copies of what is tied."""
    folder = build(tmp_path / "bert", "bert")
    edit_config(folder, chunk_size_feed_forward=1, position_embedding_type="absolute", pooler_type="first_token")
    lengths, mask = (23, 9), torch.ones(2, 23, dtype=torch.int64)
    mask[1, 9:] = 0
    with torch.no_grad():
        expected = loaded(folder, attention="eager")(IDS, attention_mask=mask).logits

    def old_(tensors: dict[str, torch.Tensor]) -> None:
        for name in [name for name in tensors if "LayerNorm" in name]:
            old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            tensors[old] = tensors.pop(name)
        tensors["bert.embeddings.position_ids"] = torch.arange(64)[None]
        tensors["bert.pooler.dense.weight"], tensors["bert.pooler.dense.bias"] = torch.ones(32, 32), torch.ones(32)
        tensors["cls.seq_relationship.weight"], tensors["cls.seq_relationship.bias"] = torch.ones(2, 32), torch.ones(2)
        tensors["cls.predictions.decoder.weight"] = tensors["bert.embeddings.word_embeddings.weight"].clone()
        tensors["cls.predictions.decoder.bias"] = tensors["cls.predictions.bias"].clone()

    transformer = opened(edit_tensors(folder, old_))
    found = masked_logits(transformer, IDS, lengths)
    for row, length in enumerate(lengths):
        close(found[row, :length], expected[row, :length])
    # Controls: padding that is not told apart is seen, and so are positions.
    assert not torch.allclose(masked_logits(transformer, IDS, (23, 23))[1, :9], found[1, :9], atol=1e-3)
    assert not torch.allclose(transformer.embed(IDS[:, 1:])[:, 0], transformer.embed(IDS)[:, 1], atol=1e-3)
    assert transformer.shape.n_parameters == sum(parameter.numel() for parameter in loaded(folder).parameters())


def test_the_text_half_of_a_model_that_sees_is_read_alone(tmp_path: Path) -> None:
    """By either of the two sets of names that there are, beside weights for images that nobody looks at."""
    folder = build(tmp_path / "seeing", "gemma3_seeing", tie=False)
    expected = own_logits(folder)

    def unread_(tensors: dict[str, torch.Tensor]) -> None:
        for name in tensors:
            if name.startswith(("vision_tower.", "multi_modal_projector.")):
                tensors[name] = torch.full((3,), math.nan)
        assert {name.split(".")[0] for name in tensors} == {"language_model", "vision_tower", "multi_modal_projector"}

    transformer = opened(edit_tensors(folder, unread_))
    close(logits(transformer), expected)
    assert (transformer.shape.architecture, transformer.shape.vocab_size) == ("gemma3", 400)

    def renamed_(tensors: dict[str, torch.Tensor]) -> None:
        for name in list(tensors):
            inside = name.removeprefix("language_model.").replace("model.", "model.language_model.")
            tensors[inside if "language_model" in name else f"model.{name}"] = tensors.pop(name)
        assert {"lm_head.weight", "model.language_model.norm.weight"} < tensors.keys()

    close(logits(opened(edit_tensors(folder, renamed_))), expected)
    # Control: such a number in the text half is not overlooked.
    broken = edit_tensors(folder, lambda tensors: tensors["lm_head.weight"].fill_(math.nan))
    with pytest.raises(Unreadable, match=r"lm_head.weight .* contains NaN"):
        opened(broken)


def test_a_text_config_that_is_none_is_refused(tmp_path: Path) -> None:
    folder = edit_config(build(tmp_path / "seeing", "gemma3_seeing"), text_config=3)
    with pytest.raises(Unreadable, match="text_config is not an object"):
        find(str(folder))


OTHERS: dict[str, dict[str, Any]] = {
    "mamba": {"architectures": ["MambaForCausalLM"]},
    "mixtral": {"architectures": ["MixtralForCausalLM"], "num_local_experts": 8},
    "qwen3_moe": {"architectures": ["Qwen3MoeForCausalLM"], "num_experts": 8},
    "t5": {"architectures": ["T5ForConditionalGeneration"], "is_encoder_decoder": True},
}


@pytest.mark.parametrize("architecture", OTHERS)
def test_other_families_are_refused_before_a_weight_is_read(
    architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = edit_config(build(tmp_path / "m", "llama"), model_type=architecture, **OTHERS[architecture])
    monkeypatch.setattr(checkpoints, "weight_files", lambda *given, **named: pytest.fail("its weights were looked at"))
    before = time.perf_counter()
    with pytest.raises(
        Unsupported, match=f"architecture '{architecture}'.* 'Add an architecture' in docs/contributing"
    ):
        find(str(folder))
    assert time.perf_counter() - before < 1


def test_bert_without_its_head_is_refused(tmp_path: Path) -> None:
    folder = build(tmp_path / "body", "bert", bare_keys=True)
    with pytest.raises(Conflict, match=r"5 tensors are missing \(cls.predictions.bias, "):
        find(str(folder))


def test_angles_that_hang_on_the_batch_are_refused(tmp_path: Path) -> None:
    folder = build(tmp_path / "long", "llama")
    factors = {"short_factor": [1.0] * 4, "long_factor": [2.0] * 4, "original_max_position_embeddings": 16}
    edit_config(folder, rope_parameters={"rope_type": "longrope", "rope_theta": 1e4, "factor": 4.0, **factors})
    said = "the llama model in .* has rope_type 'longrope' in rope_parameters, which is not supported; supported are "
    with pytest.raises(Unsupported, match=said):
        find(str(folder))
    edit_config(folder, rope_parameters={"rope_type": "of my own", "rope_theta": 1e4})
    with pytest.raises(Unsupported, match="has rope_type 'of my own' in rope_parameters"):
        find(str(folder))


@pytest.mark.parametrize(("kind", "kept"), [("llama", "lm_head.weight"), ("neox", "embed_out.weight")])
def test_an_unembedding_that_is_neither_there_nor_tied_is_missed(kind: Kind, kept: str, tmp_path: Path) -> None:
    folder = build(tmp_path / "headless", kind)
    edit_tensors(folder, lambda tensors: tensors.pop(kept))
    with pytest.raises(Conflict, match=r"1 tensors are missing \(lm_head.weight\)"):
        find(str(folder))


def test_a_model_without_a_position_table_reads_as_far_as_its_config_says(tmp_path: Path) -> None:
    shape = opened(build(tmp_path / "short", "llama", context_length=31)).shape
    assert (shape.context_length, shape.vocab_size) == (31, 400)
    assert shape.n_parameters_embedding == 2 * 400 * 32
