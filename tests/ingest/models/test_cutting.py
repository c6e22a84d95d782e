"""Cutting: parts have the ids of the whole, for every sort of tokenizer and however the text comes in."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from neurothek.ingest.models.cutting import (
    AFTER_LETTER,
    AFTER_MARK,
    BEFORE_LINE,
    BEFORE_MARK,
    BEFORE_SPACE,
    LLAMA3_EXPRESSION,
    QWEN2_EXPRESSION,
    WORD_START,
    Cuts,
    cuts_of,
)
from tests.support.models import Kind
from tests.support.tokenizers import make_tokenizer

Said = dict[str, Any]
"""What a tokenizer.json says."""


def said_of(kind: Kind) -> Said:
    said: Said = json.loads(make_tokenizer(kind, 400).backend_tokenizer.to_str())
    return said


def prefixed() -> Said:
    said = said_of("opt")
    said["pre_tokenizer"]["add_prefix_space"] = True
    return said


def with_expression(expression: str, *, normalizer: Said | None = None) -> Said:
    said = said_of("gpt2")
    split = {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}
    bytes_alone = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    said["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, bytes_alone]}
    said["normalizer"] = normalizer
    return said


def neox_composed() -> Said:
    """As Pythia's: composed characters, and runs of spaces that are sought behind that."""
    said = said_of("neox")
    said["normalizer"] = {"type": "NFC"}
    for token in said["added_tokens"]:
        token["normalized"] = not token["special"]
    return said


def metaspace(scheme: str, *, split: bool) -> Said:
    said = said_of("llama")
    said["pre_tokenizer"] |= {"prepend_scheme": scheme, "split": split}
    return said


def llama2() -> Said:
    """No step of splitting at all: a word start in front of every text, and words that no piece reaches across."""
    said = said_of("llama")
    space = {"type": "Replace", "pattern": {"String": " "}, "content": WORD_START}
    said["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": WORD_START}, space]}
    said["pre_tokenizer"] = None
    return said


def swallowing(kind: Kind, *, single_word: bool = False) -> Said:
    """A token of a person's own that takes the white space around it along."""
    said = said_of(kind)
    token = {"lstrip": True, "rstrip": True, "normalized": False, "special": False, "single_word": single_word}
    said["added_tokens"].append({"id": 400, "content": "the", **token})
    return said


SORTS: dict[str, Callable[[], Said]] = {
    "opt": lambda: said_of("opt"),
    "gpt2": lambda: said_of("gpt2"),
    "neox": lambda: said_of("neox"),
    "llama": lambda: said_of("llama"),
    "bert": lambda: said_of("bert"),
    "a space in front": prefixed,
    "llama 3": lambda: with_expression(LLAMA3_EXPRESSION),
    "qwen 2": lambda: with_expression(QWEN2_EXPRESSION, normalizer={"type": "NFC"}),
    "pythia": neox_composed,
    "metaspace always": lambda: metaspace("always", split=True),
    "metaspace never, unsplit": lambda: metaspace("never", split=False),
    "metaspace first, unsplit": lambda: metaspace("first", split=False),
    "llama 2": llama2,
    "a greedy token, opt": lambda: swallowing("opt"),
    "a greedy word, opt": lambda: swallowing("opt", single_word=True),
    "a greedy token, llama": lambda: swallowing("llama"),
    "a greedy token, bert": lambda: swallowing("bert"),
}

UNSPLIT = ("metaspace never, unsplit", "metaspace first, unsplit")

