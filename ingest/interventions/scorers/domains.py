"""The demonstration scorer: whether a text looks like code, mathematics or prose, learned from the built-in text.

It needs no network and no file, so that an intervention can be tried anywhere. It has seen nothing but Python's own
source, its documentation and made-up arithmetic, and knows how these look: of other code, mathematics and prose it
guesses.
"""

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from neurothek.ingest.corpora.sources.builtin import DOMAINS, Domain, TextPart, some_documents
from neurothek.ingest.interventions.scorers.text_scorer import unusable_scorer
from neurothek.ingest.numerics.softmax_regression import SoftmaxFit, fit_softmax

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
    """

    words: tuple[str, ...]  # those that have a feature of their own, in the order of their features; the buckets follow

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
            word_columns = np.array([number[word] for word in words_of(text) if word in number], dtype=np.int64)
            for part in (word_columns, _buckets(text) + len(self.words)):
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
    parts = []
    for length in range(1, LONGEST_RUN + 1):
        # Of each run the one that is a character shorter, and its last character; zeros are no characters.
        runs = runs[: len(points) - length + 1] * _MULTIPLIER + points[length - 1 :] + np.uint64(1)
        parts.append((runs ^ (runs >> np.uint64(31))) * _MIXER >> _BUCKET_SHIFT)
    return np.concatenate(parts).astype(np.int64)


def _of_length_one(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    length = np.linalg.norm(values)
    return values / length if length > 0 else values


SPEC = "domains"

VERSION = 1
"""Raised when the same text may be scored otherwise."""

N_FILES = 250
N_ARITHMETIC = 600
"""Documents of the built-in text that are read, rather than all of it, which takes longer than the training."""

N_SNIPPETS = 1_500
"""Of each domain."""
MOST_OF_A_DOCUMENT = 12
SHORTEST, LONGEST = 5, 30
"""Words of a snippet, which is about as long as a continuation."""

INVERSE_PENALTY = 10.0
N_WORDS = 50

_WORD_AND_SPACE = re.compile(r"\S+\s*")


@dataclass(frozen=True, eq=False)
class DomainScorer:
    """Probabilities of code, math and prose, adding up to 1: multinomial logistic regression ([ours])."""

    is_foreign: ClassVar[bool] = False
    spec: ClassVar[str] = SPEC
    text_sha256: str  # hash of the snippets that it learned from, which another version of Python has otherwise
    features: TextFeatures  # how a text becomes a vector
    fit: SoftmaxFit  # what was learned

    @classmethod
    def opened(cls, spec: str, argument: str) -> "DomainScorer":
        """Train it, once a process: a few seconds."""
        if argument:
            raise unusable_scorer(spec, "it takes no argument", f"give {SPEC}")
        return _trained()

    @classmethod
    def reopened(cls, identity: Mapping[str, Any]) -> "DomainScorer | None":
        """The same, if this Python has the text that it learned from."""
        if identity.get("version") != VERSION:
            return None
        scorer = _trained()
        return scorer if identity.get("text_sha256") == scorer.text_sha256 else None

    @property
    def attributes(self) -> tuple[str, ...]:
        """The domains."""
        return DOMAINS

    @property
    def identity(self) -> Mapping[str, Any]:
        """How it is trained, and on what."""
        return {"kind": SPEC, "version": VERSION, "text_sha256": self.text_sha256}

    def scores(self, texts: Sequence[str]) -> Float[np.ndarray, "texts attributes"]:
        """[texts 3] the probability of each domain."""
        return self.fit.probabilities(self.features.matrix(texts))

    def words(self, attribute: str) -> tuple[str, ...]:
        """The whole words that speak most for a domain, at most 50, the most telling first."""
        if attribute not in DOMAINS:
            return ()
        weights = self.fit.coefficients[: len(self.features.words), self.attributes.index(attribute)]
        best = np.argsort(-weights, kind="stable")[:N_WORDS]
        return tuple(self.features.words[place] for place in best if weights[place] > 0)


def snippets(split: TextPart) -> dict[Domain, list[str]]:
    """Snippets of each domain, cut from the part of the built-in text that is trained or measured on."""
    documents = some_documents(split, n_files=N_FILES, n_arithmetic=N_ARITHMETIC)
    return {domain: _drawn(domain, documents[domain]) for domain in DOMAINS}


@cache
def _trained() -> DomainScorer:
    by_domain = snippets("train")
    texts = [text for domain in DOMAINS for text in by_domain[domain]]
    labels = np.repeat(np.arange(len(DOMAINS)), [len(by_domain[domain]) for domain in DOMAINS])
    features = TextFeatures.of(texts)
    fit = fit_softmax(features.matrix(texts), labels, n_classes=len(DOMAINS), inverse_penalty=INVERSE_PENALTY)
    return DomainScorer(sha256("\0".join(texts).encode()).hexdigest(), features, fit)


def _drawn(domain: Domain, documents: Iterable[str]) -> list[str]:
    """Snippets of many documents, from all over them."""
    draw = random.Random(f"neurothek domains {domain}")  # noqa: S311 - a sample, no secrets
    candidates: list[str] = []
    for document in documents:
        cut = list(_cut(document, draw))
        candidates += draw.sample(cut, min(len(cut), MOST_OF_A_DOCUMENT))
    return draw.sample(candidates, min(len(candidates), N_SNIPPETS))


def _cut(document: str, draw: random.Random) -> Iterator[str]:
    """A document from beginning to end, in pieces of so many words; a rest that is too short is dropped."""
    words = _WORD_AND_SPACE.findall(document)
    start = 0
    while len(words) - start >= SHORTEST:
        length = draw.randint(SHORTEST, LONGEST)
        yield "".join(words[start : start + length]).rstrip()
        start += length
