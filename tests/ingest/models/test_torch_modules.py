"""Modules in torch alone against transformers' own of the same configuration: every number, bit for bit."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import DynamicCache, LlamaConfig, OPTConfig

from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.families import torch_modules
from neurothek.ingest.models.families.few_rows import FEW
from neurothek.ingest.models.families.parameters import Parameters
from neurothek.ingest.models.families.skeletons import skeleton
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.models.weights import Checkpoint
from tests.support.models import build

MADE: Mapping[str, dict[str, Any]] = {
    "opt": {"kind": "opt"},
    "post-norm, narrow embedding": {"kind": "opt350"},
    "opt with another activation": {"kind": "opt", "activation": "gelu"},
    "opt without ties": {"kind": "opt", "tie": False},
    "llama": {"kind": "llama"},
    "llama with ties": {"kind": "llama", "tie": True},
    "llama with biases in its ffn": {"kind": "llama", "gate_bias": True},
    "llama with another activation": {"kind": "llama", "activation": "relu"},
    "llama with one head": {"kind": "llama", "n_heads": 2},
}


@pytest.fixture(params=MADE)
def checkpoint(request: pytest.FixtureRequest, tmp_path: Path) -> Checkpoint:
    return find(str(build(tmp_path / "model", **MADE[request.param])))


def opened(checkpoint: Checkpoint, *, by_library: bool, dtype: torch.dtype = torch.float32) -> Transformer:
    built = skeleton(checkpoint, by_library=by_library)
    assert built.is_plain != by_library
    return Transformer(built, Parameters(checkpoint, built), device=torch.device("cpu"), dtype=dtype, resident=True)


def everything(transformer: Transformer, n_texts: int) -> list[Tensor]:
    """Whatever a model says of some texts, and of another token after them."""
    ids = torch.randint(0, 392, (n_texts, 12), generator=torch.Generator().manual_seed(1))
    cache, said = DynamicCache(), []
    for start, part in ((0, ids[:, :11]), (11, ids[:, 11:])):
        stream = transformer.embed(part, start=start)
        for layer in range(transformer.shape.n_layers):
            with transformer.block(layer) as block:
                output = block(stream, cache=cache, start=start)
                if start == 0:
                    left, neurons, _ = block.with_relevance(stream.clone())
                    said += [left, neurons]
            stream = output.stream
            said += [stream, output.coefficients, output.pre_ffn, output.added]
            said += [] if output.gates is None else [output.gates]
        said.append(transformer.logits(stream))
    for layer in range(transformer.shape.n_layers):
        norm = transformer.ffn_norm(layer)
        said += [transformer.value_vectors(layer), transformer.key_vectors(layer), transformer.value_bias(layer)]
        said += [] if norm is None else [norm.gamma, norm.beta, torch.tensor(norm.eps)]
    return said


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_every_number_is_the_librarys(checkpoint: Checkpoint, dtype: torch.dtype) -> None:
    plain_one, library_one = (opened(checkpoint, by_library=one, dtype=dtype) for one in (False, True))
    assert plain_one.shape == library_one.shape
    for n_texts in (1, 2, FEW + 1):
        both = zip(everything(plain_one, n_texts), everything(library_one, n_texts), strict=True)
        for number, (one, other) in enumerate(both):
            # Next tokens of a few texts are multiplied in another order.
            if dtype == torch.float32 and n_texts == 2 and one.dim() == 3 and one.shape[1] == 1:
                assert torch.allclose(one, other, rtol=1e-4, atol=1e-5), number
            else:
                assert torch.equal(one, other), (n_texts, number)


def test_modules_bear_the_names_and_shapes_of_the_librarys(checkpoint: Checkpoint) -> None:
    plain_one, library_one = (
        {name: tensor.shape for name, tensor in skeleton(checkpoint, by_library=one).model.state_dict().items()}
        for one in (False, True)
    )
    assert plain_one == library_one


@pytest.mark.parametrize(
    ("architecture", "defaults"), [("opt", OPTConfig()), ("llama", LlamaConfig())], ids=["opt", "llama"]
)
def test_what_a_configuration_leaves_out_is_as_the_library_has_it(
    architecture: str, defaults: OPTConfig | LlamaConfig
) -> None:
    whole = {"rope_theta": None, "word_embed_proj_dim": None, "head_dim": None, "num_key_value_heads": None}
    # These follow from others, and are made where they are missing.
    expected = {name: getattr(defaults, name, None) for name in torch_modules._DEFAULTS[architecture]}
    followed = {name: value for name, value in whole.items() if name in expected}
    assert torch_modules._DEFAULTS[architecture] == expected | followed | (
        {"rope_parameters": None} if architecture == "llama" else {}
    )


OTHER_FIELDS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "without biases": ("opt", {"enable_bias": False}),
    "without weights in norms": ("opt", {"layer_norm_elementwise_affine": False}),
    "without a final norm": ("opt", {"_remove_final_layer_norm": True}),
    "what the hub's say, too": ("opt", {"prefix": "</s>", "activation_dropout": 0.0}),
    "with biases in attention": ("llama", {"attention_bias": True}),
    "wide heads": ("llama", {"head_dim": 16}),
    "a head to a key": ("llama", {"num_key_value_heads": None}),
    "angles as earlier releases say them": ("llama", {"rope_parameters": ..., "rope_theta": 5e5, "rope_scaling": None}),
    "angles of a whole number": ("llama", {"rope_parameters": ..., "rope_theta": 100_000}),
    "angles of a whole number, as they are said now": (
        "llama",
        {"rope_parameters": {"rope_type": "default", "rope_theta": 100_000}},
    ),
    "what SmolLM2 says, too": (
        "llama",
        {"is_llama_config": True, "rope_interleaved": False, "transformers.js_config": {"dtype": "q8"}},
    ),
}


@pytest.mark.parametrize("name", OTHER_FIELDS)
def test_other_fields_mean_the_same(name: str, tmp_path: Path) -> None:
    kind, fields = OTHER_FIELDS[name]
    checkpoint = find(str(build(tmp_path / "model", kind)))  # type: ignore[arg-type]
    config = {key: value for key, value in {**checkpoint.config, **fields}.items() if value is not ...}
    edited = Checkpoint(**{**vars(checkpoint), "config": config})
    plain_one, library_one = skeleton(edited), skeleton(edited, by_library=True)
    assert plain_one.is_plain
    assert {key: value.shape for key, value in plain_one.model.state_dict().items()} == {
        key: value.shape for key, value in library_one.model.state_dict().items()
    }
    stream, rotary = torch.ones(1, 9, 8), plain_one.family.rotary
    if rotary is not None:
        angles, expected = (
            type(each.model.get_submodule(rotary))(each.config)(stream, torch.arange(9)[None])
            for each in (plain_one, library_one)
        )
        assert all(map(torch.equal, angles, expected))
    for setting in ("rope_parameters", "rms_norm_eps", "hidden_size", "tie_word_embeddings", "max_position_embeddings"):
        one, other = (
            json.dumps(getattr(each.config, setting, None), sort_keys=True) for each in (plain_one, library_one)
        )
        assert one == other, setting


NOT_PLAIN: Mapping[str, tuple[str, dict[str, Any]]] = {
    "a field that is not known": ("opt", {"surprise": 1}),
    "a field of another kind": ("opt", {"do_layer_norm_before": "yes"}),
    "a number that is none": ("opt", {"num_hidden_layers": True}),
    "no layers": ("opt", {"num_hidden_layers": 0}),
    "heads that do not fit": ("opt", {"num_attention_heads": 5}),
    "an activation of the library's": ("opt", {"activation_function": "gelu_new"}),
    "a token beyond the vocabulary": ("opt", {"pad_token_id": 1_000_000}),
    "too many layers": ("llama", {"num_hidden_layers": 1001}),
    "keys that do not fit": ("llama", {"num_key_value_heads": 3}),
    "an odd head": ("llama", {"head_dim": 7}),
    "angles of long texts": ("llama", {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}}),
    "angles that grow": ("llama", {"rope_parameters": {"rope_type": "default", "rope_theta": 0.5}}),
    "no angles": ("llama", {"rope_parameters": None}),
    "a whole number for a fraction": ("llama", {"rms_norm_eps": 1}),
}


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_what_is_not_known_to_be_the_same_is_left_to_the_library(name: str, tmp_path: Path) -> None:
    kind, fields = NOT_PLAIN[name]
    folder = build(tmp_path / "model", kind, tokenizer=False)  # type: ignore[arg-type]
    config = json.loads((folder / "config.json").read_text())
    del config["model_type"], config["dtype"]
    assert torch_modules.plain_model(kind, config) is not None
    assert torch_modules.plain_model(kind, config | fields) is None


def test_another_family_is_left_to_the_library(tiny_models: dict[str, Path]) -> None:
    assert not skeleton(find(str(tiny_models["gpt2"]))).is_plain


def test_a_model_is_opened_without_the_library(tmp_path: Path) -> None:
    folder = build(tmp_path / "model", "opt", tokenizer=False)
    code = (
        "import sys, torch\n"
        "from neurothek.ingest.models.checkpoints import find\n"
        "from neurothek.ingest.models.transformer import open_transformer\n"
        "transformer = open_transformer(find(sys.argv[1]))\n"
        "with transformer.block(0) as block: block(transformer.embed(torch.arange(5)[None]))\n"
        "print({'transformers', 'scipy', 'sympy', 'torch._dynamo', 'torch.distributed.tensor'} & sys.modules.keys())\n"
    )
    found = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"
