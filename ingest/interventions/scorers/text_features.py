"""Short texts as sparse vectors: their words, and their runs of one to three characters ([ours])."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

N_BUCKETS = 1 << 11
"""Runs of characters that share a bucket are counted as one."""

LONGEST_RUN = 3
MOST_WORDS = 1_000
"""With twice as many words and buckets training took up to eight seconds on a busy machine instead of one or two: its
steps were spread over threads that waited for each other."""

LEAST_TEXTS = 10
"""A word that fewer texts have says little of others."""

_WORD = re.compile(r"[^\W\d]\w*")
_DIGIT = re.compile(r"\d")
_MULTIPLIER, _MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_BUCKET_SHIFT = np.uint64(64 - N_BUCKETS.bit_length() + 1)


@dataclass(frozen=True, eq=False)
class TextFeatures:
    """How a text becomes a vector: log(1 + count) of each known word, and of each bucket, either part of length 1.

    Case and the values of digits are not looked at.

    Attributes:
        words: those that have a feature of their own, in the order of their features; the buckets follow.
    """

    words: tuple[str, ...]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "TextFeatures":
        """Know the words that most of the texts have."""
        n_texts = Counter(word for text in texts for word in set(words_of(text)))
        frequent = sorted((-n, word) for word, n in n_texts.items() if n >= LEAST_TEXTS)
        return cls(tuple(word for _, word in frequent[:MOST_WORDS]))

    def matrix(self, texts: Sequence[str]) -> csr_array:
        """[texts features], float64."""
        number = {word: place for place, word in enumerate(self.words)}
        columns: list[np.ndarray] = []
        values: list[np.ndarray] = []
        ends = [0]
        for text in texts:
            known = np.array([number[word] for word in words_of(text) if word in number], dtype=np.int64)
            for part in (known, _buckets(text) + len(self.words)):
                places, counts = np.unique(part, return_counts=True)
                columns.append(places)
                values.append(_of_length_one(np.log1p(counts)))
            ends.append(ends[-1] + len(columns[-2]) + len(columns[-1]))
        shape = (len(texts), len(self.words) + N_BUCKETS)
        if not texts:
            return csr_array(shape)
        return csr_array((np.concatenate(values), np.concatenate(columns), np.array(ends)), shape=shape)


def words_of(text: str) -> list[str]:
    """The whole words of a text, without case; a number is no word."""
    return _WORD.findall(text.casefold())


def _buckets(text: str) -> Int[np.ndarray, " runs"]:
    """The buckets of all runs of characters."""
    written = _DIGIT.sub("0", f"\n{text.casefold()}\n").encode("utf-32-le", "surrogatepass")
    points = np.frombuffer(written, dtype="<u4").astype(np.uint64)
    runs = np.zeros(len(points), dtype=np.uint64)
    found = []
    for length in range(1, LONGEST_RUN + 1):
        # Of each run the one that is a character shorter, and its last character; zeros are no characters.
        runs = runs[: len(points) - length + 1] * _MULTIPLIER + points[length - 1 :] + np.uint64(1)
        found.append((runs ^ (runs >> np.uint64(31))) * _MIXER >> _BUCKET_SHIFT)
    return np.concatenate(found).astype(np.int64)


def _of_length_one(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    length = np.linalg.norm(values)
    return values / length if length > 0 else values
