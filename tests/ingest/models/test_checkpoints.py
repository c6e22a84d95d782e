"""Finding models, and the one sentence that every unfit one gets."""

import contextlib
import json
import os
import pickle
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import BertConfig, BertForMaskedLM

from neurothek.catalog.problems import (
    Conflict,
    Invalid,
    NeurothekError,
    NotFound,
    Refused,
    Unavailable,
    Unreadable,
    Unsupported,
)
from neurothek.ingest import minis
from neurothek.ingest.models.checkpoints import Weights, find
from neurothek.ingest.models.families.table import FAMILIES
from neurothek.ingest.models.transformer import open_transformer
from tests.support.models import KINDS, Kind, build, edit_config, edit_tensors, to_pickle


@pytest.fixture
def opt(tiny_models: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the tiny OPT that a test may spoil."""
    return Path(shutil.copytree(tiny_models["opt"], tmp_path / "opt"))


@pytest.fixture
def gpt2(tiny_models: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the tiny GPT-2 that a test may spoil."""
    return Path(shutil.copytree(tiny_models["gpt2"], tmp_path / "gpt2"))


def refuses(error: type[NeurothekError], folder: Path, sentence: str, *, allow_pickle: bool = False) -> None:
    """`folder` is refused with exactly this sentence, in which {folder} stands for its path."""
    with pytest.raises(error) as caught:
        find(str(folder), allow_pickle=allow_pickle)
    assert str(caught.value) == sentence.format(folder=folder)


# What is found


def test_a_folder_is_a_checkpoint(opt: Path) -> None:
    found = find(str(opt))
    assert (found.name, found.source, found.folder) == ("opt", str(opt), opt)
    assert (found.revision, found.pickled) == (None, False)
    assert found.files == (opt / "model.safetensors",)
    assert found.config["model_type"] == "opt"
    assert len(found.weights_sha256) == 64


def test_shards_are_sorted_and_hashed_by_name(tmp_path: Path) -> None:
    folder = build(tmp_path / "model", "gpt2", shard_size="40KB")
    found = find(str(folder))
    assert list(found.files) == sorted(folder.glob("*.safetensors"))
    moved = folder.rename(tmp_path / "moved")
    assert find(str(moved)).weights_sha256 == found.weights_sha256


def test_other_weights_have_another_hash(opt: Path) -> None:
    before = find(str(opt)).weights_sha256
    edit_tensors(opt, lambda tensors: tensors["model.decoder.layers.0.fc1.bias"].add_(1))
    assert find(str(opt)).weights_sha256 != before


def test_a_shipped_model_is_found_by_name(opt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minis, "folder", lambda name: opt if name == "mini-opt-2m" else None)
    found = find("mini-opt-2m")
    assert (found.name, found.source, found.folder) == ("mini-opt-2m", "mini-opt-2m", opt)


def test_a_folder_goes_before_everything_of_its_name(opt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(opt.parent)
    assert find("opt").folder.samefile(opt)
    assert find("opt/").name == find("./opt").name == "opt"


@pytest.mark.parametrize("inside", [".", "sub/.."])
def test_the_folder_one_stands_in_has_its_name(inside: str, opt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (opt / "sub").mkdir()
    monkeypatch.chdir(opt)
    assert find(inside).name == "opt"


def test_a_home_folder_is_expanded(opt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(opt.parent))
    assert find("~/opt").folder == opt


def test_a_given_name_is_kept(opt: Path) -> None:
    assert find(str(opt), name="My_model+x@3.1-b").name == "My_model+x@3.1-b"


# Names and places that are no model's


@pytest.mark.parametrize("name", ["my model", "", "größer", "a/b", "a=b"])
def test_a_name_outside_the_alphabet_is_refused(name: str, opt: Path) -> None:
    with pytest.raises(Invalid, match=r"^'.*' cannot be a model's name: letters, .* as in \S+=/"):
        find(str(opt), name=name)


def test_a_folder_outside_the_alphabet_needs_a_name(opt: Path) -> None:
    renamed = opt.rename(opt.with_name("my model"))
    with pytest.raises(Invalid, match="as in my-model="):
        find(str(renamed))
    assert find(str(renamed), name="mine").name == "mine"


def test_a_path_that_is_not_there_is_no_hub_id(subtests: pytest.Subtests) -> None:
    for source in ["/no/such/folder", "./nothing", "../nothing", "~/nothing", "a/b/c", "x/", "a b", "\\x"]:
        with subtests.test(source=source):
            with pytest.raises(NotFound) as caught:
                find(source)
            assert str(caught.value) == (
                f"there is no model at {source!r}: no such folder exists; "
                "give a folder with config.json and weights, or a hub id such as facebook/opt-125m"
            )


def test_a_file_is_no_model(opt: Path) -> None:
    with pytest.raises(Invalid, match=r"model.safetensors' is a file, but a model is a folder"):
        find(str(opt / "model.safetensors"))


def test_a_folder_has_no_revisions(opt: Path) -> None:
    with pytest.raises(Invalid, match=r"opt' is a folder on this machine and has no revision 'main'"):
        find(str(opt), revision="main")


# Configurations that describe no supported model


def test_no_config(opt: Path) -> None:
    (opt / "config.json").unlink()
    refuses(
        Unavailable,
        opt,
        "{folder} has no config.json, so it is not a model; give the folder that save_pretrained wrote",
    )


@pytest.mark.parametrize(("content", "problem"), [("{", "not JSON"), ("", "not JSON"), ("[1]", "not a JSON object")])
def test_a_config_that_is_no_json(content: str, problem: str, opt: Path) -> None:
    (opt / "config.json").write_text(content)
    refuses(
        Unreadable,
        opt,
        f"config.json in {{folder}} does not describe a model: it is {problem}; restore the original file",
    )


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("hidden_size", "32", "hidden_size is a text, but should be a whole number;"),
        ("num_attention_heads", 5, "embed_dim must be divisible by num_heads"),
        ("num_attention_heads", 0, "num_attention_heads is 0, but must be at least 1;"),
        ("num_attention_heads", -4, "num_attention_heads is -4, but must be at least 1;"),
        ("hidden_size", 0, "hidden_size is 0, but must be at least 1;"),
        ("ffn_dim", 0, "ffn_dim is 0, but must be at least 1;"),
        ("max_position_embeddings", -1, "max_position_embeddings is -1, but must be at least 1;"),
        ("activation_function", "swosh", "activation_function is 'swosh', which does not exist;"),
        ("num_hidden_layers", 0, "num_hidden_layers is 0, but must be at least 1;"),
        ("num_hidden_layers", 10**9, "num_hidden_layers is 1000000000, but its weights are 36 tensors;"),
        ("vocab_size", 0, "vocab_size is 0, but must be at least 1;"),
        ("dropout", "a", "dropout is a text, but should be a number or a whole number;"),
        ("tie_word_embeddings", 1, "tie_word_embeddings is a whole number, but should be true or false;"),
        ("id2label", 3, "id2label is not a value that such a model can have;"),
    ],
)
def test_a_config_field_that_makes_no_model(
    field: str, value: object, problem: str, opt: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    edit_config(opt, **{field: value})
    with pytest.raises(Unreadable) as caught:
        find(str(opt))
    assert str(caught.value).startswith(f"config.json in {opt} does not describe a model: {problem}")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("called", ["n_layer", "num_hidden_layers"])
def test_layers_beyond_the_weights_are_never_made_under_any_name(called: str, tmp_path: Path) -> None:
    folder = edit_config(build(tmp_path / "m", "gpt2"), **{called: 10**12})
    with pytest.raises(Unreadable, match=f"{called} is 1000000000000, but its weights are [0-9]+ tensors"):
        find(str(folder))


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("gpt2", {"ffn_dim": 0, "head_dim": 0, "intermediate_size": 0, "num_key_value_heads": 0}),
        ("opt", {"n_inner": 0, "intermediate_size": 0}),
        ("neox", {"num_key_value_heads": 0}),
        ("bert", {"head_dim": 0, "num_key_value_heads": 0}),
    ],
)
def test_fields_that_a_family_does_not_read_mean_nothing(kind: Kind, fields: dict[str, int], tmp_path: Path) -> None:
    open_transformer(find(str(edit_config(build(tmp_path / "m", kind), **fields))))


