"""One position of each of many sentences, some to fit linear maps on and others to judge them by ([D] 3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ingest.corpora import Corpus
from ingest.sentences import Sentence, sentences
from ingest.text_errors import DomainUnknown, SentencesTooFew
from ingest.tokenization import Tokenizer

N_SENTENCES = 12_000
"""Sentences taken where the text has so many: 9,000 to fit, 3,000 to validate."""

LEAST_SENTENCES = 8
"""Fewer leave less than two to validate on, of which no spread is known."""

USUAL_DOMAIN = "prose"

_ONE_IN = 4
"""Of so many sentences one is to validate on."""


@dataclass(frozen=True, eq=False)
class ChosenPosition:
    """One sentence and the position that is looked at.

    Attributes:
        sentence_id: its number in the sample.
        domain: its domain.
        tokens: int32 [length], what the model reads: a BOS where the tokenizer puts one in front, then the sentence's
            ids up to the position, since a causal model does not look beyond.
        position: the position among `tokens`.
        own_position: the position among the sentence's own ids, from 0.
    """

    sentence_id: int
    domain: str
    tokens: np.ndarray
    position: int
    own_position: int


@dataclass(frozen=True, eq=False)
class SentenceSample:
    """Sentences in a random order; the first ones are to fit on.

    Attributes:
        n_found: sentences that the text has in these domains.
        domains: the domains.
        rows: the sentences in the order of their numbers.
    """

    n_found: int
    domains: tuple[str, ...]
    rows: Sequence[ChosenPosition]

    @property
    def validation(self) -> Sequence[ChosenPosition]:
        """Those to validate on."""
        return self.rows[self.n_fit :]

    @property
    def n_fit(self) -> int:
        """How many are to fit on: three of four."""
        return len(self.rows) - self.n_validation

    @property
    def n_validation(self) -> int:
        """How many are to validate on, the last ones."""
        return len(self.rows) // _ONE_IN


def draw(
    corpus: Corpus,
    tokenizer: Tokenizer,
    *,
    context_length: int,
    seed: int,
    domains: Sequence[str] = (),
    n_sentences: int = N_SENTENCES,
) -> SentenceSample:
    """At most `n_sentences` sentences of some domains in a random order, with a position each, uniform over its ids.

    Of a sentence that is longer than the context only what fits is there to choose from.

    Args:
        corpus: the text.
        tokenizer: of the model.
        context_length: ids that the model reads at most.
        seed: of the order and of the positions.
        domains: whose sentences; none: prose where the corpus has it, else all.
        n_sentences: how many at most.

    Raises:
        DomainUnknown: the corpus has no such domain.
        SentencesTooFew: there are not enough sentences to fit and to validate.
    """
    chosen = _domains(corpus, domains)
    found = [one for one in sentences(corpus, tokenizer) if one.domain in chosen]
    if len(found) < LEAST_SENTENCES:
        raise SentencesTooFew(corpus.name, chosen, len(found), LEAST_SENTENCES)
    # Another counter than any sentence's own numbers, and than those of the examples.
    order = np.random.Generator(np.random.Philox(key=seed, counter=[0, 2, 0, 0])).permutation(len(found))
    bos = [] if tokenizer.bos_id is None else [tokenizer.bos_id]
    rows = [
        _position(found[place], number, bos=bos, context_length=context_length, seed=seed)
        for number, place in enumerate(order[:n_sentences].tolist())
    ]
    return SentenceSample(len(found), chosen, rows)


def _domains(corpus: Corpus, asked: Sequence[str]) -> tuple[str, ...]:
    unknown = [domain for domain in asked if domain not in corpus.domains]
    if unknown:
        raise DomainUnknown(corpus.name, unknown[0], corpus.domains)
    if asked:
        return tuple(domain for domain in corpus.domains if domain in asked)
    return (USUAL_DOMAIN,) if USUAL_DOMAIN in corpus.domains else tuple(corpus.domains)


def _position(sentence: Sentence, number: int, *, bos: Sequence[int], context_length: int, seed: int) -> ChosenPosition:
    n_own = max(1, min(len(sentence.ids), context_length - len(bos)))
    # A counter of its own, so that no draw hangs on another.
    drawn = np.random.Generator(np.random.Philox(key=seed, counter=[0, 3, 0, number]))
    place = int(drawn.integers(n_own))
    return ChosenPosition(
        sentence_id=number,
        domain=sentence.domain,
        tokens=np.concatenate([np.array(bos, dtype=np.int32), sentence.ids[: place + 1]]),
        position=len(bos) + place,
        own_position=place,
    )
