"""Folders that hold more, less or other things than one model as it was saved: measured right, or refused by name."""

import json
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from neurothek.catalog.problems import NeurothekError
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import load
from neurothek.ingest.models.transformer import open_transformer
from neurothek.ingest.runs.records import model_record
from tests.support.models import KINDS, Kind, build, edit_config, edit_tensors

Edit = Callable[[Path], object]

IDS = torch.randint(0, 400, (2, 9), generator=torch.Generator().manual_seed(2))


def config(**fields: Any) -> Edit:
    return lambda folder: edit_config(folder, **fields)


def text(name: str, content: str) -> Edit:
    return lambda folder: (folder / name).write_text(content)


def tensors(edit: Callable[[dict[str, torch.Tensor]], object]) -> Edit:
    return lambda folder: edit_tensors(folder, edit)


def put(name: str, *shape: int) -> Edit:
    return tensors(lambda there: there.update({name: torch.full(shape, 0.5)}))


def prefixed(prefix: str) -> Edit:
    def rename_(there: dict[str, torch.Tensor]) -> None:
        for name in list(there):
            there[prefix + name] = there.pop(name)

    return tensors(rename_)


def raw(field: str, value: str) -> Edit:
    """A value that json.dumps would not write."""

    def edit(folder: Path) -> None:
        edit_config(folder, **{field: "HERE"})
        path = folder / "config.json"
        path.write_text(path.read_text().replace('"HERE"', value))

    return edit


def only_an_adapter(folder: Path) -> None:
    (folder / "config.json").rename(folder / "adapter_config.json")
    (folder / "model.safetensors").rename(folder / "adapter_model.safetensors")


def rotary(**fields: Any) -> Edit:
    return config(rope_parameters={"rope_type": "default", "rope_theta": 1e4} | fields)