def test_a_context_that_no_weight_contradicts_is_bounded(tmp_path: Path) -> None:
    folder = edit_config(build(tmp_path / "m", "llama"), max_position_embeddings=2**31)
    with pytest.raises(Unreadable, match="max_position_embeddings is 2147483648, but must be at most 2147483647"):
        find(str(folder))
    find(str(edit_config(folder, max_position_embeddings=2**31 - 1)))


SUPPORTED = ", ".join(sorted(FAMILIES))
ADDING = "'Add an architecture' in docs/contributing.md says how to add another"


def test_an_unsupported_architecture_lists_the_supported(tmp_path: Path) -> None:
    config = BertConfig(vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
    BertForMaskedLM(config).save_pretrained(tmp_path)
    edit_config(tmp_path, model_type="mamba", architectures=["MambaForCausalLM"])
    assert "gemma3_text, gpt2, gpt_neox, granite, llama, mistral, olmo2, opt, phi3, qwen2, qwen3, smollm3" in SUPPORTED
    refuses(
        Unsupported,
        tmp_path,
        f"{{folder}} has the architecture 'mamba', which is not supported; supported are {SUPPORTED}; {ADDING}",
    )


@pytest.mark.parametrize(
    "changes", [{"model_type": "roberta", "architectures": ["RobertaModel"]}, {"model_type": "mine"}]
)
def test_a_masked_model_of_another_family_is_told_apart(changes: dict[str, Any], tmp_path: Path) -> None:
    folder = edit_config(build(tmp_path / "masked", "bert"), **changes)
    refuses(
        Unsupported,
        folder,
        f"{{folder}} contains a masked language model ({changes['model_type']!r}), which is not supported; "
        f"supported masked models are bert, and causal ones are {SUPPORTED.removeprefix('bert, ')}; {ADDING}",
    )


def test_bert_as_a_decoder_is_refused(tmp_path: Path) -> None:
    folder = edit_config(build(tmp_path / "m", "bert"), architectures=["BertLMHeadModel"], is_decoder=True)
    with pytest.raises(Unsupported, match="the architecture 'bert' as a decoder, which is not supported"):
        find(str(folder))


@pytest.mark.parametrize("model_type", [None, 3])
def test_an_unnamed_architecture(model_type: object, opt: Path) -> None:
    edit_config(opt, model_type=model_type)
    with pytest.raises(Unsupported, match=f"supported are {SUPPORTED}; {ADDING}$"):
        find(str(opt))


def test_code_beside_the_weights_never_runs(opt: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    (opt / "evil.py").write_text(f"open({str(marker)!r}, 'w')\nclass Config: pass\nclass Model: pass\n")
    edit_config(opt, auto_map={"AutoConfig": "evil.Config", "AutoModelForCausalLM": "evil.Model"})
    open_transformer(find(str(opt)))
    assert not marker.exists()


# Weights that are absent, refused or damaged


def test_no_weights(opt: Path) -> None:
    (opt / "model.safetensors").rename(opt / "weights.h5")
    refuses(
        Unavailable,
        opt,
        "{folder} lacks weights: there is neither model.safetensors nor model.safetensors.index.json; "
        "copy or download all of the model's weights",
    )


def test_a_missing_shard(tmp_path: Path) -> None:
    folder = build(tmp_path / "model", "opt", shard_size="60KB")
    shards = sorted(folder.glob("*.safetensors"))
    shards[1].unlink()
    refuses(
        Unavailable,
        folder,
        f"{{folder}} lacks 1 of the {len(shards)} files of model.safetensors.index.json, such as {shards[1].name}; "
        "copy or download all of the model's weights",
    )


@pytest.mark.parametrize("content", ["{", "{}", '{"weight_map": {}}', '{"weight_map": {"a": 3}}', "[]", "null"])
def test_an_index_that_is_none(content: str, opt: Path) -> None:
    (opt / "model.safetensors").unlink()
    (opt / "model.safetensors.index.json").write_text(content)
    with pytest.raises(Unreadable, match=r"index.json cannot be read: it "):
        find(str(opt))


def test_an_index_never_leads_out_of_its_folder(opt: Path) -> None:
    secret = opt.parent / "secret.safetensors"
    (opt / "model.safetensors").rename(secret)
    (opt / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../secret.safetensors"}}))
    with pytest.raises(Unreadable, match="it does not name files of its own folder"):
        find(str(opt))


@pytest.mark.parametrize("keep", [0, 5, 300, -10])
def test_truncated_weights(keep: int, opt: Path) -> None:
    path = opt / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(Unreadable, match=r"^the weights in \S+ cannot be read: [^;]+; copy or download the file"):
        find(str(opt))


def test_a_tensor_in_two_shards(tmp_path: Path) -> None:
    folder = build(tmp_path / "model", "opt", shard_size="60KB")
    shards = sorted(folder.glob("*.safetensors"))
    shutil.copy(shards[0], shards[1])
    with pytest.raises(Unreadable, match=f"is in {shards[0].name} too"):
        find(str(folder))


# Pickles


def test_pickles_are_refused_unless_allowed(opt: Path) -> None:
    refuses(
        Refused,
        to_pickle(opt),
        "{folder} has only pickled weights (pytorch_model.bin), which are not read by default; "
        "give a revision with safetensors, or add --allow-pickle if you trust the author",
    )


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "before torch 1.6"])
@pytest.mark.parametrize("kind", KINDS)
def test_allowed_pickles_hold_the_same_model(kind: Kind, zipped: bool, tmp_path: Path) -> None:
    folder = build(tmp_path / "model", kind)
    before = open_transformer(find(str(folder)))
    found = find(str(to_pickle(folder, zipped=zipped)), allow_pickle=True)
    assert found.pickled
    after = open_transformer(found)
    assert torch.equal(before.value_vectors(1), after.value_vectors(1))
    assert before.shape == after.shape


def test_safetensors_go_before_pickles(opt: Path) -> None:
    (opt / "pytorch_model.bin").write_bytes(b"anything")
    assert not find(str(opt), allow_pickle=True).pickled


class Malicious:
    """Unpickling this makes a folder."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_malicious_pickle_does_not_run(zipped: bool, opt: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    (opt / "model.safetensors").unlink()
    torch.save({"x": Malicious(marker)}, opt / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    refuses(
        Unreadable,
        opt,
        "the weights in {folder}/pytorch_model.bin cannot be read: "
        "it is damaged, or holds more than tensors and was not run; copy or download the file again",
        allow_pickle=True,
    )
    assert not marker.exists()
    # Control: the same file does run where nobody takes care.
    loaded = torch.load(opt / "pytorch_model.bin", weights_only=False)
    assert loaded == {"x": None}
    assert marker.exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x80\x04garbage", pickle.dumps([1]), pickle.dumps({"a": 1})])
def test_a_pickle_that_is_no_model(content: bytes, opt: Path) -> None:
    (opt / "model.safetensors").unlink()
    (opt / "pytorch_model.bin").write_bytes(content)
    with pytest.raises(Unreadable, match=r"^the weights in \S+ cannot be read: .*; copy or download"):
        find(str(opt), allow_pickle=True)


# Weights that are not those of the config


def test_missing_tensors(opt: Path) -> None:
    edit_tensors(opt, lambda tensors: [tensors.pop(f"model.decoder.layers.{i}.fc1.weight") for i in range(2)])
    refuses(
        Conflict,
        opt,
        "the weights in {folder} contradict its config.json: 2 tensors are missing "
        "(model.decoder.layers.0.fc1.weight, model.decoder.layers.1.fc1.weight); "
        "give the folder of one unmodified model",
    )


def test_unexpected_tensors(gpt2: Path) -> None:
    edit_tensors(gpt2, lambda tensors: tensors.update({f"adapter.{i}": torch.zeros(2) for i in range(5)}))
    refuses(
        Conflict,
        gpt2,
        "the weights in {folder} contradict its config.json: 5 tensors have no place in it "
        "(adapter.0, adapter.1, adapter.2, ...); give the folder of one unmodified model",
    )


@pytest.mark.parametrize(("n_layers", "problem"), [(1, "have no place in it"), (3, "are missing")])
def test_another_number_of_layers(n_layers: int, problem: str, opt: Path) -> None:
    edit_config(opt, num_hidden_layers=n_layers)
    with pytest.raises(Conflict, match=f"16 tensors {problem}"):
        find(str(opt))


def test_shapes_that_contradict_the_config(opt: Path) -> None:
    edit_config(opt, ffn_dim=96)
    refuses(
        Conflict,
        opt,
        "the weights in {folder} contradict its config.json: 6 tensors have another shape "
        "(model.decoder.layers.0.fc1.bias is 128 instead of 96, "
        "model.decoder.layers.0.fc1.weight is 128 x 32 instead of 96 x 32, "
        "model.decoder.layers.0.fc2.weight is 32 x 128 instead of 32 x 96, ...); "
        "give the folder of one unmodified model",
    )


@pytest.mark.parametrize(("dtype", "written"), [(torch.int8, "I8"), (torch.float8_e4m3fn, "F8_E4M3")])
def test_weights_in_whole_numbers_or_eight_bits(dtype: torch.dtype, written: str, opt: Path) -> None:
    name = "model.decoder.layers.0.fc1.weight"
    edit_tensors(opt, lambda tensors: tensors.update({name: tensors[name].to(dtype)}))
    refuses(
        Unsupported,
        opt,
        "the weights in {folder} are in an unsupported number format "
        f"({name} is {written}); give the model before quantization, in F64, F32, F16 or BF16",
    )


def test_a_quantized_model(opt: Path) -> None:
    edit_config(opt, quantization_config={"quant_method": "gptq", "bits": 4})
    refuses(
        Unsupported,
        opt,
        "config.json of {folder} says that its weights are quantized by gptq, which is not supported; "
        "give the model before quantization",
    )


def test_a_number_format_that_there_is_not(opt: Path) -> None:
    path = opt / "model.safetensors"
    path.write_bytes(path.read_bytes().replace(b'"F32"', b'"F99"', 1))
    refuses(
        Unreadable,
        opt,
        "the weights in {folder}/model.safetensors cannot be read: there is no number format F99;"
        " copy or download the file again",
    )


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        (f'"more": {"1" * 5_000}', "it holds an integer of too many digits"),
        ('"ffn_dim": 7', "it says ffn_dim twice"),
    ],
)
def test_a_config_that_is_json_and_says_too_much(field: str, problem: str, opt: Path) -> None:
    path = opt / "config.json"
    path.write_text(path.read_text().replace("{", f"{{{field},", 1))
    refuses(
        Unreadable, opt, f"config.json in {{folder}} does not describe a model: {problem}; restore the original file"
    )


def test_a_name_of_more_than_200_characters_is_refused_and_not_repeated(opt: Path) -> None:
    assert find(str(opt), name="x" * 200).name == "x" * 200
    with pytest.raises(Invalid) as caught:
        find(str(opt), name="x" * 201)
    assert str(caught.value) == (
        f"'{'x' * 40}...' cannot be a model's name: letters, digits and . _ @ + - are allowed, "
        "200 at most and not 201; "
        f"give one yourself, as in {'x' * 40}={opt}"
    )


def test_old_masks_are_ignored(gpt2: Path) -> None:
    before = find(str(gpt2))

    def add_masks(tensors: dict[str, Tensor]) -> None:
        for layer in range(2):
            tensors[f"transformer.h.{layer}.attn.bias"] = torch.ones(1, 1, 64, 64, dtype=torch.uint8)
            tensors[f"transformer.h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)

    after = find(str(edit_tensors(gpt2, add_masks)))
    assert open_transformer(after).shape == open_transformer(before).shape


@pytest.mark.parametrize(("kind", "head"), [("opt", "model.decoder.embed_tokens"), ("gpt2", "transformer.wte")])
def test_a_stored_copy_of_a_tied_embedding_is_the_embedding(kind: Kind, head: str, tmp_path: Path) -> None:
    folder = build(tmp_path / "model", kind)
    shape = open_transformer(find(str(folder))).shape
    name = f"{head}.weight"
    edit_tensors(folder, lambda tensors: tensors.update({"lm_head.weight": tensors[name].clone()}))
    assert open_transformer(find(str(folder))).shape == shape
    # Either of the two may be left out, and one that differs is a second tensor, as for transformers.
    edit_tensors(folder, lambda tensors: tensors.pop(name))
    assert open_transformer(find(str(folder))).shape == shape
    edit_tensors(folder, lambda tensors: tensors.update({name: tensors["lm_head.weight"] + 1}))
    assert open_transformer(find(str(folder))).shape.n_parameters == shape.n_parameters + 400 * 32


# Weights that are no numbers


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_not_finite(value: float, dtype: torch.dtype, tmp_path: Path) -> None:
    folder = build(tmp_path / "model", "opt", dtype=dtype, tokenizer=False)
    name = "model.decoder.layers.1.fc2.weight"
    edit_tensors(folder, lambda tensors: tensors[name].view(-1)[-1:].fill_(value))
    for _ in range(2):
        refuses(
            Unreadable,
            folder,
            f"the tensor {name} in {{folder}}/model.safetensors contains NaN or infinity, "
            "so measurements from it would be meaningless; restore the original weights",
        )


def test_pickles_with_nan(opt: Path) -> None:
    edit_tensors(opt, lambda tensors: tensors["model.decoder.layers.0.fc1.bias"].fill_(float("nan")))
    with pytest.raises(Unreadable, match=r"layers.0.fc1.bias in .*pytorch_model.bin"):
        find(str(to_pickle(opt)), allow_pickle=True)


# Reading


def test_tensors_are_read_by_name_as_stored(tmp_path: Path) -> None:
    folder = build(tmp_path / "model", "opt", shard_size="60KB", dtype=torch.float16)
    weights = Weights(find(str(folder)))
    name = "model.decoder.layers.1.fc1.weight"
    assert weights.layout(name) == ((128, 32), "F16")
    tensor = weights.read(name)
    assert (tuple(tensor.shape), tensor.dtype) == ((128, 32), torch.float16)
    assert weights.file(name) in find(str(folder)).files
    assert len(weights.names()) == 2 * 16 + 4


# Files that are none

READ_NAMES = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "model.safetensors",
    "model.safetensors.index.json",
)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound, contextlib.chdir(path.parent):  # a socket's path may be 107 bytes long
        bound.bind(path.name)


def _circle(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.parametrize("name", READ_NAMES)
@pytest.mark.parametrize(
    ("put", "problem"),
    [
        (_pipe, "is a named pipe, but a model is read from files only"),
        (_device, "is a device, but a model is read from files only"),
        (_socket, "is a socket, but a model is read from files only"),
        (_circle, "cannot be read (Too many levels of symbolic links)"),
    ],
)
def test_what_is_no_file_is_refused_unopened(opt: Path, name: str, put: Callable[[Path], None], problem: str) -> None:
    (opt / name).unlink(missing_ok=True)
    put(opt / name)
    refuses(Unreadable, opt, f"{{folder}}/{name} {problem}; put the original file there, or remove it")
