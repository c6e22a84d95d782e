"""Word lists against a plain definition of "as a whole word", and lists that are none."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.problems import Invalid
from neurothek.ingest.interventions.scorers.word_list import MOST_WORDS, WordListScorer


def opened(folder: Path, text: str | bytes, name: str = "bad.txt") -> WordListScorer:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return WordListScorer.opened(f"words:{path}", str(path))


def listing(*words: str) -> WordListScorer:
    return WordListScorer("words:x", "x", words)


def test_a_word_counts_where_it_is_whole(subtests: pytest.Subtests) -> None:
    for word, has, has_not in [
        ("art", ["art", "Art!", "the (ART)", "art\nis", "state-of-the-art"], ["party", "arts", "art_1", "art2", ""]),
        ("C++", ["I like c++.", "(C++)", "C++", "C++, not C"], ["C+", "C++11", "ABC++", "c + +"]),
        (".net", ["the .NET way", ".net"], ["asp.net", ".network"]),
        ("shut up", ["Shut  UP!", "shut\nup", "please shut\tup now"], ["shutup", "shut upward", "shut it up"]),
        ("straße", ["Die STRASSE", "straße"], ["strassen"]),
        # One spelling has a letter with its accent, the other a letter and a combining accent.
        ("caf\u00e9", ["cafe\u0301", "CAF\u00c9 noir"], ["cafe"]),
        # What follows the letter is a vowel sign, which changes it and is no letter by itself.
        ("\u0915", ["\u0915 "], ["\u0915\u093f\u0924\u093e\u092c"]),
        ("!!!", ["what !!!", "!!! no"], ["!!", "what!!!"]),
        ("aa", ["aaa aa"], ["aaa"]),
    ]:
        with subtests.test(word=word, has=has, has_not=has_not):
            scores = listing("zebra", word).scores([*has, *has_not])
            assert scores[:, 0].tolist() == [1.0] * len(has) + [0.0] * len(has_not)


@given(st.lists(st.sampled_from(["ab", "a b", "b+", "+"]), min_size=1), st.text("ab+_ ", max_size=12))
def test_scores_are_those_of_a_regular_expression(words: list[str], text: str) -> None:
    pattern = "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in words)
    has_one = re.search(pattern, " ".join(text.split())) is not None
    assert listing(*words).scores([text]).tolist() == [[float(has_one)]]


def test_a_file_lists_a_word_a_line(tmp_path: Path) -> None:
    text = "\ufeff# bad words\nfool\r\n  C#   # a language\n\nshut \t up\nfool\n#comment\n"
    scorer = opened(tmp_path, text)
    assert scorer.words("bad") == ("fool", "C#", "shut up")
    assert scorer.words("good") == ()
    assert scorer.attributes == ("bad",)
    assert not scorer.is_foreign
    assert np.array_equal(scorer.scores(["C# is", "shut up", "nice"]), [[1], [1], [0]])
    assert scorer.scores([]).shape == (0, 1)


def test_a_list_is_reopened_without_its_file(tmp_path: Path) -> None:
    scorer = opened(tmp_path, "fool\nidiot\n")
    (tmp_path / "bad.txt").unlink()
    again = WordListScorer.reopened(scorer.identity)
    assert again is not None
    assert again.identity == scorer.identity
    assert again.scores(["an Idiot", "a friend"]).tolist() == [[1], [0]]
    # The same words under another name, or others under the same, are another list.
    other = opened(tmp_path, "fool\n", "bad.md")
    assert other.identity["sha256"] != scorer.identity["sha256"]


@pytest.mark.parametrize(
    "change",
    [{"words": ["fool"]}, {"words": []}, {"words": [1]}, {"words": "fool"}, {"attribute": 3}, {"version": 0}],
    ids=str,
)
def test_an_identity_that_was_changed_gives_none(tmp_path: Path, change: dict[str, object]) -> None:
    identity = opened(tmp_path, "fool\nidiot\n").identity
    assert WordListScorer.reopened({**identity, **change}) is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "lists no word"),
        (b"# only\n\n   # remarks\n", "lists no word"),
        (b"good\nb\xe4d\n", "line 2 of the file is not UTF-8"),
        (b"good\nba\x00d\n", "line 2 of the file holds a control character"),
        (b"x" * 300, "line 1 of the file is longer than 200 characters"),
        (b"word\n" * 300_000, "larger than 1,048,576 bytes"),
        ("\n".join(f"w{n}" for n in range(MOST_WORDS + 1)).encode(), "lists 10,001 words"),
    ],
    ids=["empty", "remarks", "latin-1", "zero", "long", "large", "many"],
)
def test_a_file_that_is_no_list_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        opened(tmp_path, content)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for argument, said in (
        ("", "names no file"),
        (str(tmp_path), "is a folder"),
        (str(tmp_path / "none.txt"), "no such file"),
        ("x" * 5_000, "no file can lie there"),
        ("a\0b", "no file can lie there"),
        ("/dev/zero", "is a device"),
    ):
        with pytest.raises(Invalid, match=said):
            WordListScorer.opened(f"words:{argument}", argument)


def test_a_name_that_cannot_be_printed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="not an attribute name") as caught:
        opened(tmp_path, "fool", "a\x1b[2Jb.txt")
    assert str(caught.value).isprintable()
