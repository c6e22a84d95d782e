"""Models in a GGUF file, written here by llama.cpp's own library: what is read of them is what was written."""

import contextlib
import hashlib
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, LlamaFileType
from gguf.quants import dequantize, quantize
from hypothesis import given, settings
from hypothesis import strategies as st
from platformdirs import user_cache_path
from transformers import Qwen2Config, Qwen2ForCausalLM
from transformers.modeling_gguf_pytorch_utils import GGUF_SUPPORTED_ARCHITECTURES

from neurothek.catalog.problems import Invalid, MissingExtra, NeurothekError, Unavailable, Unreadable, Unsupported
from neurothek.catalog.variants import variant_of
from neurothek.ingest.models import gguf_files
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.families.table import FAMILIES
from neurothek.ingest.models.gguf_header import read_header
from neurothek.ingest.models.mapped_weights import map_measured
from neurothek.ingest.models.tokenizer import load
from neurothek.ingest.models.transformer import open_transformer
from neurothek.ingest.runs.records import model_record
from tests.support.known import known_model
from tests.support.tokenizers import make_tokenizer

N_LAYERS, D_MODEL, D_FFN, N_HEADS, VOCABULARY = 2, 32, 64, 4, 300

NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
"""What transformers calls a module -> what llama.cpp calls it."""


def tiny() -> Qwen2ForCausalLM:
    config = Qwen2Config(
        vocab_size=VOCABULARY,
        hidden_size=D_MODEL,
        intermediate_size=D_FFN,
        num_hidden_layers=N_LAYERS,
        num_attention_heads=N_HEADS,
        num_key_value_heads=N_HEADS,
        max_position_embeddings=64,
        tie_word_embeddings=True,
    )
    model: Qwen2ForCausalLM = Qwen2ForCausalLM(config)
    model.eval()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = 0.2 * torch.randn(parameter.shape, generator=generator)
            parameter.copy_(1 + noise if "norm" in name else noise)
    return model


def called(name: str) -> str:
    """The name of a tensor in the file."""
    module, _, kind = name.rpartition(".")
    if not module.startswith("model.layers."):
        return f"{NAMES[module]}.{kind}"
    _, _, layer, part = module.split(".", 3)
    return f"blk.{layer}.{NAMES[part]}.{kind}"


def write(
    file: Path,
    model: Qwen2ForCausalLM,
    *,
    quantized: bool = False,
    architecture: str = "qwen2",
    says_type: bool = True,
    texts: Mapping[str, str] | None = None,
    without: str = "",
    more: str = "",
) -> Path:
    """A file of the model; its matrices quantized, and changed to what is left of them, if it is to be so."""
    writer = GGUFWriter(file, architecture)
    config = model.config
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_attention_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10_000.0)
    for key, text in (texts or {}).items():
        writer.add_string(key, text)
    writer.add_vocab_size(VOCABULARY)
    if says_type:
        writer.add_file_type(LlamaFileType.MOSTLY_Q8_0 if quantized else LlamaFileType.ALL_F32)
    tokenizer = json.loads(make_tokenizer("gpt2", VOCABULARY).backend_tokenizer.to_str())["model"]
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(sorted(tokenizer["vocab"], key=tokenizer["vocab"].get))
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    if more:
        writer.add_tensor(more, np.ones(4, dtype=np.float32))
    for name, parameter in model.named_parameters():
        if name == without:
            continue
        values = parameter.detach().numpy()
        if quantized and values.ndim == 2:
            stored = quantize(values, GGMLQuantizationType.Q8_0)
            left = dequantize(stored, GGMLQuantizationType.Q8_0)
            parameter.data = torch.from_numpy(left.copy()).view(parameter.shape)
            writer.add_tensor(called(name), stored, raw_dtype=GGMLQuantizationType.Q8_0)
        else:
            writer.add_tensor(called(name), np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Qwen2ForCausalLM]:
    model = tiny()
    return write(tmp_path_factory.mktemp("plain") / "Tiny-1M.F32.gguf", model), model