WORDS = ["the", "school", "'s", "'", "12", "345", "...", "(", "</s>", "<s>", "[MASK]", "\u00e9", "e\u0301", "\u212a"]
BLANKS = [" ", "  ", "    ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "\u3000", "\x1c", "\u2028", WORD_START]
OTHERS = [
    "\U0001f600",
    "\U0001f469\u200d\U0001f680",
    "\u0301",
    "\u0e01\u0e33",
    "\u7684",
    "\u3002",
    "\ufeff",
    "\x00",
    "s",
]
PIECES = [*WORDS, *BLANKS, *OTHERS]


@lru_cache
def made(sort: str) -> tuple[Tokenizer, Cuts]:
    said = SORTS[sort]()
    return Tokenizer.from_str(json.dumps(said)), cuts_of(said)


def ids_of(backend: Tokenizer, text: str) -> list[int]:
    ids: list[int] = backend.encode(text, add_special_tokens=False).ids
    return ids


def joined(backend: Tokenizer, parts: list[str]) -> list[int]:
    return [number for part in parts for number in ids_of(backend, part)]


def pieces_of(backend: Tokenizer, text: str) -> list[str]:
    """What the text is split into before any piece of the vocabulary is sought; characters where it is not split."""
    normal = backend.normalizer.normalize_str(text) if backend.normalizer else text
    if backend.pre_tokenizer is None:
        return [*normal]
    return [piece for piece, _ in backend.pre_tokenizer.pre_tokenize_str(normal)]


def in_blocks(text: str, chosen: Random) -> Iterator[str]:
    """The text in blocks of 1 to 9 characters, some of none."""
    start = 0
    while start < len(text):
        end = start + chosen.randrange(10)
        yield text[start:end]
        start = end


def assert_same(sort: str, text: str, every: int, chosen: Random) -> None:
    backend, cuts = made(sort)
    parts = [part for part, is_cut in cuts.parts(in_blocks(text, chosen), every=every) if is_cut]
    assert joined(backend, parts) == ids_of(backend, text)
    # So small a vocabulary gives many other splits the same ids.
    pieces, whole = [piece for part in parts for piece in pieces_of(backend, part)], pieces_of(backend, text)
    assert "".join(pieces) == "".join(whole)
    assert sort in UNSPLIT or pieces == whole


@pytest.mark.long
@pytest.mark.parametrize("sort", SORTS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    text=st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    every=st.integers(1, 12),
    chosen=st.randoms(use_true_random=False),
)
def test_parts_have_the_ids_of_the_whole(sort: str, text: str, every: int, chosen: Random) -> None:
    assert_same(sort, text, every, chosen)


@pytest.mark.series
@pytest.mark.parametrize("sort", SORTS)
def test_parts_of_many_texts_have_the_ids_of_the_whole(sort: str) -> None:
    chosen = Random(sort)
    for _ in range(5_000):
        text = "".join(chosen.choices(PIECES, k=chosen.randrange(60)))
        assert_same(sort, text, chosen.randrange(1, 12), chosen)


@pytest.mark.parametrize("sort", SORTS)
def test_ordinary_text_is_cut(sort: str) -> None:
    """With all places known for words between spaces, no part is longer than two words and what lies around."""
    _, cuts = made(sort)
    parts = [part for part, is_cut in cuts.parts(["one two three four five " * 40], every=1) if is_cut]
    assert len(parts) > 100
    assert max(map(len, parts)) <= len("three four ") + 1


@pytest.mark.parametrize("sort", ["opt", "llama 3", "qwen 2"])
def test_text_without_blanks_is_cut_where_the_kind_of_character_changes(sort: str) -> None:
    _, cuts = made(sort)
    assert len([part for part, is_cut in cuts.parts(['{"a":1,"b":[22,x3]}' * 40], every=4) if is_cut]) > 80


@pytest.mark.parametrize(
    ("sort", "rule", "text"),
    [
        ("gpt2", AFTER_MARK, "one's"),
        ("llama 3", AFTER_MARK, "one(school"),
        ("bert", AFTER_LETTER, "one school1"),
        ("llama", BEFORE_LINE, "one\nb"),
        ("a space in front", BEFORE_MARK, "one. two"),
        ("gpt2", r" (?= )", "one   two"),
        ("llama 2", BEFORE_SPACE, "one two"),
    ],
)
def test_a_rule_of_another_sort_would_change_ids(sort: str, rule: str, text: str) -> None:
    """So that each sort's rules are seen to be needed, and the comparison to notice."""
    backend, cuts = made(sort)
    wrong = replace(cuts, pattern=re.compile(rule), drops_space=False)
    parts = [part for part, is_cut in wrong.parts([text], every=1) if is_cut]
    assert [piece for part in parts for piece in pieces_of(backend, part)] != pieces_of(backend, text)


def test_the_space_that_a_tokenizer_puts_in_front_takes_the_place_of_the_one_before_a_part() -> None:
    _, cuts = made("llama 2")
    assert [part for part, _ in cuts.parts(["one two  three "], every=1)] == ["one", "two", " three "]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda said: said["model"].update(dropout=0.1),
        lambda said: said.update(normalizer={"type": "Strip", "strip_left": True, "strip_right": True}),
        lambda said: said.update(pre_tokenizer={"type": "UnicodeScripts"}),
        lambda said: said.update(pre_tokenizer=None),
        lambda said: said.update(
            pre_tokenizer={"type": "Split", "pattern": {"Regex": "a+"}, "behavior": "Isolated", "invert": False}
        ),
        lambda said: said["added_tokens"][0].update(normalized=True) or said.update(normalizer={"type": "NFKC"}),
    ],
)
def test_a_tokenizer_whose_places_are_unknown_is_not_cut(spoil: Callable[[Said], None]) -> None:
    said = said_of("opt")
    spoil(said)
    assert cuts_of(said).pattern is None
    assert [part for part, is_cut in cuts_of(said).parts(["one ", "two"], every=1) if is_cut] == ["one two"]


def test_a_vocabulary_with_pieces_across_words_is_not_cut_unsplit() -> None:
    said = metaspace("first", split=False)
    assert cuts_of(said).pattern is not None
    said["model"]["vocab"][f"e{WORD_START}"] = 400
    assert cuts_of(said).pattern is None


def test_what_is_held_without_a_place_to_cut_is_shown_before_it_grows() -> None:
    _, cuts = made("opt")
    seen = [len(part) for part, is_cut in cuts.parts(["x" * 50] * 4, every=10) if not is_cut]
    assert seen == [50, 100, 150, 200]
