"""A stranger's folder: whatever is in it, nothing runs or is half written, and one sentence says what is wrong."""

import gzip
import json
import os
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import neurothek
from neurothek import Neurothek
from neurothek.catalog.exchange.foreign import gluscope, stranger
from neurothek.catalog.problems import NeurothekError, NotFound, Unavailable, Unreadable, Unsupported
from neurothek.catalog.tables.foreign import ForeignKind
from tests.support.foreign import (
    explanation,
    feature,
    glu_row,
    write_gluscope,
    write_lines,
    write_neuronpedia,
    write_openai,
)

CANARY = "canary-was-here"
SQL = "x'); drop table store.models; --"


def features(folder: Path, *lines: object, name: str = "batch-0.jsonl") -> None:
    """One good line, then these."""
    write_lines(folder / "0" / "features" / name, [feature("plain", 0, 0), *lines])


def raw(folder: Path, content: bytes, name: str = "batch-0.jsonl") -> None:
    path = folder / "0" / "features" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def line(**fields: object) -> dict[str, Any]:
    return feature("plain", 0, 1) | fields


def linked(folder: Path, what: str) -> None:
    """A folder or file of the catalog is a link to another place."""
    elsewhere = folder.with_name("elsewhere")
    features(elsewhere)
    folder.mkdir()
    if what == "layer":
        (folder / "0").symlink_to(elsewhere / "0")
    elif what == "features":
        (folder / "0").mkdir()
        (folder / "0" / "features").symlink_to(elsewhere / "0" / "features")
    else:
        (folder / "0" / "features").mkdir(parents=True)
        (folder / "0" / "features" / "batch-0.jsonl").symlink_to(elsewhere / "0" / "features" / "batch-0.jsonl")


def two_models_named(folder: Path) -> None:
    features(folder)
    write_lines(folder / "0" / "model.jsonl", [{"id": "plain"}, {"id": "b"}])


def pipe(folder: Path) -> None:
    (folder / "0" / "features").mkdir(parents=True)
    os.mkfifo(folder / "0" / "features" / "batch-0.jsonl")


HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing in it": (lambda f: f.mkdir(), "it has neither a folder features nor folders of layers"),
    "other folders": (lambda f: (f / "6-res-jb" / "features").mkdir(parents=True), "6-res-jb"),
    "no files": (lambda f: (f / "0" / "features").mkdir(parents=True), "there is no neuron in it"),
    "no JSON": (lambda f: raw(f, b"{nonsense\n"), "line 1 is no JSON"),
    "a list": (lambda f: features(f, [1, 2]), "line 2 is no JSON object"),
    "pickle": (lambda f: raw(f, b"\x80\x04cposix\nsystem\n(S'touch canary-was-here'\ntR."), "line 1 is no JSON"),
    "no text": (lambda f: raw(f, b"\xff\xfe\x00"), "line 1 is no JSON"),
    "deep": (lambda f: raw(f, b'{"a":' + b"[" * 200_000), "line 1 is no JSON"),
    "long digits": (lambda f: raw(f, b'{"index": ' + b"9" * 5000 + b"}"), "line 1 is no JSON"),
    "a large number": (lambda f: features(f, line(maxActApprox=10**400)), "a number in maxActApprox that is too large"),
    "a large index": (lambda f: features(f, line(index="9" * 30)), "as index, which is no index"),
    "a larger index": (lambda f: features(f, line(index=10**30)), "a number of many digits as index"),
    "below 0": (lambda f: features(f, line(index="-1")), "has '-1' as index"),
    "no index": (lambda f: features(f, line(index=None)), "has None as index"),
    "a fraction": (lambda f: features(f, line(index=1.5)), "has 1.5 as index"),
    "true": (lambda f: features(f, line(index=True)), "has True as index"),
    "other digits": (lambda f: features(f, line(index="\u0661")), "as index, which is no index"),
    "out of the layer": (lambda f: features(f, line(index="48")), "is of L0N48, and plain has 2 layers of 48 neurons"),
    "out of the model": (lambda f: features(f, line(layer="2")), "is of L2N1, and plain has 2 layers"),
    "an autoencoder": (lambda f: features(f, line(layer="0-res-jb")), "is of the source '0-res-jb'"),
    "another model": (
        lambda f: features(f, line(modelId="gpt2")),
        "is of the model 'gpt2', and the catalog of 'plain'",
    ),
    "twice": (lambda f: features(f, feature("plain", 0, 0)), "repeats the neuron L0N0"),
    "a share above 1": (lambda f: features(f, line(frac_nonzero=1.5)), "has the frequency 1.5, which is no share"),
    "a share below 0": (lambda f: features(f, line(frac_nonzero=-0.1)), "which is no share"),
    "a share of text": (
        lambda f: features(f, line(frac_nonzero="0.1")),
        "has '0.1' as frac_nonzero, which is no number",
    ),
    "no list": (lambda f: features(f, line(pos_str="the")), "has no list of texts in pos_str"),
    "a list of numbers": (lambda f: features(f, line(neg_str=[1])), "has no list of texts in neg_str"),
    "a long list": (lambda f: features(f, line(pos_str=["a"] * 101)), "has more than 100 tokens in pos_str"),
    "a long token": (
        lambda f: features(f, line(pos_str=["a" * 501])),
        "a token of more than 500 characters in pos_str",
    ),
    "a surrogate": (lambda f: raw(f, b'{"modelId":"plain","layer":"0","index":"1","pos_str":["\\ud800"]}'), "pos_str"),
    "SQL in the model": (lambda f: features(f, line(modelId=SQL)), "is of the model"),
    "SQL in the layer": (lambda f: features(f, line(layer=SQL)), "is of the source"),
    "no gz": (lambda f: raw(f, b"plain text", "batch-0.jsonl.gz"), "cannot be read"),
    "half a gz": (
        lambda f: raw(f, gzip.compress(b'{"index": "1"}\n' * 999)[:40], "batch-0.jsonl.gz"),
        "batch-0.jsonl.gz",
    ),
    "a linked layer": (lambda f: linked(f, "layer"), "0 is a link"),
    "linked features": (lambda f: linked(f, "features"), "0/features is a link"),
    "a linked file": (lambda f: linked(f, "file"), "0/features/batch-0.jsonl is a link"),
    "a pipe": (pipe, "is no plain file"),
    "a folder as file": (
        lambda f: (f / "0" / "features" / "batch-0.jsonl").mkdir(parents=True),
        "there is no neuron in it",
    ),
    "two models": (two_models_named, "model.jsonl does not hold one JSON object"),
    "more layers": (
        lambda f: write_neuronpedia(f, "plain", [feature("plain", 0, 0)], shape=(12, 48)),
        "its model has 12 layers, and plain has 2",
    ),
    "wider layers": (
        lambda f: write_neuronpedia(f, "plain", [feature("plain", 0, 0)], shape=(2, 3072)),
        "its model has 3,072 neurons a layer, and plain has 48",
    ),
    "a text of a book": (
        lambda f: write_neuronpedia(f, "plain", [], [explanation("plain", 0, 0, "a" * 20_001)]),
        "has more than 20,000 characters in description",
    ),
    "a hundred and one": (
        lambda f: write_neuronpedia(f, "plain", [], [explanation("plain", 0, 0, str(n)) for n in range(101)]),
        "has more than 100 explanations of L0N0",
    ),
}


def store_rows(door: Neurothek) -> int:
    query = "select (select count(*) from store.foreign_catalogs) + (select count(*) from store.foreign_neurons)"
    return int(door.sql(f"{query} + (select count(*) from store.foreign_explanations) as n").item())


