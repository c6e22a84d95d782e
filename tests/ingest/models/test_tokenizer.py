"""Tokenizers: exact texts, ids as transformers gives them, BOS only where it is prepended, refusals."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import models
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from neurothek.catalog.problems import Unavailable, Unreadable
from neurothek.ingest.models.library_tokenizers import wrap
from neurothek.ingest.models.tokenizer import Tokenizer, load
from tests.support.models import Kind
from tests.support.tokenizers import TEXT, make_tokenizer

KINDS: tuple[Kind, ...] = ("opt", "gpt2", "neox", "llama", "bert")
N_SPECIAL = {"opt": 4, "gpt2": 1, "neox": 2, "llama": 3, "bert": 5}
WRITTEN = st.text(alphabet=st.sampled_from("abth esco12.,\n\t'\u00e9\u20ac\U0001f600"), max_size=200)


def tokenizer_of(kind: Kind, size: int = 400) -> Tokenizer:
    return wrap(make_tokenizer(kind, size), name=kind)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(texts=st.lists(WRITTEN, max_size=4))
def test_ids_are_those_of_transformers_without_additions(kind: Kind, texts: list[str]) -> None:
    reference = make_tokenizer(kind, 400)
    ids = tokenizer_of(kind).encode(texts)
    assert [array.tolist() for array in ids] == [reference(text, add_special_tokens=False).input_ids for text in texts]
    assert all(array.dtype == np.int32 for array in ids)


@settings(max_examples=60)
@given(text=st.text(max_size=80))
def test_texts_of_ids_spell_the_text(text: str) -> None:
    tokenizer = tokenizer_of("opt")
    spelled = dict(zip(tokenizer.ids.tolist(), tokenizer.frame()["text"], strict=True))
    # Partial characters are written as escapes, byte by byte: the whole is compared in that writing.
    parts = [spelled[i] for i in tokenizer.encode([text])[0].tolist()]
    raw = b"".join(part.encode() if "\\x" not in part else unescaped(part) for part in parts)
    assert "\\x" in text or raw == text.encode()


def unescaped(part: str) -> bytes:
    return part.encode("latin-1", "backslashreplace").decode("unicode_escape").encode("latin-1")


@pytest.mark.parametrize("kind", KINDS)
def test_texts_agree_with_the_librarys_decoder(kind: Kind) -> None:
    reference, tokenizer = make_tokenizer(kind, 400), tokenizer_of(kind)
    frame = tokenizer.frame()
    assert frame.height == tokenizer.vocab_size == 400
    for token_id, text, is_special in frame.select("token_id", "text", "is_special").iter_rows():
        decoded = reference.decode([token_id])
        # Llama's decoder takes off the space before a first word, which is part of the token all the same.
        assert "\ufffd" in decoded or decoded == (text.removeprefix(" ") if kind == "llama" else text)
        assert is_special == (token_id < N_SPECIAL[kind])
    assert frame["word"].to_list() == [text.strip().casefold().removeprefix("##") for text in frame["text"]]


def test_every_ordinary_token_has_its_own_text() -> None:
    frame = tokenizer_of("opt").frame()
    assert frame["text"].n_unique() == frame.height  # 128 partial characters would all decode to one sign


def test_a_lone_byte_shows_as_an_escape() -> None:
    frame = tokenizer_of("opt").frame()
    assert "\\xe2" in frame["text"].to_list()


def test_bytes_without_a_piece_show_as_what_they_are() -> None:
    tokenizer = tokenizer_of("llama")
    ids = tokenizer.encode(["a\t\u00e9"])[0]
    assert tokenizer.texts(ids) == (" a", "\t", "\\xc3", "\\xa9")
    assert tokenizer.decode(ids) == "a\t\u00e9"


def test_a_part_of_a_word_is_found_by_its_letters() -> None:
    """[CLS] and [SEP] stand around a text, capitals play no part, and a later part of a word is marked."""
    tokenizer = tokenizer_of("bert")
    words = dict(tokenizer.frame().select("text", "word").iter_rows())
    assert (words["school"], words["##a"], words["[CLS]"]) == ("school", "a", "[cls]")
    assert tokenizer.encode(["School"])[0].tolist() == tokenizer.encode(["school"])[0].tolist()


@pytest.mark.parametrize(
    ("kind", "bos", "eos", "closing", "mask"),
    [
        ("opt", 2, 2, None, None),
        ("gpt2", None, 0, None, None),
        ("neox", None, 0, None, None),
        ("llama", 1, 2, None, None),
        ("bert", 2, 3, 3, 4),
    ],
)
def test_what_stands_around_a_text_is_known_where_it_is_put_there(
    kind: Kind, bos: int | None, eos: int, closing: int | None, mask: int | None
) -> None:
    tokenizer, reference = tokenizer_of(kind), make_tokenizer(kind, 400)
    assert (tokenizer.bos_id, tokenizer.eos_id, tokenizer.closing_id, tokenizer.mask_id) == (bos, eos, closing, mask)
    around = [[one] if one is not None else [] for one in (bos, closing)]
    own = tokenizer.encode(["the old school"])[0].tolist()
    assert reference("the old school").input_ids == [*around[0], *own, *around[1]]


def test_bert_is_read_from_its_vocabulary_alone(tmp_path: Path) -> None:
    made = make_tokenizer("bert", 400)
    vocabulary = sorted(made.get_vocab(), key=made.get_vocab().get)  # type: ignore[arg-type] # every key is there
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    tokenizer = load(tmp_path)
    assert (tokenizer.bos_id, tokenizer.eos_id, tokenizer.mask_id, tokenizer.vocab_size) == (2, 3, 4, 400)
    assert tokenizer.encode([TEXT[0]])[0].tolist() == made(TEXT[0], add_special_tokens=False).input_ids
    assert tokenizer.sha256 == tokenizer_of("bert").sha256


def test_what_a_file_says_of_truncating_and_padding_plays_no_part(tmp_path: Path) -> None:
    """Libraries of embeddings leave it in their files, where it would cut every text at its 8th id."""
    made = make_tokenizer("bert", 400)
    expected = made(TEXT[0], add_special_tokens=False).input_ids
    backend = Backend.from_str(made.backend_tokenizer.to_str())
    backend.enable_truncation(8)
    backend.enable_padding(length=64)
    PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]").save_pretrained(tmp_path)
    assert load(tmp_path).encode([TEXT[0]])[0].tolist() == expected
    assert len(expected) > 8


def test_sha256_depends_on_pieces_and_not_on_the_folder(tmp_path: Path) -> None:
    make_tokenizer("opt", 400).save_pretrained(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert load(tmp_path / "a").sha256 == load(tmp_path / "b").sha256 == tokenizer_of("opt").sha256
    assert load(tmp_path / "b").name == "b"
    assert tokenizer_of("opt", 399).sha256 != tokenizer_of("opt").sha256


def test_opt_vocabulary_alone_behaves_as_opts_tokenizer(tmp_path: Path) -> None:
    said = json.loads(make_tokenizer("opt", 400).backend_tokenizer.to_str())["model"]
    (tmp_path / "vocab.json").write_text(json.dumps(said["vocab"]))
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in said["merges"]]
    (tmp_path / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "opt"}))
    tokenizer = load(tmp_path)
    assert (tokenizer.bos_id, tokenizer.eos_id, tokenizer.vocab_size) == (2, 2, 400)
    assert (
        tokenizer.encode([TEXT[0]])[0].tolist()
        == make_tokenizer("opt", 400)(TEXT[0], add_special_tokens=False).input_ids
    )


def test_loading_finds_what_transformers_saved(tiny_models: dict[str, Path]) -> None:
    for kind in ("opt", "opt350", "gpt2"):
        reference = AutoTokenizer.from_pretrained(tiny_models[kind], local_files_only=True)
        assert load(tiny_models[kind]).ids.tolist() == sorted(reference.get_vocab().values())


def test_a_folder_without_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="has no tokenizer"):
        load(tmp_path)


UNKNOWN_KIND = '{"version": "1.0", "added_tokens": [], "model": {"type": "of the future"}}'


@pytest.mark.parametrize("written", ["{", "{}", "[]", '{"model": 3}', "", "\0", UNKNOWN_KIND])
def test_a_broken_tokenizer_is_refused(tmp_path: Path, written: str) -> None:
    (tmp_path / "tokenizer.json").write_text(written)
    with pytest.raises(Unreadable, match="cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("name", "written", "problem"),
    [
        ("tokenizer.json", "{", "tokenizer.json is not JSON"),
        ("tokenizer.json", "\ufeff{}", "tokenizer.json begins with a byte-order mark, unlike JSON"),
        ("tokenizer.json", "[]", "tokenizer.json is not a JSON object"),
        ("tokenizer.json", '{"added_tokens": []}', "tokenizer.json has no model"),
        ("tokenizer.json", '{"model": {}}', "tokenizer.json has no list added_tokens"),
        ("tokenizer_config.json", "[1]", "tokenizer_config.json is not a JSON object"),
        ("tokenizer_config.json", '{"bos_token": 5}', "a value has the wrong type for a tokenizer"),
    ],
)
def test_what_is_wrong_with_a_tokenizers_files_is_said(tmp_path: Path, name: str, written: str, problem: str) -> None:
    make_tokenizer("opt", 400).save_pretrained(tmp_path)
    (tmp_path / name).write_text(written, encoding="utf-8")
    with pytest.raises(Unreadable) as caught:
        load(tmp_path)
    assert str(caught.value) == (
        f"the tokenizer of {tmp_path} cannot be read: {problem}; save it again as tokenizer.json"
    )


def test_a_pipe_among_a_tokenizers_files_is_refused_unopened(tmp_path: Path) -> None:
    """As `train --tokenizer` reads them, which opens no model."""
    make_tokenizer("opt", 400).save_pretrained(tmp_path)
    os.mkfifo(tmp_path / "special_tokens_map.json")
    with pytest.raises(Unreadable, match=r"special_tokens_map\.json is a named pipe"):
        load(tmp_path)


def test_a_token_around_texts_without_an_id_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The library would panic, and print that it did."""
    make_tokenizer("opt", 400).save_pretrained(tmp_path)
    said = json.loads((tmp_path / "tokenizer.json").read_text())
    said["post_processor"]["special_tokens"]["<q>"] = said["post_processor"]["special_tokens"].pop("</s>")
    (tmp_path / "tokenizer.json").write_text(json.dumps(said))
    with pytest.raises(Unreadable, match="it adds '</s>' around texts without giving its id"):
        load(tmp_path)
    assert capfd.readouterr().err == ""