def logits(source: Path) -> torch.Tensor:
    transformer = open_transformer(find(str(source)))
    stream = transformer.embed(IDS)
    for layer in range(N_LAYERS):
        with transformer.block(layer) as block:
            stream = block(stream).stream
    return transformer.logits(stream)


IDS = torch.randint(0, VOCABULARY, (2, 9), generator=torch.Generator().manual_seed(0))


@torch.inference_mode()
def test_a_file_computes_what_the_model_does(plain: tuple[Path, Qwen2ForCausalLM]) -> None:
    file, model = plain
    torch.testing.assert_close(logits(file), model(IDS).logits, rtol=1e-5, atol=1e-5)


@torch.inference_mode()
def test_a_quantized_one_computes_with_what_is_left_of_the_weights(tmp_path: Path) -> None:
    model = tiny()
    file = write(tmp_path / "tiny-q8_0.gguf", model, quantized=True)
    torch.testing.assert_close(logits(file), model(IDS).logits, rtol=1e-5, atol=1e-5)
    assert not torch.equal(model(IDS).logits, tiny()(IDS).logits)


def test_what_the_warehouse_knows_of_it(plain: tuple[Path, Qwen2ForCausalLM], tmp_path: Path) -> None:
    """The hash is the file's, so that it is another model than the same weights in safetensors."""
    file, model = plain
    checkpoint = find(str(file))
    tokenizer = load(checkpoint.folder)
    record = model_record(checkpoint, open_transformer(checkpoint).shape, tokenizer)
    (row,) = record.row.to_dicts()
    assert (row["name"], row["family"], row["variant"], row["source"]) == ("Tiny-1M.F32", "Tiny", "F32", str(file))
    model.save_pretrained(tmp_path / "folder")
    assert checkpoint.weights_sha256 != find(str(tmp_path / "folder")).weights_sha256
    assert checkpoint.weights_sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_folder_with_one_file_is_that_file(plain: tuple[Path, Qwen2ForCausalLM], tmp_path: Path) -> None:
    file, _ = plain
    assert find(str(file.parent)).weights_sha256 == find(str(file)).weights_sha256
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(file.read_bytes())
    with pytest.raises(Invalid, match=r"has several GGUF files: a\.gguf, b\.gguf; give the path of one"):
        find(str(tmp_path))


def test_a_file_is_read_once(plain: tuple[Path, Qwen2ForCausalLM], monkeypatch: pytest.MonkeyPatch) -> None:
    file, _ = plain
    folder = gguf_files.dequantized(file)
    monkeypatch.setattr(gguf_files, "_save_dequantized", lambda *given: pytest.fail("it was read again"))
    assert gguf_files.dequantized(file) == folder


def test_scores_are_read_from_it(plain: tuple[Path, Qwen2ForCausalLM]) -> None:
    file, model = plain
    known = known_model(
        source=str(file), weights_sha256=find(str(file)).weights_sha256, n_layers=N_LAYERS, architecture="qwen2"
    )
    scores = map_measured(known).scores([7], layers=(1, 1))
    embedding = model.get_parameter("model.embed_tokens.weight")[7]
    expected = embedding @ model.get_parameter("model.layers.1.mlp.down_proj.weight")
    np.testing.assert_allclose(scores[0, 0], expected.detach().numpy(), atol=1e-5)