REFUSED: list[tuple[str, Kind, Edit, str]] = [
    ("an adapter beside", "llama", text("adapter_config.json", "{}"), "has an adapter (adapter_config.json)"),
    ("its weights alone", "gpt2", text("adapter_model.safetensors", ""), "has an adapter (adapter_model.safetensors)"),
    ("an adapter instead", "gpt2", only_an_adapter, "has an adapter (adapter_config.json), which is not supported;"),
    ("pruned heads", "gpt2", config(pruned_heads={"0": [1]}), "has pruned_heads {'0': [1]}, which is not supported;"),
    ("a quantization", "llama", config(quantization_config={"quant_method": "awq"}), "quantized by awq"),
    ("an older one", "llama", config(compression_config={"format": "x"}), "quantized by an unnamed method"),
    ("an encoder beside", "gpt2", config(add_cross_attention=True), "has add_cross_attention True"),
    ("positions in keys", "bert", config(position_embedding_type="relative_key"), "position_embedding_type 'relat"),
    ("windows", "llama", config(layer_types=["sliding_attention"] * 2), "has layer_types 'sliding_attention'"),
    ("a value head", "gpt2", put("v_head.summary.weight", 1, 32), "no place in it (v_head.summary.weight)"),
    ("a score head", "llama", put("score.weight", 2, 32), "no place in it (score.weight)"),
    ("a bias of the head", "llama", put("lm_head.bias", 400), "no place in it (lm_head.bias)"),
    ("of another's", "neox", put("embed_out.bias", 400), "no place in it (embed_out.bias)"),
    (
        "an adapter within",
        "opt",
        put("model.decoder.layers.0.fc1.lora_A.weight", 4, 32),
        "(model.decoder.layers.0.fc1.l",
    ),
    ("parallel", "gpt2", prefixed("module."), "28 tensors bear the name of a wrapper around it (module.transformer."),
    ("compiled", "opt", prefixed("_orig_mod."), "bear the name of a wrapper around it (_orig_mod.model.decoder."),
    ("adapted", "llama", prefixed("base_model.model."), "bear the name of a wrapper around it (base_model.model."),
    ("a tensor twice", "gpt2", put("wte.weight", 400, 32), "no place in it (wte.weight)"),
    ("no biases said", "opt", config(enable_bias=False), "which says enable_bias false: 12 tensors have no place"),
    ("biases said", "llama", config(attention_bias=True), "which says attention_bias true: 8 tensors are missing"),
    (
        "an untied head",
        "gpt2",
        config(tie_word_embeddings=False),
        "which says tie_word_embeddings false: 1 tensors are",
    ),
    ("an epsilon below 0", "llama", config(rms_norm_eps=-1.0), "rms_norm_eps is -1.0, but must be from 0 to 1"),
    ("a large epsilon", "gpt2", config(layer_norm_epsilon=1e30), "layer_norm_epsilon is 1e+30, but must be from"),
    ("an epsilon that is none", "neox", raw("layer_norm_eps", "NaN"), "layer_norm_eps has a number that is not finite"),
    ("a number too large", "llama", raw("rms_norm_eps", "1e999"), "rms_norm_eps has a number that is not finite"),
    ("one deep inside", "opt", raw("task", '{"a": [1, {"b": -Infinity}]}'), "task has a number that is not finite"),
    ("no base", "llama", rotary(rope_theta=0), "rope_theta in rope_parameters is 0, but must be a number above 0"),
    ("a base below", "neox", rotary(rope_theta=-5.0), "rope_theta in rope_parameters is -5.0"),
    ("a base in words", "llama", rotary(rope_theta="10000"), "rope_theta in rope_parameters is '10000'"),
    ("a base of many digits", "llama", rotary(rope_theta=10**400), "rope_theta in rope_parameters is 1000"),
    ("no factor", "llama", rotary(rope_type="linear", factor=0), "factor in rope_parameters is 0"),
    (
        "keys without queries",
        "llama",
        config(num_key_value_heads=3),
        "is 4, which is not a multiple of num_key_value_heads",
    ),
    ("no keys", "llama", config(num_key_value_heads=0), "num_key_value_heads is 0, but must be at least 1"),
    ("no width of a head", "llama", config(head_dim=0), "head_dim is not a value that such a model can have"),
    ("an older base", "neox", config(rotary_emb_base=0), "rotary_emb_base is 0, but must be a number above 0"),
    ("a head too many", "neox", config(num_attention_heads=5), "hidden size is not divisible by the number of att"),
    (
        "too much to read",
        "opt",
        text("config.json", json.dumps({"x": "y" * 5_000_000})),
        "but can have 4,194,304 at most",
    ),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Mapping[Kind, Path]:
    """A model of each kind as it was saved."""
    folder = tmp_path_factory.mktemp("saved")
    return {kind: build(folder / kind, kind, d_ffn=16, tokenizer=False) for kind in KINDS}


def edited(saved: Mapping[Kind, Path], kind: Kind, edit: Edit, to: Path) -> Path:
    folder = shutil.copytree(saved[kind], to)
    edit(folder)
    return folder


def test_what_would_be_measured_wrong_is_refused_by_its_name(saved: Mapping[Kind, Path], tmp_path: Path) -> None:
    found = []
    for number, (name, kind, edit, words) in enumerate(REFUSED):
        folder = edited(saved, kind, edit, tmp_path / str(number))
        try:
            find(str(folder))
        except NeurothekError as error:
            said = str(error)
            if words not in said or "\n" in said:
                found.append(f"{name}: {said}")
        else:
            found.append(f"{name}: measured")
    assert not found, "\n".join(found)


def two_heads(folder: Path) -> None:
    edit_tensors(folder, lambda there: there.update({"lm_head.weight": there["model.embed_tokens.weight"].flip(0)}))
    edit_config(folder, tie_word_embeddings=True)


def a_copy(folder: Path) -> None:
    edit_tensors(folder, lambda there: there.update({"lm_head.weight": there["transformer.wte.weight"].clone()}))


MEASURED: list[tuple[str, Kind, Edit]] = [
    ("as saved", "llama", lambda folder: None),
    ("two heads that are said to be one", "llama", two_heads),
    ("a copy of what is tied", "gpt2", a_copy),
    ("no heads pruned", "gpt2", config(pruned_heads={})),
    ("no quantization", "llama", config(quantization_config=None)),
    ("an epsilon of 0", "gpt2", config(layer_norm_epsilon=0.0)),
    ("all attention full", "llama", config(layer_types=["full_attention"] * 2)),
    ("attention by depth", "gpt2", config(scale_attn_by_inverse_layer_idx=True)),
    ("attention unscaled", "gpt2", config(scale_attn_weights=False)),
    ("names without the model's", "gpt2", tensors(lambda there: [
        there.update({name.removeprefix("transformer."): there.pop(name)}) for name in list(there)
    ])),
]  # fmt: skip


def test_what_is_measured_is_what_transformers_computes(saved: Mapping[Kind, Path], tmp_path: Path) -> None:
    found = []
    for number, (name, kind, edit) in enumerate(MEASURED):
        folder = edited(saved, kind, edit, tmp_path / str(number))
        if not torch.allclose(logits(folder), own_logits(folder), rtol=1e-4, atol=1e-4):
            found.append(name)
    assert found == []


@torch.no_grad()
def logits(folder: Path) -> torch.Tensor:
    transformer = open_transformer(find(str(folder)))
    stream = transformer.embed(IDS)
    for layer in range(transformer.shape.n_layers):
        with transformer.block(layer) as block:
            stream = block(stream).stream
    return transformer.logits(stream)


@torch.no_grad()
def own_logits(folder: Path) -> torch.Tensor:
    load_model = partial(AutoModelForCausalLM.from_pretrained, local_files_only=True, attn_implementation="eager")
    found: torch.Tensor = load_model(folder, dtype=torch.float32).eval()(IDS).logits
    return found


def test_a_token_beyond_the_rows_is_named(tmp_path: Path) -> None:
    """Real ones add [PAD] behind all rows: a text that held it would have no embedding."""
    folder = build(tmp_path / "padded", "llama", d_ffn=16, spare_rows=0)
    path = folder / "tokenizer.json"
    there = json.loads(path.read_text())
    added = {"content": "[PAD]", "special": True, "single_word": False, "lstrip": False, "rstrip": False}
    there["added_tokens"].append({"id": 400, **added, "normalized": False})
    path.write_text(json.dumps(there))
    checkpoint = find(str(folder))
    with pytest.raises(
        NeurothekError, match=r"ids up to 400, but the model's unembedding has 400 rows, none for '\[PAD\]':"
    ):
        model_record(checkpoint, open_transformer(checkpoint).shape, load(folder))


def test_training_tokens_are_a_number_that_the_warehouse_can_hold(tmp_path: Path) -> None:
    folder, found = build(tmp_path / "trained", "gpt2", d_ffn=16), []
    tokenizer = load(folder)
    for value in ("many", -1, 2**63, 1.5, True, [1], 10**300):
        checkpoint = find(str(edit_config(folder, neurothek={"training_tokens": value})))
        try:
            model_record(checkpoint, open_transformer(checkpoint).shape, tokenizer)
        except NeurothekError as error:
            if "has the invalid training_tokens" not in str(error):
                found.append(f"{value}: {error}")
        else:
            found.append(f"{value} is taken")
    assert found == []
    checkpoint = find(str(edit_config(folder, neurothek={"training_tokens": 2**63 - 1})))
    record = model_record(checkpoint, open_transformer(checkpoint).shape, tokenizer)
    assert record.row.item(0, "training_tokens") == 2**63 - 1