def test_an_id_of_two_pieces_is_refused(tmp_path: Path) -> None:
    make_tokenizer("opt", 400).save_pretrained(tmp_path)
    said = json.loads((tmp_path / "tokenizer.json").read_text())
    said["model"]["vocab"]["e"] = said["model"]["vocab"]["a"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(said))
    number = said["model"]["vocab"]["a"]
    with pytest.raises(Unreadable, match=f"gives the id {number} to 'a' and 'e'; put"):
        load(tmp_path)


def test_an_id_that_no_vocabulary_reaches_is_refused_before_memory_is_taken_for_all_below(tmp_path: Path) -> None:
    make_tokenizer("opt", 400).save_pretrained(tmp_path)
    said = json.loads((tmp_path / "tokenizer.json").read_text())
    for number in (1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1):
        said["model"]["vocab"]["far"] = number
        (tmp_path / "tokenizer.json").write_text(json.dumps(said))
        with pytest.raises(Unreadable, match=f"it gives 'far' the id {number:,}, and 16,777,215 is the largest"):
            load(tmp_path)


def test_a_tokenizer_without_tokens_is_refused(tmp_path: Path) -> None:
    backend = Backend(models.BPE())
    backend.add_special_tokens(["</s>"])
    PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>").save_pretrained(tmp_path)
    with pytest.raises(Unreadable, match="only special tokens"):
        load(tmp_path)


def test_a_tokenizer_of_one_token_is_refused(tmp_path: Path) -> None:
    backend = Backend(models.WordLevel({"a": 0}, unk_token="a"))
    PreTrainedTokenizerFast(tokenizer_object=backend).save_pretrained(tmp_path)
    with pytest.raises(Unreadable, match="has only one token"):
        load(tmp_path)


def test_two_that_differ_only_in_what_they_prepend_are_two(tmp_path: Path) -> None:
    with_bos, without = tmp_path / "with", tmp_path / "without"
    make_tokenizer("opt", 400).save_pretrained(with_bos)
    shutil.copytree(with_bos, without)
    said = json.loads((without / "tokenizer.json").read_text())
    said["post_processor"] = None
    (without / "tokenizer.json").write_text(json.dumps(said))
    first, second = load(with_bos), load(without)
    assert first.bos_id is not None
    assert second.bos_id is None
    assert first.pieces == second.pieces
    assert first.sha256 != second.sha256