def test_files_that_are_none_are_refused(
    plain: tuple[Path, Qwen2ForCausalLM], tmp_path: Path, subtests: pytest.Subtests
) -> None:
    content = plain[0].read_bytes()
    cases = {
        "empty": (b"", Unreadable),
        "noise": (bytes(range(256)) * 40, Unreadable),
        "header": (content[:100], Unreadable),
        "half": (content[: len(content) // 2], Unreadable),
        "end": (content[:-64], Unreadable),
    }
    for name, (held, error) in cases.items():
        with subtests.test(name=name):
            file = tmp_path / f"{name}.gguf"
            file.write_bytes(held)
            with pytest.raises(error, match=f"{name}.gguf cannot be read as a GGUF file"):
                find(str(file))
    assert not list((gguf_files.dequantized(plain[0]).parent).glob(".*"))


def test_an_unknown_architecture_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "m.gguf", tiny(), architecture="mamba")
    monkeypatch.setattr(gguf_files, "_save_dequantized", lambda *given: pytest.fail("it was read"))
    with pytest.raises(Unsupported, match="architecture 'mamba'"):
        find(str(file))
    # A family that is known as a folder, and that transformers does not read from such files.
    file = write(tmp_path / "n.gguf", tiny(), architecture="olmo2")
    with pytest.raises(Unsupported, match=r"'olmo2', which .* in GGUF files; .* a folder of safetensors .* olmo2"):
        find(str(file))


def test_copies_that_no_command_needed_for_long_go_when_another_is_made(
    plain: tuple[Path, Qwen2ForCausalLM], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    names = ("unused", "needed", "recent")
    made = {}
    for number, name in enumerate(names):
        (tmp_path / f"{name}.gguf").write_bytes(plain[0].read_bytes() + bytes(number + 1))
        made[name] = gguf_files.dequantized(tmp_path / f"{name}.gguf")
    cache = made["unused"].parent
    (cache / ".broken").mkdir()
    (cache / ".young").mkdir()
    old = time.time() - gguf_files.UNUSED_SECONDS - 60
    for name in ("unused", "needed"):
        os.utime(made[name] / "gguf.json", (old, old))
    os.utime(cache / ".broken", (old, old))
    # Who needs one that is there makes it young again, and deletes nothing.
    assert gguf_files.dequantized(tmp_path / "needed.gguf") == made["needed"]
    assert made["unused"].exists()
    other = gguf_files.dequantized(plain[0])
    assert set(cache.iterdir()) == {made["needed"], made["recent"], other, cache / ".young"}
    assert gguf_files.dequantized(tmp_path / "unused.gguf") == made["unused"]


def refused(file: Path, error: type[NeurothekError], said: str, *, unread: bool = True) -> None:
    """The file is refused in a moment, and nothing is left of it in the cache."""
    before = set((user_cache_path("neurothek", appauthor=False) / "gguf").glob("*"))
    started = time.perf_counter()
    with pytest.raises(error, match=said) as caught:
        find(str(file))
    assert not unread or time.perf_counter() - started < 1
    assert str(file) in str(caught.value)
    assert caught.value.hint
    assert set((user_cache_path("neurothek", appauthor=False) / "gguf").glob("*")) == before


def test_numbers_stored_in_a_way_that_is_not_read_are_named_unread(tmp_path: Path) -> None:
    """The matrix that was written last is said to be stored as Q8_K, and as a way that the library does not know."""
    file = write(tmp_path / "m.gguf", tiny(), quantized=True)
    content = file.read_bytes()
    name = b"blk.1.ffn_down.weight"
    # After a name: the number of dimensions, these, and the number of the way.
    place = content.index(name) + len(name) + 4 + 2 * 8
    assert int.from_bytes(content[place : place + 4], "little") == GGMLQuantizationType.Q8_0
    for kind, called_so in ((GGMLQuantizationType.Q8_K, "Q8_K"), (77, "number 77")):
        file.write_bytes(content[:place] + int(kind).to_bytes(4, "little") + content[place + 4 :])
        refused(file, Unsupported, rf"stored in an unsupported way \({called_so}, those of 'blk.1.ffn_down.weight'\)")


def test_scaled_angles_are_refused_since_the_library_leaves_them_out(tmp_path: Path) -> None:
    file = write(tmp_path / "linear.gguf", tiny(), texts={"qwen2.rope.scaling.type": "linear"})
    refused(
        file, Unsupported, "scales its rotary positions .rope.scaling.type 'linear'., .* not supported in GGUF files"
    )
    refused(
        write(tmp_path / "long.gguf", tiny(), more="rope_factors_long.weight"), Unsupported, "rope_factors_long.weight"
    )
    assert find(str(write(tmp_path / "none.gguf", tiny(), texts={"qwen2.rope.scaling.type": "none"})))


def test_a_file_without_one_of_its_tensors_is_refused_and_not_filled_with_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[str] = []
    library = logging.getLogger("transformers.modeling_utils")
    monkeypatch.setattr(library, "handle", lambda record: reports.append(record.getMessage()))
    file = write(tmp_path / "less.gguf", tiny(), without="model.layers.1.mlp.up_proj.weight")
    refused(
        file, Unreadable, "1 of its tensors are missing, the first is model.layers.1.mlp.up_proj.weight", unread=False
    )
    # The library's own report of it is a page long.
    assert reports == []


def test_a_part_of_a_model_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "m-00001-of-00003.gguf", tiny(), texts={"split.count": "3"})
    refused(file, Unsupported, "is one of the '3' files of its model")


def test_what_is_refused_is_refused_in_a_moment_however_large(
    plain: tuple[Path, Qwen2ForCausalLM], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither hashed nor read by the library, which takes seconds for a real vocabulary."""
    monkeypatch.setattr(gguf_files, "known_sha256", lambda *given: pytest.fail("it was hashed"))
    content = plain[0].read_bytes()
    (tmp_path / "half.gguf").write_bytes(content[: len(content) // 2])
    refused(tmp_path / "half.gguf", Unreadable, r"it ends at byte [\d,]+, and its tensors at [\d,]+\); fetch it again")
    refused(write(tmp_path / "m.gguf", tiny(), architecture="mamba"), Unsupported, "supported there are gemma2")


@given(at=st.integers(0, 2000), put=st.binary(min_size=1, max_size=9))
@settings(max_examples=200, deadline=None)
def test_a_header_of_nonsense_is_a_value_error_or_a_header(header_bytes: bytes, at: int, put: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "m.gguf"
        file.write_bytes(header_bytes[:at] + put + header_bytes[at + len(put) :])
        with contextlib.suppress(ValueError):
            assert read_header(file).start > 0


@pytest.fixture(scope="module")
def header_bytes(plain: tuple[Path, Qwen2ForCausalLM]) -> bytes:
    header = read_header(plain[0])
    return plain[0].read_bytes()[: header.start]


def test_a_header_is_what_the_library_reads_of_it(plain: tuple[Path, Qwen2ForCausalLM]) -> None:
    header, reader = read_header(plain[0]), GGUFReader(plain[0])
    assert [(one.name, one.kind, one.n_values, header.start + one.offset) for one in header.tensors] == [
        (one.name, one.tensor_type.value, int(one.n_elements), int(one.data_offset)) for one in reader.tensors
    ]
    for name, value in header.values.items():
        field = reader.get_field(name)
        assert field is not None
        assert field.contents() == pytest.approx(value)


def test_architectures_of_files_are_those_that_transformers_reads_and_that_are_known() -> None:
    assert set(GGUF_SUPPORTED_ARCHITECTURES) & FAMILIES.keys() == gguf_files.ARCHITECTURES


def test_without_the_libraries_a_command_says_how_to_get_them(
    plain: tuple[Path, Qwen2ForCausalLM], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "new.gguf"
    file.write_bytes(plain[0].read_bytes() + b"\0")
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(MissingExtra, match=r"pip install 'neurothek\[gguf\]'"):
        find(str(file))


def test_a_file_that_says_no_type_is_called_after_most_of_its_bytes(tmp_path: Path) -> None:
    file = write(tmp_path / "untyped.gguf", tiny(), quantized=True, says_type=False)
    made_of = gguf_files.origin(find(str(file)).folder)
    assert made_of is not None
    assert made_of.quantization == "Q8_0" == variant_of(made_of.quantization)


def test_a_cache_that_cannot_be_written_is_named(
    plain: tuple[Path, Qwen2ForCausalLM], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(Unavailable, match="could not be dequantized into"):
        find(str(plain[0]))


def test_a_revision_is_of_the_hub(plain: tuple[Path, Qwen2ForCausalLM], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf_files, "dequantized", lambda *given: pytest.fail("it was read"))
    with pytest.raises(Invalid, match="has no revision 'main'"):
        find(str(plain[0]), revision="main")


def test_other_files_are_no_models(tmp_path: Path) -> None:
    file = tmp_path / "model.bin"
    file.write_bytes(b"GGUF")
    with pytest.raises(NeurothekError, match="or a GGUF file"):
        find(str(file))
