"""Models whose tokenizers share a vocabulary and differ in one part: each is measured on the ids of its own."""

import json
import shutil
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from neurothek.catalog.problems import Conflict
from neurothek.catalog.progress import Silent
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.upkeep import checks
from neurothek.catalog.upkeep.verification import Agreement
from neurothek.ingest.models.cutting import QWEN2_EXPRESSION
from neurothek.ingest.models.tokenizer import load
from neurothek.ingest.pipeline.ingest_model import ingest_model
from neurothek.ingest.pipeline.verify import Skipped, remeasure
from neurothek.ingest.request import IngestRequest, ModelSource
from neurothek.queries.views.contents import models_of_shared_ids
from tests.support import ingests
from tests.support.models import Kind, build
from tests.support.plain import PlainModel

TEXT = " ".join(["The School is near the River and the old school has 12 + 30 roofs, said 2042 Schools;"] * 12)
LENGTH = 32
NAMES = ("normalizer", "pre_tokenizer", "merges", "post_processor", "added_tokens", "class")


def edited(kind: Kind, part: str) -> Callable[[dict[str, Any]], None]:
    """What is done to tokenizer.json."""

    def edit(said: dict[str, Any]) -> None:
        if part == "normalizer":
            said["normalizer"] = {"type": "Lowercase"}
        if part == "pre_tokenizer" and kind == "llama":
            said["pre_tokenizer"]["prepend_scheme"] = "never"
        elif part == "pre_tokenizer":
            digits = {"type": "Digits", "individual_digits": True}
            said["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [digits, said["pre_tokenizer"]]}
        if part == "merges":
            said["model"]["merges"].reverse()
        if part == "added_tokens":
            added = {"content": "ch", "id": said["model"]["vocab"]["ch"], "special": False, "normalized": False}
            said["added_tokens"].append(added | {"single_word": False, "lstrip": False, "rstrip": False})
        if part == "post_processor" and kind == "gpt2":
            end, text = "<|endoftext|>", {"Sequence": {"id": "A", "type_id": 0}}
            said["post_processor"] = {
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": end, "type_id": 0}}, text],
                "pair": [text, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {end: {"id": end, "ids": [0], "tokens": [end]}},
            }
        elif part == "post_processor":
            said["post_processor"] = None

    return edit


def change(folder: Path, kind: Kind, part: str) -> None:
    """Change one part of a model's tokenizer; its weights and its vocabulary stay."""
    file = "tokenizer_config.json" if part == "class" else "tokenizer.json"
    said = json.loads((folder / file).read_text())
    if part == "class":
        said["tokenizer_class"] = "GPT2Tokenizer" if kind == "llama" else "Qwen2Tokenizer"
    edited(kind, part)(said)
    (folder / file).write_text(json.dumps(said))


def raw(folder: Path, kind: Kind, part: str) -> tuple[list[int], list[int]]:
    """The ids that are put before a text, and the text's own, by the library tokenizers alone."""
    file = Tokenizer.from_file(str(folder / "tokenizer.json"))
    around = file.encode("a", add_special_tokens=True).ids
    bos = around[: len(around) - len(file.encode("a", add_special_tokens=False).ids)]
    if part == "class":
        said = json.loads((folder / "tokenizer.json").read_text())["model"]
        file = Tokenizer(models.BPE(said["vocab"], [tuple(pair) for pair in said["merges"]]))
        if kind == "llama":
            file.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        else:
            file.normalizer = normalizers.NFC()
            words = pre_tokenizers.Split(Regex(QWEN2_EXPRESSION), behavior="isolated")
            file.pre_tokenizer = pre_tokenizers.Sequence(
                [words, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
            )
    return bos, file.encode(TEXT, add_special_tokens=False).ids


def stored(warehouse: Warehouse, model: str) -> list[list[int]]:
    """The sequences that a model's activity was measured on."""
    query = """
        select sequences.tokens from store.sequences as sequences
        inner join store.runs as runs on runs.corpus_id = sequences.corpus_id and runs.job = 'activity'
        inner join store.models as models on models.model_id = runs.model_id
        where models.name = ? order by sequences.sequence_id
    """
    with warehouse.reader() as connection:
        return [list(tokens) for (tokens,) in connection.execute(query, [model]).fetchall()]


def counts(warehouse: Warehouse, model: str) -> np.ndarray:
    """[n_layers d_ffn] how often each neuron was active."""
    query = """
        select n_active from store.activity as activity
        inner join store.models as models on models.model_id = activity.set_id
        where models.name = ? order by layer, neuron
    """
    with warehouse.reader() as connection:
        rows = connection.execute(query, [model]).fetchall()
    return np.array(rows).reshape(2, -1)


def verified(warehouse: Warehouse, model: str) -> list[Agreement | Skipped]:
    """What `verify` finds of a model's ids."""
    parts = remeasure(warehouse, model, weights=None, n_shards=1, progress=Silent())
    return [part for part in parts if isinstance(part, Agreement | Skipped) and part.job == "tokenizer"]


def requested(folder: Path, **fields: Any) -> IngestRequest:
    return ingests.request(
        (f"text={folder / 'text.txt'}",), jobs=("activity",), text={"sequence_length": LENGTH}, **fields
    )


@pytest.mark.parametrize("kind", ["opt", "gpt2", "llama"])
def test_each_model_is_measured_on_its_own_ids(kind: Kind, tmp_path: Path) -> None:
    """A loop of its own over the raw library's ids and the plain model gives the counts; the first reads them anew."""
    (tmp_path / "text.txt").write_text(TEXT)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    build(tmp_path / "plain", kind, d_ffn=24)
    ingests.measure(warehouse, tmp_path / "plain", requested(tmp_path))
    by_name = ingests.request(("text",), jobs=("activity",), text={"sequence_length": LENGTH})
    plain, wrong = load(tmp_path / "plain"), []
    for part in ("same", *NAMES):
        folder = shutil.copytree(tmp_path / "plain", tmp_path / part)
        change(folder, kind, part)
        if part not in ("same", "post_processor"):  # what is put before a text is part of the vocabulary's hash
            assert load(folder).sha256 == plain.sha256, part
        assert (load(folder).identity == plain.identity) == (part == "same"), part
        ingests.measure(warehouse, folder, by_name)
        bos, own = raw(folder, kind, part)
        room = LENGTH - len(bos)
        expected = [bos + own[start : start + room] for start in range(0, len(own), room)]
        if stored(warehouse, part) != expected:
            wrong.append((part, "ids"))
        seen = PlainModel(folder).seen(expected)
        active = np.array([sum(one[layer].active[len(bos) :].sum(0) for one in seen) for layer in (0, 1)])
        unsure = np.array([sum(one[layer].unsure.sum(0) for one in seen) for layer in (0, 1)])
        if (np.abs(counts(warehouse, part) - active) > unsure).any():
            wrong.append((part, "counts"))
        if part != "same" and (expected == stored(warehouse, "plain")):
            wrong.append((part, "the pair is none"))
    assert not wrong
    # Equal ids are kept once, and nothing is wrong with the file.
    ids = {repr(stored(warehouse, name)) for name in ("plain", "same", *NAMES)}
    assert ingests.table(warehouse, "corpora").height == len(ids) > 4
    assert checks.check(warehouse, progress=Silent()) == []


@pytest.mark.parametrize("kind", ["opt", "gpt2", "llama"])
def test_a_repaired_tokenizer_is_noticed(kind: Kind, tmp_path: Path) -> None:
    """The runs of a known tokenizer are replaced when somebody says so; those of weights stand."""
    (tmp_path / "text.txt").write_text(TEXT)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    model = build(tmp_path / "model", kind, d_ffn=24)
    change(model, kind, "merges")
    ingests.measure(
        warehouse, model, ingests.request((f"text={tmp_path / 'text.txt'}",), text={"sequence_length": LENGTH})
    )
    before = {row["job"]: row["run_key"] for row in ingests.table(warehouse, "runs").to_dicts()}
    assert [part.n_different for part in verified(warehouse, "model") if isinstance(part, Agreement)] == [0]
    change(model, kind, "merges")  # reversed once more: as they were
    (found,) = verified(warehouse, "model")
    assert isinstance(found, Agreement)
    assert found.n_different > 0
    with pytest.raises(Conflict, match=r"model was measured with a different tokenizer .* \(model differs\)"):
        ingests.measure(warehouse, model, requested(tmp_path))
    report = ingests.measure(warehouse, model, requested(tmp_path, force=True))
    assert report.jobs == ("activity",)
    assert any("contexts" in remark and "were removed" in remark for remark in report.remarks)
    bos, own = raw(model, kind, "none")
    room = LENGTH - len(bos)
    assert stored(warehouse, "model") == [bos + own[start : start + room] for start in range(0, len(own), room)]
    after = {row["job"]: row["run_key"] for row in ingests.table(warehouse, "runs").to_dicts()}
    assert after.keys() == {"projections", "activity"}
    assert after["projections"] == before["projections"]
    assert ingests.measure(warehouse, model, requested(tmp_path)).jobs == ()
    assert checks.check(warehouse, progress=Silent()) == []


def test_runs_of_an_earlier_release_are_proved_or_measured_anew(tmp_path: Path) -> None:
    """Such a file knows no tokenizers beyond vocabularies: two models stand on the ids of the first."""
    (tmp_path / "text.txt").write_text(TEXT)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    for name in ("first", "second", "third"):
        build(tmp_path / name, "opt", d_ffn=24)
    for name in ("first", "second", "third"):
        ingests.measure(warehouse, tmp_path / name, requested(tmp_path))
    keys = ingests.table(warehouse, "runs")["run_key"].to_list()
    with warehouse.transaction() as connection:
        connection.execute("update store.runs set tokenizer_identity = null")
    change(tmp_path / "second", "opt", "pre_tokenizer")
    with warehouse.reader() as connection:
        assert models_of_shared_ids(connection) == ["first", "second", "third"]
    said: list[str] = []
    jobs = {}
    for name in ("first", "second", "third"):
        source = ModelSource(str(tmp_path / name))
        jobs[name] = ingest_model(warehouse, requested(tmp_path), source, announce=said.append).jobs
    assert jobs == {"first": (), "second": ("activity",), "third": ()}
    assert [text.partition(":")[0] for text in said] == ["second"]
    now = ingests.table(warehouse, "runs")["run_key"].to_list()
    assert len(set(now) & set(keys)) == 1  # the first and the third share their key: weights are alike
    assert len(now) == 3
    bos, own = raw(tmp_path / "second", "opt", "pre_tokenizer")
    room = LENGTH - len(bos)
    assert stored(warehouse, "second") == [bos + own[start : start + room] for start in range(0, len(own), room)]
    with warehouse.reader() as connection:
        assert models_of_shared_ids(connection) == []
    assert checks.check(warehouse, progress=Silent()) == []


def test_what_cannot_be_read_again_is_said(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    ingests.measure(warehouse, build(tmp_path / "model", "llama", d_ffn=24), requested(tmp_path))
    (tmp_path / "text.txt").unlink()
    (found,) = verified(warehouse, "model")
    assert isinstance(found, Skipped)
    assert found.reason.startswith("the text of text cannot be tokenized again: ")


def test_the_files_own_tokenizer_is_offered_where_transformers_replaces_it(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    model = build(tmp_path / "model", "gpt2", d_ffn=24)
    own = load(model).encode([TEXT])[0].tolist()
    change(model, "gpt2", "class")
    report = ingests.measure(warehouse, model, requested(tmp_path))
    assert any("normalizer and pre_tokenizer" in text and "--tokenizer-from-file" in text for text in report.remarks)
    assert list(chain(*stored(warehouse, "model"))) == raw(model, "gpt2", "class")[1] != own
    file = requested(tmp_path, tokenizer_from_file=True)
    assert not ingests.measure(warehouse, f"file={model}", file).remarks
    assert list(chain(*stored(warehouse, "file"))) == own
    # Whoever asks by the name goes on with the file's, and verify and trace do as well.
    assert ingests.measure(warehouse, "file", requested(tmp_path)).jobs == ()
    assert [part.n_different for part in verified(warehouse, "file") if isinstance(part, Agreement)] == [0]
    with pytest.raises(Conflict, match="--tokenizer-from-file"):
        ingests.measure(warehouse, f"file={model}", requested(tmp_path))


def test_truncation_padding_and_decoder_are_no_part_of_the_identity(tmp_path: Path) -> None:
    model = build(tmp_path / "model", "opt", d_ffn=24)
    identity = load(model).identity
    said = json.loads((model / "tokenizer.json").read_text())
    backend = Tokenizer.from_str(json.dumps(said | {"decoder": {"type": "Fuse"}}))
    backend.enable_truncation(8)
    backend.enable_padding(length=64)
    backend.save(str(model / "tokenizer.json"))
    assert load(model).identity == identity
