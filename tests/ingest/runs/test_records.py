"""A model and a corpus as rows: what config.json and the tokenizer say, checked against the tables."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neurothek.catalog.problems import Conflict
from neurothek.catalog.tables.dimensions import CORPORA, MODELS, TOKENIZERS, TOKENS
from neurothek.ingest.corpora.corpus import prepare, recipe
from neurothek.ingest.corpora.sources.source import Source
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import load
from neurothek.ingest.models.transformer import open_transformer
from neurothek.ingest.runs.records import corpus_record, model_record
from tests.support.models import KINDS, UNTIED, Kind, build, edit_config


def record_of(folder: Path, **options: Any) -> dict[str, Any]:
    checkpoint = find(str(folder), **options)
    record = model_record(checkpoint, open_transformer(checkpoint).shape, load(folder))
    MODELS.check(record.row)
    TOKENIZERS.check(record.tokenizer)
    TOKENS.check(record.tokens)
    assert record.row.height == record.tokenizer.height == 1
    return record.row.row(0, named=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_models_row_says_what_its_config_says(tiny_models: dict[str, Path], kind: Kind) -> None:
    folder = tiny_models[kind]
    config = json.loads((folder / "config.json").read_text())
    row = record_of(folder)
    assert (row["name"], row["source"], row["revision"]) == (folder.name, str(folder), None)
    assert (row["n_layers"], row["d_model"], row["d_ffn"], row["n_neurons"]) == (2, 32, 128, 256)
    assert (row["vocab_size"], row["context_length"], row["n_heads"]) == (400, 64, 4)
    assert row["architecture"] == config["model_type"]
    assert row["norm_position"] == ("post" if kind in ("opt350", "bert") else "pre")
    rules = {"gpt2": "m > 0", "neox": "m > 0", "llama": "gate > 0", "bert": "m > 0"}
    assert row["has_exact_zeros"] is (kind not in rules)
    assert row["activation_rule"] == rules.get(kind, "m != 0")
    assert row["has_parallel_residual"] is (kind == "neox")
    assert ("rope_theta" in row["settings"]) is (kind in UNTIED)
    assert 0 < row["n_parameters_embedding"] < row["n_parameters"]


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("opt-125m", "opt"),
        ("opt-1.3b", "opt"),
        ("gpt2-xl", "gpt2"),
        ("mini-opt-0.7m", "mini-opt"),
        ("mini-opt-2m-nopos", "mini-opt"),
        ("opt-125m@main", "opt"),
        ("gpt2", "gpt2"),
        ("large-thing", "large-thing"),
        ("opt-125member", "opt-125member"),
    ],
)
def test_a_family_is_the_name_without_its_size(tiny_models: dict[str, Path], name: str, family: str) -> None:
    assert record_of(tiny_models["opt"], name=name)["family"] == family


def test_a_checkpoint_may_say_its_family_variant_and_training_tokens(tmp_path: Path) -> None:
    folder = build(tmp_path / "mini-3m", "opt", d_ffn=8)
    plain = record_of(folder)
    assert (plain["family"], plain["variant"], plain["training_tokens"]) == ("mini", None, None)
    said = {"family": "minis", "variant": "step 250", "training_tokens": 12_000_000_000}
    row = record_of(edit_config(folder, neurothek=said))
    assert {name: row[name] for name in said} == said


def test_a_tokenizer_larger_than_the_unembedding_is_refused(tmp_path: Path) -> None:
    folder = build(tmp_path / "tiny", "opt", d_ffn=8, spare_rows=-8)
    with pytest.raises(Conflict, match="has ids up to 407, but the model's unembedding has 400 rows"):
        record_of(folder)


def test_a_tokenizer_that_fills_the_unembedding_is_not(tmp_path: Path) -> None:
    assert record_of(build(tmp_path / "tiny", "opt", d_ffn=8, spare_rows=0))["vocab_size"] == 400


@pytest.mark.parametrize("kind", ["opt", "gpt2"])
def test_a_tokenizers_row_names_the_bos_only_where_it_is_prepended(tiny_models: dict[str, Path], kind: Kind) -> None:
    checkpoint = find(str(tiny_models[kind]))
    tokenizer = load(checkpoint.folder)
    record = model_record(checkpoint, open_transformer(checkpoint).shape, tokenizer)
    row = record.tokenizer.row(0, named=True)
    assert row["bos_token_id"] == (2 if kind == "opt" else None)
    assert row["eos_token_id"] == (2 if kind == "opt" else 0)
    assert row["vocab_size"] == record.tokens.height == 392


def test_a_corpus_row_counts_what_is_counted(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two three four five six " * 20)
    made = recipe([Source("a", str(tmp_path / "a.txt"))], sequence_length=16)
    corpus = prepare(made, load(tiny_models["opt"]))
    record = corpus_record(corpus)
    row = CORPORA.check(record.row).row(0, named=True)
    assert (row["name"], row["sequence_length"], row["recipe"]) == ("a", 16, made.json())
    assert row["n_sequences"] == record.sequences.height == corpus.n_sequences
    # Every sequence begins with a BOS that is no counted position.
    n_ids = int(np.sum(record.sequences["tokens"].list.len().to_numpy()))
    assert row["n_tokens"] == n_ids - row["n_sequences"] == record.token_counts["n_occurrences"].sum()
