"""The demonstration scorer: what it was told apart by, on text that it has not seen and on planted text."""

from hashlib import sha256

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from neurothek.ingest.corpora.sources.builtin import DOMAINS, Domain
from neurothek.ingest.interventions.scorers.domains import (
    INVERSE_PENALTY,
    LONGEST,
    N_WORDS,
    SHORTEST,
    DomainScorer,
    snippets,
)

PLANTED: dict[Domain, list[str]] = {
    "code": [
        "for i, line in enumerate(lines):\n    if not line:\n        continue\n    total += len(line)",
        "def __init__(self, name=None):\n        self._name = name\n        super().__init__()",
        "except ValueError as exc:\n            raise TypeError('bad') from exc\n",
        "import os\nimport sys\n\nclass Reader(io.BufferedReader):\n    pass",
    ],
    "math": [
        "What is 17 + 25?\n42\nMultiply 3 by -12.\n-36",
        "Divide 36 by 9.\n4\nWhat is 100 - 1?\n99\n",
        "Work out the sum of 12 and 3045.\n3057",
        "Is 3 a factor of 12?\nyes\nAdd 5 and 8.\n13",
    ],
    "prose": [
        "The function returns a list of the names that are defined in the module, in the order of their definition.",
        "If the file does not exist, an exception is raised and nothing is written to the disk.",
        "This class provides a way to read data from a stream without blocking the caller.",
        "Note that the value of this attribute may change when the program is run again.",
    ],
}


@pytest.fixture(scope="module")
def scorer() -> DomainScorer:
    return DomainScorer.opened("domains", "")


@pytest.fixture(scope="module")
def learned() -> dict[Domain, list[str]]:
    return snippets("train")


@pytest.fixture(scope="module")
def held_out() -> dict[Domain, list[str]]:
    return snippets("measure")


def test_held_out_snippets_are_told_apart(scorer: DomainScorer, held_out: dict[Domain, list[str]]) -> None:
    for number, domain in enumerate(DOMAINS):
        assert len(held_out[domain]) > 50
        scores = scorer.scores(held_out[domain])
        assert (scores.argmax(axis=1) == number).mean() > 0.93
        # The score is what continuations are counted by, from a half on.
        assert (scores[:, number] >= 0.5).mean() > 0.93


def test_probabilities_mean_what_they_say(scorer: DomainScorer, held_out: dict[Domain, list[str]]) -> None:
    """Of snippets that are given some class with a probability of p about a share of p is of that class."""
    texts = [text for domain in DOMAINS for text in held_out[domain]]
    labels = np.repeat(np.arange(3), [len(held_out[domain]) for domain in DOMAINS])
    scores = scorer.scores(texts)
    np.testing.assert_allclose(scores.sum(axis=1), 1, atol=1e-12)
    assert abs(scores.max(axis=1).mean() - (scores.argmax(axis=1) == labels).mean()) < 0.06


@pytest.mark.parametrize("domain", DOMAINS)
def test_planted_text_is_known(scorer: DomainScorer, domain: Domain) -> None:
    scores = scorer.scores(PLANTED[domain])
    assert (scores[:, DOMAINS.index(domain)] > 0.5).all(), scores


def test_scikit_learn_learns_the_same(
    scorer: DomainScorer, learned: dict[Domain, list[str]], held_out: dict[Domain, list[str]]
) -> None:
    texts = [text for domain in DOMAINS for text in learned[domain]]
    labels = [domain for domain in DOMAINS for _ in learned[domain]]
    peer = LogisticRegression(C=INVERSE_PENALTY, tol=1e-6, max_iter=1_000).fit(scorer.features.matrix(texts), labels)
    seen = [text for domain in DOMAINS for text in [*held_out[domain], *PLANTED[domain]]]
    assert tuple(peer.classes_) == DOMAINS
    # Both end where slopes are small, not where they are zero.
    expected = peer.predict_proba(scorer.features.matrix(seen))
    np.testing.assert_allclose(scorer.scores(seen), expected, atol=2e-3)


def test_its_words_are_whole_and_tell_the_domain(scorer: DomainScorer) -> None:
    words = {domain: scorer.words(domain) for domain in DOMAINS}
    assert {"self", "return", "def", "import"} <= set(words["code"])
    assert {"what", "divided"} & set(words["math"])
    assert "the" in words["prose"]
    for domain, listed in words.items():
        assert 20 < len(listed) <= N_WORDS
        weights = scorer.fit.coefficients[:, DOMAINS.index(domain)]
        own = [weights[scorer.features.words.index(word)] for word in listed]
        assert own == sorted(own, reverse=True)
        assert min(own) > 0
        # No other word weighs more.
        assert (weights[: len(scorer.features.words)] > own[-1]).sum() < len(listed)
    assert scorer.words("poetry") == ()


def test_snippets_are_as_long_as_continuations_and_of_one_split(
    scorer: DomainScorer, learned: dict[Domain, list[str]], held_out: dict[Domain, list[str]]
) -> None:
    for domain in DOMAINS:
        lengths = [len(text.split()) for text in learned[domain]]
        assert min(lengths) >= SHORTEST
        assert max(lengths) == LONGEST
        assert len(learned[domain]) > 900
        # Boilerplate recurs in several documents.
        assert len(set(learned[domain]) & set(held_out[domain])) < 0.02 * len(held_out[domain])
    # What it learned from before is what is cut now.
    assert (
        scorer.text_sha256
        == sha256("\0".join(text for domain in DOMAINS for text in learned[domain]).encode()).hexdigest()
    )


def test_it_is_trained_once_and_reopened_by_what_it_learned_from(scorer: DomainScorer) -> None:
    assert DomainScorer.reopened(scorer.identity) is scorer
    assert DomainScorer.reopened({**scorer.identity, "text_sha256": "0" * 64}) is None
    assert DomainScorer.reopened({**scorer.identity, "version": 0}) is None


def test_strange_texts_have_scores_too(scorer: DomainScorer) -> None:
    scores = scorer.scores(["", "\n", "\ud800", "\x00" * 10, "字" * 2_000, "a" * 100_000])
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(scores.sum(axis=1), 1, atol=1e-12)
    assert scorer.scores([]).shape == (0, 3)
