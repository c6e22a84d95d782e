"""One position of each of many sentences, some to fit linear maps on and others to judge them by ([D] 3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ingest.corpora.corpus import Corpus
from ingest.corpora.errors import DomainUnknown, SentencesTooFew, SplitTooLarge
from ingest.corpora.sentences import Sentence, sentences
from ingest.corpora.split import N_FIT, N_VALIDATION, USUAL, SentenceSplit
from ingest.models.errors import MaskMissing
from ingest.models.tokenizer import Tokenizer
from ingest.numerics.random_stream import Purpose, random_stream

N_SENTENCES = N_FIT + N_VALIDATION
"""Sentences taken where the text has so many."""

LEAST_SENTENCES = USUAL.least
"""Fewer leave less than two to validate on."""

USUAL_DOMAIN = "prose"


@dataclass(frozen=True, eq=False)
class ChosenPosition:
    """One sentence and the position that is looked at.

    Attributes:
        sentence_id: its number in the sample.
        domain: its domain.
        tokens: int32 [length], what the model reads: a BOS where the tokenizer puts one in front, then the sentence's
            ids up to the position, since a causal model does not look beyond. A masked model reads the whole sentence
            with a mask at the position, and what its tokenizer puts behind.
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
        n_validation: how many are to validate on, the last ones.
    """

    n_found: int
    domains: tuple[str, ...]
    rows: Sequence[ChosenPosition]
    n_validation: int

    @property
    def validation(self) -> Sequence[ChosenPosition]:
        """Those to validate on."""
        return self.rows[self.n_fit :]

    @property
    def n_fit(self) -> int:
        """How many are to fit on."""
        return len(self.rows) - self.n_validation


def draw(
    corpus: Corpus,
    tokenizer: Tokenizer,
    *,
    context_length: int,
    seed: int,
    domains: Sequence[str] = (),
    n_sentences: int = N_SENTENCES,
    split: SentenceSplit = USUAL,
    is_masked: bool = False,
) -> SentenceSample:
    """Sentences of some domains in a random order, with a position each, uniform over its ids.

    Of a sentence that is longer than the context only what fits is there to choose from.

    Args:
        corpus: the text.
        tokenizer: of the model.
        context_length: ids that the model reads at most.
        seed: of the order and of the positions.
        domains: whose sentences; none: prose where the corpus has it, else all.
        n_sentences: how many at most, where the split does not say.
        split: how many to fit on and to validate on.
        is_masked: whether the model fills in masked tokens.

    Raises:
        MaskMissing: it does, and its tokenizer has nothing to mask with.
        DomainUnknown: the corpus has no such domain.
        SentencesTooFew, SplitTooLarge: there are not enough sentences to fit and to validate.
    """
    if is_masked and tokenizer.mask_id is None:
        raise MaskMissing(tokenizer.name)
    chosen = _domains(corpus, domains)
    found = [one for one in sentences(corpus, tokenizer) if one.domain in chosen]
    if len(found) < split.least:
        if split.is_usual:
            raise SentencesTooFew(corpus.name, chosen, len(found), split.least)
        raise SplitTooLarge(corpus.name, chosen, len(found), str(split), split.least)
    n_fit, n_validation = split.sizes(len(found), n_sentences)
    order = random_stream(seed, Purpose.SENTENCE_ORDER).permutation(len(found))
    around = _Around.of(tokenizer, is_masked=is_masked)
    rows = [
        _position(found[place], number, around, context_length=context_length, seed=seed)
        for number, place in enumerate(order[: n_fit + n_validation].tolist())
    ]
    return SentenceSample(len(found), chosen, rows, n_validation)


def _domains(corpus: Corpus, asked: Sequence[str]) -> tuple[str, ...]:
    unknown = [domain for domain in asked if domain not in corpus.domains]
    if unknown:
        raise DomainUnknown(corpus.name, unknown[0], corpus.domains)
    if asked:
        return tuple(domain for domain in corpus.domains if domain in asked)
    return (USUAL_DOMAIN,) if USUAL_DOMAIN in corpus.domains else tuple(corpus.domains)


@dataclass(frozen=True)
class _Around:
    """What stands around a sentence's own ids, and for the one that is masked.

    Attributes:
        opening: ids before them.
        closing: ids behind them, where the model reads to the end.
        mask: the id in the place of the one at the position; None: it stays, and is the last one read.
    """

    opening: tuple[int, ...]
    closing: tuple[int, ...]
    mask: int | None

    @classmethod
    def of(cls, tokenizer: Tokenizer, *, is_masked: bool) -> "_Around":
        opening = () if tokenizer.bos_id is None else (tokenizer.bos_id,)
        if not is_masked:
            return cls(opening, (), None)
        return cls(opening, () if tokenizer.closing_id is None else (tokenizer.closing_id,), tokenizer.mask_id)

    def put(self, own: np.ndarray, place: int) -> np.ndarray:
        """What the model reads of a sentence at whose own id `place` it is looked at."""
        if self.mask is None:
            return _joined(self.opening, own[: place + 1])
        masked = own.copy()
        masked[place] = self.mask
        return _joined(self.opening, masked, self.closing)


def _joined(*parts: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.concatenate([np.asarray(part, dtype=np.int32) for part in parts])


def _position(sentence: Sentence, number: int, around: _Around, *, context_length: int, seed: int) -> ChosenPosition:
    n_own = max(1, min(len(sentence.ids), context_length - len(around.opening) - len(around.closing)))
    place = int(random_stream(seed, Purpose.SENTENCE_POSITION, 0, number).integers(n_own))
    return ChosenPosition(
        sentence_id=number,
        domain=sentence.domain,
        tokens=around.put(sentence.ids[:n_own], place),
        position=len(around.opening) + place,
        own_position=place,
    )
