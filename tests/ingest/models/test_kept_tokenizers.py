"""Tokenizers of the user's cache: the same as those that transformers makes of the files, and made anew of others."""

import dataclasses
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from transformers.convert_slow_tokenizer import bytes_to_unicode

from neurothek.catalog.problems import Unreadable
from neurothek.ingest.models import library_tokenizers, tokenizer
from neurothek.ingest.models.tokenizer import Tokenizer, load
from tests.support.models import KINDS, NEAR_LLAMA, Kind
from tests.support.tokenizers import make_tokenizer

TEXTS = ["the school is near the river", "  two  spaces\n\nand a line", "naïve 漢字 🙂 ﬁ", "</s> a <s> [SEP]", ""]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "neurothek" / "tokenizers"


def assert_same(one: Tokenizer, other: Tokenizer) -> None:
    for field in dataclasses.fields(Tokenizer):
        if field.name not in ("_backend", "ids"):
            assert getattr(one, field.name) == getattr(other, field.name), field.name
    assert one.ids.dtype == other.ids.dtype
    assert np.array_equal(one.ids, other.ids)
    assert one._backend.to_str() == other._backend.to_str()
    encoded = [[ids.tolist() for ids in each.encode(TEXTS)] for each in (one, other)]
    assert encoded[0] == encoded[1]
    assert one.decode(one.encode(TEXTS)[0]) == other.decode(one.encode(TEXTS)[0])
    assert one.frame().equals(other.frame())


@pytest.mark.parametrize("from_file", [False, True])
@pytest.mark.parametrize("kind", [*KINDS, *NEAR_LLAMA])
def test_what_is_kept_is_what_was_made(
    kind: Kind, from_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "model"
    make_tokenizer(kind, 380).save_pretrained(folder)
    made = load(folder, from_file=from_file)
    with monkeypatch.context() as patch:
        patch.setattr(library_tokenizers, "made", None)
        assert_same(load(folder, from_file=from_file), made)
        moved = shutil.copytree(folder, tmp_path / "moved")
        (moved / "model.safetensors").write_bytes(b"weights are not looked at")
        again = load(moved, from_file=from_file)
    assert again.name == "moved"
    # Another way of reading the same files is another tokenizer.
    assert load(folder, from_file=not from_file).identity != made.identity


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "config.json", "new.txt"])
def test_other_files_are_read_anew(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "model"
    make_tokenizer("opt", 380).save_pretrained(folder)
    (folder / "config.json").write_text('{"model_type": "opt"}')
    load(folder)
    made: list[Path] = []
    original = library_tokenizers.made

    def counted(place: Path, *, from_file: bool) -> Tokenizer:
        made.append(place)
        return original(place, from_file=from_file)

    monkeypatch.setattr(library_tokenizers, "made", counted)
    load(folder)
    assert made == []
    with (folder / name).open("a") as file:
        file.write("\n")
    load(folder)
    assert made == [folder]


def test_a_vocabulary_that_changed_is_another(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    for size in (380, 390):
        make_tokenizer("opt", size).save_pretrained(folder)
        assert load(folder).vocab_size == size


def test_files_that_make_no_tokenizer_are_refused_each_time(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "tokenizer.json").write_text("{")
    for _ in range(2):
        with pytest.raises(Unreadable):
            load(folder)
    assert not cache.exists()


def test_a_damaged_cache_is_ignored(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "model"
    make_tokenizer("opt", 380).save_pretrained(folder)
    made = load(folder)
    (kept,) = cache.iterdir()
    whole = kept.read_bytes()
    for damaged in (b"", b"\n", whole[:-1], whole.replace(b"the", b"teh"), whole[:100] + b"\0" + whole[101:]):
        assert damaged != whole
        kept.write_bytes(damaged)
        assert_same(load(folder), made)
        assert kept.read_bytes() == whole


def test_a_tokenizer_that_a_file_cannot_say_is_not_kept(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "model"
    make_tokenizer("opt", 380).save_pretrained(folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"split_special_tokens": True}))
    assert load(folder)._backend.encode_special_tokens
    assert not cache.exists()
    assert load(folder)._backend.encode_special_tokens


def test_a_large_file_beside_it_is_not_read(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "model"
    make_tokenizer("opt", 380).save_pretrained(folder)
    monkeypatch.setattr(tokenizer, "_MOST_BYTES", 100)
    load(folder)
    assert not cache.exists()


def test_those_used_last_stay(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "_MOST_TOKENIZERS", 2)
    folders = [tmp_path / f"model-{size}" for size in (380, 381, 382)]
    for folder, size in zip(folders, (380, 381, 382), strict=True):
        make_tokenizer("opt", size).save_pretrained(folder)
    load(folders[0])
    (first,) = cache.iterdir()
    load(folders[1])
    # The clock of files may stand still for some milliseconds.
    for second, kept in enumerate((first, *(one for one in cache.iterdir() if one != first)), start=1):
        os.utime(kept, (second, second))
    load(folders[0])  # used again, so that the second is the one that goes
    assert first.stat().st_mtime > 2
    load(folders[2])
    assert len(list(cache.iterdir())) == 2
    assert first.exists()


def test_bytes_are_written_in_gpt2s_alphabet() -> None:
    assert tokenizer._byte_of() == {character: byte for byte, character in bytes_to_unicode().items()}