def test_whatever_is_wrong_is_one_sentence_and_nothing_is_written(
    door: Neurothek, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = []
    for name, (write, sentence) in HOSTILE.items():
        folder = tmp_path / "catalogs" / name.replace(" ", "-") / "v1"
        folder.parent.mkdir(parents=True)
        write(folder)
        try:
            door.import_foreign(folder, "neuronpedia", model="plain")
            wrong.append(f"{name}: imported")
        except Unreadable as error:
            if sentence not in str(error) or "\n" in str(error) or not str(error).isprintable():
                wrong.append(f"{name}: {error}")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no sentence
            wrong.append(f"{name}: {error!r}")
    assert wrong == []
    assert store_rows(door) == 0
    assert not list(tmp_path.rglob(CANARY))
    assert door.check().passed


def test_lines_and_files_end_somewhere(door: Neurothek, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of 100 MB, and a megabyte that unpacks to a gigabyte, are refused before they are in memory."""
    long = b'{"modelId": "plain", "layer": "0", "index": "0", "x": "' + b"a" * (100 << 20)
    raw(tmp_path / "long", gzip.compress(long, 1), "batch-0.jsonl.gz")
    raw(tmp_path / "blank", gzip.compress((b" " * 1023 + b"\n") * (256 << 10), 1), "batch-0.jsonl.gz")
    monkeypatch.setattr(stranger, "MOST_FILE_BYTES", 1 << 20)
    tracemalloc.start()
    for name, sentence in (
        ("long", "line 1 is longer than 16,777,216 bytes"),
        ("blank", "is longer than 1,048,576 bytes"),
    ):
        with pytest.raises(Unreadable, match=sentence):
            door.import_foreign(tmp_path / name, "neuronpedia", model="plain")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 80 << 20
    assert store_rows(door) == 0


@pytest.mark.parametrize(
    ("kind", "content", "sentence"),
    [
        ("neuronpedia", b"\n" * (100 << 20), "has more than 100,000 blank lines"),
        ("neuronpedia", (b" " * 999_999 + b"\n") * 100, r"is longer than [\d,]+ bytes"),
        ("openai", b"\n" * (100 << 20), "has more than 100,000 blank lines"),
        ("openai", (b" " * 999_999 + b"\n") * 100, "does not hold one JSON object"),
    ],
    ids=["lines packed", "spaces packed", "lines", "spaces"],
)
def test_a_file_of_blanks_is_refused_at_once(
    door: Neurothek, tmp_path: Path, kind: ForeignKind, content: bytes, sentence: str
) -> None:
    if kind == "neuronpedia":
        raw(tmp_path / "v1", gzip.compress(content), "batch-0.jsonl.gz")
    else:
        path = tmp_path / "v1" / "explanations" / "0" / "1.json"
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    start = time.process_time()
    with pytest.raises(Unreadable, match=sentence):
        door.import_foreign(tmp_path / "v1", kind, model="plain")
    # A hundred million lines take more than 40 seconds; a busy machine stretches no time of the processor.
    assert time.process_time() - start < 2
    assert store_rows(door) == 0


def test_some_blank_lines_are_left_out(door: Neurothek, tmp_path: Path) -> None:
    content = b"\n" * 50_000 + json.dumps(feature("plain", 0, 0)).encode() + b"\n" * 50_000
    raw(tmp_path / "v1", gzip.compress(content), "batch-0.jsonl.gz")
    assert door.import_foreign(tmp_path / "v1", "neuronpedia").n_neurons == 1


@pytest.mark.parametrize("second", ["05.json", "5.jsonl"])
def test_two_files_of_one_neuron_are_refused(door: Neurothek, tmp_path: Path, second: str) -> None:
    write_openai(tmp_path / "o", 0, 5, explanations=[("words", 0.5)])
    layer = tmp_path / "o" / "explanations" / "0"
    (written,) = layer.iterdir()
    content = written.read_bytes()
    written.unlink()
    for name in ("5.json", second):
        (layer / name).write_bytes(content)
    with pytest.raises(Unreadable, match=r"explanations/0/.* repeats the neuron L0N5"):
        door.import_foreign(tmp_path / "o", "openai", model="plain")
    assert store_rows(door) == 0
    (layer / second).unlink()
    assert door.import_foreign(tmp_path / "o", "openai", model="plain").n_neurons == 1


@pytest.mark.parametrize(
    ("shares", "sentence"),
    [
        ((0.5, -0.5, 0.5, 0.5), r"row 1 has -0\.5 as gate\+_in-_freq, which is no share"),
        ((0.0, 0.0, 1.5, 0.0), r"has 1\.5 as gate-_in\+_freq, which is no share"),
        ((0.0, 0.0, 0.0, float("nan")), "has nan as gate-_in-_freq, which is no share"),
        ((float("inf"), 0.0, 0.0, 0.0), r"has inf as gate\+_in\+_freq, which is no share"),
        ((0.5, 0.5, 0.5, 0.5), "has shares that add up to 2, which is more than 1"),
        ((0.25, 0.25, 0.25, 0.25001), "has shares that add up to 1.00001, which is more than 1"),
    ],
)
def test_shares_are_parts_of_a_whole(
    door: Neurothek, tmp_path: Path, shares: tuple[float, float, float, float], sentence: str
) -> None:
    folder = write_gluscope(tmp_path / "v", [glu_row(0, 0, shares, (1, 1, 1, 1))])
    with pytest.raises(Unreadable, match=sentence):
        door.import_foreign(folder, "gluscope", model="gated")
    assert store_rows(door) == 0


def test_what_is_no_number_is_missing_and_what_is_text_stays_text(door: Neurothek, tmp_path: Path) -> None:
    content = json.dumps(line(pos_str=["\x1b[31m", SQL, "\0", "<script>"], maxActApprox=float("nan")))
    raw(tmp_path / "v1", content.encode())
    write_lines(tmp_path / "v1" / "0" / "explanations" / "batch-0.jsonl", [explanation("plain", 0, 1, f"\x1b[2J{SQL}")])
    door.import_foreign(tmp_path / "v1", "neuronpedia", model="plain")
    row = door.sql("select * from foreign_neurons").to_dicts()[0]
    assert (row["foreign_promoted"], row["foreign_max_activation"]) == (["\x1b[31m", SQL, "\0", "<script>"], None)
    arguments = ["neuron", "plain/L0N1", "--warehouse", str(door.path)]
    answer = CliRunner().invoke(neurothek.main, arguments)
    assert answer.exit_code == 0
    assert "drop table store.models" in answer.stdout
    assert "\x1b" not in answer.stdout
    assert door.models().height == 2


def test_other_forms_are_judged_likewise(door: Neurothek, tmp_path: Path) -> None:
    write_openai(tmp_path / "a", 0, 1, explanations=[("words", 0.5)])
    (tmp_path / "a" / "explanations" / "0" / "1.jsonl").rename(tmp_path / "a" / "explanations" / "0" / "2.jsonl")
    write_lines(tmp_path / "b" / "explanations" / "0" / "1.jsonl", [{"neuron_id": 3}])
    write_openai(tmp_path / "c", 0, 1, excerpts=[[1.0], "x"])
    write_openai(tmp_path / "d", 0, 99, promoted=["a"], suppressed=[])
    (tmp_path / "e").mkdir()
    openai = {
        "a": "explanations/0/2.jsonl is of another neuron than its name says",
        "b": "has no object neuron_id",
        "c": "has no list activations in an excerpt",
        "d": "is of L0N99",
        "e": "it has none of the folders explanations",
    }
    for name, sentence in openai.items():
        with pytest.raises(Unreadable, match=sentence):
            door.import_foreign(tmp_path / name, "openai", model="plain")
    write_gluscope(tmp_path / "f", [{"layer": 0, "neuron": 0}])
    write_gluscope(tmp_path / "g", [glu_row(0, 0, (0.9, 0.9, 0, 0), (1, 1, 1, 1))])
    write_gluscope(tmp_path / "h", [glu_row(0, -4, (0.5, 0.1, 0, 0), (1, 1, 1, 1))])
    (tmp_path / "i").mkdir()
    (tmp_path / "i" / "x.parquet").write_bytes(b"PAR1 nonsense")
    (tmp_path / "j").mkdir()
    parquet = {
        "f": "has no column gate\\+_in\\+_freq of numbers",
        "g": "has shares that add up to 1.8, which is more than 1",
        "h": "has -4 as neuron",
        "i": "x.parquet is no Parquet file",
        "j": "it has no Parquet files",
    }
    for name, sentence in parquet.items():
        with pytest.raises(Unreadable, match=sentence):
            door.import_foreign(tmp_path / name, "gluscope", model="gated")
    assert store_rows(door) == 0


def test_links_within_other_forms_lead_nowhere(door: Neurothek, tmp_path: Path) -> None:
    write_openai(tmp_path / "elsewhere", 0, 1, promoted=["a"], suppressed=[])
    (tmp_path / "a" / "related-tokens").mkdir(parents=True)
    (tmp_path / "a" / "related-tokens" / "weight-based").symlink_to(tmp_path / "elsewhere/related-tokens/weight-based")
    write_gluscope(tmp_path / "parquet", [glu_row(0, 0, (0.5, 0.1, 0, 0), (1, 1, 1, 1))])
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "data").symlink_to(tmp_path / "parquet" / "data")
    for folder, kind, sentence in (
        ("a", "openai", "related-tokens/weight-based is a link"),
        ("b", "gluscope", "data is a link"),
    ):
        with pytest.raises(Unreadable, match=sentence):
            door.import_foreign(tmp_path / folder, kind, model="gated")  # type: ignore[arg-type] # two of the kinds
    assert store_rows(door) == 0


def test_a_list_that_is_longer_than_memory_is_refused(
    door: Neurothek, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = glu_row(0, 0, (0.5, 0.1, 0, 0), (1, 1, 1, 1))
    largest = "gate+_in+_hook_post_max_values"
    row[largest] = pl.zeros(100_000_000, dtype=pl.Float32, eager=True)
    (tmp_path / "v").mkdir()
    path = tmp_path / "v" / "x.parquet"
    pl.DataFrame([row], schema_overrides={largest: pl.List(pl.Float32)}).write_parquet(path)
    assert path.stat().st_size < 2 << 20
    monkeypatch.setattr(gluscope, "_MEMORY", "200MB")
    with pytest.raises(Unreadable, match="can be read in 1 GB of memory"):
        door.import_foreign(tmp_path / "v", "gluscope", model="gated")


def test_a_model_that_is_not_told_is_refused_with_the_ways_out(door: Neurothek, tmp_path: Path) -> None:
    folder = write_neuronpedia(tmp_path / "v1", "gpt2-small", [feature("gpt2-small", 0, 0)])
    with pytest.raises(NotFound, match="is of 'gpt2-small', and the warehouse has no model of that name") as caught:
        door.import_foreign(folder, "neuronpedia")
    assert "--model NAME (there are gated, plain)" in str(caught.value)
    assert "neurothek ingest MODEL" in str(caught.value)
    write_openai(tmp_path / "o", 0, 1, explanations=[("words", 0.5)])
    with pytest.raises(NotFound, match="does not name its model"):
        door.import_foreign(tmp_path / "o", "openai")
    with pytest.raises(NotFound, match="there is no model plian in the warehouse; nearest: plain"):
        door.import_foreign(folder, "neuronpedia", model="plian")
    with pytest.raises(Unavailable, match="is not there; name the folder"):
        door.import_foreign(tmp_path / "nowhere", "neuronpedia", model="plain")
    with pytest.raises(
        Unsupported, match="catalogs of neuron-lens are not read: no description of its files was found"
    ):
        door.import_foreign(folder, "neuron-lens", model="plain")
    with pytest.raises(NeurothekError, match="kind='neuroscope' is not valid"):
        door.import_foreign(folder, "neuroscope")  # type: ignore[arg-type] # no kind
    assert store_rows(door) == 0
