"""The demonstration scorer: whether a text looks like code, mathematics or prose, learned from the built-in text.

It needs no network and no file, so that an intervention can be tried anywhere. It has seen nothing but Python's own
source, its documentation and made-up arithmetic, and knows how these look: of other code, mathematics and prose it
guesses.
"""

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from neurothek.ingest.corpora.sources.builtin import DOMAINS, Domain, TextPart, some_documents
from neurothek.ingest.interventions.scorers.errors import unusable_scorer
from neurothek.ingest.interventions.scorers.text_features import TextFeatures
from neurothek.ingest.numerics.softmax_regression import SoftmaxFit, fit_softmax

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
    """Probabilities of code, math and prose, adding up to 1: multinomial logistic regression ([ours]).

    Attributes:
        text_sha256: hash of the snippets that it learned from, which another version of Python has otherwise.
        features: how a text becomes a vector.
        fit: what was learned.
    """

    is_foreign: ClassVar[bool] = False
    spec: ClassVar[str] = SPEC
    text_sha256: str
    features: TextFeatures
    fit: SoftmaxFit

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
        found = _trained()
        return found if identity.get("text_sha256") == found.text_sha256 else None

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
    found: list[str] = []
    for document in documents:
        cut = list(_cut(document, draw))
        found += draw.sample(cut, min(len(cut), MOST_OF_A_DOCUMENT))
    return draw.sample(found, min(len(found), N_SNIPPETS))


def _cut(document: str, draw: random.Random) -> Iterator[str]:
    """A document from beginning to end, in pieces of so many words; a rest that is too short is dropped."""
    words = _WORD_AND_SPACE.findall(document)
    start = 0
    while len(words) - start >= SHORTEST:
        length = draw.randint(SHORTEST, LONGEST)
        yield "".join(words[start : start + length]).rstrip()
        start += length
