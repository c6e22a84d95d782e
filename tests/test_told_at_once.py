"""A slip of the pen is told before the libraries that measure are loaded, which take seconds."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support import warehouse as made

# One process answers for one worker.
pytestmark = pytest.mark.xdist_group("told at once")

ROOT = Path(__file__).parents[1]
HEAVY = ("torch", "transformers", "scipy", "datasets", "streamlit")

ASKING = """
import json, sys
from click.testing import CliRunner
import neurothek
for line in sys.stdin:
    result = CliRunner().invoke(neurothek.main, json.loads(line))
    loaded = [name for name in sys.argv[1:] if name in sys.modules]
    answer = {"exit_code": result.exit_code, "stderr": result.stderr, "stdout": result.stdout, "loaded": loaded}
    print(json.dumps(answer), flush=True)
print(json.dumps(sorted(neurothek.main.commands)))
"""
"""One process answers all: none has loaded anything if none of those before it has."""

ENDPOINT = ("--model-name", "any", "--endpoint", "http://localhost:9/v1")
TRAIN = ("train", "--steps", "2", "--output", "new")

SLIPS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "command": (("ingst",), "nearest: ingest"),
    "option": (("ingest", "tiny-1m", "--jbo", "activity"), "nearest: --job"),
    "format": (("models", "--format", "tabel"), "'tabel' is not one of"),
    "a size of memory": (("ingest", "mini-opt-2m", "--memory", "4XB"), "'4XB' is not a size"),
    "a number": (("ingest", "mini-opt-2m", "--tokens", "0"), "0 is not in the range"),
    "device": (("ingest", "mini-opt-2m", "--device", "cdua"), "'cdua' is not one of"),
    "dtype": (("ingest", "mini-opt-2m", "--dtype", "float23"), "'float23' is not one of"),
    "ingest: folder": (("ingest", "./nowhere"), "there is no model at './nowhere'"),
    "ingest: file": (("ingest", "./words.txt"), "is a file, but a model is a folder"),
    "ingest: no model": (("ingest", "empty"), "has no config.json"),
    "ingest: family": (
        ("ingest", "experts"),
        "has the architecture 'phimoe', which is not supported; supported are bert,",
    ),
    "ingest: quantized": (("ingest", "four-bit", "--plan"), "weights are quantized by gptq"),
    "ingest: adapter": (("ingest", "lora"), "has an adapter (adapter_config.json)"),
    "ingest: hub": (("ingest", "mini-opt-2mm"), "did you mean mini-opt-2m"),
    "ingest: name": (("ingest", "a b=mini-opt-2m"), "'a b' cannot be a model's name"),
    "ingest: revision": (("ingest", "mini-opt-2m", "--revision", "mian"), "is a folder on this machine"),
    "ingest: job": (("ingest", "mini-opt-2m", "--job", "activty"), "did you mean activity?"),
    "ingest: job, planned": (("ingest", "mini-opt-2m", "--job", "activty", "--plan"), "did you mean activity?"),
    "ingest: folder, planned": (("ingest", "./nowhere", "--plan"), "there is no model at './nowhere'"),
    "ingest: where": (
        ("ingest", "tiny-1m", "--job", "output_scores", "--where", "nonsense > 1"),
        "there is no column nonsense in neurons",
    ),
    "ingest: where, another job": (
        ("ingest", "tiny-1m", "--job", "entropy", "--where", "layer = 1"),
        "add --job output_scores",
    ),
    "mcp: no warehouse": (("mcp", "--warehouse", "nowhere.duckdb"), "nowhere.duckdb"),
    "ingest: corpus": (("ingest", "mini-opt-2m", "--corpus", "bultin"), "the warehouse has builtin"),
    "ingest: text": (("ingest", "mini-opt-2m", "--corpus", "a=/nowhere"), "nothing exists at /nowhere"),
    **{
        f"ingest: column of {name}{when}": (
            ("ingest", "mini-opt-2m", "--corpus", f"a={name}:body", *option),
            "has no column 'body'; its text columns are ",
        )
        for name in ("rows.csv", "rows.TSV", "rows.jsonl", "rows.json", "rows.parquet", "rows.csv.gz", "rows")
        for when, option in (("", ()), (", planned", ("--plan",)))
    },
    "ingest: column of numbers": (
        ("ingest", "mini-opt-2m", "--corpus", "a=rows.parquet:number"),
        "the column 'number' of rows.parquet is not text but whole numbers",
    ),
    "ingest: corpus name": (("ingest", "mini-opt-2m", "--corpus-name", "a b"), "a corpus cannot be named 'a b'"),
    "ingest: dataset": (("ingest", "mini-opt-2m", "--corpus", "a=hub:a/b/c"), "hub:a/b/c"),
    "ingest: method": (("ingest", "mini-opt-2m", "--job", "shortcuts", "--method", "matt"), "did you mean mat?"),
    "ingest: domain": (("ingest", "mini-opt-2m", "--job", "shortcuts", "--domain", "prosa"), "has no domain prosa"),
    "ingest: threshold": (("ingest", "mini-opt-2m", "--active-above", "nan"), "finite float32"),
    "ingest: twice": (("ingest", "mini-opt-2m", "a/mini-opt-2m"), "would both be called mini-opt-2m"),
    "ingest: measured, gone": (("ingest", "tiny-1m"), "tiny-1m=PATH"),
    "ingest: pair": (("ingest", "tiny-1m", "tiny-2", "--job", "counterparts"), "did you mean tiny-2m"),
    "train: size": ((*TRAIN, "--size", "3m"), "choose one of 0.7m, 2m, 5m"),
    "train: steps": ((*TRAIN, "--size", "2m", "--checkpoint-at", "9"), "a checkpoint at step 9 of 2"),
    "train: vocabulary": ((*TRAIN, "--size", "2m", "--vocabulary", "3"), "bytes and special tokens alone need"),
    "train: device": ((*TRAIN, "--size", "2m", "--device", "cdua"), "the device 'cdua' is not available"),
    "train: tokenizer": ((*TRAIN, "--size", "2m", "--tokenizer", "./nowhere"), "nowhere has no tokenizer"),
    "train: corpus": ((*TRAIN, "--size", "2m", "--corpus", "bultin"), "the corpus 'bultin' has no path"),
    "train: column": ((*TRAIN, "--size", "2m", "--corpus", "a=rows.csv:body"), "rows.csv has no column 'body'"),
    "train: output": (("train", "--steps", "1", "--size", "2m", "--output", "."), "holds no unfinished run"),
    "golden: name": (("golden", "hello-gtp2"), "nearest: hello-gpt2"),
    "verify: model": (("verify", "tiny-1"), "did you mean tiny-1m"),
    "verify: weights": (("verify", "tiny-1m", "--weights", "./nowhere"), "were not usable at './nowhere'"),
    "intervene: model": (("intervene", "tiny-1", "--where", "true"), "nearest: tiny-1m"),
    "intervene: way": (("intervene", "tiny-1m", "--where", "true", "--set", "off"), "give a number such as 0 or 3"),
    "intervene: positions": (("intervene", "tiny-1m", "--where", "true", "--at", "last"), "give a position as 3"),
    "intervene: scorer": (
        ("intervene", "tiny-1m", "--where", "true", "--prompts", "words.txt", "--score", "wrods:bad.txt"),
        "wrods",
    ),
    "intervene: neuron": (("intervene", "tiny-1m", "--where", "neuron > 999"), "has no neurons where neuron > 999"),
    "contrast: model": (("contrast", "tiny-1", "--a", "words.txt", "--b", "builtin:prose"), "nearest: tiny-1m"),
    "contrast: prompts": (("contrast", "tiny-1m", "--a", "nowhere.txt", "--b", "builtin:prose"), "nowhere.txt"),
    "contrast: kept": (("contrast", "tiny-1m", "--keep", "mine"), "mine"),
    "explain: model": (("explain", "tiny-1", "--where", "true", *ENDPOINT), "nearest: tiny-1m"),
    "explain: no neurons": (("explain", "tiny-1m", *ENDPOINT), "choose neurons in one way"),
    "explain: condition": (("explain", "tiny-1m", "--where", "neuron > 999", *ENDPOINT), "has no neurons where"),
    "explain: file": (("explain", "tiny-1m", "--scores-only", "nowhere.jsonl", *ENDPOINT), "nowhere.jsonl"),
    "explain: endpoint": (("explain", "tiny-1m", "--where", "true", *ENDPOINT[:-1], "8000"), "is not valid"),
    "explain: http": (
        ("explain", "tiny-1m", "--where", "true", *ENDPOINT[:-1], "http://example.org"),
        "use https, or allow it with --allow-http",
    ),
    "trace: model": (("trace", "tiny-1", "a b"), "nearest: tiny-1m"),
    "trace: token": (("trace", "tiny-1m", "a b", "--token", "skool"), "no token is exactly 'skool'"),
    "trace: weights": (("trace", "tiny-1m", "a b", "--weights", "./nowhere"), "were not usable at './nowhere'"),
    "switch: model": (("switch", "tiny-1", "a b", "L0N0"), "nearest: tiny-1m"),
    "switch: neuron": (("switch", "tiny-1m", "a b", "L9N0"), "there is no neuron tiny-1m/L9N0"),
    "switch: another neuron": (("switch", "tiny-1m", "a b", "L0N0", "L0N"), "is not the address of a neuron"),
    "search: word": (("search", "skool"), "school"),
    "search: model": (("search", "school", "--model", "tiny-1"), "nearest: tiny-1m"),
    "search: address": (("search", "--like", "tiny-1m/L9N0"), "there is no neuron tiny-1m/L9N0"),
    "search: condition": (("search", "school", "--where", "frequenzy > 1"), "nearest: frequency"),
    "search: scores": (("search", "school", "--score", "--model", "tiny-1"), "nearest: tiny-1m"),
    "search: weights": (
        ("search", "school", "--score", "--model", "tiny-1m", "--weights", "./nowhere"),
        "were not usable at './nowhere'",
    ),
    "neuron: address": (("neuron", "tiny-1m"), "is not the address of a neuron"),
    "neuron: model": (("neuron", "tiny-1/L0N0"), "nearest: tiny-1m"),
    "neuron: corpus": (("neuron", "tiny-1m/L0N0", "--corpus", "bultin"), "bultin"),
    "compare: model": (("compare", "tiny-1"), "nearest: tiny-1m"),
    "compare: corpus": (("compare", "--corpus", "bultin"), "bultin"),
    "claims: model": (("claims", "tiny-1"), "nearest: tiny-1m"),
    "claims: families": (("claims",), "claims are judged on one family of models"),
    "claims: family": (("claims", "--family", "tini"), "no model here is of the family tini"),
    "claims: corpus": (("claims", "--family", "tiny", "--corpus", "bultin"), "bultin"),
    "reproduce: families": (("reproduce", "voita", "--to", "new"), "claims are judged on one family of models"),
    "reproduce: family": (
        ("reproduce", "din", "--family", "tini", "--to", "new"),
        "no model here is of the family tini",
    ),
    "sql: table": (("sql", "from neurns"), "nearest: neurons"),
    "sql: column": (("sql", "select frequenzy from neurons"), "frequency"),
    "views: name": (("views", "neurns"), "nearest: neurons"),
    "schema: name": (("schema", "neurns"), "nearest: neurons"),
    "runs: folder": (("runs", "--staging", "./nowhere"), "does not exist"),
    "pin: model": (("pin", "tiny-1", "--corpus", "builtin"), "did you mean tiny-1m"),
    "pin: corpus": (("pin", "tiny-1m", "--corpus", "bultin"), "it was measured on"),
    "rename: model": (("rename", "tiny-1", "other"), "did you mean tiny-1m"),
    "remove: model": (("remove", "tiny-1", "--yes"), "did you mean tiny-1m"),
    "remove: catalog": (("remove", "tiny-1m", "--catalog", "neuronpedia-1", "--yes"), "there is no foreign catalog"),
    "remove: job": (("remove", "tiny-1m", "--job", "activty", "--yes"), "did you mean activity?"),
    "annotate: model": (("annotate", "--sample", "tiny-1"), "nearest: tiny-1m"),
    "annotate: model of lists": (("annotate", "--plausibility", "tiny-1"), "nearest: tiny-1m"),
    "annotate: model judged by rules": (("annotate", "--auto", "tiny-1"), "nearest: tiny-1m"),
    "export: dialect": (("export", "new", "--dialect", "sprak"), "nearest: spark"),
    "publish: name": (("publish", "name"), "write ORG/NAME"),
    "publish: nowhere": (("publish",), "nothing says where to publish to"),
    "publish: model": (("publish", "--to", "new", "--model", "tiny-1"), "did you mean tiny-1m"),
    "copy: no catalog": (("copy", "./nowhere", "new.duckdb"), "is no published catalog"),
    "copy: address": (("copy", "hf://models/a/b", "new.duckdb"), "is no address of a catalog"),
    "import: folder": (("import", "./nowhere"), "there is no such folder"),
    "import: foreign folder": (
        ("import", "./nowhere", "--from", "openai"),
        "nowhere is not there; name the folder",
    ),
    "import: foreign kind": (("import", "empty", "--from", "neuron-lens"), "catalogs of neuron-lens are not read"),
    "merge: path": (("merge", "./nowhere"), "there is no warehouse at "),
    "check: path": (("check", "--warehouse", "./nowhere"), "there is no warehouse at "),
    "label: model": (("label", "tiny-1", "--family", "x"), "did you mean tiny-1m"),
    "label: variant": (("label", "tiny-1m", "--variant", "stp 3"), "stp 3"),
    "dashboard: port": (("dashboard", "--port", "70000"), "70000 is not in the range"),
}


@dataclass(frozen=True)
class Told:
    """What a person sees after each slip and what had been loaded by then, and all commands that there are."""

    answers: Mapping[str, dict[str, Any]]
    commands: set[str]


def write_rows(folder: Path) -> None:
    """The same table in every format, and in a folder: columns title and number."""
    rows = [{"title": "one two", "number": 1}, {"title": "three", "number": 2}]
    lines = "title,number\none two,1\nthree,2\n"
    (folder / "rows.csv").write_text(lines)
    (folder / "rows.TSV").write_text(lines.replace(",", "\t"))
    (folder / "rows.csv.gz").write_bytes(gzip.compress(lines.encode()))
    (folder / "rows.json").write_text(json.dumps(rows))
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    pl.DataFrame(rows).write_parquet(folder / "rows.parquet")
    (folder / "rows").mkdir()
    (folder / "rows" / "a.jsonl").write_text(f"{json.dumps(rows[0])}\n")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder = tmp_path_factory.mktemp("slips")
    made.create(folder / "known.duckdb")
    (folder / "empty").mkdir()
    configs = {
        "experts/config.json": {"model_type": "phimoe"},
        "four-bit/config.json": {"model_type": "llama", "quantization_config": {"quant_method": "gptq"}},
        "lora/adapter_config.json": {"peft_type": "LORA"},
    }
    for name, config in configs.items():
        (folder / name).parent.mkdir()
        (folder / name).write_text(json.dumps(config))
    (folder / "words.txt").write_text("one two three")
    write_rows(folder)
    environment = {**os.environ, "NEUROTHEK_WAREHOUSE": "known.duckdb", "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    asked = "\n".join(json.dumps(arguments) for arguments, _ in SLIPS.values())
    found = subprocess.run(
        [sys.executable, "-c", ASKING, *HEAVY],
        cwd=folder,
        env=environment,
        input=asked,
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(path.name for path in folder.iterdir() if path.suffix != ".lock") == [
        *("empty", "experts", "four-bit", "known.duckdb", "lora", "rows", "rows.TSV", "rows.csv", "rows.csv.gz"),
        *("rows.json", "rows.jsonl", "rows.parquet", "words.txt"),
    ]
    *answers, commands = [json.loads(line) for line in found.stdout.splitlines()]
    return Told(dict(zip(SLIPS, answers, strict=True)), set(commands))


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_told_before_anything_heavy_is_loaded(slip: str, told: Told) -> None:
    answer, (_, sentence) = told.answers[slip], SLIPS[slip]
    assert answer["exit_code"] == 2
    assert answer["stdout"] == ""
    line = answer["stderr"].splitlines()[-1]
    assert line.startswith("Error: ")
    assert sentence in line
    assert answer["loaded"] == []


def test_every_command_is_among_them(told: Told) -> None:
    slipped = {arguments[0] for arguments, _ in SLIPS.values()}
    # What takes no name, and slips like any other in its options.
    assert told.commands - slipped == {"demo", "corpora"}


@pytest.mark.parametrize("query", ["from neurns", "select frequenzy from neurons"])
def test_a_misspelt_name_of_a_query_is_told_before_frames_and_a_second_parser_are_loaded(
    query: str, tmp_path: Path
) -> None:
    made.create(tmp_path / "known.duckdb")
    environment = {**os.environ, "NEUROTHEK_WAREHOUSE": str(tmp_path / "known.duckdb"), "PYTHONPATH": str(ROOT)}
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            ASKING,
            *HEAVY,
            "polars",
            "pyarrow",
            "numpy",
            "sqlglot",
            "neurothek.queries.ask.one_query",
        ],
        env=environment,
        input=json.dumps(["sql", query]),
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(found.stdout.splitlines()[0])
    assert answer["exit_code"] == 2
    assert "nearest: " in answer["stderr"]
    assert answer["loaded"] == []
