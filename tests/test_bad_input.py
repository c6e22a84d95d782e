"""Whatever a person gets wrong: one sentence on stderr, exit code 2, and nothing written anywhere."""

import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from click.testing import CliRunner, Result

import neurothek
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.models.families.table import FAMILIES
from tests.support import damage, ingests
from tests.support.models import build, edit_config, edit_tensors, to_pickle
from tests.support.tokenizers import make_tokenizer

# One worker measures the warehouse that the questions are asked of.
pytestmark = pytest.mark.xdist_group("bad input")

Prepare = Callable[[Path], list[str]]
"""Makes a bad input in a folder that holds `tiny` (a model) and `words.txt`; returns the arguments of the command."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, a text, and the warehouse of both, to be copied and spoiled."""
    folder = tmp_path_factory.mktemp("template")
    model = build(folder / "tiny", "opt", d_ffn=8)
    (folder / "words.txt").write_text("one two three four five six seven eight nine ten . " * 10)
    warehouse = ingests.open_warehouse(folder / "known.duckdb")
    ingests.measure(warehouse, model, ingests.request((f"words={folder / 'words.txt'}",)))
    (folder / "known.duckdb.lock").unlink()
    return folder


@pytest.fixture
def folder(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = shutil.copytree(template, tmp_path / "copy")
    monkeypatch.chdir(copy)
    return copy


def run(*arguments: str) -> Result:
    return CliRunner().invoke(neurothek.main, list(arguments), catch_exceptions=False)


def contents(folder: Path) -> dict[str, str]:
    """Every file and folder below, with a hash of what it holds."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }


def assert_refused(folder: Path, arguments: list[str], sentence: str) -> None:
    before = contents(folder)
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert sentence in line
    assert contents(folder) == before


def ingest(model: str = "tiny", *options: str, corpus: str = "words=words.txt") -> list[str]:
    return ["ingest", model, "--corpus", corpus, "--warehouse", "new.duckdb", *options]


def ask(*arguments: str) -> Prepare:
    """A question to the warehouse that is there."""
    return lambda folder: [*arguments, "--warehouse", "known.duckdb"]


# Models


def no_config(folder: Path) -> list[str]:
    (folder / "tiny" / "config.json").unlink()
    return ingest()


def broken_config(folder: Path) -> list[str]:
    (folder / "tiny" / "config.json").write_text("{")
    return ingest()


def config_with_a_mark(folder: Path) -> list[str]:
    path = folder / "tiny" / "config.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    return ingest()


def unknown_number_format(folder: Path) -> list[str]:
    edit_config(folder / "tiny", dtype="flaot32")
    return ingest()


def a_pipe_for_a_model(*arguments: str) -> Prepare:
    def prepare(folder: Path) -> list[str]:
        os.mkfifo(folder / "pipe")
        return list(arguments)

    return prepare


def a_link_to_itself(*arguments: str) -> Prepare:
    def prepare(folder: Path) -> list[str]:
        (folder / "loop").symlink_to("loop")
        return list(arguments)

    return prepare


def unsupported(folder: Path) -> list[str]:
    edit_config(folder / "tiny", model_type="mamba", architectures=["MambaForCausalLM"])
    return ingest()


def pickled(folder: Path) -> list[str]:
    to_pickle(folder / "tiny")
    return ingest()


def no_weights(folder: Path) -> list[str]:
    (folder / "tiny" / "model.safetensors").unlink()
    return ingest()


def truncated_weights(folder: Path) -> list[str]:
    path = folder / "tiny" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:5000])
    return ingest()


def with_value(value: float) -> Prepare:
    def prepare(folder: Path) -> list[str]:
        def spoil(tensors: dict[str, torch.Tensor]) -> None:
            name = next(name for name in tensors if name.endswith("layers.1.fc2.weight"))
            tensors[name][3, 5] = value

        edit_tensors(folder / "tiny", spoil)
        return ingest()

    return prepare


def too_large_for_float32(folder: Path) -> list[str]:
    def spoil(tensors: dict[str, torch.Tensor]) -> None:
        name = next(name for name in tensors if name.endswith("layers.1.fc2.weight"))
        tensors[name] = tensors[name].double()
        tensors[name][3, 5] = 1e300

    edit_tensors(folder / "tiny", spoil)
    return ingest()


def overflowing(tensor: str, value: float, *options: str) -> Prepare:
    def prepare(folder: Path) -> list[str]:
        def spoil(tensors: dict[str, torch.Tensor]) -> None:
            name = next(name for name in tensors if name.endswith(tensor))
            tensors[name] = tensors[name].sign() * value

        edit_tensors(folder / "tiny", spoil)
        return ingest("tiny", *options)

    return prepare


def deep(name: str) -> Prepare:
    def prepare(folder: Path) -> list[str]:
        (folder / "tiny" / name).write_text("[" * 200_000)
        return ingest()

    return prepare


def no_settings(folder: Path) -> list[str]:
    (folder / "tiny" / "tokenizer_config.json").write_text("[]")
    return ingest()


def a_pipe(folder: Path) -> list[str]:
    os.mkfifo(folder / "pipe")
    return ingest(corpus="text=pipe")


def parquet_of_bytes(folder: Path) -> list[str]:
    column = pa.Array.from_buffers(pa.string(), 1, pa.array([b"caf\xe9"]).buffers())
    pq.write_table(pa.table({"text": column}), folder / "rows.parquet")
    return ingest(corpus="text=rows.parquet")


def other_shapes(folder: Path) -> list[str]:
    edit_config(folder / "tiny", ffn_dim=64)
    return ingest()


def more_layers(folder: Path) -> list[str]:
    edit_config(folder / "tiny", num_hidden_layers=3)
    return ingest()


def other_weights(folder: Path) -> list[str]:
    edit_tensors(folder / "tiny", lambda tensors: next(iter(tensors.values())).mul_(2))
    return ["ingest", "tiny", "--corpus", "words=words.txt", "--warehouse", "known.duckdb"]


# Tokenizers


def large_tokenizer(folder: Path) -> list[str]:
    make_tokenizer("opt", 408).save_pretrained(folder / "tiny")
    return ingest()


def empty_tokenizer(folder: Path) -> list[str]:
    path = folder / "tiny" / "tokenizer.json"
    said = json.loads(path.read_text())
    said["model"]["vocab"] = {token["content"]: token["id"] for token in said["added_tokens"]}
    said["model"]["merges"] = []
    path.write_text(json.dumps(said))
    return ingest()


def no_tokenizer(folder: Path) -> list[str]:
    for path in (folder / "tiny").glob("tokenizer*"):
        path.unlink()
    return ingest()


def a_gguf(architecture: str, kind: int, *, way: str = "none", after: int = 0) -> Prepare:
    """A file of one tensor of 4,096 numbers, with so many bytes after its header."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    def prepare(folder: Path) -> list[str]:
        values = {"general.architecture": architecture, f"{architecture}.rope.scaling.type": way}
        told = b"".join(text(name) + struct.pack("<I", 8) + text(value) for name, value in values.items())
        tensor = text("token_embd.weight") + struct.pack("<IQQIQ", 2, 64, 64, kind, 0)
        header = b"GGUF" + struct.pack("<IQQ", 3, 1, len(values)) + told + tensor
        (folder / "m.gguf").write_bytes(header.ljust(-(-len(header) // 32) * 32, b"\0") + bytes(after))
        return ingest("m.gguf")

    return prepare


def gemma_without_tokenizer(folder: Path) -> list[str]:
    for path in build(folder / "gemma", "gemma3").glob("*token*"):
        path.unlink()
    return ingest("gemma")


def phi_of_long_texts(folder: Path) -> list[str]:
    factors = {"short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
    edit_config(build(folder / "phi", "phi3"), rope_scaling={"type": "longrope", **factors}, rope_parameters=None)
    return ingest("phi")


def broken_tokenizer(folder: Path) -> list[str]:
    (folder / "tiny" / "tokenizer.json").write_text("{}")
    return ingest()


# Texts


def written(name: str, content: bytes, *, column: str = "") -> Prepare:
    def prepare(folder: Path) -> list[str]:
        (folder / name).write_bytes(content)
        return ingest(corpus=f"text={name}{column}")

    return prepare


def empty_folder(folder: Path) -> list[str]:
    (folder / "empty").mkdir()
    return ingest(corpus="text=empty")


def a_long_word(folder: Path) -> list[str]:
    (folder / "word.txt").write_text("x" * 1_000_000)
    return [*ingest(corpus="text=word.txt"), "--memory", "100MB"]


def dangling_link(folder: Path) -> list[str]:
    (folder / "link.txt").symlink_to(folder / "nowhere.txt")
    return ingest(corpus="text=link.txt")


def column_of_numbers(folder: Path) -> list[str]:
    pl.DataFrame({"text": [1, 2], "body": ["a", "b"]}).write_parquet(folder / "rows.parquet")
    return ingest(corpus="text=rows.parquet")


def domain_without_token(folder: Path) -> list[str]:
    # The tokenizer strips white space, and nothing is left of this domain; the other one has text.
    path = folder / "tiny" / "tokenizer.json"
    said = json.loads(path.read_text())
    said["normalizer"] = {"type": "Strip", "strip_left": True, "strip_right": True}
    path.write_text(json.dumps(said))
    (folder / "blank.txt").write_text("   \n")
    return [*ingest(), "--corpus", "blank=blank.txt"]


# Warehouses


def not_a_database(folder: Path) -> list[str]:
    (folder / "new.duckdb").write_text("these are no rows")
    return ingest()


def empty_file(folder: Path) -> list[str]:
    (folder / "new.duckdb").write_bytes(b"")
    return ingest()


def something_else(folder: Path) -> list[str]:
    with duckdb.connect(str(folder / "new.duckdb")) as connection:
        connection.execute("create table cars as select 1 as wheels")
    return ingest()


def from_the_future(folder: Path) -> list[str]:
    with duckdb.connect(str(folder / "known.duckdb")) as connection:
        connection.execute("insert into store.schema_versions values (9999, now()::timestamp)")
    (folder / "known.duckdb").rename(folder / "new.duckdb")
    return ingest()


def in_no_folder(folder: Path) -> list[str]:
    return [*ingest(), "--warehouse", "nowhere/new.duckdb"]


def called_store(folder: Path) -> list[str]:
    return [*ingest(), "--warehouse", "store.duckdb"]


def with_a_broken_block(folder: Path) -> list[str]:
    """Measuring another model reads none of these rows."""
    path = folder / "new.duckdb"
    damage.create(path)
    damage.flip(path, damage.a_block_of(path, "contexts"))
    return ingest()


def half_a_file(folder: Path) -> list[str]:
    whole = (folder / "known.duckdb").read_bytes()
    (folder / "new.duckdb").write_bytes(whole[: len(whole) // 2])
    return ingest()


def a_circle(folder: Path) -> list[str]:
    (folder / "new.duckdb").symlink_to("new.duckdb")
    return ingest()


def a_question_of(prepare: Prepare) -> Prepare:
    """The same file, asked instead of written."""

    def asked(folder: Path) -> list[str]:
        prepare(folder)
        return ["models", "--warehouse", "new.duckdb"]

    return asked


REFUSED: dict[str, tuple[Prepare, str]] = {
    "no such folder": (lambda _: ingest("./absent"), "there is no model at './absent'"),
    "a file for a folder": (lambda _: ingest("words.txt"), "is a file, but a model is a folder"),
    "offline": (lambda _: ingest("facebook/opt-125m"), "the hub cannot be reached ("),
    "a revision of a folder": (lambda _: ingest("tiny", "--revision", "main"), "has no revision 'main'"),
    "a name with a space": (lambda _: ingest("a b=tiny"), "'a b' cannot be a model's name"),
    "no config": (no_config, "has no config.json"),
    "broken config": (broken_config, "does not describe a model: it is not JSON"),
    "a config with a byte-order mark": (
        config_with_a_mark,
        "config.json in tiny does not describe a model: it begins with a",
    ),
    "an unknown number format": (unknown_number_format, "its dtype is 'flaot32', which is not a number format"),
    "a pipe for a model": (a_pipe_for_a_model("ingest", "pipe"), "'pipe' is a named pipe, but a model is a folder"),
    "a pipe for weights": (
        a_pipe_for_a_model("trace", "tiny", "a b", "--weights", "pipe", "--warehouse", "known.duckdb"),
        "'pipe' is a named pipe, but a model is a folder",
    ),
    "a circle for a model": (a_link_to_itself("ingest", "loop"), "'loop' is a link that leads back to itself, but a"),
    "a circle for an export": (
        a_link_to_itself("export", "loop", "--warehouse", "known.duckdb"),
        "loop is a broken link",
    ),
    "unsupported architecture": (
        unsupported,
        f"the architecture 'mamba', which is not supported; supported are {', '.join(sorted(FAMILIES))}",
    ),
    "only pickled weights": (pickled, "has only pickled weights (pytorch_model.bin)"),
    "no weights": (no_weights, "lacks weights"),
    "truncated weights": (truncated_weights, "cannot be read"),
    "NaN": (with_value(float("nan")), "contains NaN or infinity"),
    "infinity": (with_value(float("-inf")), "contains NaN or infinity"),
    "too large for float32": (too_large_for_float32, "contains NaN or infinity"),
    "scores that overflow": (overflowing("layers.1.fc2.weight", 3e38, "--job", "projections"), "overflows in float32"),
    "activations that overflow": (
        overflowing("layers.1.fc1.weight", 1e30, "--job", "activity", "--job", "contexts"),
        "overflows in float32",
    ),
    "half precision that overflows": (
        overflowing("layers.1.fc1.weight", 6e4, "--job", "activity", "--dtype", "float16"),
        "measure in float32",
    ),
    "a deep config": (deep("config.json"), "it is not JSON"),
    "a deep tokenizer": (deep("tokenizer.json"), "cannot be read"),
    "a tokenizer's settings that are none": (no_settings, "cannot be read"),
    "other shapes than the config": (other_shapes, "contradict its config.json"),
    "fewer layers than the config": (more_layers, "contradict its config.json"),
    "the same name with other weights": (other_weights, "already has a model tiny with other weights"),
    "two models of one name": (lambda _: ingest("tiny", "./tiny"), "would both be called tiny"),
    "a large tokenizer": (large_tokenizer, "has ids up to 407, but the model's unembedding has 400 rows"),
    "an empty tokenizer": (empty_tokenizer, "has only special tokens"),
    "no tokenizer": (no_tokenizer, "has no tokenizer"),
    "a broken tokenizer": (broken_tokenizer, "cannot be read"),
    "Gemma without its tokenizer": (
        gemma_without_tokenizer,
        "has no tokenizer: put its tokenizer.json (or vocab.json and merges.txt) beside the weights",
    ),
    "a GGUF file that is cut": (
        a_gguf("llama", 0, after=9000),
        "m.gguf cannot be read as a GGUF file (it ends at byte 9,192, and its tensors at 16,576); fetch it again",
    ),
    "a GGUF file of an unknown architecture": (
        a_gguf("mamba", 0, after=16384),
        "m.gguf has the architecture 'mamba', which is not supported in GGUF files; supported there are gemma2, gemma3",
    ),
    "a GGUF file of a quantization that is not read": (
        a_gguf("llama", 15, after=16384),
        "m.gguf has numbers that are stored in an unsupported way (Q8_K, those of 'token_embd.weight');"
        " give the model in another quantization, or before quantization",
    ),
    "a GGUF file with scaled positions": (
        a_gguf("llama", 0, way="linear", after=16384),
        "m.gguf scales its rotary positions (rope.scaling.type 'linear'), which is not supported in GGUF files;"
        " give the model as a folder of safetensors",
    ),
    "Phi-3 for long texts": (
        phi_of_long_texts,
        "has rope_type 'longrope' in rope_scaling, which is not supported; supported are default,",
    ),
    "no such text": (lambda _: ingest(corpus="text=absent.txt"), "nothing exists at absent.txt"),
    "an empty text": (written("empty.txt", b""), "has no documents"),
    "an empty folder": (empty_folder, "has no documents"),
    "a binary text": (written("image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "it is a binary file"),
    "not UTF-8": (written("latin.txt", "caf\u00e9".encode("latin-1")), "byte 3 is not UTF-8"),
    "a dangling link": (dangling_link, "nothing exists at link.txt"),
    "broken jsonl": (written("rows.jsonl", b'{"text": "a"}\n{"text"\n'), "line 2 is not JSON"),
    "jsonl without the column": (
        written("rows.jsonl", b'{"txt": "a"}\n{"body": "a"}\n', column=":txt"),
        "has no column",
    ),
    "jsonl with a list": (written("rows.jsonl", b'{"text": ["a"]}\n'), "is not text but a list in line 1"),
    "one word longer than memory": (a_long_word, "that the tokenizer of tiny cannot split"),
    "broken parquet": (written("rows.parquet", b"PAR1 but not really"), "cannot be read"),
    "deep jsonl": (written("rows.jsonl", b"[" * 200_000), "line 1 is not JSON"),
    "a pipe": (a_pipe, "it is neither a file nor a folder but a named pipe"),
    "parquet of bytes": (parquet_of_bytes, "is not UTF-8"),
    "a column of numbers": (column_of_numbers, "its text columns are body"),
    "a domain without a token": (domain_without_token, "the text of the domain 'blank' contains no tokens"),
    "a corpus without a name": (lambda _: ingest(corpus="words.txt"), "the warehouse has none yet"),
    "a domain called all": (lambda _: ingest(corpus="all=words.txt"), "which stands for all domains together"),
    "no hub dataset": (lambda _: ingest(corpus="text=hub:a/b/c"), "is not understood: write NAME=hub:ORG/DATASET"),
    "a hub dataset offline": (
        lambda _: ingest(corpus="text=hub:org/words"),
        "is on the hub, which cannot be reached (",
    ),
    "two domains of one name": (lambda _: [*ingest(), "--corpus", "words=words.txt"], "is given twice"),
    "long sequences": (lambda _: ingest("tiny", "--sequence-length", "65"), "for a model that reads 64"),
    "an unknown job": (
        lambda _: ingest("tiny", "--job", "projektions"),
        "no job projektions; did you mean projections",
    ),
    "little memory": (lambda _: ingest("tiny", "--memory", "10kB"), "measuring needs at least"),
    "an absent device": (lambda _: ingest("tiny", "--device", "cuda"), "the device 'cuda' is not available"),
    "no threshold": (lambda _: ingest("tiny", "--active-above", "nan"), "is not a finite float32"),
    "no threshold for float32": (lambda _: ingest("tiny", "--active-above", "1e308"), "is not a finite float32"),
    "no database": (not_a_database, "it is not a DuckDB file"),
    "an empty file": (empty_file, "it is not a DuckDB file"),
    "another database": (something_else, "it is a DuckDB file of something else"),
    "a newer schema": (from_the_future, "it was written by a newer neurothek"),
    "called store": (called_store, "a file called store"),
    "in no folder": (in_no_folder, "there is no folder"),
    "asked: no warehouse": (lambda _: ["models", "--warehouse", "new.duckdb"], "new.duckdb; build one with"),
    "asked: no database": (a_question_of(not_a_database), "it is not a DuckDB file"),
    "asked: another database": (a_question_of(something_else), "it is a DuckDB file of something else"),
    "a broken block": (with_a_broken_block, "blocks, with rows of contexts, is corrupt, at byte"),
    "half a file": (half_a_file, "new.duckdb is damaged: it is truncated after"),
    "a link to itself": (a_circle, "it is a link that leads back to itself; name another file with --warehouse"),
    "asked: half a file": (a_question_of(half_a_file), "new.duckdb is damaged: it is truncated after"),
    "asked: a link to itself": (a_question_of(a_circle), "it is a link that leads back to itself"),
    "merging half a file": (
        lambda folder: ["merge", half_a_file(folder)[-1], "--warehouse", "known.duckdb"],
        "new.duckdb is damaged: it is truncated after",
    ),
    "merging a link to itself": (
        lambda folder: ["merge", a_circle(folder)[-1], "--warehouse", "known.duckdb"],
        "it is a link that leads back to itself",
    ),
    "asked: a newer schema": (a_question_of(from_the_future), "it was written by a newer neurothek"),
    "an unknown layer": (ask("search", "one", "--layer", "7"), "there is no layer 7"),
    "no layer": (ask("search", "one", "--layer", "deep"), "'deep' is not a range of layers"),
    "an unknown view": (ask("views", "neuron"), "there is no view neuron; nearest: neurons"),
    "an unknown table": (ask("schema", "posting"), "nearest: store.postings"),
    "an unknown column": (ask("sql", "select adress from neurons"), "address"),
    "an unknown column in --where": (ask("search", "one", "--where", "frequenzy > 0"), "frequency"),
    "an unknown model": (ask("search", "one", "--model", "tinny"), "nearest: tiny"),
    "an unknown corpus": (ask("compare", "--corpus", "wrds"), "words"),
    "a word that is no token": (ask("search", "schol"), "'schol' is not one token"),
    "a token that is none": (ask("search", "--exact", "  one"), "no token is exactly '  one'"),
    "no address": (ask("neuron", "tiny-L0N0"), "is not the address of a neuron"),
    "an address beyond the layers": (ask("neuron", "tiny/L2N0"), "the model has layers 0 to 1"),
    "an address beyond the neurons": (ask("neuron", "tiny/L0N8"), "and neurons 0 to 7"),
    "a word that is not UTF-8": (ask("search", "caf\udce9"), r"the argument b'caf\xe9' is not UTF-8"),
    "a query that is not UTF-8": (ask("sql", "select '\udcff'"), "is not UTF-8"),
    "a folder that is not UTF-8": (ask("export", "e\udcff"), "is not UTF-8"),
    "a warehouse that is not UTF-8": (lambda _: [*ingest(), "--warehouse", "q\udce9.duckdb"], "is not UTF-8"),
    "a model without a name": (ask("search", "one", "--model", ""), "there is no model '' in the warehouse"),
    "an address in no model": (ask("neuron", "tinny/L0N0"), "nearest: tiny"),
    "two queries": (ask("sql", "select 1; select 2"), "2 statements"),
    "a query that writes": (ask("sql", "drop table store.models"), "is refused"),
    "a query that reads files": (ask("sql", "select * from 'words.txt'"), "Error"),
    "removing an unknown model": (ask("remove", "tinny", "--yes"), "did you mean tiny"),
    "removing an unknown job": (ask("remove", "tiny", "--job", "context", "--yes"), "did you mean contexts"),
    "pinning an unknown corpus": (ask("pin", "tiny", "--corpus", "prose"), "it was measured on words"),
    "renaming to a name in use": (ask("rename", "tiny", "tiny"), "there is already a model tiny"),
    "renaming to a bad name": (ask("rename", "tiny", "a/b"), "a model cannot be named 'a/b'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_in_one_sentence(folder: Path, name: str) -> None:
    prepare, sentence = REFUSED[name]
    if name == "an absent device" and torch.cuda.is_available():
        pytest.skip("this machine has the device")
    assert_refused(folder, prepare(folder), sentence)


USAGE: dict[str, list[str]] = {
    "no model": ["ingest"],
    "an unknown command": ["ingset", "tiny"],
    "an unknown option": ["ingest", "tiny", "--tokenz", "5"],
    "no number": ["ingest", "tiny", "--tokens", "many"],
    "no tokens": ["ingest", "tiny", "--tokens", "0"],
    "no size": ["ingest", "tiny", "--memory", "lots"],
    "an unknown number format": ["ingest", "tiny", "--dtype", "int8"],
    "an unknown side": ["search", "one", "--side", "left"],
    "a folder for a warehouse": ["models", "--warehouse", "tiny"],
}


@pytest.mark.parametrize("name", USAGE)
def test_malformed_commands_are_answered_in_one_line(folder: Path, name: str) -> None:
    before = contents(folder)
    result = run(*USAGE[name])
    assert (result.exit_code, result.stdout) == (2, "")
    (sentence,) = result.stderr.splitlines()
    assert sentence.startswith("Error: ")
    known = "" if name == "an unknown command" else f"{USAGE[name][0]} "
    assert sentence.endswith(f"; see `neurothek {known}--help`")
    assert contents(folder) == before


def test_being_offline_is_known_at_once(folder: Path) -> None:
    # Nobody listens at the address that the tests give the hub; its own library would try for 23 seconds.
    run(*ingest("./absent"))  # imports what takes long
    started = time.monotonic()
    assert_refused(folder, ingest("facebook/opt-125m"), "the hub cannot be reached (")
    assert time.monotonic() - started < 5


def test_a_read_only_disk_is_refused_before_anything_is_measured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise OSError(30, "Read-only file system")

    # Root may write to read-only files and folders: the file system has to refuse.
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert_refused(folder, ingest(), "new.duckdb could not be written (Read-only file system)")


HOLD = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(folder: Path) -> Iterator[int]:
    """The number of another program's process that has the warehouse open for writing."""
    command = [sys.executable, "-c", HOLD, str(folder / "known.duckdb")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process.pid
        process.communicate()


@pytest.mark.parametrize("arguments", [["models"], ["ingest", "tiny", "--corpus", "words"]], ids=["asked", "measured"])
def test_a_warehouse_held_by_another_program_is_named_with_its_process(
    folder: Path, holder: int, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def impatient(self: neurothek.Neurothek) -> Warehouse:
        return Warehouse(self.path, wait_seconds=0.2)

    monkeypatch.setattr(neurothek.Neurothek, "warehouse", property(impatient))
    held = [*arguments, "--warehouse", "known.duckdb"]
    assert_refused(folder, held, f"known.duckdb was still in use by the process {holder} after 0 s")
