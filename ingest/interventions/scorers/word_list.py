"""Scores a text by whether it has a word of a list: 1 if so, 0 if not."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from neurothek.catalog.arguments import expanded
from neurothek.catalog.files import why_no_file
from neurothek.catalog.problems import Unreadable
from neurothek.ingest.interventions.scorers.text_scorer import unusable_scorer, valid_attributes

VERSION = 1
"""Raised when a text may come to have a word that it did not have before."""

MOST_BYTES = 1 << 20
MOST_WORDS = 10_000
LONGEST_WORD = 200
"""Characters."""

_REMARK = re.compile(r"(?:^|\s)#.*")


@dataclass(frozen=True)
class WordListScorer:
    """Words and phrases, without regard to case ([ours]).

    A word counts where neither a letter, a digit, an underscore nor a combining mark touches it, so that `C++` is found
    in `(C++)` and `art` is not found in `party`. White space in a phrase stands for any.
    """

    is_foreign: ClassVar[bool] = False
    spec: str  # as it was asked for
    attribute: str  # what having one of the words is called
    listed: tuple[str, ...]  # the words as they were written, each once

    @classmethod
    def opened(cls, spec: str, argument: str) -> "WordListScorer":
        """Read a list from the file that `argument` names: a word or phrase a line, and remarks behind `#`.

        A `#` inside a word, as in `C#`, begins no remark.
        """
        path = _path(spec, argument)
        listed = tuple(dict.fromkeys(words_of_lines(spec, _text(spec, path))))
        if not listed:
            raise unusable_scorer(spec, "the file lists no word", "write one word or phrase a line")
        if len(listed) > MOST_WORDS:
            raise unusable_scorer(spec, f"it lists {len(listed):,} words", f"give a list of at most {MOST_WORDS:,}")
        return cls(spec, valid_attributes(spec, [path.stem])[0], listed)

    @classmethod
    def reopened(cls, identity: Mapping[str, Any]) -> "WordListScorer | None":
        """The list that an identity holds; None if it is not whole."""
        match identity:
            case {"attribute": str(attribute), "words": [*words]} if all(isinstance(word, str) for word in words):
                scorer = cls(f"words:{attribute}", attribute, tuple(words))
                is_whole = words and all(identity.get(name) == scorer.identity[name] for name in ("version", "sha256"))
                return scorer if is_whole else None
        return None

    @property
    def attributes(self) -> tuple[str, ...]:
        """The one that the list is named after."""
        return (self.attribute,)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The words themselves, so that the file is not needed again."""
        return {
            "kind": "words",
            "version": VERSION,
            "attribute": self.attribute,
            "words": list(self.listed),
            "sha256": sha256("\n".join(self.listed).encode("utf-8", "surrogatepass")).hexdigest(),
        }

    def scores(self, texts: Sequence[str]) -> Float[np.ndarray, "texts attributes"]:
        """[texts 1] whether each text has one of the words, as 1 or 0."""
        folded = [_folded(word) for word in self.listed]
        return np.array([[_has_one(_folded(text), folded)] for text in texts], dtype=np.float64).reshape(-1, 1)

    def words(self, attribute: str) -> tuple[str, ...]:
        """The list."""
        return self.listed if attribute == self.attribute else ()


def _path(spec: str, argument: str) -> Path:
    if not argument:
        raise unusable_scorer(spec, "it names no file", "give words:FILE")
    try:
        path = expanded(argument)
        kind = "a folder" if path.is_dir() else why_no_file(path)
    except (Unreadable, OSError, ValueError) as error:
        raise unusable_scorer(spec, "no file can lie there", "give words:FILE") from error
    if kind is not None:
        raise unusable_scorer(spec, f"what lies there is {kind}", "give a file with one word or phrase a line")
    return path


def _text(spec: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            read = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise unusable_scorer(spec, "no such file exists", "give a file with one word or phrase a line") from error
    except OSError as error:
        raise unusable_scorer(spec, f"the file cannot be read ({error.strerror})", "allow reading it") from error
    if len(read) > MOST_BYTES:
        raise unusable_scorer(spec, f"the file is larger than {MOST_BYTES:,} bytes", "give a list of words")
    try:
        return read.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = read.count(b"\n", 0, error.start) + 1
        raise unusable_scorer(spec, f"line {line} of the file is not UTF-8", "save it as UTF-8") from error


def words_of_lines(spec: str, text: str) -> Iterator[str]:
    """The words of a list, one a line, without remarks and white space around them."""
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        word = " ".join(_REMARK.sub("", line).split())
        if len(word) > LONGEST_WORD:
            raise unusable_scorer(
                spec, f"line {number} of the file is longer than {LONGEST_WORD} characters", "write one word a line"
            )
        if any(unicodedata.category(character) == "Cc" for character in word):
            raise unusable_scorer(spec, f"line {number} of the file holds a control character", "remove it")
        if word:
            yield word


def _folded(text: str) -> str:
    """What is compared: without case, composed, and with single spaces for any white space."""
    return unicodedata.normalize("NFC", " ".join(text.casefold().split()))


def _has_one(text: str, words: Sequence[str]) -> bool:
    return any(word in text and _has(text, word) for word in words)


def _has(text: str, word: str) -> bool:
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not _touches(text[start - 1 : start]) and not _touches(text[end : end + 1]):
            return True
        start = text.find(word, start + 1)
    return False


def _touches(neighbour: str) -> bool:
    """Whether a character, if there is one, is part of the word beside it."""
    return neighbour.isalnum() or neighbour == "_" or (neighbour != "" and unicodedata.category(neighbour)[0] == "M")
